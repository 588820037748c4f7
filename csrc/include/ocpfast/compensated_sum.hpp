// Sums whose rounding does not grow with the number of terms.
#pragma once

#include "ocpfast/lanes.hpp"

#define OCP_KERNEL "ocpfast/compensated_sum.inl"
#include "ocpfast/for_each_target.inl"

namespace ocp {

// 36,000 additions of 0.1 drift by 1e-9; with the compensation an hour is an hour.
struct CompensatedSum {
    double sum = 0, lost = 0;

    void add(double term) { baseline::add_compensated<double>(sum, lost, term); }
    double value() const { return sum + lost; }

    template <class Archive>
    void archive(Archive& a) {
        a(sum, lost);
    }
};

}  // namespace ocp
