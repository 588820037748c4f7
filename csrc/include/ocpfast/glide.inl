// Periods of many lanes in which nothing new is seen. Included by glide.hpp, once for each instruction set.
namespace ocp {
namespace OCP_INSTRUCTIONS {

// Takes as many lanes as a Real holds on by one period, from number k on, and returns true; or returns false, and
// nothing has happened, because one of them has something to tell its agent.
template <class Real>
OCP_TARGET OCP_ALWAYS_INLINE bool glide_some(const GlidingLanes& lanes, std::int64_t k) noexcept {
    Real reward, next, here, sum, lost, size;
    Bits<Real> period, action, point, redundant, payable, in_time;
    std::memcpy(&reward, lanes.rewards + k, sizeof reward);
    std::memcpy(&next, lanes.next_uppers + k, sizeof next);
    std::memcpy(&here, lanes.uppers + k, sizeof here);
    std::memcpy(&period, lanes.periods + k, sizeof period);

    // U >= upper: the constraint changes nothing. A NaN fails this.
    is_at_least<Real>(redundant, reward + lanes.discount * next, here);
    magnitude<Real>(size, reward);
    is_below<Real>(payable, size, largest_reward);
    // both are far from the sign bit, so that their difference has it iff the period is not the last
    in_time = period - static_cast<std::uint64_t>(lanes.last_period);
    if (!all_first_bits<Real>(redundant & payable & in_time)) return false;

    std::memcpy(&sum, lanes.sums + k, sizeof sum);
    std::memcpy(&lost, lanes.lost + k, sizeof lost);
    add_compensated<Real>(sum, lost, reward);
    std::memcpy(lanes.sums + k, &sum, sizeof sum);
    std::memcpy(lanes.lost + k, &lost, sizeof lost);

    period += 1;
    std::memcpy(lanes.periods + k, &period, sizeof period);
    std::memcpy(lanes.uppers + k, &next, sizeof next);
    std::memcpy(&action, lanes.next_actions + k, sizeof action);
    std::memcpy(lanes.actions + k, &action, sizeof action);
    std::memcpy(&point, lanes.next_points + k, sizeof point);
    std::memcpy(lanes.points + k, &point, sizeof point);
    return true;
}

template <class Real>
OCP_TARGET std::int64_t glide(const GlidingLanes& lanes, std::int64_t n, std::int64_t* others) noexcept {
    constexpr std::int64_t width = sizeof(Real) / sizeof(double);
    std::int64_t n_others = 0;
    for (std::int64_t k = 0; k < n; k += width) {
        if (k + width <= n && glide_some<Real>(lanes, k)) continue;
        for (std::int64_t j = k; j < std::min(k + width, n); ++j) {
            if (!glide_some<double>(lanes, j)) others[n_others++] = j;
        }
    }
    return n_others;
}

}  // namespace OCP_INSTRUCTIONS
}  // namespace ocp
