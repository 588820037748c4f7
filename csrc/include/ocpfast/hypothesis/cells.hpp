// State aggregation, what is learned: the interval [lower, upper] of each cell's parameter.
//
// Constraints on different cells never meet, so Algorithm 1 has a closed form in each cell (the walk goes by U, and
// the first constraint kept fixes the upper end): upper = smallest U, lower = largest L not above it. Constraints
// with U below the prior are ignored. The closed form needs one number a cell for `upper` and, if `lower` is
// tracked, every distinct L up to `upper`: an L above it is rejected for good, because `upper` never rises
// (without a window).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/lower_values.hpp"
#include "ocpfast/hypothesis/partition.hpp"
#include "ocpfast/lanes.hpp"
#include "ocpfast/prefetch.hpp"

namespace ocp {

class Cells {
public:
    // Values that differ by no more than this, relatively, differ by the rounding of sums: two equalities on one cell
    // do not contradict each other, and a U just below the prior is the prior.
    static constexpr double tolerance = 1e-9;

    Cells(std::shared_ptr<const Partition> partition, Selection selection, std::int64_t window, PriorBounds prior,
          bool track_lower)
        : partition_(std::move(partition)),
          selection_(selection),
          window_(window),
          prior_(std::move(prior)),
          track_lower_(track_lower && !exact_by_itself()),
          one_cell_a_slot_(partition_->one_cell_a_slot()),
          n_points_(partition_->n_points()),
          n_actions_(partition_->n_actions()) {
        const auto n = static_cast<std::size_t>(partition_->n_cells());
        upper_.resize(n);
        for (std::size_t c = 0; c < n; ++c) upper_[c] = prior_upper(static_cast<std::int64_t>(c));
        determined_.assign(n, 0);
        staged_slot_.assign(n, -1);
        if (track_lower_) {
            lowers_.resize(n);
            lower_.resize(n);
            for (std::size_t c = 0; c < n; ++c) lower_[c] = prior_lower(static_cast<std::int64_t>(c));
        }
        if (selection_ == Selection::window) recent_.resize(n);
        for (const double bound : prior_.upper) bounded_ |= bound < infinity;
        has_prior_ = bounded_;
        for (const double bound : prior_.lower) has_prior_ |= bound > -infinity;
        only_improvements_matter_ = selection_ == Selection::all && !track_lower_ && !has_prior_;
        watches_ = !partition_->homogeneous();
    }

    const Partition& partition() const { return *partition_; }

    // What a constraint on (layer, point, action) is about.
    std::int64_t index(std::int64_t layer, std::int64_t point, std::int64_t action) const {
        if (one_cell_a_slot_) return (layer * n_points_ + point) * n_actions_ + action;
        return partition_->cell(layer, point, action);
    }

    // Whether what joins at one period can change what is known of another; time-homogeneous classes aside.
    static constexpr bool coupled() { return false; }

    // ---- what is known -------------------------------------------------------------------------------------

    // 16 bytes, so that it travels in registers. Through memory it is written in parts and read as a whole, which
    // waits for the parts to leave the store buffer: 13 ns in every period.
    struct Best {
        double upper;         // max_a of the upper values
        std::int32_t action;  // the lowest action that attains it
        bool determined;      // whether some action that attains it is determined

        template <class Archive>
        void archive(Archive& a) {
            a(upper, action, determined);
        }
    };

    Best best(std::int64_t layer, std::int64_t point) const {
        if (one_cell_a_slot_) {
            const std::size_t first = at((layer * n_points_ + point) * n_actions_);
            return best_of([first](std::int64_t action) { return first + at(action); });
        }
        return best_of([&](std::int64_t action) { return at(partition_->cell(layer, point, action)); });
    }

    // Time-homogeneous classes without bounds and lower values are quick: a value is determined iff it is finite, and a
    // constraint changes something iff its U is smaller. For these, best() in fewer instructions, how many actions
    // attain it, and whether a constraint that would be staged changes nothing.
    bool quick() const { return only_improvements_matter_ && one_cell_a_slot_ && partition_->homogeneous(); }
    OCP_ALWAYS_INLINE Best look_up(std::int64_t point) const { return look_up(upper_.data(), n_actions_, point); }
    static OCP_ALWAYS_INLINE Best look_up(const double* upper_values, std::int64_t n_actions, std::int64_t point) {
        const double* const uppers = upper_values + point * n_actions;
        return n_actions == 3 ? largest(uppers, std::integral_constant<std::int64_t, 3>()) : largest(uppers, n_actions);
    }
    std::int64_t count_largest(std::int64_t point, double upper) const {
        std::int64_t n = 0;
        for (std::int64_t cell = point * n_actions_; cell < (point + 1) * n_actions_; ++cell)
            n += upper_[at(cell)] == upper;
        return n;
    }
    OCP_ALWAYS_INLINE bool redundant(std::int64_t point, std::int64_t action, double upper) const {
        return !(upper < upper_[at(point * n_actions_ + action)]);
    }

    // inf over what is left of max_a Q; for a product of intervals it is the largest lower value.
    double lower_max(std::int64_t layer, std::int64_t point) const {
        double largest = -infinity;
        for (std::int64_t action = 0; action < partition_->n_actions(); ++action) {
            largest = std::max(largest, lower(partition_->cell(layer, point, action)));
        }
        return largest;
    }

    const double* uppers() const { return upper_.data(); }  // per cell; they stay where they are
    double upper(std::int64_t cell) const { return upper_[at(cell)]; }
    // Values here are sums of what was observed: equal or not.
    bool ties(std::int64_t cell, double best) const { return upper(cell) == best; }
    bool determined(std::int64_t cell) const { return determined_[at(cell)] != 0; }
    bool knows_lower() const { return track_lower_ || exact_by_itself(); }
    double lower(std::int64_t cell) const {
        if (track_lower_) return lower_[at(cell)];
        return exact_by_itself() && determined(cell) ? upper(cell) : prior_lower(cell);
    }

    // ---- learning ------------------------------------------------------------------------------------------

    // The stored transition on whose behalf an L is held, so that a recomputed L replaces the one before it.
    static constexpr std::int64_t no_holder = -1;

    // Of transitions that differ in their reward alone, the one with the smallest says it all.
    static constexpr bool distinct_rewards = false;
    static constexpr bool may_be_open = false;                  // see Partition::set_open
    static constexpr std::int64_t replay_at_once = 10'000'000;  // constraints: about 0.2 s

    // Lets a constraint join; true if it changed upper, lower or determined of the cell.
    bool join(std::int64_t cell, Estimate estimate, std::int64_t holder = no_holder) {
        if (has_prior_ && !fit_to_prior(cell, estimate)) {
            ++n_rejected_;
            return false;
        }
        if (watches_) watch(cell, estimate);
        if (exact_by_itself()) return join_first(cell, estimate);
        const Snapshot before = snapshot(cell);
        if (selection_ == Selection::window) {
            remember(cell, estimate);
        } else if (improves(estimate, upper_[at(cell)], determined(cell))) {
            upper_[at(cell)] = estimate.upper;
            determined_[at(cell)] = estimate.determined;
        }
        if (track_lower_) join_lower(cell, estimate.lower, holder);
        return !(before == snapshot(cell));
    }

    // Keeps a constraint back until the episode ends. Bounded: one slot a cell, as only the smallest U of an
    // episode (for `first`: the first) can matter; and, if tracked, one for each distinct L.
    void stage(std::int64_t cell, const Estimate& estimate, std::int64_t holder = no_holder) {
        if (watches_) watch(cell, estimate);
        // Once learning is over nearly every constraint is redundant, and this is all it costs.
        if (only_improvements_matter_ && !improves(estimate, upper(cell), determined(cell))) return;
        keep_back(cell, estimate, holder);
    }

    // Lets all that was staged join; calls changed(cell) for each cell that it changed.
    template <class Changed>
    void commit(Changed&& changed) {
        for (Staged& staged : staged_) {
            staged_slot_[at(staged.cell)] = -1;
            // tracked lower ends have a list of their own, as several of an episode can matter
            if (track_lower_) staged.estimate.lower = -infinity;
            if (join(staged.cell, staged.estimate)) changed(staged.cell);
        }
        for (const auto& [key, staged] : staged_lowers_) {
            if (join(staged.cell, {staged.lower, infinity, false}, std::get<0>(key))) changed(staged.cell);
        }
        n_rejected_ += n_staged_rejected_;
        n_contradictions_ += n_staged_contradictions_;
        forget_staged();
    }

    void discard_staged() {
        for (const Staged& staged : staged_) staged_slot_[at(staged.cell)] = -1;
        forget_staged();
    }

    // With a window, lets go of what was observed before the last W episodes; changed(cell) as in commit.
    template <class Changed>
    void end_episode(Changed&& changed) {
        ++episode_;
        if (selection_ != Selection::window) return;
        while (!observed_.empty() && observed_.front().episode < episode_ - window_) {
            const Observed old = observed_.front();
            observed_.pop_front();
            const Snapshot before = snapshot(old.cell);
            auto& recent = recent_[at(old.cell)];
            while (!recent.empty() && recent.front().episode < episode_ - window_) recent.erase(recent.begin());
            if (track_lower_) lowers_[at(old.cell)].release(old.lower);
            refresh_from_window(old.cell);
            if (!(before == snapshot(old.cell))) changed(old.cell);
        }
    }

    void prefetch(std::int64_t cell) const {
        ocp::prefetch(&upper_[at(cell)]);
        ocp::prefetch(&determined_[at(cell)]);
    }

    // Calls visit(layer, point) for all that a change of this cell can reach.
    template <class Visit>
    void for_each_affected(std::int64_t cell, Visit&& visit) const {
        partition_->for_each_point(cell, visit);
    }

    // Directed exploration: a triple is new as long as its cell was never visited.
    void visit(std::int64_t cell) {
        if (visited_.empty()) visited_.assign(upper_.size(), 0);
        visited_[at(cell)] = 1;
    }
    bool is_new(std::int64_t cell) const { return visited_.empty() || visited_[at(cell)] == 0; }

    // Whether the order in which constraints join can matter.
    bool order_matters() const { return exact_by_itself(); }

    // ---- statistics ----------------------------------------------------------------------------------------

    std::int64_t n_rejected() const { return n_rejected_; }
    std::int64_t n_contradictions() const { return n_contradictions_; }
    // False once something observed proved that Q* is not in the class. Not watched for in homogeneous classes, of
    // which no theorem speaks.
    bool coherent() const { return coherent_ && n_rejected_ == 0 && n_contradictions_ == 0; }
    std::int64_t n_determined() const {
        return std::count_if(determined_.begin(), determined_.end(), [](std::uint8_t d) { return d != 0; });
    }
    // ---- saving and loading ----------------------------------------------------------------------------------

    static constexpr const char* kind = "cells";
    template <class Archive>
    void archive(Archive& a) {
        a.same(selection_, "selection");
        a.same(window_, "window");
        a.same(track_lower_, "lower");
        a.same(prior_.lower, "lower bound");
        a.same(prior_.upper, "upper bound");
        a(coherent_);
        a.counts(episode_, n_rejected_, n_contradictions_, n_staged_rejected_, n_staged_contradictions_);
        a.fixed(upper_);
        a.fixed(determined_);
        a.fixed_or_empty(visited_, upper_.size());
        a.fixed(lower_);
        a.sparse_items(lowers_);
        a(held_);
        a.sparse_items(recent_);
        a(observed_, staged_, staged_lowers_);
        if constexpr (Archive::loading) {
            const auto n = partition_->n_cells();
            for (const Observed& one : observed_) a.require_index(one.cell, 0, n);
            for (const auto& [key, one] : staged_lowers_) a.require_index(one.cell, 0, n);
            std::fill(staged_slot_.begin(), staged_slot_.end(), -1);
            for (std::size_t i = 0; i < staged_.size(); ++i) {
                a.require_index(staged_[i].cell, 0, n);
                staged_slot_[at(staged_[i].cell)] = static_cast<std::int32_t>(i);
            }
            // a recomputed L has its stored transition for a holder
            for (const auto& [key, one] : staged_lowers_) a.require_index(std::get<0>(key), no_holder, held_.size());
        }
    }

    std::int64_t n_constraints() const {
        std::int64_t n = 0;
        for (std::int64_t cell = 0; cell < partition_->n_cells(); ++cell) {
            std::size_t held = upper(cell) < prior_upper(cell) || determined(cell);
            if (selection_ == Selection::window) held = recent_[at(cell)].size();
            if (track_lower_) held = std::max(held, lowers_[at(cell)].size());
            n += static_cast<std::int64_t>(held);
        }
        return n;
    }

private:
    struct Staged {
        std::int64_t cell;
        Estimate estimate;
        template <class Archive>
        void archive(Archive& a) {
            a(cell, estimate);
        }
    };
    struct StagedLower {
        std::int64_t cell;
        double lower;
        template <class Archive>
        void archive(Archive& a) {
            a(cell, lower);
        }
    };
    struct Recent {  // the smallest U of one episode
        std::int64_t episode;
        double upper;
        bool determined;
        template <class Archive>
        void archive(Archive& a) {
            a(episode, upper, determined);
        }
    };
    struct Observed {
        std::int64_t episode, cell;
        double lower;
        template <class Archive>
        void archive(Archive& a) {
            a(episode, cell, lower);
        }
    };
    struct Snapshot {
        double upper, lower;
        bool determined;
        bool operator==(const Snapshot& o) const {
            return upper == o.upper && lower == o.lower && determined == o.determined;
        }
    };

    static std::size_t at(std::int64_t cell) { return static_cast<std::size_t>(cell); }

    template <class CellOf>
    Best best_of(const CellOf& cell_of) const {
        double upper = upper_[cell_of(0)];
        std::int64_t chosen = 0;
        for (std::int64_t action = 1; action < n_actions_; ++action) {
            const double other = upper_[cell_of(action)];
            const bool better = other > upper;
            chosen = better ? action : chosen;
            upper = better ? other : upper;
        }
        if (!bounded_) return {upper, static_cast<std::int32_t>(chosen), upper < infinity};
        bool determined = false;
        for (std::int64_t action = chosen; action < n_actions_; ++action) {
            determined |= upper_[cell_of(action)] == upper && determined_[cell_of(action)];
        }
        return {upper, static_cast<std::int32_t>(chosen), determined};
    }

    // `n` is a number or, so that there is no loop, a constant.
    template <class Number>
    static OCP_ALWAYS_INLINE Best largest(const double* uppers, Number n) {
        double upper = uppers[0];
        for (std::int64_t action = 1; action < n; ++action) upper = uppers[action] > upper ? uppers[action] : upper;
        // Which action is best is as hard to predict as the system: without branches, which GCC 12 would make of this
        // if it saw that the largest is one of them. They cost 5 ns a period.
        OCP_HIDE_VALUE(upper);
        std::int32_t chosen = 0, all_below = 1;
        for (std::int64_t action = 0; action < n - 1; ++action) {
            all_below &= static_cast<std::int32_t>(uppers[action] < upper);
            chosen += all_below;
        }
        return {upper, chosen, upper < infinity};
    }

    double prior_lower(std::int64_t cell) const { return prior_.lower[at(prior_layer(cell, prior_.lower))]; }
    double prior_upper(std::int64_t cell) const { return prior_.upper[at(prior_layer(cell, prior_.upper))]; }
    std::int64_t prior_layer(std::int64_t cell, const std::vector<double>& bounds) const {
        return bounds.size() == 1 ? 0 : partition_->layer_of_cell(cell);
    }

    // `first` and `eluder` only keep constraints with L = U (by induction: U is determined iff the best action at
    // x' is, whose interval is a point), so the lower value comes for free.
    bool exact_by_itself() const { return selection_ == Selection::first || selection_ == Selection::eluder; }

    // Where lower ends are not tracked they do not change.
    Snapshot snapshot(std::int64_t cell) const {
        return {upper(cell), track_lower_ ? lower_[at(cell)] : 0, determined(cell)};
    }

    // Without branches, which the data would decide.
    static bool improves(const Estimate& estimate, double upper, bool determined) {
        const bool smaller = estimate.upper < upper, equal = estimate.upper == upper;
        return smaller | (equal & estimate.determined & !determined);
    }

    void keep_back(std::int64_t cell, Estimate estimate, std::int64_t holder) {
        if (has_prior_ && !fit_to_prior(cell, estimate)) {
            ++n_staged_rejected_;
            return;
        }
        if (track_lower_ && lower_matters(cell, estimate.lower, holder)) {
            // of a holder the last one counts, else each distinct one
            staged_lowers_[{holder, holder == no_holder ? cell : 0, holder == no_holder ? estimate.lower : 0}] = {
                cell, estimate.lower};
        }
        std::int32_t& slot = staged_slot_[at(cell)];
        if (slot >= 0) {
            merge(staged_[static_cast<std::size_t>(slot)].estimate, estimate);
        } else if (matters(cell, estimate)) {
            slot = static_cast<std::int32_t>(staged_.size());
            staged_.push_back({cell, estimate});
        }
    }

    bool join_first(std::int64_t cell, const Estimate& estimate) {
        if (!estimate.determined) return false;
        if (determined(cell)) {
            n_contradictions_ += contradicts(estimate.upper, upper(cell));
            return false;
        }
        upper_[at(cell)] = estimate.upper;
        determined_[at(cell)] = true;
        return true;
    }

    bool contradicts(double a, double b) const { return selection_ == Selection::eluder && !close(a, b); }

    // False for a constraint that is empty against the prior alone. One that misses the prior by rounding is moved
    // onto it: sums of rewards may add up to one ulp less than the smallest possible value.
    bool fit_to_prior(std::int64_t cell, Estimate& estimate) const {
        const double low = prior_lower(cell), high = prior_upper(cell);
        if (estimate.upper < low) {
            if (!close(estimate.upper, low)) return false;
            estimate.upper = low;
        }
        if (estimate.lower > high) {
            if (!close(estimate.lower, high)) return false;
            estimate.lower = high;
        }
        if (estimate.upper > high && close(estimate.upper, high)) estimate.upper = high;
        return true;
    }

    // Every U is at least Q*, every L at most; a determined value is Q* itself.
    void watch(std::int64_t cell, const Estimate& estimate) {
        const double known = upper(cell);
        if (determined(cell) && estimate.upper < known) coherent_ &= close(estimate.upper, known);
        if (estimate.determined && estimate.upper > known) coherent_ &= close(estimate.upper, known);
        if (estimate.lower > known) coherent_ &= close(estimate.lower, known);
    }

    static bool close(double a, double b) { return std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b)); }

    double& held_by(std::int64_t holder) {
        if (at(holder) >= held_.size()) held_.resize(at(holder) + 1, -infinity);
        return held_[at(holder)];
    }

    // Whether a constraint with this L could change which lower ends are held.
    bool lower_matters(std::int64_t cell, double lower, std::int64_t holder) {
        // of a holder the last one counts, also where it is what was held before another one was staged
        if (holder != no_holder) return lower != held_by(holder) || staged_lowers_.count({holder, 0, 0}) != 0;
        if (lower <= prior_lower(cell)) return false;
        if (selection_ == Selection::window) return true;
        return lower <= upper(cell) && !lowers_[at(cell)].holds(lower);
    }

    void join_lower(std::int64_t cell, double lower, std::int64_t holder) {
        LowerValues& lowers = lowers_[at(cell)];
        const bool windowed = selection_ == Selection::window;
        if (!windowed) lowers.forget_above(upper(cell));
        const bool useful = lower > prior_lower(cell) && (windowed || lower <= upper(cell));
        if (holder != no_holder) {
            lowers.release(held_by(holder));
            held_by(holder) = lower;
            if (useful) lowers.hold(lower);
        } else if (useful && windowed) {
            lowers.hold(lower);
            observed_.push_back({episode_, cell, lower});
        } else if (useful) {
            lowers.hold_once(lower);
        }
        refresh_lower(cell);
    }

    void refresh_lower(std::int64_t cell) {
        lower_[at(cell)] = std::max(prior_lower(cell), lowers_[at(cell)].largest_up_to(upper(cell)));
    }

    // Sliding minimum: `recent` rises in U from its front, the window's smallest, to its back, the newest.
    void remember(std::int64_t cell, const Estimate& estimate) {
        if (estimate.upper > prior_upper(cell) || estimate.upper == infinity) return;
        auto& recent = recent_[at(cell)];
        const bool new_here = recent.empty() || recent.back().episode != episode_;
        while (!recent.empty() &&
               (recent.back().upper > estimate.upper ||
                (recent.back().upper == estimate.upper && (estimate.determined || !recent.back().determined)))) {
            recent.pop_back();
        }
        const bool outdone =
            !recent.empty() && recent.back().episode == episode_ && recent.back().upper <= estimate.upper;
        if (!outdone) recent.push_back({episode_, estimate.upper, estimate.determined});
        if (new_here) observed_.push_back({episode_, cell, -infinity});
        refresh_from_window(cell);
    }

    void refresh_from_window(std::int64_t cell) {
        const auto& recent = recent_[at(cell)];
        upper_[at(cell)] = recent.empty() ? prior_upper(cell) : recent.front().upper;
        determined_[at(cell)] = !recent.empty() && recent.front().determined;
        if (track_lower_) refresh_lower(cell);
    }

    bool matters(std::int64_t cell, const Estimate& estimate) {
        if (exact_by_itself()) {
            if (!estimate.determined) return false;
            if (!determined(cell)) return true;
            n_staged_contradictions_ += contradicts(estimate.upper, upper(cell));
            return false;
        }
        if (selection_ == Selection::window) return true;
        return improves(estimate, upper(cell), determined(cell));
    }

    void merge(Estimate& staged, const Estimate& estimate) {
        if (exact_by_itself()) {
            if (estimate.determined) n_staged_contradictions_ += contradicts(estimate.upper, staged.upper);
        } else if (improves(estimate, staged.upper, staged.determined)) {
            staged.upper = estimate.upper;
            staged.determined = estimate.determined;
        }
    }

    void forget_staged() {
        staged_.clear();
        staged_lowers_.clear();
        n_staged_rejected_ = 0;
        n_staged_contradictions_ = 0;
    }

    std::shared_ptr<const Partition> partition_;
    Selection selection_;
    std::int64_t window_;  // W
    PriorBounds prior_;
    bool track_lower_;
    // the partition's, near at hand: what is known of a point is looked up in every period
    bool one_cell_a_slot_;
    std::int64_t n_points_, n_actions_;
    bool bounded_ = false;    // else a cell is determined iff its upper value is finite
    bool has_prior_ = false;  // some bound is finite
    bool only_improvements_matter_ = false;
    bool watches_ = false;  // for proof that Q* is not in the class
    bool coherent_ = true;

    std::vector<double> upper_;                // per cell
    std::vector<std::uint8_t> visited_;        // per cell, once something was
    std::vector<std::uint8_t> determined_;     // per cell
    std::vector<double> lower_;                // per cell, if tracked
    std::vector<LowerValues> lowers_;          // per cell, if tracked
    std::vector<double> held_;                 // per holder, if tracked: the L held on its behalf
    std::vector<std::vector<Recent>> recent_;  // per cell, with a window
    std::deque<Observed> observed_;            // with a window

    std::vector<Staged> staged_;             // this episode's, at most one a cell
    std::vector<std::int32_t> staged_slot_;  // per cell: where in staged_, or -1
    std::map<std::tuple<std::int64_t, std::int64_t, double>, StagedLower> staged_lowers_;
    std::int64_t n_staged_rejected_ = 0;
    std::int64_t n_staged_contradictions_ = 0;

    std::int64_t episode_ = 0;
    std::int64_t n_rejected_ = 0;
    std::int64_t n_contradictions_ = 0;
};

}  // namespace ocp
