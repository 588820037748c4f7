// A finite class, the description: n tables of Q, one after the other for each triple (t, x, a), so that a question
// about a triple reads neighbours.
//
// Tables are sums of rewards, rounded on the way: values that differ by no more than the tolerance, relative to the
// larger of 1 and themselves, are one value. Exact comparison would eliminate Q*.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "ocpfast/hypothesis/partition.hpp"

namespace ocp {

// The values of a triple that a constraint admits, as the tables have them.
template <class T>
struct Admitted {
    T lower, upper;
    bool contains(T value) const { return (value >= lower) & (value <= upper); }

    template <class Archive>
    void archive(Archive& a) {
        a(lower, upper);
    }
};

template <class T>
class FiniteTables {
public:
    // values[(triple, hypothesis)] where triples are the slots of the domain.
    FiniteTables(std::shared_ptr<const Partition> domain, std::shared_ptr<const T> values, std::int64_t n_hypotheses,
                 double tolerance)
        : domain_(std::move(domain)),
          values_(std::move(values)),
          n_hypotheses_(static_cast<std::size_t>(n_hypotheses)),
          tolerance_(tolerance) {}

    const Partition& domain() const { return *domain_; }
    std::size_t n_hypotheses() const { return n_hypotheses_; }
    // The value of a triple under each hypothesis.
    const T* column(std::int64_t index) const {
        return values_.get() + static_cast<std::size_t>(index) * n_hypotheses_;
    }

    // Whether values between the two are one value.
    bool agree(double smallest, double largest) const {
        return largest - smallest <= tolerance_ * std::max({1.0, std::abs(smallest), std::abs(largest)});
    }
    double slack(double value) const { return tolerance_ * std::max(1.0, std::abs(value)); }

    // [L, U] and a tolerance on either side, rounded inwards to what a table can hold: comparing with these is
    // comparing with the doubles.
    Admitted<T> admitted(double lower, double upper) const {
        return {smallest_from(lower - slack(lower)), -smallest_from(-(upper + slack(upper)))};
    }

private:
    static T smallest_from(double value) {
        if (value > static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::infinity();
        if (value < static_cast<double>(std::numeric_limits<T>::lowest())) return std::numeric_limits<T>::lowest();
        const T rounded = static_cast<T>(value);
        if (static_cast<double>(rounded) >= value) return rounded;
        return std::nextafter(rounded, std::numeric_limits<T>::infinity());
    }

    std::shared_ptr<const Partition> domain_;
    std::shared_ptr<const T> values_;
    std::size_t n_hypotheses_;  // n
    double tolerance_;
};

}  // namespace ocp
