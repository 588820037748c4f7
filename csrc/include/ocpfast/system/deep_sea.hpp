// Deep Sea, deterministic: a diver sinks one row a step and finds the treasure only by always swimming right.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ocpfast/system.h"

namespace ocp {

class DeepSea {
public:
    using Component = std::int64_t;
    using Action = std::int64_t;

    // right: the action that swims right in each of the size * size states; empty: action 1 everywhere.
    DeepSea(std::int64_t size, std::vector<std::uint8_t> right) : size_(size), right_(std::move(right)) {}

    void describe(ocp_system& contract) const noexcept {
        contract.flags = OCP_HOMOGENEOUS;
        contract.state_size = size_ * size_;
        contract.n_actions = 2;
        contract.horizon = size_;
        contract.reward_min = -move_cost();
        contract.reward_max = 1.0 - move_cost();
        if (size_ == 1) contract.reward_min = 0.0;  // the only right move finds the treasure
    }

    int reset(std::int64_t, ocp_bitgen*, std::int64_t* state) const noexcept {
        *state = 0;
        return OCP_OK;
    }

    int step(std::int64_t, std::int64_t* state, std::int64_t action, ocp_bitgen*, double* reward,
             int* ending) const noexcept {
        const std::int64_t row = *state / size_;
        const std::int64_t column = *state % size_;
        const std::int64_t right = right_.empty() ? 1 : right_[static_cast<std::size_t>(*state)];
        const bool on_the_floor = row == size_ - 1;
        const std::int64_t next_row = on_the_floor ? row : row + 1;  // after the last step: some valid state
        if (action == right) {
            *reward = (column == size_ - 1 ? 1.0 : 0.0) - move_cost();
            *state = next_row * size_ + std::min(column + 1, size_ - 1);
        } else {
            *reward = 0.0;
            *state = next_row * size_ + std::max<std::int64_t>(column - 1, 0);
        }
        *ending = on_the_floor ? OCP_TERMINATED : OCP_CONTINUES;
        return OCP_OK;
    }

    // Always right finds the treasure column - row + 1 times; where that is never, drifting left costs
    // nothing.
    int optimal_value(const std::int64_t* state, double* value) const noexcept {
        const std::int64_t row = *state / size_;
        const std::int64_t treasures = *state % size_ - row + 1;
        const double cost = move_cost() * static_cast<double>(size_ - row);
        *value = treasures > 0 ? static_cast<double>(treasures) - cost : 0.0;
        return OCP_OK;
    }

private:
    double move_cost() const noexcept { return 0.01 / static_cast<double>(size_); }

    std::int64_t size_;
    std::vector<std::uint8_t> right_;
};

}  // namespace ocp
