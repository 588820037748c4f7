// The paper's inverted pendulum on a cart, controlled by a force that is constant for 0.1 s at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ocpfast/lanes.hpp"
#include "ocpfast/system.h"
#include "ocpfast/system/pendulum_motion.hpp"

namespace ocp {

class InvertedPendulum {
public:
    using Component = double;
    using Action = std::int64_t;

    static constexpr double control_step = PendulumMotion::control_step;
    static constexpr double strongest_force = PendulumForces::strongest;
    static constexpr double fallen_angle = PendulumMotion::fallen_angle;

    InvertedPendulum(double disturbance, std::int64_t horizon, bool runge_kutta, std::int64_t substeps) noexcept
        : disturbance_(disturbance), horizon_(horizon), motion_{runge_kutta, substeps} {}

    void describe(ocp_system& contract) const noexcept {
        contract.flags = OCP_HOMOGENEOUS;
        if (disturbance_ > 0.0) contract.flags |= OCP_STOCHASTIC;
        contract.state_size = 2;
        contract.n_actions = 3;
        contract.horizon = horizon_;
        contract.reward_min = control_step;
        contract.reward_max = control_step;
    }

    int reset(std::int64_t, ocp_bitgen* bitgen, double* state) const noexcept {
        state[0] = 0.0;
        state[1] = disturbance_ > 0.0 ? noise(bitgen) : 0.0;
        return OCP_OK;
    }

    int step(std::int64_t, double* state, std::int64_t action, ocp_bitgen* bitgen, double* reward,
             int* ending) const noexcept {
        if (!is_allowed(state[0], state[1])) return OCP_BAD_STATE;
        double force = force_of(action);
        if (disturbance_ > 0.0) force += noise(bitgen);
        advance(state, force);
        if (!is_finite(state[0], state[1])) return OCP_BAD_STATE;
        *reward = control_step;
        *ending = ending_at(state[0]);
        return OCP_OK;
    }

    // One step of many pendulums, in the layout of ocp_system::step_many. The same bits as one step after the other.
    int step_many(std::int64_t lanes, double* states, const std::int64_t* actions, ocp_bitgen* const* bitgens,
                  double* rewards, int* endings) const noexcept {
        // In passes over a tile: draws that were just written number by number cannot be read as a vector before they
        // have left the store buffer, and everything would wait for that.
        constexpr std::int64_t tile = 64;
        double draws[tile];
        std::int64_t fates[tile];
        std::int64_t all_fates = 0;
        for (std::int64_t first = 0; first < lanes; first += tile) {
            const std::int64_t n = std::min(tile, lanes - first);
            if (disturbance_ > 0.0) {
                for (std::int64_t k = 0; k < n; ++k) {
                    ocp_bitgen* const bitgen = bitgens[first + k];
                    draws[k] = bitgen->next_double(bitgen->state);
                }
            }
            const PendulumForces forces{actions + first, disturbance_ > 0.0 ? draws : nullptr, disturbance_};
            step_pendulums(motion_, instructions_, n, states + first, states + lanes + first, forces, fates);
            for (std::int64_t k = 0; k < n; ++k) {
                static_assert(OCP_CONTINUES == 0 && OCP_TERMINATED == 1 && OCP_BAD_STATE == 1, "fates are endings");
                endings[first + k] = static_cast<int>(fates[k]);
                all_fates |= fates[k];
            }
        }
        std::fill(rewards, rewards + lanes, control_step);
        return all_fates < 0 ? OCP_BAD_STATE : OCP_OK;
    }

    // What step_many is done with.
    Instructions instructions() const noexcept { return instructions_; }

    // Moves (angle, angular velocity) on by one control step under a constant force, fallen or not.
    void advance(double* state, double force) const noexcept {
        baseline::advance<double>(motion_, state[0], state[1], force);
    }

    // The paper's x2max: the largest |angular velocity| at the control steps of a fall from rest under the
    // strongest force, as long as the pendulum is up.
    double max_velocity() const noexcept {
        double state[2] = {0.0, 0.0};
        double largest = 0.0;
        while (std::abs(state[0]) < fallen_angle) {
            largest = std::max(largest, std::abs(state[1]));
            advance(state, strongest_force);
        }
        return largest;
    }

private:
    double noise(ocp_bitgen* bitgen) const noexcept {
        return disturbance_ * (2.0 * bitgen->next_double(bitgen->state) - 1.0);
    }
    static double force_of(std::int64_t action) noexcept { return strongest_force * static_cast<double>(action - 1); }

    // NaN fails the comparisons too.
    static bool is_allowed(double angle, double velocity) noexcept {
        return (int{std::abs(angle) < fallen_angle} & int{std::abs(velocity) < PendulumMotion::too_fast}) != 0;
    }
    static bool is_finite(double angle, double velocity) noexcept {
        return std::abs(angle) + std::abs(velocity) < std::numeric_limits<double>::infinity();
    }
    static int ending_at(double angle) noexcept {
        return std::abs(angle) < fallen_angle ? OCP_CONTINUES : OCP_TERMINATED;
    }

    double disturbance_;
    std::int64_t horizon_;
    PendulumMotion motion_;
    Instructions instructions_ = best_instructions();
};

}  // namespace ocp
