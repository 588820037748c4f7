// The adversary of the paper's lower bound, which decides on the rewards as the agent acts.
//
// Its 2K states come in K pairs, (2k, 2k + 1). The action of period 0 chooses a side of the pair, where the episode
// then stays: action 0 leads to the even state, action 1 to the odd one. One side pays the reward bound in every
// period, the other minus that, and which is which the adversary decides when the agent first acts in the pair: what it
// chose pays the less. Episodes start in the pairs in turn, so each of the first K is lost, whatever the agent does.
//
// Q*_t(x, a) = phi(t, x, a) theta with theta_k = the reward of the even side and phi = +-(H - t) e_k: see
// `ocpfast.Adversary.hypothesis`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ocpfast/system.h"

namespace ocp {

class Adversary {
public:
    using Component = std::int64_t;
    using Action = std::int64_t;

    Adversary(std::int64_t n_pairs, std::int64_t horizon, double reward_bound)
        : horizon_(horizon), reward_bound_(reward_bound), even_pays_(static_cast<std::size_t>(n_pairs), undecided) {}

    void describe(ocp_system& contract) const noexcept {
        contract.flags = OCP_ADAPTIVE;
        contract.state_size = 2 * n_pairs();
        contract.n_actions = 2;
        contract.horizon = horizon_;
        contract.reward_min = -reward_bound_;
        contract.reward_max = reward_bound_;
    }

    int reset(std::int64_t episode, ocp_bitgen*, std::int64_t* state) noexcept {
        *state = 2 * (episode % n_pairs());
        return OCP_OK;
    }

    int step(std::int64_t period, std::int64_t* state, std::int64_t action, ocp_bitgen*, double* reward,
             int* ending) noexcept {
        const std::int64_t pair = *state / 2;
        if (period == 0) *state = 2 * pair + action;
        const bool even = *state % 2 == 0;
        std::int8_t& even_pays = even_pays_[static_cast<std::size_t>(pair)];
        if (even_pays == undecided) even_pays = even ? less : more;
        *reward = (even_pays == more) == even ? reward_bound_ : 0.0 - reward_bound_;
        *ending = OCP_CONTINUES;
        return OCP_OK;
    }

    // Whatever is decided later, one of the two sides pays the bound in every period.
    int optimal_value(const std::int64_t*, double* value) const noexcept {
        *value = reward_bound_ * static_cast<double>(horizon_);
        return OCP_OK;
    }

    std::int64_t save(void* bytes) const noexcept {
        if (bytes != nullptr) std::memcpy(bytes, even_pays_.data(), even_pays_.size());
        return n_pairs();
    }

    int load(const void* bytes, std::int64_t size) noexcept {
        if (size != n_pairs()) return OCP_FAILED;
        const auto* decisions = static_cast<const std::int8_t*>(bytes);
        for (std::int64_t i = 0; i < size; ++i) {
            if (decisions[i] < less || decisions[i] > more) return OCP_FAILED;
        }
        std::memcpy(even_pays_.data(), decisions, even_pays_.size());
        return OCP_OK;
    }

private:
    static constexpr std::int8_t less = -1, undecided = 0, more = 1;

    std::int64_t n_pairs() const noexcept { return static_cast<std::int64_t>(even_pays_.size()); }

    std::int64_t horizon_;
    double reward_bound_;                 // R
    std::vector<std::int8_t> even_pays_;  // the memory: what was decided of each pair, as the sign of theta_k
};

}  // namespace ocp
