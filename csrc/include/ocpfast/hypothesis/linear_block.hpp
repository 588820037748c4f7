// The hypotheses of one block of a linear class: theta in a polyhedron, cut down by constraints L <= phi.theta <= U.
//
// Exact where it can be: equalities (pins.hpp) never enter a linear program, where rounding could make a chain of them
// inconsistent. Modulo them, a feature that no interval row says anything about is unbounded. Only what is left is a
// linear program, in the coordinates that the interval rows span; what it finds is then proved (proof.hpp).
//
// What errors make uncertain is not known: such a feature has no bounds but those that were observed of itself.
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
#include "ocpfast/hypothesis/pins.hpp"
#include "ocpfast/hypothesis/proof.hpp"
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
          pins_(features_->n_features(), tolerances),
          spanned_(features_->n_features()),
          program_(api, n_functions > 0 ? n_functions : features_->domain().n_actions(), tolerances),
          attained_(features_->n_features(), tolerances.equality),
          memo_(static_cast<std::size_t>(features_->domain().n_cells() / features_->n_blocks())),
          proof_(features_->n_features(), tolerances) {
        if (features_->domain().open()) states_.emplace(features_);
    }

    std::size_t size() const { return memo_.size(); }  // number of features
    std::uint64_t version() const { return version_; }
    const LpStatistics& statistics() const { return statistics_; }
    // Dimensions of theta that observed equalities tell, beyond what the prior does.
    std::size_t n_pinned() {
        if (pins_stale_) renew_pins();
        return pins_.n_certain(n_prior_pins_);
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
        if (memo.uncertain) return most(index);
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
            } else if (!memo.uncertain) {  // what is uncertain says nothing
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
        // Those of which so little depends on theta, or is outside of what rows and the others span, that HiGHS would
        // take it for 0 are left out: without them the infimum is lower.
        std::vector<AffineFunction> functions;
        std::vector<double> scales;
        std::vector<std::int64_t> asked;
        Basis beyond(features_->n_features());  // what the rows say nothing about
        double scale = 0;
        bool independent = true;
        for (const std::int64_t index : unknown) {
            reduce(feature(index), 1);
            if (blurred() || (beyond_rows() && reduced_.left <= tolerances_.row)) continue;
            std::vector<double> coordinates = reduced_.coordinates;
            beyond.split(reduced_.residual, coefficients_);
            coordinates.insert(coordinates.end(), coefficients_.begin(), coefficients_.end());
            const double left = length(reduced_.residual.data(), reduced_.residual.size());
            const double rounding = reduced_.rounding + beyond.rounding(1, coefficients_);
            if (left > std::max(tolerances_.span, rounding)) {
                if (left <= tolerances_.row) continue;
                beyond.add(reduced_.residual, left, rounding);
                coordinates.push_back(left);
            } else {
                independent = false;
            }
            for (double& coordinate : coordinates) coordinate *= reduced_.scale;
            scale = std::max(scale, reduced_.scale);
            functions.push_back({std::move(coordinates), reduced_.constant - margin()});
            scales.push_back(reduced_.scale);
            asked.push_back(index);
        }
        // Independent of each other and of the rows, they can all go to -inf together.
        if (independent) {
            ++statistics_.answered;
            return clip(indices[0], largest);
        }
        for (std::size_t i = functions.size(); i-- > 0;) {
            if (scales[i] > tolerances_.row * scale) continue;
            functions.erase(functions.begin() + static_cast<std::ptrdiff_t>(i));
            asked.erase(asked.begin() + static_cast<std::ptrdiff_t>(i));
        }
        for (auto& function : functions) {
            for (double& coefficient : function.coefficients) coefficient /= scale;
            function.constant /= scale;
        }
        value = scale * named([&] { return program_.minimise_maximum(functions, largest / scale, statistics_); });
        if (value > largest) value = std::max(largest, std::min(value, proven_infimum(asked, largest, scale)));
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
        if (memo.uncertain) return conceivable(c);
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
        if (const Standing standing = reduce_by_pins(phi, 1); standing != Standing::free) {
            return standing == Standing::uncertain ? near(c) : within(reduced_.constant, c);
        }
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
        Row& row = rows_.emplace(c.identity, Row{c, true, no_row, 0, 0, 0, false}).first->second;
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
        a(equalities_, rows_, pins_, n_prior_pins_, spanned_, widening_, has_left_out_, pins_stale_, rows_stale_);
        if (!features_->prior().empty()) a(prior_rows_);
        program_.archive(a, 2 * features_->n_features() + 2);
        a(version_, epoch_, n_removals_, attained_, statistics_);
        if constexpr (Archive::loading) {
            if (states_) memo_.resize(static_cast<std::size_t>(states_->n_numbers() * features_->domain().n_actions()));
        }
        a.columns(memo_, &Memo::version, &Memo::epoch, &Memo::n_pins, &Memo::value, &Memo::upper, &Memo::lower,
                  &Memo::n_removals, &Memo::pinned, &Memo::uncertain, &Memo::upper_known, &Memo::lower_known);
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
        a.require(n_prior_pins_ <= pins_.size(), "a basis");
        a.require(rows_stale_ || prior_rows_.size() <= program_.n_rows(), "a program");
        for (const PriorRowHeld& row : prior_rows_) a.require_index(row.number, 0, features_->prior().size());
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
        bool pinned = false, uncertain = false, upper_known = false, lower_known = false;
    };
    struct Row {
        Constraint constraint;
        bool active;
        std::size_t number;  // in program_, or no_row where the feature is pinned
        double constant, scale;
        double margin;  // of the constant, where it is uncertain
        bool left_out;  // of program_: the feature is uncertain, or too little is left of it
        template <class Archive>
        void archive(Archive& a) {
            a(constraint, active, number, constant, scale, margin, left_out);
        }
    };
    struct PriorRowHeld {    // as a row of program_, of which these are the first
        std::size_t number;  // among the rows of the prior
        double scale;
        template <class Archive>
        void archive(Archive& a) {
            a(number, scale);
        }
    };
    // phi.theta = constant + scale * (coordinates.z + residual.theta), the residual outside of what rows span.
    struct Reduced : Pins::Reduced {
        std::vector<double> coordinates;
        double left = 0;  // length of the residual
    };
    using Standing = Pins::Standing;

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
    // Of an uncertain feature, reduced_: whether an error can explain that it is not within the interval.
    bool near(const Constraint& c) const {
        const double off = slack(reduced_.constant) + pins_.largest_error(reduced_);
        return !reduced_.in_span || (reduced_.constant >= c.lower - off && reduced_.constant <= c.upper + off);
    }
    // The same, and whether the interval meets those that are kept of this feature.
    bool conceivable(const Constraint& c) {
        if (highest(c.index) < c.lower - slack(c.lower) || lowest(c.index) > c.upper + slack(c.upper)) return false;
        reduce_by_pins(feature(c.index), 1);
        return near(c);
    }

    // Of the constant of reduced_.
    double margin(double scale = 1) const { return pins_.margin(reduced_.error, reduced_.constant, scale); }

    // Something pinned stays so until an equality is removed, something else until one is added; upper and lower values
    // are asked again when anything changed.
    Memo& recall(std::int64_t index) {
        if (pins_stale_) renew_pins();
        Memo& memo = memo_[memo_of(index)];
        const bool same_pins = memo.epoch == epoch_ && (memo.pinned || memo.n_pins == pins_.size());
        if (memo.version == version_ || (memo.pinned && same_pins)) {
            ++statistics_.answered;
            return memo;
        }
        if (!same_pins) {
            const Standing standing = reduce_by_pins(feature(index), 1);
            memo.pinned = standing == Standing::pinned;
            memo.uncertain = standing == Standing::uncertain;
            memo.value = reduced_.constant;
            if (memo.uncertain) recall_observed(index, memo);
            memo.epoch = epoch_;
            memo.n_pins = pins_.size();
        }
        memo.version = version_;
        memo.upper_known = memo.lower_known = false;
        return memo;
    }

    // What is uncertain but was observed itself is known.
    void recall_observed(std::int64_t index, Memo& memo) const {
        for (const Constraint& c : equalities_) {
            if (c.index != index) continue;
            memo.pinned = true;
            memo.uncertain = false;
            memo.value = c.lower;
        }
    }

    Standing reduce_by_pins(const double* phi, double sign) { return pins_.reduce(phi, sign, reduced_); }

    // Writes all of reduced_ where phi is free. The rows must be up to date.
    Standing reduce(const double* phi, double sign) {
        const Standing standing = reduce_by_pins(phi, sign);
        if (standing != Standing::free) return standing;
        spanned_.split(reduced_.residual, reduced_.coordinates);
        reduced_.left = length(reduced_.residual.data(), reduced_.residual.size());
        reduced_.rounding += spanned_.rounding(1, reduced_.coordinates);
        if (pins_.size() + spanned_.size() >= features_->n_features()) reduced_.left = 0;
        return standing;
    }
    // Of what reduce left: whether rows say nothing about it, and whether that can be told from rounding.
    bool beyond_rows() const { return reduced_.left > std::max(tolerances_.span, reduced_.rounding); }
    bool blurred() const { return reduced_.left > 0 && !beyond_rows() && reduced_.rounding > tolerances_.dependence; }
    // Whether that is too little, of a feature of this size, for a row.
    bool little_left(double size) const {
        return reduced_.scale * (beyond_rows() ? reduced_.left : 1) <= tolerances_.row * size;
    }
    // The bound that rows which were left out set the sup of their own feature, or the inf with its sign turned.
    double most_by_own_rows(std::int64_t index, double sign) const {
        double most = infinity;
        if (!has_left_out_) return most;
        for (const auto& [identity, row] : rows_) {
            if (!row.active || !row.left_out || row.constraint.index != index) continue;
            most = std::min(most, sign > 0 ? row.constraint.upper : -row.constraint.lower);
        }
        return most;
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
        pins_.combine(theta_);
        spanned_.combine(z, theta_);
        if (beyond != nullptr) beyond->combine(z + spanned_.size(), theta_);
        attained_.remember(question, value, theta_);
    }

    // The smaller of sup phi.theta and the prior bound above it: constraints that are above that never come here.
    double highest(std::int64_t index) {
        Memo& memo = recall(index);
        if (memo.pinned) return memo.value;
        if (memo.uncertain) {
            ensure_rows();
            return std::min(most(index), most_by_own_rows(index, 1));
        }
        if (!memo.upper_known) {
            const std::int64_t question = number_of(Question::upper, index);
            if (!still(question, memo.upper)) {
                ensure_rows();
                memo.upper = supremum(feature(index), 1, question, std::min(most(index), most_by_own_rows(index, 1)));
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
        if (memo.uncertain) {
            ensure_rows();
            return std::max(least(index), -most_by_own_rows(index, -1));
        }
        if (!memo.lower_known) {
            const std::int64_t question = number_of(Question::lower, index);
            if (!still(question, memo.lower)) {
                ensure_rows();
                memo.lower =
                    -supremum(feature(index), -1, question, std::min(-least(index), most_by_own_rows(index, -1)));
            }
            memo.lower_known = true;
        }
        return memo.lower;
    }

    // The smaller of sup sign * phi.theta and `most`. For free features. The rows must be up to date.
    double supremum(const double* phi, double sign, std::int64_t question, double most) {
        if (has_rows()) reduce(phi, sign);
        if (!has_rows() || beyond_rows() || blurred()) {
            ++statistics_.answered;
            return most;
        }
        const double constant = reduced_.constant + margin(), scale = reduced_.scale;
        const double cap = (most - constant) / scale;
        double value =
            constant + scale * named([&] { return program_.maximise(reduced_.coordinates, cap, statistics_); });
        if (value < most) {
            proof_.begin(pins_);
            proof_.aim(sign, phi);
            value = std::min(most, higher(value, proven(scale)));
        }
        remember(question, sign * value);
        return value;
    }

    // The value that was found, or what is proved where that is more than rounding above it.
    double higher(double found, double proved) const {
        return proved > found + tolerances_.equality * std::max(1.0, std::abs(found)) ? proved : found;
    }
    // What the multipliers of the last program prove of the aim of proof_; that program's values are multiplied by a
    // scale.
    double proven(double scale) {
        const std::vector<double>& multipliers = program_.multipliers();
        for (std::size_t i = 0; i < prior_rows_.size(); ++i) {
            if (std::abs(multipliers[i]) <= tolerances_.rounding) continue;
            const PriorRow& row = features_->prior()[prior_rows_[i].number];
            proof_.use(multipliers[i] * (scale / prior_rows_[i].scale), row.coefficients.data(), -infinity, row.bound);
        }
        for (const auto& [identity, row] : rows_) {
            if (!row.active || row.number == no_row || std::abs(multipliers[row.number]) <= tolerances_.rounding)
                continue;
            const Constraint& c = row.constraint;
            proof_.use(multipliers[row.number] * (scale / row.scale), feature(c.index), c.lower, c.upper);
        }
        return proof_.bound();
    }
    // Whatever theta is, the largest of some features is at least any mean of them and of what is known.
    double proven_infimum(const std::vector<std::int64_t>& indices, double known, double scale) {
        const std::vector<double>& weights = program_.weights();
        double sum = 0;
        for (std::size_t i = 0; i < indices.size(); ++i) sum += weights[i];
        const double total = known == -infinity ? sum : 1;
        proof_.begin(pins_);
        for (std::size_t i = 0; i < indices.size(); ++i) {
            if (weights[i] > 0) proof_.aim(-weights[i] / total, feature(indices[i]));
        }
        const double rest = known == -infinity ? 0 : std::max(0.0, 1 - sum) * known;
        return rest - proven(scale / total);
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

    // Takes in phi.theta = value; false where it tells nothing new.
    bool pin(const double* phi, double value) {
        const Standing before = pins_.add(phi, value);
        if (before == Standing::uncertain) {  // other values may have changed
            ++epoch_;
            attained_.left();
        }
        return before != Standing::pinned;
    }

    void enter(Row& row) {
        row.number = no_row;
        const Standing standing = reduce(feature(row.constraint.index), 1);
        const bool free = standing == Standing::free;
        row.left_out =
            free ? blurred() || little_left(length(feature_.data(), feature_.size())) : standing == Standing::uncertain;
        has_left_out_ |= row.left_out;
        if (!free || row.left_out) return;
        span();
        row.constant = reduced_.constant;
        row.scale = reduced_.scale;
        row.margin = margin(row.scale);
        row.number = program_.add_row(reduced_.coordinates, -infinity, infinity);
        bound(row);
    }

    // Makes room for a new direction where the residual has one.
    void span() {
        if (!beyond_rows()) return;
        spanned_.add(reduced_.residual, reduced_.left, reduced_.rounding);
        reduced_.coordinates.push_back(reduced_.left);
    }

    void bound(const Row& row) {
        if (row.number == no_row) return;
        const double lower = row.constraint.lower, upper = row.constraint.upper;
        const double below = widening_ > 0 ? widening_ * std::max(1.0, std::abs(lower)) : 0;  // 0 * inf is not 0
        const double above = widening_ > 0 ? widening_ * std::max(1.0, std::abs(upper)) : 0;
        program_.set_bounds(row.number, (lower - below - row.margin - row.constant) / row.scale,
                            (upper + above + row.margin - row.constant) / row.scale);
    }

    void renew_pins() {
        pins_stale_ = false;
        ++epoch_;
        pins_.clear();
        for (const PriorRow& row : features_->prior()) {
            if (row.equality) pin(row.coefficients.data(), row.bound);
        }
        n_prior_pins_ = pins_.size();
        for (const Constraint& c : equalities_) pin(feature(c.index), c.lower);
    }

    void ensure_rows() {
        if (pins_stale_) renew_pins();
        if (!rows_stale_) return;
        rows_stale_ = false;
        widening_ = 0;
        has_left_out_ = false;
        spanned_.clear();
        program_.clear();
        prior_rows_.clear();
        for (std::size_t i = 0; i < features_->prior().size(); ++i) {
            const PriorRow& row = features_->prior()[i];
            if (row.equality || reduce(row.coefficients.data(), 1) != Standing::free || blurred()) continue;
            if (little_left(length(row.coefficients.data(), row.coefficients.size()))) continue;
            span();
            prior_rows_.push_back({i, reduced_.scale});
            const double most = row.bound + margin(reduced_.scale);
            program_.add_row(reduced_.coordinates, -infinity, (most - reduced_.constant) / reduced_.scale);
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

    Pins pins_;  // the equalities
    std::size_t n_prior_pins_ = 0;
    std::vector<PriorRowHeld> prior_rows_;
    Basis spanned_;  // the coordinates z: directions that rows are about, orthogonal to V
    LinearProgram program_;
    double widening_ = 0;  // of rows, relative to their values
    bool has_left_out_ = false;
    bool pins_stale_ = true;  // pins_ must be made anew
    bool rows_stale_ = true;  // so must spanned_ and program_; always where pins are

    std::uint64_t version_ = 0, epoch_ = 0;  // number of changes; how often pins were made anew
    std::uint64_t n_removals_ = 0;
    Attained attained_;
    std::vector<Memo> memo_;
    std::vector<LinearBlock> prior_alone_;  // the prior and nothing else, once something conflicts
    LpStatistics statistics_;

    Proof proof_;                          // scratch
    Reduced reduced_;                      // scratch: of the last feature looked at
    std::vector<double> coefficients_;     // likewise, in a basis
    mutable std::vector<double> feature_;  // likewise, as it is
    std::vector<double> theta_;
};

}  // namespace ocp
