// Interval constraints L <= Q_t(x,a) <= U and the priority in which Algorithm 1 walks them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "ocpfast: infinities are values here; compile without -ffast-math (-ffinite-math-only)"
#endif

namespace ocp {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// What one observed transition says of Q_t(x,a), before it is tied to a triple.
struct Estimate {
    double lower = -infinity;  // L
    double upper = infinity;   // U
    // Whether U rests on what was observed alone. With prior bounds every U is finite, so this is a flag of
    // its own and not "U < +inf".
    bool determined = false;

    template <class Archive>
    void archive(Archive& a) {
        a(lower, upper, determined);
    }
};

// "Q_t(x,a) lies in [lower, upper]", known beforehand; one pair a layer, or one for all.
struct PriorBounds {
    std::vector<double> lower{-infinity}, upper{infinity};
};

struct Constraint {
    std::int64_t index = 0;    // what is constrained: a cell, a feature row; the hypothesis class knows
    double lower = -infinity;  // L
    double upper = infinity;   // U
    std::int64_t sequence = 0;
    std::int64_t episode = 0;
    std::int64_t identity = sequence;  // stays when the constraint is seen again and becomes more recent

    template <class Archive>
    void archive(Archive& a) {
        a(index, lower, upper, sequence, episode, identity);
    }

    bool says_nothing() const { return lower == -infinity && upper == infinity; }
    bool same_interval(const Constraint& other) const {
        return index == other.index && lower == other.lower && upper == other.upper;
    }
};

// Smaller U first; on equal U the more recent first. The paper's prose says so; its formula for ties says the
// opposite.
inline bool has_priority(const Constraint& a, const Constraint& b) {
    return a.upper < b.upper || (a.upper == b.upper && a.sequence > b.sequence);
}

// Which constraints a learner keeps: the variants of section "Computational Efficiency".
enum class Selection {
    all,     // everything, as Algorithm 1
    eluder,  // only what strictly reduces the eluder dimension
    first,   // only what makes something undetermined determined
    window,  // only the last W episodes
};

}  // namespace ocp
