// The paper's example of a chain that must be walked to its end before any reward is seen.
#pragma once

#include <cstdint>

#include "ocpfast/system.h"

namespace ocp {

class Chain {
public:
    using Component = std::int64_t;
    using Action = std::int64_t;

    explicit Chain(std::int64_t n_states) noexcept : last_(n_states - 1) {}

    void describe(ocp_system& contract) const noexcept {
        contract.flags = OCP_HOMOGENEOUS;
        contract.state_size = last_ + 1;
        contract.n_actions = 2;
        contract.horizon = last_ + 1;
        contract.reward_min = 0.0;
        contract.reward_max = 1.0;
    }

    int reset(std::int64_t, ocp_bitgen*, std::int64_t* state) const noexcept {
        *state = 0;
        return OCP_OK;
    }

    int step(std::int64_t, std::int64_t* state, std::int64_t action, ocp_bitgen*, double* reward,
             int* ending) const noexcept {
        const bool at_end = *state == last_;
        *reward = at_end ? 1.0 : 0.0;
        *ending = OCP_CONTINUES;
        if (!at_end) *state += action == 1 ? 1 : (*state > 0 ? -1 : 0);
        return OCP_OK;
    }

    // The end is reached after last - state of the last + 1 transitions; each later one pays 1.
    int optimal_value(const std::int64_t* state, double* value) const noexcept {
        *value = static_cast<double>(*state + 1);
        return OCP_OK;
    }

private:
    std::int64_t last_;
};

}  // namespace ocp
