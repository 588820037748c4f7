// Finite classes, what is learned: which of a list of tables are left.
//
// The interface is that of hypothesis/cells.hpp: an index is a triple (layer, point, action), a point is a state. There
// is one layer a period, and all layers are one: what is learned at one triple tells about every other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/finite_tables.hpp"
#include "ocpfast/hypothesis/groups.hpp"
#include "ocpfast/hypothesis/partition.hpp"
#include "ocpfast/hypothesis/survivors.hpp"
#include "ocpfast/store.hpp"

namespace ocp {

template <class T>
class Finite {
public:
    static constexpr std::int64_t no_holder = -1;
    static constexpr bool distinct_rewards = true;
    static constexpr bool may_be_open = false;
    static constexpr std::int64_t replay_at_once = 1;  // for time-homogeneous classes, which this is not

    Finite(std::shared_ptr<const FiniteTables<T>> tables, Selection selection, std::int64_t window, PriorBounds bounds)
        : tables_(tables),
          selection_(selection),
          bounds_(std::move(bounds)),
          store_(Survivors<T>(std::move(tables)), selection, window) {
        answers_.resize(static_cast<std::size_t>(partition().n_layers() * partition().n_points()));
    }

    const Partition& partition() const { return tables_->domain(); }
    std::int64_t index(std::int64_t layer, std::int64_t point, std::int64_t action) const {
        return partition().first_slot(layer, point) + action;
    }

    bool coupled() const { return partition().n_layers() > 1; }

    // ---- what is known -----------------------------------------------------------------------------------------

    struct Best {
        double upper;
        std::int64_t action;
        bool determined;
        template <class Archive>
        void archive(Archive& a) {
            a(upper, action, determined);
        }
    };

    Best best(std::int64_t layer, std::int64_t point) const { return answer(row(layer, point)).best; }
    double lower_max(std::int64_t layer, std::int64_t point) const { return answer(row(layer, point)).lower; }

    static constexpr bool knows_lower() { return true; }
    double upper(std::int64_t index) const {
        answer(row(index));
        return upper_found(index);
    }
    double lower(std::int64_t index) const {
        answer(row(index));
        return clipped(survivors().extremes(index).lower, layer_of(index));
    }
    // Whether all that is left agrees.
    bool determined(std::int64_t index) const {
        answer(row(index));
        return determined_found(index);
    }
    bool ties(std::int64_t index, double best) const { return tied(upper(index), best); }

    // ---- learning ----------------------------------------------------------------------------------------------

    bool join(std::int64_t index, const Estimate& estimate, std::int64_t holder = no_holder) {
        return join(index, estimate.lower, estimate.upper, holder);
    }
    void stage(std::int64_t index, const Estimate& estimate, std::int64_t holder = no_holder) {
        staged_.push_back({index, holder, estimate.lower, estimate.upper});
    }
    template <class Changed>
    void commit(Changed&& changed) {
        for (const Staged& staged : staged_) {
            if (join(staged.index, staged.lower, staged.upper, staged.holder)) changed(staged.index);
        }
        staged_.clear();
    }
    void discard_staged() { staged_.clear(); }

    template <class Changed>
    void end_episode(Changed&& changed) {
        if (selection_ != Selection::window) return;
        const std::uint64_t before = survivors().version();
        store_.end_episode();
        store_.hypotheses().settle();
        if (survivors().version() != before) changed(0);
    }

    // Fewer hypotheses may change any value.
    template <class Visit>
    void for_each_affected(std::int64_t, Visit&& visit) const {
        for (std::int64_t layer = 0; layer < partition().n_layers(); ++layer) {
            for (std::int64_t point = 0; point < partition().n_points(); ++point) visit(layer, point);
        }
    }

    // Directed exploration: a triple is new if two hypotheses of the class, eliminated or not, agree on all that were
    // visited and differ on it. What is not new is never new again.
    void visit(std::int64_t index) {
        if (!is_new(index)) return;
        visited_.split(*tables_, index);
        old_[at(index)] = 1;
    }
    bool is_new(std::int64_t index) const {
        if (old_.empty()) {
            old_.assign(at(partition().n_cells()), 0);
            visited_ = Groups<T>(*tables_);
        }
        if (!old_[at(index)]) old_[at(index)] = !visited_.splits(*tables_, index);
        return !old_[at(index)];
    }

    bool order_matters() const { return true; }

    // ---- statistics --------------------------------------------------------------------------------------------

    std::int64_t n_constraints() const { return static_cast<std::int64_t>(store_.entries().size()); }
    std::int64_t n_rejected() const { return n_rejected_ + static_cast<std::int64_t>(store_.n_rejected()); }
    std::int64_t n_contradictions() const { return n_contradictions_; }
    // False once something observed proved that Q* is not in the class.
    bool coherent() const { return n_rejected_ == 0 && n_contradictions_ == 0 && store_.coherent(); }
    std::int64_t n_survivors() const { return static_cast<std::int64_t>(survivors().size()); }
    // Survivors that differ somewhere.
    std::int64_t n_distinct_survivors() const {
        Groups<T> groups(survivors().numbers());
        for (std::int64_t i = 0; i < partition().n_cells() && !groups.all_told_apart(); ++i) groups.split(*tables_, i);
        return static_cast<std::int64_t>(groups.size());
    }
    // The length of a sequence of triples that survivors agree on, each independent of those before it. Whatever is
    // still to be explored is independent of all of them, so that the eluder dimension is at least their number
    // together.
    std::int64_t n_determined() const {
        std::int64_t n = 0;
        Groups<T> groups(*tables_);
        for (std::int64_t i = 0; i < partition().n_cells() && !groups.all_told_apart(); ++i) {
            if (survivors().agree(i)) n += groups.split(*tables_, i);
        }
        return n;
    }

    // ---- saving and loading ------------------------------------------------------------------------------------

    static constexpr const char* kind = sizeof(T) == 4 ? "a finite class of float32" : "a finite class of float64";

    template <class Archive>
    void archive(Archive& a) {
        a.same(bounds_.lower, "lower bound");
        a.same(bounds_.upper, "upper bound");
        a(store_);
        a(staged_, owners_);
        a.counts(n_rejected_, n_contradictions_);
        a.fixed_or_empty(old_, at(partition().n_cells()));
        if (!old_.empty()) visited_.archive(a, tables_->n_hypotheses());
        if constexpr (!Archive::loading) return;
        std::fill(answers_.begin(), answers_.end(), Answer{});  // found again, the same
        for (const Staged& staged : staged_) a.require_index(staged.index, 0, partition().n_cells());
    }

private:
    struct Staged {
        std::int64_t index, holder;
        double lower, upper;
        template <class Archive>
        void archive(Archive& a) {
            a(index, holder, lower, upper);
        }
    };
    struct Answer {  // of one (layer, point)
        std::uint64_t version = ~std::uint64_t{0};
        Best best{};
        double lower = 0;  // inf over what is left of max_a Q
    };

    static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
    std::int64_t row(std::int64_t layer, std::int64_t point) const { return layer * partition().n_points() + point; }
    std::int64_t row(std::int64_t index) const { return index / partition().n_actions(); }
    std::size_t layer_of(std::int64_t index) const { return at(row(index) / partition().n_points()); }
    const Survivors<T>& survivors() const { return store_.hypotheses(); }

    double clipped(T value, std::size_t layer) const {
        const double least = bounds_.lower[bounds_.lower.size() == 1 ? 0 : layer];
        const double most = bounds_.upper[bounds_.upper.size() == 1 ? 0 : layer];
        return std::min(std::max(static_cast<double>(value), least), most);
    }
    bool tied(double upper, double best) const { return upper >= best - tables_->slack(best); }

    // All values of a point come from one look at its survivors, which is kept until these change.
    const Answer& answer(std::int64_t row) const {
        Answer& answer = answers_[at(row)];
        if (answer.version != survivors().version()) find(row, answer);
        return answer;
    }
    double upper_found(std::int64_t index) const { return clipped(survivors().extremes(index).upper, layer_of(index)); }
    bool determined_found(std::int64_t index) const {
        return tables_->agree(survivors().extremes(index).lower, survivors().extremes(index).upper);
    }

    void find(std::int64_t row, Answer& answer) const {
        const std::int64_t n_actions = partition().n_actions(), first = row * n_actions;
        const T least = survivors().look_at(row).least;
        answer.version = survivors().version();
        answer.lower = clipped(least, layer_of(first));
        answer.best = {-infinity, 0, false};
        for (std::int64_t i = first; i < first + n_actions; ++i) {
            answer.best.upper = std::max(answer.best.upper, upper_found(i));
        }
        for (std::int64_t action = n_actions - 1; action >= 0; --action) {
            if (!tied(upper_found(first + action), answer.best.upper)) continue;
            answer.best.action = action;
            answer.best.determined |= determined_found(first + action);
        }
    }

    bool join(std::int64_t index, double lower, double upper, std::int64_t holder) {
        Survivors<T>& hypotheses = store_.hypotheses();
        const Constraint constraint{index, lower, upper, 0, 0};
        if (!may_hold(constraint)) {
            ++n_rejected_;
            return false;
        }
        if (selection_ == Selection::eluder) {
            // Intervals count as well as equalities: each contains Q* if the class does.
            if (!hypotheses.compatible(constraint)) {
                ++n_contradictions_;
                return false;
            }
            if (!hypotheses.reduces_dimension(constraint)) return false;
        }
        const std::uint64_t before = hypotheses.version();
        if (holder == no_holder) {
            store_.insert(index, lower, upper);
        } else {
            ConstraintOwner& owner = owners_[holder];
            if (owner.says(lower, upper)) return false;
            store_.insert(index, lower, upper, &owner);
        }
        hypotheses.settle();
        return hypotheses.version() != before;
    }

    // False for what excludes every hypothesis by itself, or what is known beforehand.
    bool may_hold(const Constraint& c) {
        const std::size_t layer = layer_of(c.index);
        const double least = bounds_.lower[bounds_.lower.size() == 1 ? 0 : layer];
        const double most = bounds_.upper[bounds_.upper.size() == 1 ? 0 : layer];
        if (c.upper + tables_->slack(c.upper) < least || c.lower - tables_->slack(c.lower) > most) return false;
        return selection_ == Selection::eluder || store_.hypotheses().possible(c);
    }

    std::shared_ptr<const FiniteTables<T>> tables_;
    Selection selection_;
    PriorBounds bounds_;
    ConstraintStore<Survivors<T>> store_;
    mutable std::vector<Answer> answers_;  // per (layer, point)

    std::vector<Staged> staged_;
    std::unordered_map<std::int64_t, ConstraintOwner> owners_;  // by stored transition
    std::int64_t n_rejected_ = 0, n_contradictions_ = 0;

    // Directed exploration, empty until it asks.
    mutable Groups<T> visited_;              // told apart by the triples visited
    mutable std::vector<std::uint8_t> old_;  // per index: not new
};

}  // namespace ocp
