// The hypotheses of one block of a linear class: theta in a polyhedron, cut down by constraints L <= phi.theta <= U.
//
// Exact where it can be: equalities live in an orthonormal basis and never enter a linear program, where rounding could
// make a chain of them inconsistent. Modulo that basis, a feature that no interval row says anything about is
// unbounded. Only what is left is a linear program, in the coordinates that the interval rows span.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/basis.hpp"
#include "ocpfast/hypothesis/features.hpp"
#include "ocpfast/hypothesis/states.hpp"
#include "ocpfast/lp/program.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

class LinearBlock {
public:
    // n_functions: how many infimum_of_maximum can be asked about; 0: one for each action.
    LinearBlock(std::shared_ptr<const Features> features, std::int64_t block, const HighsApi* api,
                const Tolerances& tolerances, std::int64_t n_functions = 0)
        : features_(std::move(features)),
          number_(block),
          tolerances_(tolerances),
          pinned_(features_->n_features()),
          spanned_(features_->n_features()),
          program_(api, n_functions > 0 ? n_functions : features_->domain().n_actions()),
          memo_(static_cast<std::size_t>(features_->domain().n_cells() / features_->n_blocks())) {
        if (features_->domain().open()) states_.emplace(features_);
    }

    std::size_t size() const { return memo_.size(); }  // number of features
    std::uint64_t version() const { return version_; }
    const LpStatistics& statistics() const { return statistics_; }
    std::size_t n_pinned() const { return pinned_.size(); }
    bool has_rows() const { return !features_->prior().empty() || n_active_rows_ > 0; }

    // ---- open domains ------------------------------------------------------------------------------------------

    // The point of a state of this block, met before or not; calls added(point) for a new one.
    template <class Added>
    std::int64_t locate(const double* state, std::int64_t layer, Added&& added) {
        const std::int64_t local = states_->find_or_add(layer, state, [&](std::int64_t new_local) {
            const std::int64_t n_actions = features_->domain().n_actions();
            memo_.resize(static_cast<std::size_t>(states_->n_numbers() * n_actions));
            const auto first = memo_.begin() + new_local * n_actions;
            std::fill(first, first + n_actions, Memo{});
            added(global(new_local));
        });
        return local == Partition::nowhere ? local : global(local);
    }
    bool crowded() const { return states_->crowded(); }
    std::int64_t n_states() const { return states_ ? states_->size() : 0; }

    // Forgets the points for which held(point) is false.
    template <class Held>
    void collect(Held&& held) {
        states_->collect([&](std::int64_t local) { return held(global(local)); });
    }
    // Calls visit(layer, point) for each.
    template <class Visit>
    void for_each_point(Visit&& visit) const {
        for (std::int64_t local = 0; local < states_->n_numbers(); ++local) {
            if (states_->used(local)) visit(states_->layer_of(local), global(local));
        }
    }
    std::int64_t layer_of(std::int64_t point) const { return states_->layer_of(point / features_->n_blocks()); }

    void read_feature(std::int64_t index, double* feature) const {
        if (!states_) return features_->rows()->read(index, feature);
        const std::int64_t n_actions = features_->domain().n_actions();
        const double* row = states_->feature(index / n_actions / features_->n_blocks(), index % n_actions);
        std::copy(row, row + features_->n_features(), feature);
    }

    // ---- what is known -----------------------------------------------------------------------------------------

    bool pinned(std::int64_t index) { return recall(index).pinned; }

    double upper(std::int64_t index) {
        Memo& memo = recall(index);
        if (memo.pinned) return memo.value;
        if (!memo.upper_known) {
            memo.upper = supremum(feature(index), 1);
            memo.upper_known = true;
        }
        return memo.upper;
    }
    double lower(std::int64_t index) {
        Memo& memo = recall(index);
        if (memo.pinned) return memo.value;
        if (!memo.lower_known) {
            memo.lower = -supremum(feature(index), -1);
            memo.lower_known = true;
        }
        return memo.lower;
    }

    // inf over theta of the largest of phi_i.theta.
    double infimum_of_maximum(const std::vector<std::int64_t>& indices) {
        double largest = -infinity;  // of those that are known
        std::vector<LinearProgram::Function> functions;
        Basis beyond(features_->n_features());  // what the rows say nothing about
        double scale = 0;
        bool independent = true;
        for (const std::int64_t index : indices) {
            const Memo& memo = recall(index);
            if (memo.pinned) {
                largest = std::max(largest, memo.value);
                continue;
            }
            Reduced reduced = reduce(feature(index), 1);
            std::vector<double> extra;
            beyond.split(reduced.residual, extra);
            const double left = length(reduced.residual.data(), reduced.residual.size());
            reduced.coordinates.resize(spanned_.size(), 0.0);
            reduced.coordinates.insert(reduced.coordinates.end(), extra.begin(), extra.end());
            if (left > tolerances_.dependence) {
                beyond.add(reduced.residual, left);
                reduced.coordinates.push_back(left);
            } else {
                independent = false;
            }
            for (double& coordinate : reduced.coordinates) coordinate *= reduced.scale;
            scale = std::max(scale, reduced.scale);
            functions.push_back({std::move(reduced.coordinates), reduced.constant});
        }
        // Independent of each other and of the rows, they can all go to -inf together.
        if (independent) {
            ++statistics_.answered;
            return largest;
        }
        for (auto& function : functions) {
            for (double& coefficient : function.coefficients) coefficient /= scale;
            function.constant /= scale;
        }
        return scale * named([&] { return program_.minimise_maximum(functions, largest / scale, statistics_); });
    }

    // ---- Algorithm 1, for ConstraintStore ------------------------------------------------------------------------

    bool possible(const Constraint& c) {  // against the prior alone
        if (compatible(c)) return true;
        if (features_->prior().empty()) return !pinned_by_nothing(c.index) || within(0, c);
        if (prior_alone_.empty()) {
            prior_alone_.emplace_back(features_, number_, program_.api(), tolerances_);
        }
        // there the points of an open domain are not known
        return states_ ? prior_alone_[0].allows(feature(c.index), c) : prior_alone_[0].compatible(c);
    }

    bool compatible(const Constraint& c) {
        const Memo& memo = recall(c.index);
        if (memo.pinned) return within(memo.value, c);
        if (c.lower > -infinity && upper(c.index) < c.lower - slack(c.lower)) return false;
        return c.upper == infinity || lower(c.index) <= c.upper + slack(c.upper);
    }

    // compatible, for any feature and without a memo.
    bool allows(const double* phi, const Constraint& c) {
        if (stale_) rebuild();
        std::vector<double> vector(phi, phi + features_->n_features()), coefficients;
        pinned_.split(vector, coefficients);
        if (length(vector.data(), vector.size()) <= tolerances_.dependence * length(phi, vector.size())) {
            return within(dot(coefficients.data(), values_.data(), coefficients.size()), c);
        }
        if (c.lower > -infinity && supremum(phi, 1) < c.lower - slack(c.lower)) return false;
        return c.upper == infinity || -supremum(phi, -1) <= c.upper + slack(c.upper);
    }

    bool reduces_dimension(const Constraint& c) { return c.lower == c.upper && !pinned(c.index); }
    bool determines(const Constraint& c) { return c.upper < infinity && upper(c.index) == infinity; }

    void add(const Constraint& c) {
        ++version_;
        if (c.lower == c.upper) {
            equalities_.push_back(c);
            // rows lose a dimension, suspended ones too
            if (!stale_ && pin(feature(c.index), c.lower)) stale_ = has_rows() || !rows_.empty();
            return;
        }
        ++n_active_rows_;
        const auto known = rows_.find(c.identity);
        if (known != rows_.end()) {
            known->second.active = true;
            if (!stale_) bound(known->second);
            return;
        }
        Row& row = rows_.emplace(c.identity, Row{c, true, no_row, 0, 0}).first->second;
        if (!stale_) enter(row);
    }

    void remove(const Constraint& c) {
        ++version_;
        ++epoch_;
        if (c.lower == c.upper) {
            const auto found = std::find_if(equalities_.begin(), equalities_.end(),
                                            [&](const Constraint& other) { return other.identity == c.identity; });
            equalities_.erase(found);
            stale_ = true;
            return;
        }
        --n_active_rows_;
        Row& row = rows_.at(c.identity);
        row.active = false;
        if (!stale_ && row.number != no_row) program_.free_row(row.number);
        // suspended rows come back in a moment; deleted ones are swept out now and then
        if (rows_.size() > 2 * n_active_rows_ + 64) stale_ = true;
    }

private:
    static constexpr std::size_t no_row = static_cast<std::size_t>(-1);

    struct Memo {
        std::uint64_t version = ~std::uint64_t{0};
        std::uint64_t epoch = ~std::uint64_t{0};
        double value = 0, upper = 0, lower = 0;
        bool pinned = false, upper_known = false, lower_known = false;
    };
    struct Row {
        Constraint constraint;
        bool active;
        std::size_t number;  // in program_, or no_row where the feature is pinned
        double constant, scale;
    };
    // phi.theta = constant + scale * (coordinates.z + residual.theta), the residual outside of what rows span.
    struct Reduced {
        double constant, scale;
        std::vector<double> coordinates, residual;
        double left;  // length of the residual
    };

    // The points of the blocks take turns, see Features::block.
    std::int64_t global(std::int64_t local) const { return local * features_->n_blocks() + number_; }
    std::size_t memo_of(std::int64_t index) const {
        if (!states_) return static_cast<std::size_t>(index) - static_cast<std::size_t>(number_) * memo_.size();
        const std::int64_t n_actions = features_->domain().n_actions();
        return static_cast<std::size_t>(index / n_actions / features_->n_blocks() * n_actions + index % n_actions);
    }

    bool pinned_by_nothing(std::int64_t index) const {
        return length(feature(index), features_->n_features()) == 0;
    }
    // Until the next call.
    const double* feature(std::int64_t index) const {
        feature_.resize(features_->n_features());
        read_feature(index, feature_.data());
        return feature_.data();
    }

    double slack(double value) const { return tolerances_.feasibility * std::max(1.0, std::abs(value)); }
    bool within(double value, const Constraint& c) const {
        return value >= c.lower - slack(value) && value <= c.upper + slack(value);
    }

    // Something pinned stays so until a constraint is removed; all else is asked again when anything changed.
    Memo& recall(std::int64_t index) {
        if (stale_) rebuild();
        Memo& memo = memo_[memo_of(index)];
        if (memo.version == version_ || (memo.pinned && memo.epoch == epoch_)) {
            ++statistics_.answered;
            return memo;
        }
        const double* phi = feature(index);
        std::vector<double> vector(phi, phi + features_->n_features()), coefficients;
        pinned_.split(vector, coefficients);
        const double size = length(phi, vector.size());
        memo = Memo{version_, epoch_, dot(coefficients.data(), values_.data(), coefficients.size())};
        memo.pinned = length(vector.data(), vector.size()) <= tolerances_.dependence * size;
        return memo;
    }

    // Not for pinned features.
    Reduced reduce(const double* phi, double sign) const {
        Reduced reduced;
        reduced.residual.assign(phi, phi + features_->n_features());
        std::vector<double> coefficients;
        pinned_.split(reduced.residual, coefficients);
        reduced.constant = sign * dot(coefficients.data(), values_.data(), coefficients.size());
        reduced.scale = length(reduced.residual.data(), reduced.residual.size());
        for (double& part : reduced.residual) part *= sign / reduced.scale;
        spanned_.split(reduced.residual, reduced.coordinates);
        reduced.left = length(reduced.residual.data(), reduced.residual.size());
        return reduced;
    }

    double supremum(const double* phi, double sign) {
        ++statistics_.answered;
        if (!has_rows()) return infinity;
        const Reduced reduced = reduce(phi, sign);
        if (reduced.left > tolerances_.dependence) return infinity;
        --statistics_.answered;
        return reduced.constant +
               reduced.scale * named([&] { return program_.maximise(reduced.coordinates, statistics_); });
    }

    template <class Solve>
    double named(const Solve& solve) const {
        try {
            return solve();
        } catch (const SolverFailure& failure) {
            throw SolverFailure("block " + std::to_string(number_) + ": " + failure.what());
        }
    }

    // Adds phi.theta = value to the basis; false where phi is in its span already.
    bool pin(const double* phi, double value) {
        std::vector<double> vector(phi, phi + features_->n_features()), coefficients;
        pinned_.split(vector, coefficients);
        const double left = length(vector.data(), vector.size());
        if (left <= tolerances_.dependence * length(phi, vector.size())) return false;
        pinned_.add(vector, left);
        values_.push_back((value - dot(coefficients.data(), values_.data(), coefficients.size())) / left);
        return true;
    }

    void enter(Row& row) {
        row.number = no_row;
        const double* phi = feature(row.constraint.index);
        std::vector<double> vector(phi, phi + features_->n_features()), coefficients;
        pinned_.split(vector, coefficients);
        if (length(vector.data(), vector.size()) <= tolerances_.dependence * length(phi, vector.size())) return;
        Reduced reduced = reduce(phi, 1);
        span(reduced);
        row.constant = reduced.constant;
        row.scale = reduced.scale;
        row.number = program_.add_row(reduced.coordinates, -infinity, infinity);
        bound(row);
    }

    // Makes room for a new direction where the residual has one.
    void span(Reduced& reduced) {
        if (reduced.left <= tolerances_.dependence) return;
        spanned_.add(reduced.residual, reduced.left);
        reduced.coordinates.push_back(reduced.left);
    }

    void bound(const Row& row) {
        if (row.number == no_row) return;
        program_.set_bounds(row.number, (row.constraint.lower - row.constant) / row.scale,
                            (row.constraint.upper - row.constant) / row.scale);
    }

    void rebuild() {
        stale_ = false;
        pinned_.clear();
        values_.clear();
        spanned_.clear();
        program_.clear();
        for (const PriorRow& row : features_->prior()) {
            if (row.equality) pin(row.coefficients.data(), row.bound);
        }
        for (const Constraint& c : equalities_) pin(feature(c.index), c.lower);
        for (const PriorRow& row : features_->prior()) {
            if (row.equality) continue;
            std::vector<double> vector = row.coefficients, coefficients;
            pinned_.split(vector, coefficients);
            const double size = length(row.coefficients.data(), vector.size());
            if (length(vector.data(), vector.size()) <= tolerances_.dependence * size) continue;
            Reduced reduced = reduce(row.coefficients.data(), 1);
            span(reduced);
            program_.add_row(reduced.coordinates, -infinity, (row.bound - reduced.constant) / reduced.scale);
        }
        for (auto row = rows_.begin(); row != rows_.end();)
            row = row->second.active ? std::next(row) : rows_.erase(row);
        for (auto& [identity, row] : rows_) enter(row);
    }

    std::shared_ptr<const Features> features_;
    std::int64_t number_;           // of the block
    std::optional<States> states_;  // of an open domain
    Tolerances tolerances_;

    std::vector<Constraint> equalities_;  // kept, L = U
    std::map<std::int64_t, Row> rows_;    // kept, L < U, by identity; and suspended ones
    std::size_t n_active_rows_ = 0;

    Basis pinned_;                // V: directions in which theta is known
    std::vector<double> values_;  // y: V.theta
    Basis spanned_;               // the coordinates z: directions that rows are about, orthogonal to V
    LinearProgram program_;
    bool stale_ = true;  // the four above must be made anew

    std::uint64_t version_ = 0, epoch_ = 0;  // of all changes, of removals
    std::vector<Memo> memo_;
    std::vector<LinearBlock> prior_alone_;  // the prior and nothing else, once something conflicts
    mutable std::vector<double> feature_;   // scratch
    LpStatistics statistics_;
};

}  // namespace ocp
