// The paper's inverted pendulum as a system of one's own, in C++, with a step_many: many simulations side by side.
//
//     c++ -std=c++17 -O3 -ffp-contract=off -shared -fPIC -I$(python -c "import ocpfast; print(ocpfast.get_include())")
//         side_by_side.cpp -o libside_by_side.so
//
// step_many is a loop over simulations that the compiler turns into vector instructions: it has no branches, and a sine
// and cosine that can be computed side by side. by_lanes.py makes a system of it.
#include <cmath>
#include <cstdint>

#include <ocpfast/system.h>
#include <ocpfast/sincos.hpp>

#if OCP_X86 && defined(__gnu_linux__)
#define FOR_EVERY_PROCESSOR __attribute__((target_clones("avx2", "default")))  // chosen when the library is loaded
#else
#define FOR_EVERY_PROCESSOR
#endif

namespace {

constexpr double h = 0.1, fallen = 0x1.921fb54442d18p+0;  // seconds; pi/2

// The paper's equation.
OCP_ALWAYS_INLINE double acceleration(double angle, double velocity, double force) {
    constexpr double g = 9.8, m = 2.0, l = 0.5, alpha = 1.0 / (2.0 + 8.0);
    double s, c;
    ocp::baseline::sincos(angle, s, c);
    return (g * s - alpha * m * l * velocity * velocity * s * c - alpha * c * force) /
           (4.0 / 3.0 * l - alpha * m * l * c * c);
}

// One step of the Runge-Kutta method.
OCP_ALWAYS_INLINE void move(double& angle, double& velocity, double force) {
    const double v1 = velocity, a1 = acceleration(angle, v1, force);
    const double v2 = v1 + h / 2 * a1, a2 = acceleration(angle + h / 2 * v1, v2, force);
    const double v3 = v1 + h / 2 * a2, a3 = acceleration(angle + h / 2 * v2, v3, force);
    const double v4 = v1 + h * a3, a4 = acceleration(angle + h * v3, v4, force);
    angle += h / 6 * (v1 + 2 * (v2 + v3) + v4);
    velocity += h / 6 * (a1 + 2 * (a2 + a3) + a4);
}

FOR_EVERY_PROCESSOR void move_many(std::int64_t lanes, double* __restrict angles, double* __restrict velocities,
                                   const double* __restrict forces) {
    for (std::int64_t k = 0; k < lanes; ++k) move(angles[k], velocities[k], forces[k]);
}

double noise(double disturbance, ocp_bitgen* bitgen) {
    return disturbance * (2.0 * bitgen->next_double(bitgen->state) - 1.0);
}

double force_of(double disturbance, std::int64_t action, ocp_bitgen* bitgen) {
    const double force = 50.0 * static_cast<double>(action - 1);
    return disturbance > 0.0 ? force + noise(disturbance, bitgen) : force;
}

// 0 or an error of a pendulum that was moved.
int look(double angle, double velocity, double* reward, int* ending) {
    *reward = h;
    *ending = std::abs(angle) < fallen ? OCP_CONTINUES : OCP_TERMINATED;
    return std::isfinite(angle) && std::isfinite(velocity) ? OCP_OK : OCP_OVERFLOW;
}

}  // namespace

extern "C" {

int reset(void* instance, std::int64_t, ocp_bitgen* bitgen, void* state) {
    const double disturbance = *static_cast<const double*>(instance);
    auto* x = static_cast<double*>(state);
    x[0] = 0.0;
    x[1] = disturbance > 0.0 ? noise(disturbance, bitgen) : 0.0;
    return OCP_OK;
}

int step(void* instance, std::int64_t, void* state, const void* action, ocp_bitgen* bitgen, double* reward,
         int* ending) {
    const double disturbance = *static_cast<const double*>(instance);
    auto* x = static_cast<double*>(state);
    move(x[0], x[1], force_of(disturbance, *static_cast<const std::int64_t*>(action), bitgen));
    return look(x[0], x[1], reward, ending);
}

// Component i of simulation k is states[i * lanes + k].
int step_many(void* const* instances, std::int64_t lanes, const std::int64_t*, void* states, const void* actions,
              ocp_bitgen* const* bitgens, double* rewards, int* endings) {
    const double disturbance = *static_cast<const double*>(instances[0]);  // the same for all
    auto *angles = static_cast<double*>(states), *velocities = angles + lanes;
    double forces[64];
    int error = OCP_OK;
    for (std::int64_t first = 0; first < lanes; first += 64) {
        const std::int64_t n = lanes - first < 64 ? lanes - first : 64;
        for (std::int64_t k = 0; k < n; ++k) {
            forces[k] = force_of(disturbance, static_cast<const std::int64_t*>(actions)[first + k], bitgens[first + k]);
        }
        move_many(n, angles + first, velocities + first, forces);
        for (std::int64_t k = first; k < first + n; ++k) {
            const int fault = look(angles[k], velocities[k], &rewards[k], &endings[k]);
            if (fault != OCP_OK) endings[k] = -(error = fault);
        }
    }
    return error;
}
}
