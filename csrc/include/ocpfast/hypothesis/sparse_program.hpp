// A mixed-integer program: the largest value of a linear function over parameters with at most so many non-zeros, each
// between two given bounds, that satisfy equalities. HiGHS solves it; its status, its solution and the solution's
// non-zeros are checked.
//
// It is for classes with too many supports to go through. There it is slow: with 40 features of which 3 count, as soon
// as 4 equalities leave one support, HiGHS takes 10 s to prove it where going through the 9,880 supports takes 1 ms. So
// branching stops after a given number of nodes, and what is then known is a bound, on the right side.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/basis.hpp"
#include "ocpfast/hypothesis/supports.hpp"
#include "ocpfast/lp/highs_api.hpp"
#include "ocpfast/lp/highs_model.hpp"

namespace ocp {

class SparseProgram {
public:
    // bounds: |theta_k| is at most the k-th.
    SparseProgram(const HighsApi* api, std::vector<double> bounds, std::size_t sparsity, std::int64_t max_nodes)
        : api_(api), bounds_(std::move(bounds)), sparsity_(sparsity), max_nodes_(max_nodes) {}

    struct Maximum {
        bool feasible = true;               // false: proved that no parameters satisfy the equalities
        double value = 0;                   // at least the supremum
        std::vector<std::int32_t> support;  // of the optimum, of the full size; empty where none was proved
    };

    // sup of sign * feature.theta.
    Maximum maximise(const std::vector<double>& feature, double sign, const std::vector<Equality>& equalities,
                     std::int64_t& n_solved) const {
        const std::size_t n = bounds_.size();
        std::vector<double> cost(n);
        for (std::size_t k = 0; k < n; ++k) cost[k] = sign * feature[k] * bounds_[k];
        Maximum result;
        result.value = unconstrained(cost);
        if (equalities.empty()) return result;
        const double unit = std::max(length(cost.data(), n), std::numeric_limits<double>::min());
        for (double& one : cost) one /= unit;

        HighsModel highs(api_);
        highs.make();
        ++n_solved;
        set_options(highs);
        if (!pass(highs, cost, equalities)) throw SolverFailure("HiGHS refused a mixed-integer program");
        if (highs.run() < 0) throw SolverFailure("HiGHS could not solve a mixed-integer program");
        const HighsInt status = api_->model_status(highs);
        if (status == HighsModel::infeasible) {
            result.feasible = false;
            return result;
        }
        double bound = 0;
        if (api_->double_info(highs, "mip_dual_bound", &bound) >= 0 && std::isfinite(bound)) {
            result.value = std::min(result.value, unit * bound);
        }
        if (status == HighsModel::optimal) read_support(highs, 2 * n + 1 + equalities.size(), result.support);
        return result;
    }

private:
    // So tight HiGHS has once been seen to call a feasible program infeasible (ERGO-Code/HiGHS#2033): an equality would
    // then be counted as a contradiction and not be learned.
    static constexpr double tolerance = 1e-9;

    double unconstrained(const std::vector<double>& cost) const {
        std::vector<double> size(cost.size());
        std::transform(cost.begin(), cost.end(), size.begin(), [](double one) { return std::abs(one); });
        std::partial_sort(size.begin(), size.begin() + static_cast<std::ptrdiff_t>(sparsity_), size.end(),
                          std::greater<>());
        double sum = 0;
        for (std::size_t k = 0; k < sparsity_; ++k) sum += size[k];
        return sum;
    }

    void set_options(void* highs) const {
        api_->set_int(highs, "random_seed", 0);
        api_->set_int(highs, "mip_max_nodes", static_cast<HighsInt>(max_nodes_));
        api_->set_double(highs, "mip_rel_gap", 0);
        for (const char* option : {"mip_abs_gap", "mip_feasibility_tolerance", "primal_feasibility_tolerance",
                                   "dual_feasibility_tolerance"}) {
            api_->set_double(highs, option, tolerance);
        }
        api_->set_double(highs, "small_matrix_value", 1e-12);
    }

    // Columns: s_k = theta_k / bound_k in [-1, 1], then z_k in {0, 1}. Rows: s_k - z_k <= 0 and s_k + z_k >= 0, the sum
    // of all z_k <= K0, then the equalities, of length 1.
    bool pass(void* highs, const std::vector<double>& cost, const std::vector<Equality>& equalities) const {
        const std::size_t n = bounds_.size();
        std::vector<double> all_cost(2 * n, 0.0), column_lower(2 * n, 0.0), column_upper(2 * n, 1.0), row_lower,
            row_upper, value;
        std::vector<HighsInt> start, index;
        std::copy(cost.begin(), cost.end(), all_cost.begin());
        std::fill(column_lower.begin(), column_lower.begin() + static_cast<std::ptrdiff_t>(n), -1.0);
        const auto begin_row = [&](double lower, double upper) {
            start.push_back(static_cast<HighsInt>(index.size()));
            row_lower.push_back(lower);
            row_upper.push_back(upper);
        };
        const auto entry = [&](std::size_t column, double coefficient) {
            index.push_back(static_cast<HighsInt>(column));
            value.push_back(coefficient);
        };
        for (std::size_t k = 0; k < n; ++k) {
            begin_row(-infinity, 0);
            entry(k, 1);
            entry(n + k, -1);
            begin_row(0, infinity);
            entry(k, 1);
            entry(n + k, 1);
        }
        begin_row(-infinity, static_cast<double>(sparsity_));
        for (std::size_t k = 0; k < n; ++k) entry(n + k, 1);
        std::vector<double> row(n);
        for (const Equality& equality : equalities) {
            for (std::size_t k = 0; k < n; ++k) row[k] = equality.feature[k] * bounds_[k];
            const double size = length(row.data(), n);
            if (size == 0) continue;
            const double slack = tolerance * std::max(1.0, std::abs(equality.value));
            begin_row((equality.value - slack) / size, (equality.value + slack) / size);
            for (std::size_t k = 0; k < n; ++k) {
                if (row[k] != 0) entry(k, row[k] / size);
            }
        }
        if (api_->pass_lp(highs, static_cast<HighsInt>(2 * n), static_cast<HighsInt>(start.size()),
                          static_cast<HighsInt>(index.size()), HighsModel::by_rows, HighsModel::maximisation, 0,
                          all_cost.data(), column_lower.data(), column_upper.data(), row_lower.data(), row_upper.data(),
                          start.data(), index.data(), value.data()) < 0) {
            return false;
        }
        const std::vector<HighsInt> kinds(n, HighsModel::integer);
        return api_->change_integrality(highs, static_cast<HighsInt>(n), static_cast<HighsInt>(2 * n - 1),
                                        kinds.data()) >= 0;
    }

    void read_support(void* highs, std::size_t n_rows, std::vector<std::int32_t>& support) const {
        const std::size_t n = bounds_.size();
        std::vector<double> column(2 * n), row(n_rows), dual(2 * n), row_dual(n_rows);
        if (api_->solution(highs, column.data(), dual.data(), row.data(), row_dual.data()) < 0) return;
        // the largest parameters, however z rounds: the others must be nothing
        std::vector<std::int32_t> order(n);
        for (std::size_t k = 0; k < n; ++k) order[k] = static_cast<std::int32_t>(k);
        std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
            return std::abs(column[static_cast<std::size_t>(a)]) > std::abs(column[static_cast<std::size_t>(b)]);
        });
        for (std::size_t k = sparsity_; k < n; ++k) {
            if (std::abs(column[static_cast<std::size_t>(order[k])]) > 1e-6) return;
        }
        order.resize(sparsity_);
        std::sort(order.begin(), order.end());
        support = std::move(order);
    }

    const HighsApi* api_;
    std::vector<double> bounds_;
    std::size_t sparsity_;
    std::int64_t max_nodes_;
};

}  // namespace ocp
