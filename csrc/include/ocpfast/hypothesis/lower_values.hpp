// The lower ends L that a cell holds, with the number of holders of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include "ocpfast/constraint.hpp"

namespace ocp {

class LowerValues {
public:
    void hold(double lower) { ++holders_[lower]; }
    void hold_once(double lower) { holders_.emplace(lower, 1); }

    bool holds(double lower) const { return holders_.count(lower) != 0; }

    // No-op for a value that was forgotten already.
    void release(double lower) {
        const auto found = holders_.find(lower);
        if (found != holders_.end() && --found->second == 0) holders_.erase(found);
    }

    void forget_above(double upper) { holders_.erase(holders_.upper_bound(upper), holders_.end()); }

    // The largest L not above `upper`, or -inf.
    double largest_up_to(double upper) const {
        const auto above = holders_.upper_bound(upper);
        return above == holders_.begin() ? -infinity : std::prev(above)->first;
    }

    std::size_t size() const { return holders_.size(); }
    bool empty() const { return holders_.empty(); }

    template <class Archive>
    void archive(Archive& a) {
        a(holders_);
        for (auto& [lower, n] : holders_) a.require(n > 0 && n < INT64_MAX / 2, "a number");
    }

private:
    std::map<double, std::int64_t> holders_;
};

}  // namespace ocp
