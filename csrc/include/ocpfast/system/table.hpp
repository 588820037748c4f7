// Any finite deterministic system, given as arrays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "ocpfast/system.h"

namespace ocp {

// What a table is made of. The arrays stay the caller's, who keeps them alive: they may be big.
struct TableArrays {
    std::int64_t n_states;
    std::int64_t n_actions;
    std::int64_t horizon;
    bool homogeneous;                // arrays over (S, A), else over (H, S, A)
    const std::int64_t* next_state;  // -1: the transition ends the episode
    const double* reward;
    const std::int64_t* initial;  // episode j starts in entry j modulo n_initial; or NULL:
    std::int64_t n_initial;
    const double* cumulative;  // running sums of the probabilities of the n_states initial states,
                               // exactly 1 from the last possible one on
};

class Table {
public:
    using Component = std::int64_t;
    using Action = std::int64_t;

    explicit Table(const TableArrays& arrays) noexcept
        : arrays_(arrays), per_period_(arrays.homogeneous ? 0 : arrays.n_states * arrays.n_actions) {}

    void describe(ocp_system& contract) const noexcept {
        if (arrays_.homogeneous) contract.flags |= OCP_HOMOGENEOUS;
        if (!arrays_.initial) contract.flags |= OCP_STOCHASTIC | OCP_RANDOM_START;
        contract.state_size = arrays_.n_states;
        contract.n_actions = arrays_.n_actions;
        contract.horizon = arrays_.horizon;
        const std::int64_t periods = arrays_.homogeneous ? 1 : arrays_.horizon;
        const auto range =
            std::minmax_element(arrays_.reward, arrays_.reward + periods * arrays_.n_states * arrays_.n_actions);
        contract.reward_min = *range.first;
        contract.reward_max = *range.second;
    }

    int reset(std::int64_t episode, ocp_bitgen* bitgen, std::int64_t* state) const noexcept {
        if (arrays_.initial) {
            *state = arrays_.initial[episode % arrays_.n_initial];
        } else {
            const double* end = arrays_.cumulative + arrays_.n_states;
            *state = std::upper_bound(arrays_.cumulative, end, bitgen->next_double(bitgen->state)) - arrays_.cumulative;
        }
        return OCP_OK;
    }

    int step(std::int64_t period, std::int64_t* state, std::int64_t action, ocp_bitgen*, double* reward,
             int* ending) const noexcept {
        const std::int64_t entry = period * per_period_ + *state * arrays_.n_actions + action;
        const std::int64_t next = arrays_.next_state[entry];
        *reward = arrays_.reward[entry];
        *ending = next < 0 ? OCP_TERMINATED : OCP_CONTINUES;
        if (next >= 0) *state = next;  // an ended episode stays where it was: the state must remain valid
        return OCP_OK;
    }

    // NaN, for unknown, where the dynamic programming would take more than some seconds.
    int optimal_value(const std::int64_t* state, double* value) const {
        constexpr double most = 2e9;  // entries of the table
        if (static_cast<double>(arrays_.horizon) * static_cast<double>(arrays_.n_states * arrays_.n_actions) > most) {
            *value = std::numeric_limits<double>::quiet_NaN();
            return OCP_OK;
        }
        std::call_once(solved_, [this] { solve(); });
        *value = values_[static_cast<std::size_t>(*state)];
        return OCP_OK;
    }

private:
    // Backward dynamic programming that keeps two periods at a time: V*_{t+1} and V*_t.
    void solve() const {
        std::vector<double> later(static_cast<std::size_t>(arrays_.n_states), 0.0);
        std::vector<double> now(later.size());
        for (std::int64_t period = arrays_.horizon - 1; period >= 0; --period) {
            const std::int64_t* next = arrays_.next_state + period * per_period_;
            const double* reward = arrays_.reward + period * per_period_;
            for (double& value : now) {
                value = -std::numeric_limits<double>::infinity();
                for (std::int64_t action = 0; action < arrays_.n_actions; ++action, ++next, ++reward) {
                    const double rest = *next < 0 ? 0.0 : later[static_cast<std::size_t>(*next)];
                    value = std::max(value, *reward + rest);
                }
            }
            std::swap(now, later);
        }
        values_ = std::move(later);
    }

    TableArrays arrays_;
    std::int64_t per_period_;
    mutable std::once_flag solved_;
    mutable std::vector<double> values_;  // V*_0, once asked for
};

}  // namespace ocp
