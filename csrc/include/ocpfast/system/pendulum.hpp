// The paper's inverted pendulum on a cart, controlled by a force that is constant for 0.1 s at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ocpfast/sincos.hpp"
#include "ocpfast/system.h"

namespace ocp {

class InvertedPendulum {
public:
    using Component = double;
    using Action = std::int64_t;

    static constexpr double control_step = 0.1;                   // seconds
    static constexpr double strongest_force = 50.0;               // Newtons
    static constexpr double fallen_angle = 0x1.921fb54442d18p+0;  // pi/2
    static constexpr double fastest = 1e4;  // radians a second; far beyond it 0.1 s say nothing about the motion

    InvertedPendulum(double disturbance, std::int64_t horizon, bool runge_kutta, std::int64_t substeps) noexcept
        : disturbance_(disturbance),
          horizon_(horizon),
          runge_kutta_(runge_kutta),
          substeps_(substeps),
          step_size_(control_step / static_cast<double>(substeps)) {}

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
        // NaN fails the comparisons too
        if (!(std::abs(state[0]) < fallen_angle && std::abs(state[1]) <= fastest)) return OCP_BAD_STATE;
        double force = strongest_force * static_cast<double>(action - 1);
        if (disturbance_ > 0.0) force += noise(bitgen);
        advance(state, force);
        if (!(std::abs(state[0]) + std::abs(state[1]) < std::numeric_limits<double>::infinity())) return OCP_BAD_STATE;
        *reward = control_step;
        *ending = std::abs(state[0]) < fallen_angle ? OCP_CONTINUES : OCP_TERMINATED;
        return OCP_OK;
    }

    // Moves (angle, angular velocity) on by one control step under a constant force, fallen or not.
    void advance(double* state, double force) const noexcept {
        double angle = state[0];
        double velocity = state[1];
        const double push = alpha * force;
        if (runge_kutta_) {
            // The first by itself, so that a control step without substeps enters no loop: in an episode that is 10 ns
            // faster (GCC 12, which sets up the constants of a loop on the stack), though no shorter in instructions.
            runge_kutta_step(angle, velocity, push);
            for (std::int64_t i = 1; i < substeps_; ++i) runge_kutta_step(angle, velocity, push);
        } else {
            for (std::int64_t i = 0; i < substeps_; ++i) euler_step(angle, velocity, push);
        }
        state[0] = angle;
        state[1] = velocity;
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
    static constexpr double gravity = 9.8;        // metres a second squared
    static constexpr double pendulum_mass = 2.0;  // kilograms
    static constexpr double cart_mass = 8.0;      // kilograms
    static constexpr double length = 0.5;         // metres
    static constexpr double alpha = 1.0 / (pendulum_mass + cart_mass);
    static constexpr double alpha_ml = alpha * pendulum_mass * length;

    double noise(ocp_bitgen* bitgen) const noexcept {
        return disturbance_ * (2.0 * bitgen->next_double(bitgen->state) - 1.0);
    }

    // The paper's equation with sin(2x)/2 = sin(x) cos(x) and push = alpha * force.
    static double acceleration(double angle, double velocity, double push) noexcept {
        const SineCosine of = sincos(angle);
        const double pull = alpha_ml * (velocity * velocity) * of.sine + push;
        return (gravity * of.sine - of.cosine * pull) / (4.0 * length / 3.0 - alpha_ml * (of.cosine * of.cosine));
    }

    void runge_kutta_step(double& angle, double& velocity, double push) const noexcept {
        const double h = step_size_;
        const double half = 0.5 * h;
        const double a1 = acceleration(angle, velocity, push);
        const double v2 = velocity + half * a1;
        const double a2 = acceleration(angle + half * velocity, v2, push);
        const double v3 = velocity + half * a2;
        const double a3 = acceleration(angle + half * v2, v3, push);
        const double v4 = velocity + h * a3;
        const double a4 = acceleration(angle + h * v3, v4, push);
        const double sixth = h / 6.0;
        angle += sixth * ((velocity + 2.0 * (v2 + v3)) + v4);
        velocity += sixth * ((a1 + 2.0 * (a2 + a3)) + a4);
    }

    void euler_step(double& angle, double& velocity, double push) const noexcept {
        const double a = acceleration(angle, velocity, push);
        angle += step_size_ * velocity;
        velocity += step_size_ * a;
    }

    double disturbance_;
    std::int64_t horizon_;
    bool runge_kutta_;
    std::int64_t substeps_;
    double step_size_;
};

}  // namespace ocp
