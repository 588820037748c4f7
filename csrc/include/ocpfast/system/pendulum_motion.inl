// The pendulum's equation and its integrators. Included by pendulum_motion.hpp, once for each instruction set.
namespace ocp {
namespace OCP_INSTRUCTIONS {

// The paper's equation with sin(2x)/2 = sin(x) cos(x) and push = alpha * force.
template <class Real>
OCP_TARGET OCP_ALWAYS_INLINE void accelerate(Real& acceleration, const Real& angle, const Real& velocity,
                                             const Real& push) noexcept {
    using M = PendulumMotion;
    Real sine, cosine;
    sincos<Real>(angle, sine, cosine);
    const Real pull = M::alpha_ml * (velocity * velocity) * sine + push;
    acceleration = (M::gravity * sine - cosine * pull) / (4.0 * M::length / 3.0 - M::alpha_ml * (cosine * cosine));
}

template <class Real>
OCP_TARGET OCP_ALWAYS_INLINE void runge_kutta_step(Real& angle, Real& velocity, const Real& push, double h) noexcept {
    const double half = 0.5 * h;
    Real a1, a2, a3, a4;
    accelerate<Real>(a1, angle, velocity, push);
    const Real v2 = velocity + half * a1;
    accelerate<Real>(a2, angle + half * velocity, v2, push);
    const Real v3 = velocity + half * a2;
    accelerate<Real>(a3, angle + half * v2, v3, push);
    const Real v4 = velocity + h * a3;
    accelerate<Real>(a4, angle + h * v3, v4, push);
    const double sixth = h / 6.0;
    angle += sixth * ((velocity + 2.0 * (v2 + v3)) + v4);
    velocity += sixth * ((a1 + 2.0 * (a2 + a3)) + a4);
}

template <class Real>
OCP_TARGET OCP_ALWAYS_INLINE void euler_step(Real& angle, Real& velocity, const Real& push, double h) noexcept {
    Real a;
    accelerate<Real>(a, angle, velocity, push);
    angle += h * velocity;
    velocity += h * a;
}

// One control step under a constant force. The usual one is a Runge-Kutta step without substeps.
template <class Real, bool usual = false>
OCP_TARGET OCP_ALWAYS_INLINE void advance(const PendulumMotion& motion, Real& angle, Real& velocity,
                                          const Real& force) noexcept {
    const Real push = PendulumMotion::alpha * force;
    if (usual || motion.runge_kutta) {
        // The first by itself, so that a control step without substeps enters no loop: in an episode that is 10 ns
        // faster (GCC 12, which sets up the constants of a loop on the stack), though no shorter in instructions.
        runge_kutta_step<Real>(angle, velocity, push, motion.step_size);
        for (std::int64_t i = 1; !usual && i < motion.substeps; ++i) {
            runge_kutta_step<Real>(angle, velocity, push, motion.step_size);
        }
    } else {
        for (std::int64_t i = 0; i < motion.substeps; ++i) euler_step<Real>(angle, velocity, push, motion.step_size);
    }
}

// The forces on n pendulums from number k on, no more than a Real holds.
template <class Real>
OCP_TARGET OCP_ALWAYS_INLINE void force_some(Real& force, const PendulumForces& forces, std::int64_t k,
                                             std::size_t bytes) noexcept {
    // an integer below 2^52 put into the last bits of the double 2^52: no instruction before AVX-512 converts 64 bits
    Bits<Real> bits{};
    std::memcpy(&bits, forces.actions + k, bytes);
    bits |= 0x4330'0000'0000'0000;
    Real action;
    std::memcpy(&action, &bits, sizeof action);
    force = PendulumForces::strongest * (action - (0x1p52 + 1));
    if (forces.draws != nullptr) {
        Real draw{};
        std::memcpy(&draw, forces.draws + k, bytes);
        force += forces.disturbance * (2.0 * draw - 1.0);
    }
}

// n pendulums from number k on, no more than a Real holds.
template <class Real, bool usual>
OCP_TARGET OCP_ALWAYS_INLINE void step_some(const PendulumMotion& motion, std::int64_t k, std::int64_t n,
                                            double* angles, double* velocities, const PendulumForces& forces,
                                            std::int64_t* fates) noexcept {
    using M = PendulumMotion;
    const auto bytes = static_cast<std::size_t>(n) * sizeof(double);
    Real angle{}, velocity{}, force, size, speed;
    std::memcpy(&angle, angles + k, bytes);
    std::memcpy(&velocity, velocities + k, bytes);
    force_some<Real>(force, forces, k, bytes);

    Bits<Real> was_up, was_slow, is_up, is_finite;
    magnitude<Real>(size, angle);
    magnitude<Real>(speed, velocity);
    is_below<Real>(was_up, size, M::fallen_angle);
    is_below<Real>(was_slow, speed, M::too_fast);
    advance<Real, usual>(motion, angle, velocity, force);
    magnitude<Real>(size, angle);
    magnitude<Real>(speed, velocity);
    is_below<Real>(is_up, size, M::fallen_angle);
    is_below<Real>(is_finite, size + speed, std::numeric_limits<double>::infinity());
    const Bits<Real> fate = ~(was_up & was_slow & is_finite) | (~is_up & 1);

    std::memcpy(angles + k, &angle, bytes);
    std::memcpy(velocities + k, &velocity, bytes);
    std::memcpy(fates + k, &fate, bytes);
}

// Any number of pendulums; of the last Real a part may be idle.
template <class Real, bool usual>
OCP_TARGET void step_all(const PendulumMotion& motion, std::int64_t n, double* angles, double* velocities,
                         const PendulumForces& forces, std::int64_t* fates) noexcept {
    constexpr std::int64_t width = sizeof(Real) / sizeof(double);
    std::int64_t k = 0;
    for (; k + width <= n; k += width) step_some<Real, usual>(motion, k, width, angles, velocities, forces, fates);
    if (k < n) step_some<Real, usual>(motion, k, n - k, angles, velocities, forces, fates);
}

template <class Real>
OCP_TARGET void step_many(const PendulumMotion& motion, std::int64_t n, double* angles, double* velocities,
                          const PendulumForces& forces, std::int64_t* fates) noexcept {
    if (motion.runge_kutta && motion.substeps == 1) {
        step_all<Real, true>(motion, n, angles, velocities, forces, fates);
    } else {
        step_all<Real, false>(motion, n, angles, velocities, forces, fates);
    }
}

}  // namespace OCP_INSTRUCTIONS
}  // namespace ocp
