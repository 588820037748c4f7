// Many simulations side by side in periods that say nothing new, which is nearly all of them once learning is over:
// their agents need not know of these before something happens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ocpfast/comparisons.hpp"
#include "ocpfast/compensated_sum.hpp"
#include "ocpfast/lanes.hpp"
#include "ocpfast/limits.hpp"

namespace ocp {

// Per lane, where its agent is, and where a step has led.
struct GlidingLanes {
    double discount;           // gamma
    std::int64_t last_period;  // the clock ends an episode after it

    std::int64_t* points;  // of the state
    std::int64_t* actions;
    double* uppers;  // of both
    std::int64_t* periods;
    double *sums, *lost;  // the episode's rewards: CompensatedSum

    const double* rewards;
    const std::int64_t* next_points;
    const std::int64_t* next_actions;  // the best one there
    const double* next_uppers;         // its upper value; NaN where the agent has to be asked
};

}  // namespace ocp

#define OCP_KERNEL "ocpfast/glide.inl"
#include "ocpfast/for_each_target.inl"

namespace ocp {

// Takes each lane on by a period unless its step says something new, pays more than a reward may be or was the last.
// The number of these others, and which they are in rising order.
inline std::int64_t glide(const GlidingLanes& lanes, std::int64_t n, std::int64_t* others,
                          Instructions instructions) noexcept {
    switch (instructions) {
#if OCP_X86
        case Instructions::avx512:
            return avx512::glide<Lanes<8>::Real>(lanes, n, others);
        case Instructions::avx2:
            return avx2::glide<Lanes<4>::Real>(lanes, n, others);
        case Instructions::baseline:
            return baseline::glide<Lanes<2>::Real>(lanes, n, others);
#endif
        default:
            return baseline::glide<double>(lanes, n, others);
    }
}

}  // namespace ocp
