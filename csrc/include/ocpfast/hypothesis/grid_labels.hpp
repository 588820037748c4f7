// The labels of many states of a uniform grid side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ocpfast/comparisons.hpp"
#include "ocpfast/lanes.hpp"

namespace ocp {

// The bins of a dimension with uniform edges: bin floor(value * inverse_width + offset), within 0 .. size - 1, unless
// this is close to a whole number, where rounding decides and the edges themselves have to be asked.
struct GuessedBins {
    double inverse_width, offset;
    double highest;  // the middle of the last bin
    double size;     // number of bins
};

}  // namespace ocp

#define OCP_KERNEL "ocpfast/hypothesis/grid_labels.inl"
#include "ocpfast/for_each_target.inl"

namespace ocp {

// Labels in C order after `extra` others; -1 where a guess is not sure, as for NaN.
inline void guess_grid_labels(const std::vector<GuessedBins>& dimensions, std::int64_t extra, std::int64_t n,
                              const double* states, std::int64_t* labels, Instructions instructions) {
    switch (instructions) {
#if OCP_X86
        case Instructions::avx512:
            return avx512::guess_labels<Lanes<8>::Real>(dimensions, extra, n, states, labels);
        case Instructions::avx2:
            return avx2::guess_labels<Lanes<4>::Real>(dimensions, extra, n, states, labels);
        case Instructions::baseline:
            return baseline::guess_labels<Lanes<2>::Real>(dimensions, extra, n, states, labels);
#endif
        default:
            return baseline::guess_labels<double>(dimensions, extra, n, states, labels);
    }
}

}  // namespace ocp
