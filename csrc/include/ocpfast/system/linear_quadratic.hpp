// Linear-quadratic control: x' = Ax + Bu, reward -(x'Qx + u'Ru) of the present x and u in each of the H periods.
//
// Actions are vectors u (`LinearQuadratic<double>`) or indices into a list of them (`LinearQuadratic<std::int64_t>`).
// Over vectors V*_0 is -x'P_0 x by the Riccati recursion. Over a list it takes a tree of |A|^H sequences, cut wherever
// the cost so far and the Riccati cost of the rest, which no list of actions can beat, exceed the best cost found.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "ocpfast/system.h"
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

public:
    using Component = double;
    using Action = ActionComponent;

    static constexpr std::size_t max_state = 1024;  // so that a step needs no memory but the stack
    static constexpr double max_recursion = 2e9;    // multiplications, some seconds
    static constexpr double max_leaves = 1048576;   // of the tree; 0.2 s for two numbers a state if nothing can be cut

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

    int step(std::int64_t, double* state, std::conditional_t<listed, std::int64_t, const double*> action, ocp_bitgen*,
             double* reward, int* ending) const noexcept {
        *reward = -move(state, control(action));
        *ending = OCP_CONTINUES;
        bool finite = std::isfinite(*reward);
        for (std::size_t i = 0; i < n(); ++i) finite = finite && std::isfinite(state[i]);
        return finite ? OCP_OK : OCP_OVERFLOW;
    }

    // NaN, for unknown, where it would take too long or the recursion does not stay finite.
    int optimal_value(const double* state, double* value) const {
        std::call_once(solved_, [this] { solve(); });
        *value = std::numeric_limits<double>::quiet_NaN();
        if constexpr (listed) {
            if (leaves() > max_leaves) return OCP_OK;
            const double cost = least_cost(state);
            if (std::isfinite(cost)) *value = 0.0 - cost;
        } else if (status_ == Riccati::Status::ok && !remaining_.empty()) {
            const double cost = form(remaining_.data(), state, n());
            if (std::isfinite(cost)) *value = 0.0 - cost;
        }
        return OCP_OK;
    }

private:
    std::size_t n() const noexcept { return arrays_.matrices.n; }
    std::size_t m() const noexcept { return arrays_.matrices.m; }
    std::size_t n_actions() const noexcept { return arrays_.actions.size() / m(); }

    const double* control(const double* action) const noexcept { return action; }
    const double* control(std::int64_t action) const noexcept {
        return &arrays_.actions[static_cast<std::size_t>(action) * m()];
    }

    static double form(const double* matrix, const double* z, std::size_t size) noexcept {
        double total = 0.0;
        for (std::size_t i = 0; i < size; ++i) {
            double sum = 0.0;
            for (std::size_t j = 0; j < size; ++j) sum += matrix[i * size + j] * z[j];
            total += z[i] * sum;
        }
        return total;
    }

    // Replaces x by Ax + Bu and returns the cost x'Qx + u'Ru of x and u.
    double move(double* state, const double* u) const noexcept {
        const LinearQuadraticMatrices& of = arrays_.matrices;
        const double cost = form(of.q.data(), state, of.n) + form(of.r.data(), u, of.m);
        double next[max_state];
        for (std::size_t i = 0; i < of.n; ++i) {
            double sum = 0.0;
            for (std::size_t j = 0; j < of.n; ++j) sum += of.a[i * of.n + j] * state[j];
            for (std::size_t j = 0; j < of.m; ++j) sum += of.b[i * of.m + j] * u[j];
            next[i] = sum;
        }
        for (std::size_t i = 0; i < of.n; ++i) state[i] = next[i];
        return cost;
    }

    double leaves() const noexcept {
        if (n_actions() == 1) return 1.0;
        double count = 1.0;
        for (std::int64_t period = 0; period < arrays_.horizon && count <= max_leaves; ++period) {
            count *= static_cast<double>(n_actions());
        }
        return count;
    }

    void solve() const {
        const std::size_t size = n() * n();
        if constexpr (listed) {
            if (n_actions() == 1 || leaves() > max_leaves) return;
            remaining_.assign(static_cast<std::size_t>(arrays_.horizon + 1) * size, 0.0);
            // without the recursion the tree is cut by the one thing known of the rest, that it costs at least nothing
            if (all_remaining(arrays_.matrices, arrays_.horizon, remaining_.data()) != Riccati::Status::ok)
                remaining_.assign(remaining_.size(), 0.0);
        } else {
            const double cube = std::pow(static_cast<double>(n() + m()), 3);
            if (static_cast<double>(arrays_.horizon) * cube > max_recursion) return;
            remaining_.assign(size, 0.0);
            status_ = Riccati(arrays_.matrices).back(arrays_.horizon, remaining_.data());
        }
    }

    // The Riccati cost of what remains from a period on.
    double remaining(std::int64_t period, const double* state) const noexcept {
        return form(&remaining_[static_cast<std::size_t>(period) * n() * n()], state, n());
    }

    double least_cost(const double* start) const {
        if (n_actions() == 1) return only_cost(start);
        // row t: the state in period t of the sequence being looked at
        std::vector<double> states(static_cast<std::size_t>(arrays_.horizon + 1) * n());
        for (std::size_t i = 0; i < n(); ++i) states[i] = start[i];
        double best = greedy_cost(states.data());
        search(0, states.data(), 0.0, best);
        return best;
    }

    double only_cost(const double* start) const {
        std::vector<double> state(start, start + n());
        const double* u = arrays_.actions.data();
        double cost = 0.0;
        for (std::int64_t period = 0; period < arrays_.horizon; ++period) cost += move(state.data(), u);
        return cost;
    }

    double enter(const double* state, std::size_t action, double* next) const noexcept {
        for (std::size_t i = 0; i < n(); ++i) next[i] = state[i];
        return move(next, control(static_cast<std::int64_t>(action)));
    }

    // A first incumbent: in each period the action of the smallest cost if the rest were free of the list.
    double greedy_cost(double* states) const {
        double total = 0.0;
        for (std::int64_t period = 0; period < arrays_.horizon; ++period, states += n()) {
            std::size_t chosen = 0;
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t action = 0; action < n_actions(); ++action) {
                const double cost = enter(states, action, states + n()) + remaining(period + 1, states + n());
                if (cost < least) {
                    least = cost;
                    chosen = action;
                }
            }
            total += enter(states, chosen, states + n());
        }
        return std::isnan(total) ? std::numeric_limits<double>::infinity() : total;
    }

    void search(std::int64_t period, double* state, double cost, double& best) const {
        constexpr double trusted = 1.0 - 1e-6;  // of a bound that rounding may have raised
        if (period == arrays_.horizon) {
            if (cost < best) best = cost;
            return;
        }
        for (std::size_t action = 0; action < n_actions(); ++action) {
            const double so_far = cost + enter(state, action, state + n());
            if (so_far + trusted * remaining(period + 1, state + n()) >= best) continue;
            search(period + 1, state + n(), so_far, best);
        }
    }

    LinearQuadraticArrays arrays_;
    mutable std::once_flag solved_;
    mutable Riccati::Status status_ = Riccati::Status::ok;
    mutable std::vector<double> remaining_;  // over vectors P_0, over a list P_0 .. P_H, once asked for; else empty
};

}  // namespace ocp
