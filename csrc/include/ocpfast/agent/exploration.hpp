// How agents that estimate values choose: greedily, and now and then not.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ocpfast/system.h"

namespace ocp {

inline std::int64_t uniform_action(std::int64_t n_actions, ocp_bitgen* bitgen) {
    return static_cast<std::int64_t>(bitgen->next_double(bitgen->state) * static_cast<double>(n_actions));
}

class Exploration {
public:
    enum class Kind {
        none,
        epsilon_greedy,  // with probability `parameter` any action, uniformly
        boltzmann,       // probabilities proportional to exp(value / parameter)
    };

    Exploration() = default;
    // random_ties: equal values are decided by the bit generator, not by the lowest action.
    Exploration(Kind kind, double parameter, bool random_ties)
        : kind_(kind), parameter_(parameter), random_ties_(random_ties) {}

    // value(action) may be infinite, never NaN. Draws depend on the values alone, so that a seed says it all.
    template <class Value>
    std::int64_t choose(std::int64_t n_actions, const Value& value, ocp_bitgen* bitgen) const {
        if (kind_ == Kind::boltzmann) return boltzmann(n_actions, value, bitgen);
        if (kind_ == Kind::epsilon_greedy && bitgen->next_double(bitgen->state) < parameter_) {
            return uniform_action(n_actions, bitgen);
        }
        const std::int64_t first = greedy(n_actions, value);
        return random_ties_ ? one_of_tied(first, n_actions, value, bitgen) : first;
    }

    // The lowest action with the largest value.
    template <class Value>
    static std::int64_t greedy(std::int64_t n_actions, const Value& value) {
        std::int64_t best = 0;
        for (std::int64_t action = 1; action < n_actions; ++action) {
            if (value(action) > value(best)) best = action;
        }
        return best;
    }

    template <class Archive>
    void archive(Archive& a) {
        a.same(kind_, "exploration");
        a.same(parameter_, "exploration");
        a.same(random_ties_, "ties");
    }

private:
    template <class Value>
    static std::int64_t one_of_tied(std::int64_t first, std::int64_t n_actions, const Value& value,
                                    ocp_bitgen* bitgen) {
        std::int64_t n_tied = 0;
        for (std::int64_t action = first; action < n_actions; ++action) n_tied += value(action) == value(first);
        if (n_tied == 1) return first;
        std::int64_t skip = uniform_action(n_tied, bitgen);
        std::int64_t action = first;
        while (value(action) != value(first) || skip-- > 0) ++action;
        return action;
    }

    // Shifted by the largest value, so that nothing overflows and the sum is at least 1. Where the largest is infinite
    // the others have no chance.
    template <class Value>
    std::int64_t boltzmann(std::int64_t n_actions, const Value& value, ocp_bitgen* bitgen) const {
        const double largest = value(greedy(n_actions, value));
        const auto weight = [&](std::int64_t action) {
            if (value(action) == largest) return 1.0;  // inf - inf is no number
            return std::exp((value(action) - largest) / parameter_);
        };
        double total = 0;
        for (std::int64_t action = 0; action < n_actions; ++action) total += weight(action);
        double left = bitgen->next_double(bitgen->state) * total;
        std::int64_t chosen = 0;  // the last one with a chance, should rounding lead past the end
        for (std::int64_t action = 0; action < n_actions; ++action) {
            const double one = weight(action);
            if (one == 0) continue;
            chosen = action;
            left -= one;
            if (left < 0) break;
        }
        return chosen;
    }

    Kind kind_ = Kind::none;
    double parameter_ = 0;  // epsilon, or the temperature
    bool random_ties_ = false;
};

}  // namespace ocp
