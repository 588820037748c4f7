// The vector states that an agent has met, each with the features of its actions: the points of an open domain.
//
// A state is a point of the layer it was met in. Its number is used again once nothing refers to it: memory is bounded
// by what constraints and stored transitions hold, not by the number of states ever met.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ocpfast/hypothesis/features.hpp"
#include "ocpfast/limits.hpp"

namespace ocp {

class FeatureFailure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class States {
public:
    explicit States(std::shared_ptr<const Features> features)
        : features_(std::move(features)),
          state_size_(static_cast<std::size_t>(features_->domain().vector_size())),
          row_size_(static_cast<std::size_t>(features_->domain().n_actions()) * features_->n_features()) {}

    const double* feature(std::int64_t point, std::int64_t action) const {
        const auto row = static_cast<std::size_t>(point * features_->domain().n_actions() + action);
        return &rows_[row * features_->n_features()];
    }

    std::int64_t layer_of(std::int64_t point) const { return layer_[static_cast<std::size_t>(point)]; }
    std::int64_t n_numbers() const { return static_cast<std::int64_t>(layer_.size()); }  // points are below it
    std::int64_t size() const { return static_cast<std::int64_t>(points_.size()); }
    bool used(std::int64_t point) const { return layer_of(point) != unused; }
    bool is_point(std::int64_t point) const { return point >= 0 && point < n_numbers() && used(point); }

    template <class Archive>
    void archive(Archive& a) {
        a(layer_, states_, rows_, free_, survivors_);
        if constexpr (!Archive::loading) return;
        const auto n = static_cast<std::size_t>(n_numbers());
        a.require(states_.size() == n * state_size_ && rows_.size() == n * row_size_ && survivors_ <= n, "a size");
        hash_.assign(n, 0);
        points_.clear();
        for (std::int64_t point = 0; point < n_numbers(); ++point) {
            a.require_index(layer_of(point), unused, features_->domain().n_layers());
            if (!used(point)) continue;
            key_.assign(state_of(point), state_of(point) + state_size_);
            const std::uint64_t hash = hash_of(layer_of(point));
            hash_[static_cast<std::size_t>(point)] = hash;
            points_.emplace(hash, point);
        }
        std::vector<std::uint8_t> listed(n, 0);
        for (const std::int64_t point : free_) {
            a.require_index(point, 0, n);
            a.require(!used(point) && !listed[static_cast<std::size_t>(point)], "a state");
            listed[static_cast<std::size_t>(point)] = 1;
        }
        a.require(free_.size() + points_.size() == n, "a state");
    }

    // The point of a state, or Partition::nowhere where it has a NaN. A state that is new has its features evaluated;
    // where that fails nothing has changed. Calls added(point) for a new one.
    template <class Added>
    std::int64_t find_or_add(std::int64_t layer, const double* state, Added&& added) {
        key_.assign(state, state + state_size_);
        for (double& part : key_) {
            if (std::isnan(part)) return Partition::nowhere;
            part += 0.0;  // -0.0 is 0.0
        }
        const std::uint64_t hash = hash_of(layer);
        const auto [first, last] = points_.equal_range(hash);
        for (auto candidate = first; candidate != last; ++candidate) {
            const std::int64_t point = candidate->second;
            if (layer_of(point) == layer && std::equal(key_.begin(), key_.end(), state_of(point))) return point;
        }
        evaluate(layer);
        const std::int64_t point = place();
        layer_[static_cast<std::size_t>(point)] = layer;
        hash_[static_cast<std::size_t>(point)] = hash;
        std::copy(key_.begin(), key_.end(), state_of(point));
        std::copy(evaluated_.begin(), evaluated_.end(), rows_.begin() + point * static_cast<std::int64_t>(row_size_));
        points_.emplace(hash, point);
        added(point);
        return point;
    }

    // Whether there are so many more points than collect left last time that it should be called again.
    bool crowded() const { return points_.size() > 2 * survivors_ + 1'000; }

    // Forgets the points for which held(point) is false.
    template <class Held>
    void collect(Held&& held) {
        for (std::int64_t point = 0; point < n_numbers(); ++point) {
            if (!used(point) || held(point)) continue;
            auto [entry, last] = points_.equal_range(hash_[static_cast<std::size_t>(point)]);
            while (entry != last && entry->second != point) ++entry;
            points_.erase(entry);
            layer_[static_cast<std::size_t>(point)] = unused;
            free_.push_back(point);
        }
        survivors_ = points_.size();
    }

private:
    static constexpr std::int64_t unused = -1;

    double* state_of(std::int64_t point) { return &states_[static_cast<std::size_t>(point) * state_size_]; }

    std::uint64_t hash_of(std::int64_t layer) const {  // of key_: the finaliser of splitmix64 over its bits
        auto hash = static_cast<std::uint64_t>(layer);
        for (const double part : key_) {
            std::uint64_t bits;
            std::memcpy(&bits, &part, sizeof bits);
            hash = (hash ^ bits) + 0x9e3779b97f4a7c15;
            hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
            hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
            hash ^= hash >> 31;
        }
        return hash;
    }

    void evaluate(std::int64_t layer) {
        const FeatureSource& source = features_->source();
        evaluated_.resize(row_size_);
        for (std::int64_t action = 0; action < features_->domain().n_actions(); ++action) {
            double* row = &evaluated_[static_cast<std::size_t>(action) * features_->n_features()];
            const int error = source.function(layer, key_.data(), action, row, source.user_data.get());
            const auto where = [&] {
                return " for action " + std::to_string(action) + " in period " + std::to_string(layer);
            };
            if (error != 0) throw FeatureFailure("phi: it returned error " + std::to_string(error) + where());
            for (std::size_t k = 0; k < features_->n_features(); ++k) {
                const double given = row[k];
                row[k] /= source.unit;
                if (std::abs(row[k]) <= largest_feature) continue;
                std::ostringstream message;
                message << "phi: expected "
                        << (std::isfinite(given) ? "at most 1e100 times the scale" : "finite numbers") << ", got "
                        << given << where();
                throw FeatureFailure(message.str());
            }
        }
    }

    std::int64_t place() {
        if (!free_.empty()) {
            const std::int64_t point = free_.back();
            free_.pop_back();
            return point;
        }
        layer_.push_back(unused);
        hash_.push_back(0);
        states_.resize(states_.size() + state_size_);
        rows_.resize(rows_.size() + row_size_);
        return n_numbers() - 1;
    }

    std::shared_ptr<const Features> features_;
    std::size_t state_size_, row_size_;

    std::vector<std::int64_t> layer_;  // per point, or unused
    std::vector<std::uint64_t> hash_;  // per point
    std::vector<double> states_;       // per point
    std::vector<double> rows_;         // per (point, action)
    std::vector<std::int64_t> free_;
    std::unordered_multimap<std::uint64_t, std::int64_t> points_;  // by hash
    std::size_t survivors_ = 0;

    std::vector<double> key_, evaluated_;  // scratch
};

}  // namespace ocp
