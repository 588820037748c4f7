// Q* of a deterministic system with finitely many states: dynamic programming through the C struct, nothing else known.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "ocpfast/run.hpp"
#include "ocpfast/system.h"

namespace ocp {

struct Solved {
    enum class Kind { done, stopped, system_error, bad_reward, bad_state, truncated, bad_value, no_memory };
    Kind kind = Kind::done;
    std::int64_t period = 0, state = 0, action = 0;  // where it went wrong
    int error = OCP_OK;                              // what the system returned
    std::int64_t next = 0;                           // where a bad step led
    double reward = 0;
};

// Writes Q*_t(x,a) into q[(t S + x) A + a] and V*_t(x) into v[t S + x]. The system has index states and actions, and
// its steps draw nothing; `bitgen` is passed on to them. keep_going() is asked after each period. Never throws except
// for lack of memory.
template <class KeepGoing>
Solved solve(const ocp_system& system, double* q, double* v, KeepGoing&& keep_going, ocp_bitgen* bitgen = nullptr) {
    using Kind = Solved::Kind;
    const Instance instance(system);
    if (system.clone != nullptr && instance.get() == nullptr) return {Kind::no_memory};
    const std::int64_t n_states = system.state_size, n_actions = system.n_actions, last = system.horizon - 1;
    const std::int64_t n_pairs = n_states * n_actions;
    const bool homogeneous = (system.flags & OCP_HOMOGENEOUS) != 0;
    constexpr std::int64_t nowhere = -1;
    std::vector<std::int64_t> next(static_cast<std::size_t>(n_pairs));  // of one period

    for (std::int64_t period = last; period >= 0; --period) {
        double* const q_now = q + period * n_pairs;
        if (period == last || !homogeneous) {
            for (std::int64_t pair = 0; pair < n_pairs; ++pair) {
                std::int64_t state = pair / n_actions;
                const std::int64_t action = pair % n_actions;
                const auto failed = [&](Kind kind, int error = OCP_OK) {
                    return Solved{kind, period, pair / n_actions, action, error, state, q_now[pair]};
                };
                int ending = OCP_CONTINUES;
                const int error = system.step(instance.get(), period, &state, &action, bitgen, &q_now[pair], &ending);
                if (error != OCP_OK) return failed(Kind::system_error, error);
                if (!std::isfinite(q_now[pair])) return failed(Kind::bad_reward);
                if (ending == OCP_TRUNCATED) return failed(Kind::truncated);
                if (ending == OCP_TERMINATED) {
                    state = nowhere;
                } else if (state < 0 || state >= n_states) {
                    return failed(Kind::bad_state);
                }
                next[static_cast<std::size_t>(pair)] = state;
            }
        }
        // the rewards of all periods stand in the last one's Q where they are the same
        const double* reward = homogeneous ? q + last * n_pairs : q_now;
        double* const v_now = v + period * n_states;
        const double* const v_later = v_now + n_states;  // read only where there is a later period
        std::int64_t pair = 0;
        for (std::int64_t state = 0; state < n_states; ++state) {
            double best = -std::numeric_limits<double>::infinity();
            for (std::int64_t action = 0; action < n_actions; ++action, ++pair) {
                const std::int64_t to = period == last ? nowhere : next[static_cast<std::size_t>(pair)];
                q_now[pair] = reward[pair] + (to == nowhere ? 0.0 : v_later[to]);
                if (!std::isfinite(q_now[pair])) return {Kind::bad_value, period, state, action};
                best = std::max(best, q_now[pair]);
            }
            v_now[state] = best;
        }
        if (!keep_going()) return {Kind::stopped};
    }
    return {};
}

}  // namespace ocp
