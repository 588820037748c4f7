// The linear-quadratic class with continuous actions, what is learned: a block for each period, and what they know of a
// state's best action. A supremum over what is left is infinite or, where equalities decide, a value; the infimum of a
// maximum over u would be a semidefinite program and is not asked for: this class learns from equalities alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/basis.hpp"
#include "ocpfast/hypothesis/quadratic_block.hpp"
#include "ocpfast/hypothesis/triangle.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

// What was tried in a period, to know what to try next: how much the features so far say of another one.
class Trials {
public:
    explicit Trials(std::size_t n_features) : visited_(n_features) {
        for (std::size_t k = 0; k < n_features; ++k) {
            feature_.assign(k + 1, 0.0);
            feature_[k] = unvisited;
            visited_.add(feature_, 0);
        }
    }

    void add(const std::vector<double>& feature) {
        feature_ = feature;
        visited_.add(feature_, 0);
    }
    // Large for what is independent of all that was tried, and the smaller the oftener its like was.
    double novelty(const std::vector<double>& feature) const {
        feature_ = feature;
        return visited_.spread(feature_);
    }

    template <class Archive>
    void archive(Archive& a) {
        a(visited_);
    }

private:
    static constexpr double unvisited = 0x1p-20;  // each direction counts as visited so often, squared
    Triangle visited_;
    mutable std::vector<double> feature_;  // scratch
};

class Quadratic {
public:
    Quadratic(std::size_t n_state, std::size_t n_action, std::int64_t horizon, const PriorBounds& bounds,
              const Tolerances& tolerances)
        : n_state_(n_state),
          n_action_(n_action),
          bounds_(bounds),
          tolerances_(tolerances),
          blocks_(static_cast<std::size_t>(horizon), QuadraticBlock(n_state, n_action, tolerances)) {}

    std::size_t n_state() const { return n_state_; }
    std::size_t n_action() const { return n_action_; }
    std::size_t n_features() const { return n_monomials(n_state_ + n_action_); }
    std::int64_t horizon() const { return static_cast<std::int64_t>(blocks_.size()); }
    std::size_t rank(std::int64_t period) const { return blocks_[at(period)].rank(); }

    // ---- one triple ----------------------------------------------------------------------------------------------

    bool determined(std::int64_t period, const double* x, const double* u) const {
        return block(period).determined(x, u);
    }
    double upper(std::int64_t period, const double* x, const double* u) const {
        return determined(period, x, u) ? clip(period, block(period).value(x, u)) : most(period);
    }
    double lower(std::int64_t period, const double* x, const double* u) const {
        return determined(period, x, u) ? clip(period, block(period).value(x, u)) : least(period);
    }

    // About how far off the value of a determined triple may be.
    double error(std::int64_t period, const double* x, const double* u) const { return block(period).error(x, u); }

    // Whether Q_t(x,u) = value is nothing new.
    bool agrees(std::int64_t period, const double* x, const double* u, double value) const {
        return block(period).agrees(x, u, value);
    }

    // Q_t(x,u) = value, give or take an error beyond that of rounding.
    void join(std::int64_t period, const double* x, const double* u, double value, double error) {
        if (value < least(period) - slack(value) || value > most(period) + slack(value)) {
            ++n_rejected_;
        } else if (!block(period).join(x, u, value, error)) {
            ++n_contradictions_;
        }
    }

    // ---- all actions in a state ----------------------------------------------------------------------------------

    enum class Verdict {
        determined,  // the best action and its value are known
        undecided,   // something about the actions is not known: one that tells
        convex,      // all is known, and contradicts that rewards are minus a cost with R > 0: the best of a few
    };
    struct Best {
        Verdict verdict = Verdict::undecided;
        double value = infinity;  // max_u Q_t(x,u) where it is determined

        template <class Archive>
        void archive(Archive& a) {
            a.choice(verdict, Verdict::convex);
            a(value);
        }
    };

    // The best action or, where there are trials, the one to try. `scale` is the size of what is tried.
    Best best(std::int64_t period, const double* x, double scale, double* action, const Trials* trials) const {
        QuadraticBlock& known = block(period);
        Best best;
        if (known.determined(x, scale)) {
            if (known.maximise(x, action, best.value)) {
                best.verdict = Verdict::determined;
            } else {
                best.verdict = Verdict::convex;
                best.value = best_member(known, x, scale, action);
            }
            best.value = clip(period, best.value);
            return best;
        }
        if (most(period) < infinity) {
            // what is not determined may be worth the prior bound, and not more
            best.value = best_member(known, x, scale, action);
            const double size = std::max(std::abs(most(period)), known.magnitude(x, scale));  // most may be 0
            if (best.value > -infinity &&
                best.value >= most(period) - tolerances_.ties * size - 100 * known.error(x, action)) {
                return {Verdict::determined, most(period)};
            }
        }
        best = {Verdict::undecided, most(period)};
        if (trials != nullptr) explore(known, x, scale, action, *trials);
        return best;
    }

    void tried(Trials& trials, std::int64_t period, const double* x, const double* u) const {
        trials.add(block(period).feature(x, u));
    }

    void count_contradiction() { ++n_contradictions_; }

    // ---- statistics ----------------------------------------------------------------------------------------------

    std::int64_t n_determined() const {  // dimensions of theta that are known
        std::int64_t n = 0;
        for (const auto& block : blocks_) n += static_cast<std::int64_t>(block.rank());
        return n;
    }
    std::int64_t n_constraints() const { return n_determined(); }
    std::int64_t n_rejected() const { return n_rejected_; }
    std::int64_t n_contradictions() const { return n_contradictions_; }
    // False once something observed proved that Q* is not in the class.
    bool coherent() const { return n_rejected_ == 0 && n_contradictions_ == 0; }

    template <class Archive>
    void archive(Archive& a) {
        a.same(n_state_, "size of states");
        a.same(n_action_, "size of actions");
        a.same(bounds_.lower, "lower bound");
        a.same(bounds_.upper, "upper bound");
        a.items(blocks_);
        a.counts(n_rejected_, n_contradictions_);
    }

private:
    static std::size_t at(std::int64_t period) { return static_cast<std::size_t>(period); }
    QuadraticBlock& block(std::int64_t period) const { return blocks_[at(period)]; }

    double least(std::int64_t period) const { return bounds_.lower[bounds_.lower.size() > 1 ? at(period) : 0]; }
    double most(std::int64_t period) const { return bounds_.upper[bounds_.upper.size() > 1 ? at(period) : 0]; }
    double clip(std::int64_t period, double value) const {
        return std::min(std::max(value, least(period)), most(period));
    }
    double slack(double value) const { return tolerances_.ties * std::abs(value); }

    // The largest value among the determined members of the unisolvent set; -infinity where there is none.
    double best_member(QuadraticBlock& known, const double* x, double scale, double* action) const {
        double best = -infinity;
        for (std::size_t number = 0; number < known.n_members(); ++number) {
            const double* member = known.member(number, scale);
            if (!known.determined(x, member)) continue;
            const double value = known.value(x, member);
            if (value <= best) continue;
            best = value;
            std::copy(member, member + n_action_, action);
        }
        return best;
    }

    // Of the members that are not determined, the one most unlike all that was tried in this period; ties to the first.
    // The one furthest from what is known would be the same time after time in a period that waits for later ones, and
    // these would see little but the leading eigenvector of A: 15 of 60 random systems then lost all digits.
    void explore(QuadraticBlock& known, const double* x, double scale, double* action, const Trials& trials) const {
        double newest = 0;
        for (std::size_t number = 0; number < known.n_members(); ++number) {
            const double* member = known.member(number, scale);
            if (known.determined(x, member)) continue;
            const double novelty = trials.novelty(known.feature(x, member));
            if (novelty <= newest * (1 + margin)) continue;
            newest = novelty;
            std::copy(member, member + n_action_, action);
        }
    }

    static constexpr double margin = 1e-6;  // a novelty that is larger by less is a tie
    std::size_t n_state_, n_action_;        // n, m
    PriorBounds bounds_;
    Tolerances tolerances_;
    mutable std::vector<QuadraticBlock> blocks_;  // per period; questions use their scratch
    std::int64_t n_rejected_ = 0, n_contradictions_ = 0;
};

}  // namespace ocp
