// How the inverted pendulum moves, one at a time or many side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "ocpfast/comparisons.hpp"
#include "ocpfast/lanes.hpp"
#include "ocpfast/sincos.hpp"

namespace ocp {

// The paper's constants, and how its equation is integrated over a control step.
struct PendulumMotion {
    static constexpr double gravity = 9.8;        // metres a second squared
    static constexpr double pendulum_mass = 2.0;  // kilograms
    static constexpr double cart_mass = 8.0;      // kilograms
    static constexpr double length = 0.5;         // metres
    static constexpr double alpha = 1.0 / (pendulum_mass + cart_mass);
    static constexpr double alpha_ml = alpha * pendulum_mass * length;
    static constexpr double control_step = 0.1;                   // seconds
    static constexpr double fallen_angle = 0x1.921fb54442d18p+0;  // pi/2
    // Radians a second: the double above 1e4. Far beyond it 0.1 s say nothing about the motion.
    static constexpr double too_fast = 0x1.3880000000001p+13;

    bool runge_kutta;
    std::int64_t substeps;
    double step_size = control_step / static_cast<double>(substeps);
};

// The forces on n pendulums: strongest * (action - 1), and a disturbance where draws (uniform on [0, 1)) are given.
struct PendulumForces {
    static constexpr double strongest = 50.0;  // Newtons

    const std::int64_t* actions;
    const double* draws;  // NULL: undisturbed
    double disturbance;
};

}  // namespace ocp

#define OCP_KERNEL "ocpfast/system/pendulum_motion.inl"
#include "ocpfast/for_each_target.inl"

namespace ocp {

// Moves n pendulums on by one control step, each under a constant force, with the same bits whatever the instructions.
// Their fates are 0 (up), 1 (fallen) or -1 (it was in no state to be moved on from, or got into none that a double can
// hold).
inline void step_pendulums(const PendulumMotion& motion, Instructions instructions, std::int64_t n, double* angles,
                           double* velocities, const PendulumForces& forces, std::int64_t* fates) noexcept {
    switch (instructions) {
#if OCP_X86
        case Instructions::avx512:
            return avx512::step_many<Lanes<8>::Real>(motion, n, angles, velocities, forces, fates);
        case Instructions::avx2:
            return avx2::step_many<Lanes<4>::Real>(motion, n, angles, velocities, forces, fates);
        case Instructions::baseline:
            return baseline::step_many<Lanes<2>::Real>(motion, n, angles, velocities, forces, fates);
#endif
        default:
            return baseline::step_many<double>(motion, n, angles, velocities, forces, fates);
    }
}

}  // namespace ocp
