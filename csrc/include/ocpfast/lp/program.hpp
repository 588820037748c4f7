// One small linear program that is solved again and again: maximise c.z over rows L <= a.z <= U, z free; or minimise
// the largest of a few linear functions over the same set. Where rows in independent directions make it simple it is
// written down; else HiGHS is behind it, on one persistent model, warm-started.
//
// Every optimum is checked (primal feasibility, stationarity and complementary slackness) and solved again cold if it
// fails: HiGHS has been seen to report wrong objectives after hot starts. Its tolerances are absolute, so rows and
// objectives are expected to have length 1 or so, and bounds beyond a million (values of classes that cannot represent
// Q* may grow for ever) are passed in a unit that makes them a thousand: answers are then accurate relative to them.
//
// A copy, or a program that was saved and loaded, has no model; it does again what is on record (record.hpp) before its
// first question. To keep the record short, the model is passed anew after so many questions, with its basis.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/lp/highs_api.hpp"
#include "ocpfast/lp/highs_model.hpp"
#include "ocpfast/lp/independent_rows.hpp"
#include "ocpfast/lp/record.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

struct LpStatistics {
    std::int64_t solved = 0;    // programs handed to HiGHS
    std::int64_t pivots = 0;    // simplex iterations
    std::int64_t cold = 0;      // solved again from scratch because the check failed
    std::int64_t answered = 0;  // questions that needed no program

    template <class Archive>
    void archive(Archive& a) {
        a.counts(solved, pivots, cold, answered);
    }
};

// The rows exclude each other, at least by more than HiGHS tolerates.
class InfeasibleProgram : public SolverFailure {
public:
    InfeasibleProgram() : SolverFailure("HiGHS found that kept constraints exclude each other") {}
};

class LinearProgram {
public:
    LinearProgram(const HighsApi* api, std::int64_t n_functions, const Tolerances& tolerances)
        : api_(api),
          n_functions_(static_cast<std::size_t>(n_functions)),
          tolerances_(tolerances),
          independent_rows_(tolerances),
          highs_(api) {}

    // HiGHS's object stays: making one and setting its options costs as much as a solve.
    void clear() {
        rows_.clear();
        coefficients_.clear();
        independent_rows_.clear();
        n_columns_ = 0;
        n_sane_ = 0;
        unit_ = 1;
        passed_ = false;
    }

    const HighsApi* api() const { return api_; }
    std::size_t n_variables() const { return n_columns_; }
    std::size_t n_rows() const { return rows_.size(); }

    // most_variables: what the caller can have asked for.
    template <class Archive>
    void archive(Archive& a, std::size_t most_variables) {
        a(n_columns_, coefficients_, rows_, unit_, independent_rows_, passed_);
        if (passed_) a(record_);
        if constexpr (!Archive::loading) return;
        forget_model(passed_);
        n_sane_ = 0;
        a.require(n_columns_ <= most_variables && std::isfinite(unit_) && unit_ > 0, "a program");
        std::size_t first = 0;
        for (Row& row : rows_) {
            a.require(row.size <= n_columns_ && row.size <= coefficients_.size() - first, "a program");
            row.first = first;
            first += row.size;
        }
        a.require(first == coefficients_.size(), "a program");
        if (independent_rows_.independent()) {
            a.require(independent_rows_.n_rows() == rows_.size() && independent_rows_.n_directions() <= n_columns_,
                      "a program");
        }
        if (!passed_) return;
        a.require(record_.n_columns <= n_columns_ && record_.bounds.size() % 2 == 0 && record_.n_rows() <= rows_.size(),
                  "a program");
        const std::size_t size = record_.n_columns + 1 + n_functions_ + record_.n_rows();
        a.require(record_.basis.empty() || record_.basis.size() == size, "a program");
        for (const HighsInt status : record_.basis) a.require_index(status, 0, 5);
    }

    // Adds a row over the first coefficients.size() variables; new variables come with it. Returns its number.
    std::size_t add_row(const std::vector<double>& coefficients, double lower, double upper) {
        ensure_columns(coefficients.size());
        rows_.push_back({coefficients_.size(), coefficients.size(), lower, upper});
        fit_unit(lower, upper);
        coefficients_.insert(coefficients_.end(), coefficients.begin(), coefficients.end());
        independent_rows_.add(coefficients.data(), coefficients.size());
        independent_rows_.set_bounds(rows_.size() - 1, lower, upper);
        if (passed_) {
            record_.put({LpRecord::row, lower, upper});
            if (highs_.made()) tell(pass_row(rows_.back()));
        }
        return rows_.size() - 1;
    }

    void set_bounds(std::size_t row, double lower, double upper) {
        rows_[row].lower = lower;
        rows_[row].upper = upper;
        fit_unit(lower, upper);
        independent_rows_.set_bounds(row, lower, upper);
        if (passed_) {
            record_.put({LpRecord::bounds_of_row, static_cast<double>(row), lower, upper});
            if (highs_.made()) {
                tell(api_->change_row_bounds(highs_, row_number(row), lower / unit_, upper / unit_));
            }
        }
    }
    void free_row(std::size_t row) { set_bounds(row, -infinity, infinity); }

    // The smaller of sup c.z and `most`; +inf if unbounded. The set must not be empty.
    double maximise(const std::vector<double>& objective, double most, LpStatistics& statistics) {
        solved_ = false;
        if (independent_rows_.independent()) {
            ++statistics.answered;
            return std::min(most, independent_rows_.maximum(objective, multipliers_));
        }
        if (most < infinity) {
            // as an epigraph: simplex may stop at `most`, however far the optimum is
            negated_.resize(1);
            negated_[0].constant = 0;
            negated_[0].coefficients.assign(objective.begin(), objective.end());
            for (double& coefficient : negated_[0].coefficients) coefficient = -coefficient;
            return -minimise_maximum(negated_, -most, statistics);
        }
        return maximise_by_highs(objective, statistics);
    }

    // inf over the set of max(least, max_i coefficients_i.z + constant_i); -inf if unbounded.
    double minimise_maximum(const std::vector<AffineFunction>& functions, double least, LpStatistics& statistics) {
        solved_ = false;
        if (functions.size() == 2 && independent_rows_.independent()) {
            ++statistics.answered;
            weights_.resize(2);
            const double larger =
                independent_rows_.minimum_of_larger(functions[0], functions[1], weights_[0], multipliers_);
            weights_[1] = 1 - weights_[0];
            return std::max(least, larger);
        }
        return minimise_maximum_by_highs(functions, least, statistics);
    }

    // What proves a finite answer that is not the limit which came with the question: how many times each row is taken,
    // and for minimise_maximum each function. The sum of rows is the objective, or the sum of functions with its sign
    // turned.
    const std::vector<double>& multipliers() const { return multipliers_; }
    const std::vector<double>& weights() const { return weights_; }

    // Where the last question has its optimum, one number a variable; null where HiGHS did not find one.
    const double* solution() const { return solved_ ? column_value_.data() + 1 : nullptr; }

private:
    double maximise_by_highs(const std::vector<double>& objective, LpStatistics& statistics) {
        refuse_nonsense();
        for (const double coefficient : objective) refuse_unless(std::abs(coefficient) <= largest_coefficient);
        ensure_model();
        record_.ask(objective);
        objective_ = &objective;
        epigraph_ = nullptr;
        check(api_->change_column_bounds(highs_, 0, 0, 0));
        change_costs(0);
        return solve(statistics);
    }

    double minimise_maximum_by_highs(const std::vector<AffineFunction>& functions, double least,
                                     LpStatistics& statistics) {
        refuse_nonsense();
        for (const AffineFunction& function : functions) {
            refuse_unless(!std::isnan(function.constant));
            for (const double coefficient : function.coefficients) {
                refuse_unless(std::abs(coefficient) <= largest_coefficient);
            }
        }
        if (passed_ && !highs_.made()) do_again();  // before there are more variables than there were
        for (const AffineFunction& function : functions) {
            ensure_columns(function.coefficients.size());
            fit_unit(least, function.constant);
        }
        ensure_model();
        record_.ask(functions, least);
        objective_ = nullptr;
        epigraph_ = &functions;
        check(api_->change_column_bounds(highs_, 0, least / unit_, infinity));
        change_costs(-1);
        for (std::size_t i = 0; i < functions.size(); ++i) {
            change_epigraph(i, functions[i].coefficients);
            const double constant = functions[i].constant / unit_;
            check(api_->change_row_bounds(highs_, static_cast<HighsInt>(i), constant, infinity));
        }
        const double result = -solve(statistics);
        for (std::size_t i = 0; i < functions.size(); ++i) {
            check(api_->change_row_bounds(highs_, static_cast<HighsInt>(i), -infinity, infinity));
        }
        return result;
    }

    // What a made-up file says can become numbers from which HiGHS never comes back. Ours are about 1 at most.
    static constexpr double largest_coefficient = 1e3;
    void refuse_nonsense() {
        for (; n_sane_ < coefficients_.size(); ++n_sane_) {
            refuse_unless(std::abs(coefficients_[n_sane_]) <= largest_coefficient);
        }
        for (const Row& row : rows_) refuse_unless(!std::isnan(row.lower) && !std::isnan(row.upper));
    }
    static void refuse_unless(bool sane) {
        if (!sane) throw SolverFailure("a linear program whose numbers make no sense");
    }

    // The model: column 0 is the epigraph variable s, fixed at 0 when not in use, then the variables z; rows
    // 0 .. n_functions - 1 are s - c_i.z >= constant_i, free when not in use, then the rows of the set.
    struct Row {
        std::size_t first, size;  // in coefficients_
        double lower, upper;
        template <class Archive>
        void archive(Archive& a) {
            a(size, lower, upper);
        }
    };
    static constexpr std::int64_t most_questions = 64;  // on record

    static HighsInt column(std::size_t variable) { return static_cast<HighsInt>(variable + 1); }
    HighsInt row_number(std::size_t row) const { return static_cast<HighsInt>(n_functions_ + row); }

    void ensure_columns(std::size_t n) {
        for (; n_columns_ < n; ++n_columns_) {
            if (passed_ && highs_.made()) tell(api_->add_column(highs_, 0, -infinity, infinity, 0, nullptr, nullptr));
        }
    }

    void fit_unit(double lower, double upper) {
        for (const double bound : {lower, upper}) {
            const double size = std::abs(bound);
            if (std::isinf(bound) || size <= 0x1p20 * unit_) continue;
            unit_ = std::exp2(std::ceil(std::log2(size)) - 10);  // a power of two: dividing by it is exact
            passed_ = false;
        }
    }

    // The rows here are the truth: a model that did not take a change of them is made again when next solved.
    void tell(HighsInt status) {
        if (status < 0) forget_model();
    }

    // While solving there is no second chance; the model, which may be half changed, is made again next time.
    void check(HighsInt status) {
        if (status >= 0) return;
        forget_model();
        throw SolverFailure("HiGHS refused a change of the model");
    }

    // on_record: it will be made again as it was.
    void forget_model(bool on_record = false) {
        highs_.forget();
        passed_ = on_record;
    }

    void ensure_model() {
        if (passed_ && !highs_.made()) do_again();
        if (passed_ && record_.n_questions < most_questions) return;
        std::vector<HighsInt> basis;
        if (passed_) {
            const std::size_t n_columns = n_columns_ + 1;
            basis.assign(n_columns + n_functions_ + rows_.size(), -1);
            if (api_->get_basis(highs_, basis.data(), basis.data() + n_columns) < 0 || basis.back() < 0) basis.clear();
        }
        start(std::move(basis));
    }

    // Passes the model, to start from a basis of it; an empty one: HiGHS chooses.
    void start(std::vector<HighsInt> basis) {
        passed_ = false;
        if (!highs_.made()) create();
        pass_model();
        if (!basis.empty() && api_->set_basis(highs_, basis.data(), basis.data() + n_columns_ + 1) < 0) {
            basis.clear();
            pass_model();
        }
        record_ = {n_columns_, unit_, {}, std::move(basis), {}, 0};
        for (const Row& row : rows_) {
            record_.bounds.push_back(row.lower);
            record_.bounds.push_back(row.upper);
        }
        passed_ = true;
    }

    // Makes the model of a program that has none from the record. Should HiGHS fail at what it once did, the model is
    // passed as it is now.
    void do_again() {
        LinearProgram past(api_, static_cast<std::int64_t>(n_functions_), tolerances_);
        past.independent_rows_.give_up();
        past.n_columns_ = record_.n_columns;
        past.unit_ = record_.unit;
        for (std::size_t i = 0; i < record_.n_rows(); ++i) {
            past.rows_.push_back({rows_[i].first, rows_[i].size, record_.bounds[2 * i], record_.bounds[2 * i + 1]});
        }
        const std::size_t n = past.rows_.empty() ? 0 : past.rows_.back().first + past.rows_.back().size;
        past.coefficients_.assign(coefficients_.begin(), coefficients_.begin() + static_cast<std::ptrdiff_t>(n));
        try {
            past.start(record_.basis);
            passed_ = past.follow(*this) && past.highs_.made() && past.n_columns_ == n_columns_ &&
                      past.unit_ == unit_ && past.rows_.size() == rows_.size();
        } catch (const SolverFailure&) {
            passed_ = false;
        }
        std::swap(highs_, past.highs_);
        std::swap(epigraph_held_, past.epigraph_held_);
    }

    // What is on the record of a later self; false where that is no record.
    bool follow(const LinearProgram& later) {
        LpRecord::Reader events(later.record_);
        LpStatistics unused;
        std::vector<double> numbers;
        while (!events.at_end() && passed_) {
            const double kind = events.take();
            if (kind == LpRecord::row) {
                if (rows_.size() == later.rows_.size()) return false;
                const Row& row = later.rows_[rows_.size()];
                const auto first = later.coefficients_.begin() + static_cast<std::ptrdiff_t>(row.first);
                numbers.assign(first, first + static_cast<std::ptrdiff_t>(row.size));
                const double lower = events.take();
                add_row(numbers, lower, events.take());
            } else if (kind == LpRecord::bounds_of_row) {
                const double number = events.take(), lower = events.take();
                if (!(number >= 0 && number < static_cast<double>(rows_.size()))) return false;
                set_bounds(static_cast<std::size_t>(number), lower, events.take());
            } else if (kind == LpRecord::maximum) {
                if (!events.take(numbers, later.n_columns_)) return false;
                maximise_by_highs(numbers, unused);
            } else if (kind == LpRecord::minimum_of_maximum) {
                const double least = events.take(), n = events.take();
                if (!(n >= 0 && n <= static_cast<double>(n_functions_))) return false;
                std::vector<AffineFunction> functions(static_cast<std::size_t>(n));
                for (AffineFunction& function : functions) {
                    function.constant = events.take();
                    if (!events.take(function.coefficients, later.n_columns_)) return false;
                }
                minimise_maximum_by_highs(functions, least, unused);
            } else {
                return false;
            }
        }
        return passed_;
    }

    void create() {
        highs_.make();
        // Measured best for re-solves of a few hundred microseconds and less: plain warm dual simplex.
        api_->set_string(highs_, "presolve", "off");
        api_->set_string(highs_, "solver", "simplex");
        api_->set_int(highs_, "simplex_scale_strategy", 0);
        api_->set_int(highs_, "simplex_dual_edge_weight_strategy", 1);
        api_->set_int(highs_, "simplex_primal_edge_weight_strategy", 1);
        set_strategy(chosen_by_highs, 0);
        api_->set_double(highs_, "primal_feasibility_tolerance", tolerances_.primal);
        api_->set_double(highs_, "dual_feasibility_tolerance", tolerances_.dual);
        api_->set_double(highs_, "small_matrix_value", tolerances_.rounding);  // what is smaller it takes for 0
    }

    // In one call: row by row it takes longer than the solve.
    void pass_model() {
        const std::size_t n_columns = n_columns_ + 1, n_rows = n_functions_ + rows_.size();
        const std::vector<double> cost(n_columns, 0.0);
        std::vector<double> column_lower(n_columns, -infinity), column_upper(n_columns, infinity);
        column_lower[0] = column_upper[0] = 0;
        std::vector<double> row_lower(n_rows, -infinity), row_upper(n_rows, infinity);
        std::vector<HighsInt> start(n_rows);
        index_.clear();
        value_.clear();
        for (std::size_t i = 0; i < n_rows; ++i) {
            start[i] = static_cast<HighsInt>(index_.size());
            if (i < n_functions_) {
                index_.push_back(0);
                value_.push_back(1);
            } else {
                const Row& row = rows_[i - n_functions_];
                append_entries(row);
                row_lower[i] = row.lower / unit_;
                row_upper[i] = row.upper / unit_;
            }
        }
        epigraph_held_.assign(n_functions_, {});
        check(api_->pass_lp(highs_, static_cast<HighsInt>(n_columns), static_cast<HighsInt>(n_rows),
                            static_cast<HighsInt>(index_.size()), HighsModel::by_rows, HighsModel::maximisation, 0,
                            cost.data(), column_lower.data(), column_upper.data(), row_lower.data(), row_upper.data(),
                            start.data(), index_.data(), value_.data()));
    }

    HighsInt pass_row(const Row& row) {
        index_.clear();
        value_.clear();
        append_entries(row);
        return api_->add_row(highs_, row.lower / unit_, row.upper / unit_, static_cast<HighsInt>(index_.size()),
                             index_.data(), value_.data());
    }

    void append_entries(const Row& row) {
        for (std::size_t j = 0; j < row.size; ++j) {
            const double coefficient = coefficients_[row.first + j];
            if (coefficient == 0) continue;
            index_.push_back(column(j));
            value_.push_back(coefficient);
        }
    }

    // Of the present question: s costs this much.
    void change_costs(double cost_of_s) {
        value_.assign(n_columns_ + 1, cost_of_s);
        for (std::size_t j = 0; j < n_columns_; ++j) value_[j + 1] = cost_of(j);
        check(api_->change_costs(highs_, 0, static_cast<HighsInt>(n_columns_), value_.data()));
    }

    void change_epigraph(std::size_t function, const std::vector<double>& coefficients) {
        std::vector<double>& held = epigraph_held_[function];
        held.resize(n_columns_, 0.0);
        for (std::size_t j = 0; j < n_columns_; ++j) {
            const double coefficient = j < coefficients.size() ? -coefficients[j] : 0;
            if (held[j] == coefficient) continue;
            check(api_->change_coefficient(highs_, static_cast<HighsInt>(function), column(j), coefficient));
            held[j] = coefficient;
        }
    }

    // First warm; then cold; then cold by the other simplex with HiGHS's own perturbations, which are what degenerate
    // programs that end in "unknown" need.
    double solve(LpStatistics& statistics) {
        ++statistics.solved;
        HighsInt status = 0;
        for (int attempt = 0; attempt < 3; ++attempt) {
            if (attempt > 0) {
                ++statistics.cold;
                check(api_->clear_solver(highs_));
            }
            if (attempt == 2) set_strategy(primal_simplex, 1);
            status = run(statistics);
            if (attempt == 2) set_strategy(chosen_by_highs, 0);
            if (status == HighsModel::unbounded || status == HighsModel::unbounded_or_infeasible) return infinity;
            double value = 0;
            if (status == HighsModel::optimal && verified(value)) {
                solved_ = true;
                return value;
            }
        }
        forget_model();  // whatever state it is in, the rows are known here
        if (status == HighsModel::infeasible) throw InfeasibleProgram();
        throw SolverFailure("HiGHS ended with model status " + std::to_string(status) + " on a program of " +
                            std::to_string(n_columns_) + " variables and " + std::to_string(rows_.size()) + " rows");
    }

    static constexpr HighsInt chosen_by_highs = 0, primal_simplex = 4;
    void set_strategy(HighsInt strategy, double perturbation) {
        api_->set_int(highs_, "simplex_strategy", strategy);
        api_->set_double(highs_, "dual_simplex_cost_perturbation_multiplier", perturbation);
        api_->set_double(highs_, "primal_simplex_bound_perturbation_multiplier", perturbation);
    }

    HighsInt run(LpStatistics& statistics) {
        highs_.run();  // if this fails, the model has no status
        HighsInt pivots = 0;
        api_->int_info(highs_, "simplex_iteration_count", &pivots);
        statistics.pivots += std::max<HighsInt>(pivots, 0);
        return api_->model_status(highs_);
    }

    // Whether the solution satisfies the conditions of optimality; writes its value.
    bool verified(double& value) {
        const std::size_t columns = n_columns_ + 1, rows = n_functions_ + rows_.size();
        column_value_.resize(columns);
        column_dual_.resize(columns);
        row_value_.resize(rows);
        row_dual_.resize(rows);
        if (api_->solution(highs_, column_value_.data(), column_dual_.data(), row_value_.data(), row_dual_.data()) <
            0) {
            return false;
        }
        for (double& value_of_column : column_value_) value_of_column *= unit_;
        const double s = column_value_[0];
        const double* const z = column_value_.data() + 1;
        // rows: within their bounds, and a dual only where a bound is met
        gradient_.assign(n_columns_, 0.0);  // what the duals add up to
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            const Row& row = rows_[i];
            const double* const coefficients = &coefficients_[row.first];
            double activity = 0, size = unit_;
            for (std::size_t j = 0; j < row.size; ++j) {
                activity += coefficients[j] * z[j];
                size = std::max(size, std::abs(z[j]));
            }
            const double dual = row_dual_[n_functions_ + i];
            if (!feasible(activity, row.lower, row.upper, size, dual)) return false;
            for (std::size_t j = 0; j < row.size; ++j) gradient_[j] += dual * coefficients[j];
        }
        for (std::size_t i = 0; epigraph_ != nullptr && i < epigraph_->size(); ++i) {
            double activity = s, size = std::max(unit_, std::abs(s));
            const auto& [coefficients, constant] = (*epigraph_)[i];
            for (std::size_t j = 0; j < coefficients.size(); ++j) {
                activity -= coefficients[j] * z[j];
                size = std::max(size, std::abs(z[j]));
            }
            if (!feasible(activity, constant, infinity, size, row_dual_[i])) return false;
            for (std::size_t j = 0; j < coefficients.size(); ++j) gradient_[j] -= row_dual_[i] * coefficients[j];
        }
        value = 0;
        for (std::size_t j = 0; j < n_columns_; ++j) {
            const double cost = cost_of(j);
            if (std::abs(cost - gradient_[j]) > tolerances_.verified * std::max(1.0, std::abs(cost))) return false;
            value += cost * z[j];
        }
        if (epigraph_ != nullptr) value = -s;
        if (!std::isfinite(value)) return false;
        multipliers_.assign(row_dual_.begin() + static_cast<std::ptrdiff_t>(n_functions_), row_dual_.end());
        weights_.assign(row_dual_.begin(), row_dual_.begin() + static_cast<std::ptrdiff_t>(n_functions_));
        for (double& weight : weights_) weight = -weight;  // of s - f >= 0 in a maximum of -s
        return true;
    }

    bool feasible(double activity, double lower, double upper, double size, double dual) const {
        const double slack = tolerances_.verified * size;
        if (activity < lower - slack || activity > upper + slack) return false;
        // complementary slackness, with the sign of a maximisation: pushing against the upper bound pays
        if (dual > tolerances_.verified) return activity >= upper - slack;
        if (dual < -tolerances_.verified) return activity <= lower + slack;
        return true;
    }

    double cost_of(std::size_t variable) const {
        return objective_ == nullptr || variable >= objective_->size() ? 0 : (*objective_)[variable];
    }

    const HighsApi* api_ = nullptr;
    std::size_t n_functions_ = 0;  // at most so many in minimise_maximum
    Tolerances tolerances_;
    std::size_t n_columns_ = 0;  // variables
    std::vector<Row> rows_;
    std::vector<double> coefficients_;  // of all rows, one after the other
    std::size_t n_sane_ = 0;            // so many of them are known to make sense
    double unit_ = 1;                   // of the bounds and variables that HiGHS has
    IndependentRows independent_rows_;  // the same rows, as long as they are
    HighsModel highs_;
    bool passed_ = false;  // whether HiGHS has all of the above, or will have once the record is followed
    bool solved_ = false;  // whether it found the last optimum

    // The present question: one of the two.
    const std::vector<double>* objective_ = nullptr;
    const std::vector<AffineFunction>* epigraph_ = nullptr;
    std::vector<std::vector<double>> epigraph_held_;  // the coefficients that HiGHS has, by function
    LpRecord record_;                                 // where passed_

    // scratch
    std::vector<HighsInt> index_;
    std::vector<double> value_;
    std::vector<AffineFunction> negated_;
    std::vector<double> multipliers_, weights_;  // of the last answer
    std::vector<double> column_value_, column_dual_, row_value_, row_dual_, gradient_;
};
static_assert(std::is_nothrow_move_constructible_v<LinearProgram>);  // a vector that grows keeps its models

}  // namespace ocp
