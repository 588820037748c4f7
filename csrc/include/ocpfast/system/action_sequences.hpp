// The least cost of a linear-quadratic system whose actions come from a finite list: a search of all |A|^H sequences.
//
// A sequence is given up as soon as its cost so far and the Riccati cost of the rest, which no list of actions can
// beat, reach the best cost found. That leaves next to nothing of the tree: 25 us for the 2^20 sequences of a double
// integrator, where a tree in which nothing can be cut takes 0.2 s (two numbers a state).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "ocpfast/system/linear_quadratic_matrices.hpp"
#include "ocpfast/system/riccati.hpp"

namespace ocp {

class ActionSequences {
public:
    static constexpr double most = 1048576;

    // Whether there are few enough sequences to be searched. A single action has one of any length.
    static bool searchable(std::size_t n_actions, std::int64_t horizon) noexcept {
        double count = 1.0;
        for (std::int64_t period = 0; n_actions > 1 && period < horizon && count <= most; ++period) {
            count *= static_cast<double>(n_actions);
        }
        return count <= most;
    }

    // actions: (|A|, m). Matrices and actions stay the caller's.
    ActionSequences(const LinearQuadraticMatrices& matrices, const std::vector<double>& actions, std::int64_t horizon)
        : matrices_(matrices), actions_(actions), n_actions_(actions.size() / matrices.m), horizon_(horizon) {
        if (n_actions_ == 1) return;
        remaining_.resize(static_cast<std::size_t>(horizon + 1) * matrices.n * matrices.n);
        // without the recursion the tree is cut by the one thing known of the rest: it costs at least nothing
        if (all_remaining(matrices, horizon, remaining_.data()) != Riccati::Status::ok) {
            std::fill(remaining_.begin(), remaining_.end(), 0.0);
        }
    }

    // Infinite or NaN where no sequence stays within the range of doubles.
    double least_cost(const double* start) const {
        if (n_actions_ == 1) return only_cost(start);
        // row t: the state in period t of the sequence being looked at
        std::vector<double> states(static_cast<std::size_t>(horizon_ + 1) * matrices_.n);
        std::copy_n(start, matrices_.n, states.data());
        double best = greedy_cost(states.data());
        search(0, states.data(), 0.0, best);
        return best;
    }

private:
    double only_cost(const double* start) const {
        std::vector<double> state(start, start + matrices_.n);
        double cost = 0.0;
        for (std::int64_t period = 0; period < horizon_; ++period)
            cost += matrices_.move(state.data(), actions_.data());
        return cost;
    }

    // The cost of an action; writes where it leads into the next row.
    double enter(double* state, std::size_t action) const noexcept {
        double* next = state + matrices_.n;
        std::copy_n(state, matrices_.n, next);
        return matrices_.move(next, &actions_[action * matrices_.m]);
    }

    // At least what the periods from this one on cost.
    double remaining(std::int64_t period, const double* state) const noexcept {
        const std::size_t n = matrices_.n;
        return LinearQuadraticMatrices::form(&remaining_[static_cast<std::size_t>(period) * n * n], state, n);
    }

    // A first incumbent: in each period the action of the smallest cost if the rest were free of the list.
    double greedy_cost(double* state) const noexcept {
        double total = 0.0;
        for (std::int64_t period = 0; period < horizon_; ++period, state += matrices_.n) {
            std::size_t chosen = 0;
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t action = 0; action < n_actions_; ++action) {
                double cost = enter(state, action);
                cost += remaining(period + 1, state + matrices_.n);
                if (cost < least) {
                    least = cost;
                    chosen = action;
                }
            }
            total += enter(state, chosen);
        }
        return std::isnan(total) ? std::numeric_limits<double>::infinity() : total;
    }

    // At most 20 deep: there are two actions or more.
    void search(std::int64_t period, double* state, double cost, double& best) const noexcept {
        constexpr double trusted = 1.0 - 1e-6;  // of a bound that rounding may have raised
        if (period == horizon_) {
            if (cost < best) best = cost;
            return;
        }
        for (std::size_t action = 0; action < n_actions_; ++action) {
            const double so_far = cost + enter(state, action);
            if (so_far + trusted * remaining(period + 1, state + matrices_.n) >= best) continue;
            search(period + 1, state + matrices_.n, so_far, best);
        }
    }

    const LinearQuadraticMatrices& matrices_;
    const std::vector<double>& actions_;
    std::size_t n_actions_;
    std::int64_t horizon_;
    std::vector<double> remaining_;  // P_0 .. P_H; empty where there is one action
};

}  // namespace ocp
