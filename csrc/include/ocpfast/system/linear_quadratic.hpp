// Linear-quadratic control: x' = Ax + Bu, reward -(x'Qx + u'Ru) of the present x and u in each of the H periods.
//
// Actions are vectors u (`LinearQuadratic<double>`) or indices into a list of them (`LinearQuadratic<std::int64_t>`).
// Over vectors V*_0(x) is -x'P_0 x by the Riccati recursion, over a list it takes a search.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "ocpfast/system.h"
#include "ocpfast/system/action_sequences.hpp"
#include "ocpfast/system/linear_quadratic_matrices.hpp"
#include "ocpfast/system/riccati.hpp"

namespace ocp {

struct LinearQuadraticArrays {
    LinearQuadraticMatrices matrices;
    std::int64_t horizon = 0;
    std::vector<double> starts;   // (k, n): episode j starts in row j modulo k,
    std::vector<double> scale;    // (n), or empty: plus a draw that is uniform on (-scale, scale)
    std::vector<double> actions;  // (|A|, m), or empty where actions are vectors
};

template <class ActionComponent>
class LinearQuadratic {
    static constexpr bool listed = std::is_same_v<ActionComponent, std::int64_t>;
    using Choice = std::conditional_t<listed, std::int64_t, const double*>;

public:
    using Component = double;
    using Action = ActionComponent;

    static constexpr double max_recursion = 2e9;  // multiplications of the Riccati recursion: some seconds

    explicit LinearQuadratic(LinearQuadraticArrays arrays) : arrays_(std::move(arrays)) {}

    void describe(ocp_system& contract) const noexcept {
        contract.flags = OCP_HOMOGENEOUS;
        if (!arrays_.scale.empty()) contract.flags |= OCP_STOCHASTIC | OCP_RANDOM_START;
        contract.state_size = static_cast<std::int64_t>(n());
        contract.n_actions = listed ? static_cast<std::int64_t>(n_actions()) : 0;
        contract.action_size = listed ? 0 : static_cast<std::int64_t>(m());
        contract.horizon = arrays_.horizon;
        contract.reward_max = 0.0;
    }

    int reset(std::int64_t episode, ocp_bitgen* bitgen, double* state) const noexcept {
        const std::size_t row = static_cast<std::size_t>(episode) % (arrays_.starts.size() / n());
        for (std::size_t i = 0; i < n(); ++i) {
            state[i] = arrays_.starts[row * n() + i];
            if (!arrays_.scale.empty()) state[i] += arrays_.scale[i] * (2.0 * bitgen->next_double(bitgen->state) - 1.0);
        }
        return OCP_OK;
    }

    int step(std::int64_t, double* state, Choice action, ocp_bitgen*, double* reward, int* ending) const noexcept {
        const double* u;
        if constexpr (listed) {
            u = &arrays_.actions[static_cast<std::size_t>(action) * m()];
        } else {
            u = action;
        }
        *reward = 0.0 - arrays_.matrices.move(state, u);
        *ending = OCP_CONTINUES;
        bool finite = std::isfinite(*reward);
        for (std::size_t i = 0; i < n(); ++i) finite = finite && std::isfinite(state[i]);
        return finite ? OCP_OK : OCP_OVERFLOW;
    }

    // NaN, for unknown, where it would take too long or does not stay within the range of doubles.
    int optimal_value(const double* state, double* value) const {
        std::call_once(solved_, [this] { solve(); });
        double cost = std::numeric_limits<double>::quiet_NaN();
        if constexpr (listed) {
            if (sequences_) cost = sequences_->least_cost(state);
        } else {
            if (!first_.empty()) cost = LinearQuadraticMatrices::form(first_.data(), state, n());
        }
        *value = std::isfinite(cost) ? 0.0 - cost : std::numeric_limits<double>::quiet_NaN();
        return OCP_OK;
    }

private:
    std::size_t n() const noexcept { return arrays_.matrices.n; }
    std::size_t m() const noexcept { return arrays_.matrices.m; }
    std::size_t n_actions() const noexcept { return arrays_.actions.size() / m(); }

    void solve() const {
        if constexpr (listed) {
            if (ActionSequences::searchable(n_actions(), arrays_.horizon)) {
                sequences_.emplace(arrays_.matrices, arrays_.actions, arrays_.horizon);
            }
        } else {
            const auto size = static_cast<double>(n() + m());
            if (static_cast<double>(arrays_.horizon) * size * size * size > max_recursion) return;
            std::vector<double> p(n() * n(), 0.0);
            const Riccati::Status status = Riccati(arrays_.matrices).back(arrays_.horizon, p.data());
            if (status == Riccati::Status::ok) first_ = std::move(p);
        }
    }

    LinearQuadraticArrays arrays_;
    mutable std::once_flag solved_;
    mutable std::vector<double> first_;                 // over vectors: P_0, once asked for; empty where unknown
    mutable std::optional<ActionSequences> sequences_;  // over a list
};

}  // namespace ocp
