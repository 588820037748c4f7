// A grid over continuous states: bin edges per dimension, open-ended outer bins, labels in C order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "ocpfast/hypothesis/grid_labels.hpp"
#include "ocpfast/lanes.hpp"

namespace ocp {

// The bins of one dimension: n edges make n + 1 bins; a value on an edge belongs to the bin above it.
class Bins {
public:
    explicit Bins(const std::vector<double>& edges) : size_(static_cast<std::int64_t>(edges.size()) + 1) {
        bounds_.push_back(-std::numeric_limits<double>::infinity());
        bounds_.insert(bounds_.end(), edges.begin(), edges.end());
        bounds_.push_back(std::numeric_limits<double>::infinity());
        largest_ = static_cast<double>(size_ - 1);
        if (edges.size() < 2) return;
        const double width = (edges.back() - edges.front()) / static_cast<double>(edges.size() - 1);
        bool uniform = std::isfinite(width) && std::isfinite(1 / width) && std::isfinite(edges.front() / width);
        for (std::size_t i = 0; i < edges.size() && uniform; ++i) {
            uniform = std::abs(edges[i] - (edges.front() + static_cast<double>(i) * width)) < 1e-6 * width;
        }
        if (!uniform) return;
        inverse_width_ = 1 / width;
        offset_ = 1 - edges.front() / width;
        // the guess is then off by less than 1e-6 for the edges and 1e-7 for rounding
        guesses_well_ = largest_ < 1e8 && std::abs(offset_) < 1e8;
    }

    static constexpr std::int64_t none = -1;  // the bin of NaN

    std::int64_t size() const { return size_; }
    // Whether a guess that is not close to a whole number is right; see grid_labels.hpp.
    bool guesses_well() const { return guesses_well_; }
    GuessedBins guessed() const { return {inverse_width_, offset_, largest_ + 0.5, static_cast<double>(size_)}; }

    // A guess, good where the edges are uniform, and the edges themselves decide: the answer is the bisection's to
    // the last bit. This is between a state and the action in every period, so a right guess is all that is inlined.
    std::int64_t bin(double value) const {
        const double guess = value * inverse_width_ + offset_;
        const double positive = guess > 0.0 ? guess : 0.0;  // in this order a NaN becomes 0
        const auto bin = static_cast<std::int64_t>(positive < largest_ ? positive : largest_);
        if (bounds_[static_cast<std::size_t>(bin)] <= value && value < bounds_[static_cast<std::size_t>(bin) + 1]) {
            return bin;
        }
        return bisect(value);
    }

private:
    std::int64_t bisect(double value) const {
        if (std::isnan(value)) return none;
        const auto first = bounds_.begin() + 1;
        return std::upper_bound(first, bounds_.end() - 1, value) - first;
    }

    std::vector<double> bounds_;             // bin i is [bounds_[i], bounds_[i + 1]): the edges between -inf and inf
    std::int64_t size_;                      // number of bins
    double largest_;                         // the last bin
    double inverse_width_ = 0, offset_ = 0;  // where edges are not uniform every guess is bin 0
    bool guesses_well_ = false;
};

class Grid {
public:
    static constexpr std::int64_t no_label = -1;

    Grid(std::vector<Bins> dimensions, std::int64_t extra) : dimensions_(std::move(dimensions)), extra_(extra) {
        n_labels_ = extra_;
        std::int64_t cells = 1;
        for (const Bins& bins : dimensions_) cells *= bins.size();
        n_labels_ += cells;
        for (const Bins& bins : dimensions_) {
            guessed_.push_back(bins.guessed());
            guesses_well_ &= bins.guesses_well();
        }
        guesses_well_ &= n_labels_ < std::int64_t{1} << 51;
    }

    std::int64_t n_labels() const { return n_labels_; }
    std::int64_t extra() const { return extra_; }
    std::int64_t dimension() const { return static_cast<std::int64_t>(dimensions_.size()); }

    // Extra labels come first. A state with a NaN in it is the first of them; no_label where there is none.
    std::int64_t label(const double* state) const {
        std::int64_t cell = 0;
        for (std::size_t i = 0; i < dimensions_.size(); ++i) {
            const std::int64_t bin = dimensions_[i].bin(state[i]);
            if (bin == Bins::none) return extra_ > 0 ? 0 : no_label;
            cell = cell * dimensions_[i].size() + bin;
        }
        return extra_ + cell;
    }

    // The labels of n states, number i of state k in states[i * n + k]; `unsure` where label() has to be asked.
    static constexpr std::int64_t unsure = -1;
    void guess_labels(std::int64_t n, const double* states, std::int64_t* labels, Instructions instructions) const {
        if (!guesses_well_) {
            std::fill(labels, labels + n, unsure);
            return;
        }
        guess_grid_labels(guessed_, extra_, n, states, labels, instructions);
    }

private:
    std::vector<Bins> dimensions_;
    std::int64_t extra_;
    std::int64_t n_labels_;
    std::vector<GuessedBins> guessed_;  // per dimension
    bool guesses_well_ = true;
};

}  // namespace ocp
