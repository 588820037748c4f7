// A product of intervals under ConstraintStore: the plainest hypothesis class, one parameter a coordinate.
//
// State aggregation is this class; it learns through hypothesis/cells.hpp, which has the same answers in closed
// form. The box is for those who hold the constraints themselves, and for tests of the store.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"

namespace ocp {

class Box {
public:
    Box(const std::vector<double>& lower, const std::vector<double>& upper) {
        coordinates_.resize(lower.size());
        for (std::size_t i = 0; i < lower.size(); ++i) {
            coordinates_[i].prior_lower = lower[i];
            coordinates_[i].prior_upper = upper[i];
        }
    }

    std::size_t size() const { return coordinates_.size(); }

    double lower(std::int64_t index) const {
        const Coordinate& coordinate = at(index);
        return coordinate.lowers.empty() ? coordinate.prior_lower
                                         : std::max(coordinate.prior_lower, *coordinate.lowers.rbegin());
    }
    double upper(std::int64_t index) const {
        const Coordinate& coordinate = at(index);
        return coordinate.uppers.empty() ? coordinate.prior_upper
                                         : std::min(coordinate.prior_upper, *coordinate.uppers.begin());
    }

    bool possible(const Constraint& c) const {
        return std::max(c.lower, at(c.index).prior_lower) <= std::min(c.upper, at(c.index).prior_upper);
    }
    bool compatible(const Constraint& c) const {
        return std::max(c.lower, lower(c.index)) <= std::min(c.upper, upper(c.index));
    }
    bool reduces_dimension(const Constraint& c) const { return c.lower == c.upper && lower(c.index) < upper(c.index); }
    bool determines(const Constraint& c) const { return c.upper < infinity && at(c.index).uppers.empty(); }

    void add(const Constraint& c) {
        at(c.index).lowers.insert(c.lower);
        at(c.index).uppers.insert(c.upper);
    }
    void remove(const Constraint& c) {
        Coordinate& coordinate = at(c.index);
        coordinate.lowers.erase(coordinate.lowers.find(c.lower));
        coordinate.uppers.erase(coordinate.uppers.find(c.upper));
    }

private:
    struct Coordinate {
        double prior_lower, prior_upper;
        std::multiset<double> lowers, uppers;
    };
    Coordinate& at(std::int64_t index) { return coordinates_[static_cast<std::size_t>(index)]; }
    const Coordinate& at(std::int64_t index) const { return coordinates_[static_cast<std::size_t>(index)]; }

    std::vector<Coordinate> coordinates_;
};

}  // namespace ocp
