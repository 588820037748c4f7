// Algorithm 1 (constraint selection), incrementally: after every insertion and deletion the kept constraints are
// exactly those of a fresh walk over all constraints in priority order.
//
// Generic over the hypothesis class, which intersects and answers "is it still non-empty":
//
//     bool possible(const Constraint&)    is it compatible with the class Q alone?
//     bool compatible(const Constraint&)  is it compatible with all that was added and not removed?
//     void add(const Constraint&)         intersect with it
//     void remove(const Constraint&)      take it out of the intersection again
//     bool reduces_dimension(const Constraint&)   for Selection::eluder, asked once it is compatible
//     bool determines(const Constraint&)          for Selection::first, asked once it is compatible
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"

namespace ocp {

// Who holds one constraint at a time: a stored transition, which says something else when it is looked at again.
struct ConstraintOwner {
    std::int64_t sequence = -1;  // of its constraint; -1 before the first
    double lower = 0, upper = 0;

    bool says(double l, double u) const { return sequence >= 0 && lower == l && upper == u; }
    template <class Archive>
    void archive(Archive& a) {
        a(sequence, lower, upper);
    }
};

template <class Hypotheses>
class ConstraintStore {
public:
    static constexpr std::int64_t dropped = -1;

    struct Entry {
        Constraint constraint;
        bool kept;

        template <class Archive>
        void archive(Archive& a) {
            a(constraint, kept);
        }
    };

    explicit ConstraintStore(Hypotheses hypotheses, Selection selection = Selection::all, std::int64_t window = 0)
        : hypotheses_(std::move(hypotheses)), selection_(selection), window_(window) {}

    // Returns the constraint's sequence number, or `dropped` where it may be forgotten for good. Of identical
    // constraints only the newest is held, unless they have owners, whose constraint takes the place of their last.
    //
    // Where the class cannot answer, what it throws comes out, and either nothing has changed or the constraint is in
    // and the rest of the walk is left to the next change.
    std::int64_t insert(std::int64_t index, double lower, double upper, ConstraintOwner* owner = nullptr) {
        const Constraint constraint{index, lower, upper, next_sequence_, episode_};
        if (constraint.says_nothing()) return dropped;
        if (!hypotheses_.possible(constraint)) {
            disprove(constraint);
            return dropped;
        }
        if (!selected(constraint)) return dropped;
        finish_walk();
        ++next_sequence_;
        const std::size_t twin = owner != nullptr ? entries_.size() : find_twin(constraint);
        const bool has_twin = twin < entries_.size();
        if (has_twin && entries_[twin].kept) {
            // Where the older of two identical constraints is kept the newer one before it would be kept too: the
            // hypotheses stay the same, and the older one becomes the newer.
            renew(twin, constraint);
            enter(constraint, owner);
            return constraint.sequence;
        }
        const std::int64_t older = has_twin           ? entries_[twin].constraint.sequence
                                   : owner != nullptr ? owner->sequence
                                                      : dropped;
        try {
            place(constraint);
        } catch (...) {
            if (contains(constraint.sequence)) {
                enter(constraint, owner);
                if (contains(older)) take_out(older);
            }
            throw;
        }
        enter(constraint, owner);
        if (has_twin) {
            take_out(older);  // what was rejected does not fit now, as the other twin stays
        } else {
            erase(older);
        }
        return constraint.sequence;
    }

    // Deletes a constraint; false where there is none of that sequence number.
    bool erase(std::int64_t sequence) {
        if (!contains(sequence)) return false;
        finish_walk();
        const auto [position, was_kept] = take_out(sequence);
        if (was_kept && n_rejected_ > 0) walk_again(position);
        return true;
    }

    // With a window, forgets what was observed before the last W episodes.
    void end_episode() {
        ++episode_;
        while (!observed_.empty() && observed_.front().first < episode_ - window_) {
            erase(observed_.front().second);
            observed_.pop_front();
        }
    }

    const std::vector<Entry>& entries() const { return entries_; }  // in priority order
    const Hypotheses& hypotheses() const { return hypotheses_; }
    Hypotheses& hypotheses() { return hypotheses_; }  // for classes whose questions warm-start the next one
    std::size_t n_rejected() const { return n_rejected_; }
    // With Selection::eluder: equalities that nothing left can satisfy; each proves that Q* is not in the class.
    std::int64_t n_contradictions() const { return n_contradictions_; }
    // False once constraints conflicted with each other or with the class: then Q* is not in it.
    bool coherent() const { return coherent_; }

    // The class says in holds(constraint) whether it has added it, in n_held how many, and in is_index what they may be
    // about.
    template <class Archive>
    void archive(Archive& a) {
        a.same(selection_, "selection");
        a.same(window_, "window");
        a(hypotheses_, entries_, observed_, coherent_, unfinished_);
        a.counts(n_contradictions_, next_sequence_, episode_);
        if constexpr (!Archive::loading) return;
        n_rejected_ = 0;
        upper_of_.clear();
        std::unordered_set<std::int64_t> identities;
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            const Constraint& c = entries_[i].constraint;
            a.require(i == 0 || has_priority(entries_[i - 1].constraint, c), "the order of constraints");
            a.require(hypotheses_.is_index(c.index) && (!entries_[i].kept || hypotheses_.holds(c)), "a constraint");
            a.require(upper_of_.emplace(c.sequence, c.upper).second && identities.insert(c.identity).second,
                      "a constraint");
            a.require(c.identity <= c.sequence && c.sequence < next_sequence_, "a constraint");
            n_rejected_ += !entries_[i].kept;
        }
        a.require(hypotheses_.n_held() == entries_.size() - n_rejected_, "the number of constraints");
    }

private:
    using Difference = std::ptrdiff_t;

    // What is observed leaves nothing of the class, or of what equalities left of it.
    void disprove(const Constraint& constraint) {
        coherent_ = false;
        n_contradictions_ += selection_ == Selection::eluder && constraint.lower == constraint.upper;
    }

    bool selected(const Constraint& constraint) {
        switch (selection_) {
            case Selection::eluder:
                if (hypotheses_.compatible(constraint)) return hypotheses_.reduces_dimension(constraint);
                disprove(constraint);
                return false;
            case Selection::first:
                return hypotheses_.compatible(constraint) && hypotheses_.determines(constraint);
            default:
                return true;
        }
    }

    bool contains(std::int64_t sequence) const { return upper_of_.count(sequence) != 0; }

    // Who will let go of a constraint that has come in: its owner, or the window.
    void enter(const Constraint& constraint, ConstraintOwner* owner) {
        if (owner != nullptr) *owner = {constraint.sequence, constraint.lower, constraint.upper};
        if (selection_ == Selection::window) observed_.emplace_back(episode_, constraint.sequence);
    }

    std::size_t position_of(const Constraint& constraint) const {
        const auto place = std::lower_bound(
            entries_.begin(), entries_.end(), constraint,
            [](const Entry& entry, const Constraint& other) { return has_priority(entry.constraint, other); });
        return static_cast<std::size_t>(place - entries_.begin());
    }

    // The position of an identical constraint, or the end. It has the same U, so it stands in the run of ties that
    // starts where the new constraint will go.
    std::size_t find_twin(const Constraint& constraint) const {
        for (std::size_t i = position_of(constraint);
             i < entries_.size() && entries_[i].constraint.upper == constraint.upper; ++i) {
            if (entries_[i].constraint.same_interval(constraint)) return i;
        }
        return entries_.size();
    }

    void renew(std::size_t position, const Constraint& newer) {
        auto node = upper_of_.extract(entries_[position].constraint.sequence);  // U stays, and no memory moves
        node.key() = newer.sequence;
        upper_of_.insert(std::move(node));
        const auto front = entries_.begin() + static_cast<Difference>(position_of(newer));
        const auto here = entries_.begin() + static_cast<Difference>(position);
        here->constraint.sequence = newer.sequence;
        here->constraint.episode = newer.episode;
        std::rotate(front, here, here + 1);  // the most recent of its ties
    }

    // Forgets an entry; returns where it stood and whether it was kept.
    std::pair<std::size_t, bool> take_out(std::int64_t sequence) {
        const auto found = upper_of_.find(sequence);
        const std::size_t position = position_of({0, 0, found->second, sequence, 0, 0});
        const Entry entry = entries_[position];
        upper_of_.erase(found);
        entries_.erase(entries_.begin() + static_cast<Difference>(position));
        if (entry.kept) {
            hypotheses_.remove(entry.constraint);
        } else {
            --n_rejected_;
        }
        return {position, entry.kept};
    }

    void place(const Constraint& constraint) {
        const std::size_t position = position_of(constraint);
        const auto put = [&](bool kept) {
            entries_.insert(entries_.begin() + static_cast<Difference>(position), {constraint, kept});
            upper_of_.emplace(constraint.sequence, constraint.upper);
            n_rejected_ += !kept;
        };
        if (hypotheses_.compatible(constraint)) {  // the normal case, and the only one when Q* is in the class
            hypotheses_.add(constraint);
            put(true);
            return;
        }
        coherent_ = false;

        std::vector<std::size_t> later;  // kept, and walked after the new one
        for (std::size_t i = position; i < entries_.size(); ++i) {
            if (entries_[i].kept) later.push_back(i);
        }
        suspend(later, 0, later.size());
        std::size_t fits = 0, active = 0;  // of `later`, [0, active) take part
        try {
            if (!hypotheses_.compatible(constraint)) {  // what is before it already excludes it
                resume(later, 0, later.size());
                put(false);
                return;
            }
            // Some later one is pushed out. Compatibility with a prefix is monotone in the prefix, so bisect for
            // the longest prefix of `later` that the new one can join: [0, fits) is, [0, fails) is too much.
            std::size_t fails = later.size();
            while (fails - fits > 1) {
                const std::size_t middle = fits + (fails - fits) / 2;
                resume(later, fits, middle);
                active = middle;
                if (hypotheses_.compatible(constraint)) {
                    fits = middle;
                } else {
                    suspend(later, fits, middle);
                    fails = middle;
                    active = fits;
                }
            }
        } catch (...) {  // the question could not be answered: all stays as it was
            resume(later, active, later.size());
            throw;
        }
        for (std::size_t i = later[fits]; i < entries_.size(); ++i) reject(entries_[i]);
        hypotheses_.add(constraint);
        put(true);
        // The first one pushed out now stands one place further on and needs no second look.
        reconsider_from(later[fits] + 2);
    }

    // Something kept has left from before `position`. What is kept stays kept until the first rejected
    // constraint that fits again; from there on everything is walked anew.
    void walk_again(std::size_t position) {
        std::vector<std::size_t> later;
        for (std::size_t i = position; i < entries_.size(); ++i) {
            if (entries_[i].kept) later.push_back(i);
        }
        suspend(later, 0, later.size());
        std::size_t i = position;
        unfinished_ = true;
        try {
            for (bool changed = false; i < entries_.size() && !changed; ++i) {
                if (entries_[i].kept) {
                    hypotheses_.add(entries_[i].constraint);
                } else {
                    changed = reconsider(entries_[i]);
                }
            }
        } catch (...) {
            for (std::size_t j = i; j < entries_.size(); ++j) {
                if (entries_[j].kept) hypotheses_.add(entries_[j].constraint);
            }
            throw;
        }
        for (std::size_t j = i; j < entries_.size(); ++j) reject(entries_[j]);
        reconsider_from(i);
    }

    // Where a class could not answer in the middle of a walk, the rest of it was left out: what is kept is then less
    // than Algorithm 1 keeps, until the next change walks again.
    void finish_walk() {
        if (!unfinished_) return;
        for (Entry& entry : entries_) {
            if (entry.kept) hypotheses_.remove(entry.constraint);
            reject(entry);
        }
        reconsider_from(0);
    }

    void reconsider_from(std::size_t position) {
        unfinished_ = true;
        for (std::size_t i = position; i < entries_.size(); ++i) reconsider(entries_[i]);
        unfinished_ = false;
    }

    void suspend(const std::vector<std::size_t>& which, std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) hypotheses_.remove(entries_[which[k]].constraint);
    }

    void resume(const std::vector<std::size_t>& which, std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) hypotheses_.add(entries_[which[k]].constraint);
    }

    void reject(Entry& entry) {  // it must not be part of the intersection now
        n_rejected_ += entry.kept;
        entry.kept = false;
    }

    bool reconsider(Entry& entry) {
        if (!hypotheses_.compatible(entry.constraint)) return false;
        hypotheses_.add(entry.constraint);
        entry.kept = true;
        --n_rejected_;
        return true;
    }

    Hypotheses hypotheses_;
    Selection selection_;
    std::int64_t window_;                                         // W, in episodes
    std::vector<Entry> entries_;                                  // in priority order
    std::unordered_map<std::int64_t, double> upper_of_;           // sequence -> U, to find an entry by bisection
    std::deque<std::pair<std::int64_t, std::int64_t>> observed_;  // (episode, sequence), only with a window
    std::size_t n_rejected_ = 0;
    bool coherent_ = true;
    bool unfinished_ = false;  // a walk was interrupted by an exception
    std::int64_t n_contradictions_ = 0;
    std::int64_t next_sequence_ = 0;
    std::int64_t episode_ = 0;
};

}  // namespace ocp
