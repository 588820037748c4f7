// Extreme values over a shrinking set, with the points that attain them.
//
// While constraints only join, an extreme whose point satisfies all of them is still the extreme, and any point that
// does proves that the set is not empty: on a polytope of 50 dimensions this saves most of the linear programs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/basis.hpp"

namespace ocp {

class Attained {
public:
    // tolerance: how far, relatively, a point may be outside of a constraint and count as inside.
    Attained(std::size_t dimension, double tolerance) : dimension_(dimension), tolerance_(tolerance) {}

    // ---- changes of the set ------------------------------------------------------------------------------------

    void joined(const double* feature, double lower, double upper) {
        features_.insert(features_.end(), feature, feature + dimension_);
        bounds_.push_back({lower, upper});
        if (has_witness() && !inside(witness_, bounds_.size() - 1)) witness_.clear();
    }
    // A constraint left: values can be anything again, but what was inside is inside.
    void left() {
        features_.clear();
        bounds_.clear();
        extremes_.clear();
    }

    // ---- extremes ----------------------------------------------------------------------------------------------

    // `question` is whatever tells extremes apart. The point must be inside the present set.
    void remember(std::int64_t question, double value, const std::vector<double>& point) {
        extremes_[question] = {value, point, bounds_.size()};
        if (!has_witness()) witness_ = point;
    }
    void forget(std::int64_t question) { extremes_.erase(question); }

    // Whether the extreme is known to be what it was; writes it.
    bool still(std::int64_t question, double& value) {
        const auto found = extremes_.find(question);
        if (found == extremes_.end()) return false;
        Extreme& extreme = found->second;
        for (; extreme.n_seen < bounds_.size(); ++extreme.n_seen) {
            if (inside(extreme.point, extreme.n_seen)) continue;
            extremes_.erase(found);
            return false;
        }
        value = extreme.value;
        return true;
    }

    // ---- a point of the set ------------------------------------------------------------------------------------

    bool has_witness() const { return !witness_.empty(); }
    double at_witness(const double* feature) const { return dot(feature, witness_.data(), dimension_); }

    // Moves the witness, whose value is outside of [lower, upper], towards the point of an extreme beyond the nearer
    // end: into the middle of what both leave. No extreme is remembered: it stays.
    void move_witness(std::int64_t question, const double* feature, double lower, double upper) {
        const auto found = extremes_.find(question);
        if (found == extremes_.end()) return;
        const std::vector<double>& point = found->second.point;
        const double here = at_witness(feature), there = dot(feature, point.data(), dimension_);
        const double nearer = here > upper ? upper : lower;
        const double farther = here > upper ? std::max(lower, there) : std::min(upper, there);
        const double share = std::min(1.0, ((nearer + farther) / 2 - here) / (there - here));
        if (!(share > 0)) return;
        for (std::size_t i = 0; i < dimension_; ++i) witness_[i] += share * (point[i] - witness_[i]);
    }

    template <class Archive>
    void archive(Archive& a) {
        a(features_, bounds_, extremes_, witness_);
        if constexpr (!Archive::loading) return;
        a.require(features_.size() == bounds_.size() * dimension_, "a size");
        a.require(witness_.empty() || witness_.size() == dimension_, "a size");
        for (const auto& [question, extreme] : extremes_) {
            a.require(extreme.point.size() == dimension_ && extreme.n_seen <= bounds_.size(), "a size");
        }
    }

private:
    struct Bounds {
        double lower, upper;
        template <class Archive>
        void archive(Archive& a) {
            a(lower, upper);
        }
    };
    struct Extreme {
        double value;
        std::vector<double> point;
        std::size_t n_seen;  // of the constraints that joined: the point is inside of so many
        template <class Archive>
        void archive(Archive& a) {
            a(value, point, n_seen);
        }
    };

    bool inside(const std::vector<double>& point, std::size_t constraint) const {
        const double value = dot(&features_[constraint * dimension_], point.data(), dimension_);
        const double slack = tolerance_ * std::max(1.0, std::abs(value));
        return value >= bounds_[constraint].lower - slack && value <= bounds_[constraint].upper + slack;
    }

    std::size_t dimension_;
    double tolerance_;
    // Of the constraints that joined since one left, which are at most those that the store holds.
    std::vector<double> features_;
    std::vector<Bounds> bounds_;
    std::unordered_map<std::int64_t, Extreme> extremes_;
    std::vector<double> witness_;  // empty: none is known
};

}  // namespace ocp
