// A grid over continuous states: bin edges per dimension, open-ended outer bins, labels in C order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace ocp {

// The bins of one dimension: n edges make n + 1 bins; a value on an edge belongs to the bin above it.
class Bins {
public:
    explicit Bins(const std::vector<double>& edges) : size_(static_cast<std::int64_t>(edges.size()) + 1) {
        bounds_.push_back(-std::numeric_limits<double>::infinity());
        bounds_.insert(bounds_.end(), edges.begin(), edges.end());
        bounds_.push_back(std::numeric_limits<double>::quiet_NaN());
        if (edges.size() < 2) return;
        const double width = (edges.back() - edges.front()) / static_cast<double>(edges.size() - 1);
        bool uniform = std::isfinite(width) && std::isfinite(1 / width);
        for (std::size_t i = 0; i < edges.size() && uniform; ++i) {
            uniform = std::abs(edges[i] - (edges.front() + static_cast<double>(i) * width)) < 1e-6 * width;
        }
        if (uniform) inverse_width_ = 1 / width;
    }

    std::int64_t size() const { return size_; }

    std::int64_t bin(double value) const {  // value is not NaN
        const double* bounds = bounds_.data();
        if (inverse_width_ == 0) return std::upper_bound(bounds + 1, bounds + size_, value) - (bounds + 1);
        // Uniform edges: guess by a multiplication, then let the edges themselves decide, so that the answer is
        // the bisection's to the last bit.
        const double guess = (value - bounds[1]) * inverse_width_ + 1;
        auto bin = static_cast<std::int64_t>(std::min(std::max(guess, 0.0), static_cast<double>(size_ - 1)));
        if (value < bounds[bin]) return bin - 1;
        if (value >= bounds[bin + 1]) return bin + 1;
        return bin;
    }

private:
    // Bin i is [bounds_[i], bounds_[i + 1]): the edges between -inf, which nothing is below, and NaN, which nothing
    // is at or above.
    std::vector<double> bounds_;
    std::int64_t size_;         // number of bins
    double inverse_width_ = 0;  // 0: not uniform
};

class Grid {
public:
    static constexpr std::int64_t no_label = -1;

    Grid(std::vector<Bins> dimensions, std::int64_t extra) : dimensions_(std::move(dimensions)), extra_(extra) {
        n_labels_ = extra_;
        std::int64_t cells = 1;
        for (const Bins& bins : dimensions_) cells *= bins.size();
        n_labels_ += cells;
    }

    std::int64_t n_labels() const { return n_labels_; }
    std::int64_t extra() const { return extra_; }
    std::int64_t dimension() const { return static_cast<std::int64_t>(dimensions_.size()); }

    // Extra labels come first. A state with a NaN in it is the first of them; no_label where there is none.
    std::int64_t label(const double* state) const {
        std::int64_t cell = 0;
        for (std::size_t i = 0; i < dimensions_.size(); ++i) {
            if (std::isnan(state[i])) return extra_ > 0 ? 0 : no_label;
            cell = cell * dimensions_[i].size() + dimensions_[i].bin(state[i]);
        }
        return extra_ + cell;
    }

private:
    std::vector<Bins> dimensions_;
    std::int64_t extra_;
    std::int64_t n_labels_;
};

}  // namespace ocp
