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
#include "ocpfast/hypothesis/attained.hpp"
#include "ocpfast/hypothesis/basis.hpp"
#include "ocpfast/hypothesis/features.hpp"
#include "ocpfast/hypothesis/states.hpp"
#include "ocpfast/lp/program.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

class LinearBlock {
public:
    // bounds: answers are clipped to them; no rows are added. n_functions: how many infimum_of_maximum can be asked
    // about; 0: one for each action.
    LinearBlock(std::shared_ptr<const Features> features, std::int64_t block, const HighsApi* api,
                const Tolerances& tolerances, PriorBounds bounds = {}, std::int64_t n_functions = 0)
        : features_(std::move(features)),
          number_(block),
          tolerances_(tolerances),
          bounds_(std::move(bounds)),
          pinned_(features_->n_features()),
          spanned_(features_->n_features()),
          program_(api, n_functions > 0 ? n_functions : features_->domain().n_actions(), tolerances),
          attained_(features_->n_features(), tolerances.equality),
          memo_(static_cast<std::size_t>(features_->domain().n_cells() / features_->n_blocks())) {
        if (features_->domain().open()) states_.emplace(features_);
    }

    std::size_t size() const { return memo_.size(); }  // number of features
    std::uint64_t version() const { return version_; }
    const LpStatistics& statistics() const { return statistics_; }
    // Dimensions of theta that observed equalities tell, beyond what the prior does.
    std::size_t n_pinned() {
        if (pins_stale_) renew_pins();
        return pinned_.size() - n_prior_pins_;
    }
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
        states_->collect([&](std::int64_t local) {
            if (held(global(local))) return true;
            const std::int64_t n_actions = features_->domain().n_actions(), first = global(local) * n_actions;
            for (std::int64_t index = first; index < first + n_actions; ++index) {
                for (const Question question : {Question::upper, Question::lower, Question::minimax}) {
                    attained_.forget(number_of(question, index));
                }
            }
            return false;
        });
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

    double least(std::int64_t index) const { return bounds_.lower[bound_of(bounds_.lower, index)]; }
    double most(std::int64_t index) const { return bounds_.upper[bound_of(bounds_.upper, index)]; }
    double clip(std::int64_t index, double value) const { return std::min(std::max(value, least(index)), most(index)); }

    bool pinned(std::int64_t index) { return recall(index).pinned; }
    bool pinned_at(std::int64_t index, double value) {
        const Memo& memo = recall(index);
        return memo.pinned && std::abs(memo.value - value) <= slack(memo.value);
    }

    double upper(std::int64_t index) { return clip(index, highest(index)); }
    double lower(std::int64_t index) { return clip(index, lowest(index)); }
    // At least upper(index), and found at once: while nothing is removed upper values only fall.
    double upper_bound(std::int64_t index) {
        const Memo& memo = recall(index);
        if (memo.pinned) return clip(index, memo.value);
        return memo.upper_known || memo.n_removals == n_removals_ ? clip(index, memo.upper) : most(index);
    }

    // inf over theta of the largest of phi_i.theta. Those whose first index is `remembered_as` must always be the same.
    double infimum_of_maximum(const std::vector<std::int64_t>& indices, std::int64_t remembered_as = none) {
        double largest = -infinity;  // of those that are known
        std::vector<std::int64_t> unknown;
        for (const std::int64_t index : indices) {
            const Memo& memo = recall(index);
            if (memo.pinned) {
                largest = std::max(largest, memo.value);
            } else {
                unknown.push_back(index);
            }
        }
        if (unknown.empty()) return clip(indices[0], largest);
        if (unknown.size() == 1) return clip(indices[0], std::max(largest, lowest(unknown[0])));
        largest = std::max(largest, least(indices[0]));

        const std::int64_t question = remembered_as == none ? none : number_of(Question::minimax, remembered_as);
        double value = 0;
        if (still(question, value)) return value;
        ensure_rows();
        std::vector<AffineFunction> functions;
        Basis beyond(features_->n_features());  // what the rows say nothing about
        double scale = 0;
        bool independent = true;
        for (const std::int64_t index : unknown) {
            reduce(feature(index), 1);
            scale = std::max(scale, reduced_.scale);
            std::vector<double> coordinates = reduced_.coordinates;
            beyond.split(reduced_.residual, coefficients_);
            coordinates.insert(coordinates.end(), coefficients_.begin(), coefficients_.end());
            const double left = length(reduced_.residual.data(), reduced_.residual.size());
            if (left > tolerances_.dependence) {
                beyond.add(reduced_.residual, left);
                coordinates.push_back(left);
            } else {
                independent = false;
            }
            for (double& coordinate : coordinates) coordinate *= reduced_.scale;
            functions.push_back({std::move(coordinates), reduced_.constant});
        }
        // Independent of each other and of the rows, they can all go to -inf together.
        if (independent) {
            ++statistics_.answered;
            return clip(indices[0], largest);
        }
        for (auto& function : functions) {
            for (double& coefficient : function.coefficients) coefficient /= scale;
            function.constant /= scale;
        }
        value = scale * named([&] { return program_.minimise_maximum(functions, largest / scale, statistics_); });
        value = clip(indices[0], value);
        remember(question, value, &beyond);
        return value;
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
        const double least = c.lower - slack(c.lower), most = c.upper + slack(c.upper);
        if (!attained_.has_witness()) {
            if (c.lower > -infinity && highest(c.index) < least) return false;
            return c.upper == infinity || lowest(c.index) <= most;
        }
        // Between the witness and a point beyond the nearer end there is one in the interval.
        const double value = attained_.at_witness(feature(c.index));
        if (value >= least && value <= most) {
            ++statistics_.answered;
            return true;
        }
        const bool above = value > most;
        if (above ? lowest(c.index) > most : highest(c.index) < least) return false;
        const std::int64_t question = number_of(above ? Question::lower : Question::upper, c.index);
        attained_.move_witness(question, feature(c.index), c.lower, c.upper);
        return true;
    }

    // compatible, for any feature and without a memo.
    bool allows(const double* phi, const Constraint& c) {
        ensure_rows();
        if (!reduce_by_pins(phi, 1)) return within(reduced_.constant, c);
        if (c.lower > -infinity && supremum(phi, 1, none, infinity) < c.lower - slack(c.lower)) return false;
        return c.upper == infinity || -supremum(phi, -1, none, infinity) <= c.upper + slack(c.upper);
    }

    bool reduces_dimension(const Constraint& c) { return c.lower == c.upper && !pinned(c.index); }
    bool determines(const Constraint& c) { return c.upper < infinity && highest(c.index) == infinity; }

    void add(const Constraint& c) {
        ++version_;
        // nothing has been attained as long as there are equalities alone
        if (has_rows() || c.lower != c.upper || attained_.has_witness()) {
            attained_.joined(feature(c.index), c.lower, c.upper);
        }
        if (c.lower == c.upper) {
            equalities_.push_back(c);
            // rows lose a dimension, suspended ones too
            if (!pins_stale_ && pin(feature(c.index), c.lower)) rows_stale_ |= has_rows() || !rows_.empty();
            return;
        }
        ++n_active_rows_;
        const auto known = rows_.find(c.identity);
        if (known != rows_.end()) {
            known->second.constraint = c;
            known->second.active = true;
            if (!rows_stale_) bound(known->second);
            return;
        }
        Row& row = rows_.emplace(c.identity, Row{c, true, no_row, 0, 0}).first->second;
        if (!rows_stale_) enter(row);
    }

    void remove(const Constraint& c) {
        ++version_;
        ++n_removals_;
        attained_.left();
        if (c.lower == c.upper) {
            const auto found = std::find_if(equalities_.begin(), equalities_.end(),
                                            [&](const Constraint& other) { return other.identity == c.identity; });
            equalities_.erase(found);
            pins_stale_ = rows_stale_ = true;
            return;
        }
        --n_active_rows_;
        Row& row = rows_.at(c.identity);
        row.active = false;
        if (!rows_stale_ && row.number != no_row) program_.free_row(row.number);
        // suspended rows come back in a moment; deleted ones are swept out now and then
        if (rows_.size() > 2 * n_active_rows_ + 64) rows_stale_ = true;
    }

    // ---- saving and loading --------------------------------------------------------------------------------------

    // Points of an open domain: below the first, each of them is_point or forgotten.
    std::int64_t n_points() const { return states_ ? global(states_->n_numbers() - 1) + 1 : 0; }
    bool is_point(std::int64_t point) const { return states_->is_point(point / features_->n_blocks()); }

    bool is_index(std::int64_t index) const {
        if (index < 0) return false;
        if (states_) {
            const std::int64_t point = index / features_->domain().n_actions();
            return point % features_->n_blocks() == number_ && is_point(point);
        }
        const auto first = static_cast<std::int64_t>(memo_.size()) * number_;
        return index >= first && index < first + static_cast<std::int64_t>(memo_.size());
    }
    std::size_t n_held() const { return equalities_.size() + n_active_rows_; }
    bool holds(const Constraint& c) const {
        if (c.lower == c.upper) {
            return std::any_of(equalities_.begin(), equalities_.end(),
                               [&](const Constraint& other) { return other.identity == c.identity; });
        }
        const auto found = rows_.find(c.identity);
        return found != rows_.end() && found->second.active;
    }

    template <class Archive>
    void archive(Archive& a) {
        bool has_states = states_.has_value(), has_prior_alone = !prior_alone_.empty();
        a.same(has_states, "kind of states");
        if (states_) a(*states_);
        a.same(bounds_.lower, "lower bound");
        a.same(bounds_.upper, "upper bound");
        a(equalities_, rows_, pinned_, values_, n_prior_pins_, spanned_, widening_, pins_stale_, rows_stale_);
        program_.archive(a, 2 * features_->n_features() + 2);
        a(version_, epoch_, n_removals_, attained_, statistics_);
        if constexpr (Archive::loading) {
            if (states_) memo_.resize(static_cast<std::size_t>(states_->n_numbers() * features_->domain().n_actions()));
        }
        a.columns(memo_, &Memo::version, &Memo::epoch, &Memo::n_pins, &Memo::value, &Memo::upper, &Memo::lower,
                  &Memo::n_removals, &Memo::pinned, &Memo::upper_known, &Memo::lower_known);
        a(has_prior_alone);
        if constexpr (Archive::loading) {
            check(a);
            prior_alone_.clear();
            if (has_prior_alone) prior_alone_.emplace_back(features_, number_, program_.api(), tolerances_);
        }
        if (has_prior_alone) a(prior_alone_[0]);
    }

private:
    template <class Archive>
    void check(Archive& a) {
        a.require(values_.size() == pinned_.size() && n_prior_pins_ <= pinned_.size(), "a basis");
        a.require(rows_stale_ || (!pins_stale_ && spanned_.size() <= program_.n_variables()), "a basis");
        for (const Constraint& c : equalities_) a.require(is_index(c.index), "a constraint");
        n_active_rows_ = 0;
        for (const auto& [identity, row] : rows_) {
            n_active_rows_ += row.active;
            a.require(is_index(row.constraint.index) || !row.active, "a constraint");
            a.require(row.number == no_row || row.number < program_.n_rows() || rows_stale_, "a program");
        }
    }

    static constexpr std::size_t no_row = static_cast<std::size_t>(-1);
    static constexpr std::int64_t none = -1;

    // What attained_ knows the extremes by.
    enum class Question : std::int64_t { upper, lower, minimax };
    static std::int64_t number_of(Question question, std::int64_t index) {
        return 3 * index + static_cast<std::int64_t>(question);
    }

    struct Memo {
        std::uint64_t version = ~std::uint64_t{0};  // of upper and lower
        std::uint64_t epoch = ~std::uint64_t{0};    // of what follows, together with n_pins
        std::size_t n_pins = 0;
        double value = 0, upper = infinity, lower = -infinity;
        std::uint64_t n_removals = ~std::uint64_t{0};  // when upper was found
        bool pinned = false, upper_known = false, lower_known = false;
    };
    struct Row {
        Constraint constraint;
        bool active;
        std::size_t number;  // in program_, or no_row where the feature is pinned
        double constant, scale;
        template <class Archive>
        void archive(Archive& a) {
            a(constraint, active, number, constant, scale);
        }
    };
    // phi.theta = constant + scale * (coordinates.z + residual.theta), the residual outside of what rows span.
    struct Reduced {
        double constant = 0, scale = 0;
        std::vector<double> coordinates, residual;
        double left = 0;  // length of the residual
    };

    std::size_t bound_of(const std::vector<double>& bounds, std::int64_t index) const {
        if (bounds.size() == 1) return 0;
        return static_cast<std::size_t>(states_ ? layer_of(index / features_->domain().n_actions())
                                                : features_->domain().layer_of_cell(index));
    }

    // The points of the blocks take turns, see Features::block.
    std::int64_t global(std::int64_t local) const { return local * features_->n_blocks() + number_; }
    std::size_t memo_of(std::int64_t index) const {
        if (!states_) return static_cast<std::size_t>(index) - static_cast<std::size_t>(number_) * memo_.size();
        const std::int64_t n_actions = features_->domain().n_actions();
        return static_cast<std::size_t>(index / n_actions / features_->n_blocks() * n_actions + index % n_actions);
    }

    bool pinned_by_nothing(std::int64_t index) const { return length(feature(index), features_->n_features()) == 0; }
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

    // Something pinned stays so until an equality is removed, something else until one is added; upper and lower values
    // are asked again when anything changed.
    Memo& recall(std::int64_t index) {
        if (pins_stale_) renew_pins();
        Memo& memo = memo_[memo_of(index)];
        const bool same_pins = memo.epoch == epoch_ && (memo.pinned || memo.n_pins == pinned_.size());
        if (memo.version == version_ || (memo.pinned && same_pins)) {
            ++statistics_.answered;
            return memo;
        }
        if (!same_pins) {
            memo.pinned = !reduce_by_pins(feature(index), 1);
            memo.value = reduced_.constant;
            memo.epoch = epoch_;
            memo.n_pins = pinned_.size();
        }
        memo.version = version_;
        memo.upper_known = memo.lower_known = false;
        return memo;
    }

    // Writes the constant, the scale and the direction that is left to reduced_; false where phi is pinned.
    bool reduce_by_pins(const double* phi, double sign) {
        const std::size_t n = features_->n_features();
        reduced_.residual.assign(phi, phi + n);
        pinned_.split(reduced_.residual, coefficients_);
        reduced_.constant = sign * dot(coefficients_.data(), values_.data(), coefficients_.size());
        reduced_.scale = length(reduced_.residual.data(), n);
        if (reduced_.scale <= tolerances_.dependence * length(phi, n)) return false;
        for (double& part : reduced_.residual) part *= sign / reduced_.scale;
        return true;
    }

    // Writes all of reduced_; false where phi is pinned. The rows must be up to date.
    bool reduce(const double* phi, double sign) {
        if (!reduce_by_pins(phi, sign)) return false;
        spanned_.split(reduced_.residual, reduced_.coordinates);
        reduced_.left = length(reduced_.residual.data(), reduced_.residual.size());
        return true;
    }

    bool still(std::int64_t question, double& value) {
        if (!has_rows() || question == none || !attained_.still(question, value)) return false;
        ++statistics_.answered;
        return true;
    }

    // Where the last program, if it was HiGHS's, attains its extreme. `beyond`: directions after those of the rows.
    void remember(std::int64_t question, double value, const Basis* beyond = nullptr) {
        const double* z = program_.solution();
        if (question == none || z == nullptr || !std::isfinite(value)) return;
        theta_.assign(features_->n_features(), 0.0);
        pinned_.combine(values_.data(), theta_);
        spanned_.combine(z, theta_);
        if (beyond != nullptr) beyond->combine(z + spanned_.size(), theta_);
        attained_.remember(question, value, theta_);
    }

    // The smaller of sup phi.theta and the prior bound above it: constraints that are above that never come here.
    double highest(std::int64_t index) {
        Memo& memo = recall(index);
        if (memo.pinned) return memo.value;
        if (!memo.upper_known) {
            const std::int64_t question = number_of(Question::upper, index);
            if (!still(question, memo.upper)) {
                ensure_rows();
                memo.upper = supremum(feature(index), 1, question, most(index));
            }
            memo.upper_known = true;
            memo.n_removals = n_removals_;
        }
        return memo.upper;
    }
    // The larger of inf phi.theta and the prior bound below it.
    double lowest(std::int64_t index) {
        Memo& memo = recall(index);
        if (memo.pinned) return memo.value;
        if (!memo.lower_known) {
            const std::int64_t question = number_of(Question::lower, index);
            if (!still(question, memo.lower)) {
                ensure_rows();
                memo.lower = -supremum(feature(index), -1, question, -least(index));
            }
            memo.lower_known = true;
        }
        return memo.lower;
    }

    // The smaller of sup sign * phi.theta and `most`. Not for pinned features. The rows must be up to date.
    double supremum(const double* phi, double sign, std::int64_t question, double most) {
        if (has_rows()) reduce(phi, sign);
        if (!has_rows() || reduced_.left > tolerances_.dependence) {
            ++statistics_.answered;
            return most;
        }
        const double cap = (most - reduced_.constant) / reduced_.scale;
        const double value = reduced_.constant + reduced_.scale * named([&] {
                                                     return program_.maximise(reduced_.coordinates, cap, statistics_);
                                                 });
        remember(question, sign * value);
        return value;
    }

    // Errors name the block. A program whose rows miss each other is solved again with wider ones.
    template <class Solve>
    double named(const Solve& solve) {
        try {
            try {
                return solve();
            } catch (const InfeasibleProgram&) {
                while (widening_ < widest) {
                    widen();
                    try {
                        return solve();
                    } catch (const InfeasibleProgram&) {
                        continue;
                    }
                }
                throw;
            }
        } catch (const SolverFailure& failure) {
            throw SolverFailure("block " + std::to_string(number_) + ": " + failure.what());
        }
    }

    // Constraints are kept if they fit within a tolerance relative to their values. Where equalities leave little of a
    // feature open, what is left of it is scaled up and the misfit with it, beyond what HiGHS tolerates. As what is
    // kept is not empty, rows are then moved apart by as much as they may be wrong: upper values are a little too high,
    // and never too low.
    static constexpr double widest = 1e-6;
    void widen() {
        widening_ = std::max(tolerances_.feasibility, 10 * widening_);
        for (const auto& [identity, row] : rows_) {
            if (row.active) bound(row);
        }
    }

    // Adds phi.theta = value to the basis; false where phi is in its span already.
    bool pin(const double* phi, double value) {
        if (!reduce_by_pins(phi, 1)) return false;
        pinned_.add(reduced_.residual, 1);
        values_.push_back((value - reduced_.constant) / reduced_.scale);
        return true;
    }

    void enter(Row& row) {
        row.number = no_row;
        if (!reduce(feature(row.constraint.index), 1)) return;
        span();
        row.constant = reduced_.constant;
        row.scale = reduced_.scale;
        row.number = program_.add_row(reduced_.coordinates, -infinity, infinity);
        bound(row);
    }

    // Makes room for a new direction where the residual has one.
    void span() {
        if (reduced_.left <= tolerances_.dependence) return;
        spanned_.add(reduced_.residual, reduced_.left);
        reduced_.coordinates.push_back(reduced_.left);
    }

    void bound(const Row& row) {
        if (row.number == no_row) return;
        const double lower = row.constraint.lower, upper = row.constraint.upper;
        const double below = widening_ > 0 ? widening_ * std::max(1.0, std::abs(lower)) : 0;  // 0 * inf is not 0
        const double above = widening_ > 0 ? widening_ * std::max(1.0, std::abs(upper)) : 0;
        program_.set_bounds(row.number, (lower - below - row.constant) / row.scale,
                            (upper + above - row.constant) / row.scale);
    }

    void renew_pins() {
        pins_stale_ = false;
        ++epoch_;
        pinned_.clear();
        values_.clear();
        for (const PriorRow& row : features_->prior()) {
            if (row.equality) pin(row.coefficients.data(), row.bound);
        }
        n_prior_pins_ = pinned_.size();
        for (const Constraint& c : equalities_) pin(feature(c.index), c.lower);
    }

    void ensure_rows() {
        if (pins_stale_) renew_pins();
        if (!rows_stale_) return;
        rows_stale_ = false;
        widening_ = 0;
        spanned_.clear();
        program_.clear();
        for (const PriorRow& row : features_->prior()) {
            if (row.equality || !reduce(row.coefficients.data(), 1)) continue;
            span();
            program_.add_row(reduced_.coordinates, -infinity, (row.bound - reduced_.constant) / reduced_.scale);
        }
        for (auto row = rows_.begin(); row != rows_.end();)
            row = row->second.active ? std::next(row) : rows_.erase(row);
        for (auto& [identity, row] : rows_) enter(row);
    }

    std::shared_ptr<const Features> features_;
    std::int64_t number_;           // of the block
    std::optional<States> states_;  // of an open domain
    Tolerances tolerances_;
    PriorBounds bounds_;

    std::vector<Constraint> equalities_;  // kept, L = U
    std::map<std::int64_t, Row> rows_;    // kept, L < U, by identity; and suspended ones
    std::size_t n_active_rows_ = 0;

    Basis pinned_;                // V: directions in which theta is known
    std::vector<double> values_;  // y: V.theta
    std::size_t n_prior_pins_ = 0;
    Basis spanned_;  // the coordinates z: directions that rows are about, orthogonal to V
    LinearProgram program_;
    double widening_ = 0;     // of rows, relative to their values
    bool pins_stale_ = true;  // pinned_ and values_ must be made anew
    bool rows_stale_ = true;  // so must spanned_ and program_; always where pins are

    std::uint64_t version_ = 0, epoch_ = 0;  // number of changes; how often pins were made anew
    std::uint64_t n_removals_ = 0;
    Attained attained_;
    std::vector<Memo> memo_;
    std::vector<LinearBlock> prior_alone_;  // the prior and nothing else, once something conflicts
    LpStatistics statistics_;

    Reduced reduced_;                      // scratch: of the last feature looked at
    std::vector<double> coefficients_;     // likewise, in a basis
    mutable std::vector<double> feature_;  // likewise, as it is
    std::vector<double> theta_;
};

}  // namespace ocp
