// Optimistic constraint propagation (Algorithm 2) where actions are vectors: the linear-quadratic class.
//
// An undetermined action is worth +infinity, so the most optimistic one is any of those; the agent tries the member of
// a unisolvent set that tells most (hypothesis/quadratic.hpp). A transition becomes an equality once all actions at its
// successor are determined. The interface is that of agent/ocp.hpp, except that states and actions are what they are:
// `locate` keeps the state, and act returns numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/agent/unresolved.hpp"
#include "ocpfast/hypothesis/basis.hpp"
#include "ocpfast/hypothesis/partition.hpp"
#include "ocpfast/hypothesis/quadratic.hpp"
#include "ocpfast/limits.hpp"
#include "ocpfast/system.h"

namespace ocp {

class QuadraticOcp {
public:
    // Ties are `first` or `directed`.
    QuadraticOcp(Quadratic known, const OcpOptions& options)
        : known_(std::move(known)),
          options_(options),
          horizon_(known_.horizon()),
          replays_(options.replay != ReplayMode::off),
          stationary_(options.replay == ReplayMode::stationary),
          state_(known_.n_state()),
          located_(known_.n_state()),
          action_(known_.n_action()),
          previous_(known_.n_action()),
          successor_(known_.n_action()),
          unresolved_(known_.n_state(), known_.n_action(), horizon_) {
        // stationary: what is seen at one period will be replayed at every period
        trials_.assign(static_cast<std::size_t>(stationary_ ? 1 : horizon_), Trials(known_.n_features()));
    }

    // ---- one step at a time --------------------------------------------------------------------------------

    // Takes in the state that act, or observe, comes next with. Returns Partition::nowhere where it is not one.
    std::int64_t locate(const void* state) {
        const auto* x = static_cast<const double*>(state);
        // after the last period nothing has a value
        if (waiting_ && period_ == horizon_ - 1 && !stationary_) return 0;
        if (!acceptable(x)) return Partition::nowhere;
        looked_ahead_ = looked_ahead_ && std::equal(located_.begin(), located_.end(), x);
        std::copy(x, x + known_.n_state(), located_.begin());
        return 0;
    }
    bool acceptable(const double* x) const {
        return std::all_of(x, x + known_.n_state(),
                           [](double part) { return std::abs(part) <= QuadraticBlock::largest; });
    }

    // Valid until the next call.
    const double* act(std::int64_t, ocp_bitgen*) {
        std::swap(state_, located_);
        if (!looked_ahead_) best_ = look(period_, state_.data());
        all_determined_ &= best_.verdict == Quadratic::Verdict::determined;
        if (best_.verdict == Quadratic::Verdict::convex) known_.count_contradiction();
        if (best_.verdict == Quadratic::Verdict::undecided) {
            known_.tried(trials_[trials_at(period_)], period_, state_.data(), action_.data());
        }
        const double scale = scale_of(state_.data());
        if (scale > 0) last_scale_ = scale;
        waiting_ = true;
        return action_.data();
    }

    // The action that act would take; changes nothing.
    void greedy(const double* state, std::int64_t period, double* action) const {
        known_.best(period, state, trial_scale(state), action, &trials_[trials_at(period)]);
    }

    // Whether observe may come with this reward; expected_reward says what instead.
    static bool accepts(double reward, int) { return is_reward(reward); }
    static const char* expected_reward(double reward) { return instead_of_reward(reward); }

    // Returns true if this closed the episode.
    bool observe(std::int64_t, double reward, int ending) {
        const bool last = period_ == horizon_ - 1;
        const bool terminal = ending == OCP_TERMINATED || last;
        looked_ahead_ = false;
        double value = reward;
        bool resolved = terminal;
        std::swap(action_, previous_);
        if (!terminal) {
            // what is behind U chooses the next action: looked at once
            best_ = look(period_ + 1, located_.data());
            looked_ahead_ = true;
            resolved = best_.verdict == Quadratic::Verdict::determined;
            value += options_.discount * best_.value;
        }
        const Unresolved::Transition transition{state_.data(), previous_.data(), located_.data(), reward,
                                                ending == OCP_TERMINATED};
        if (resolved) {
            // once all is learned, a period ends here
            if (!known_.agrees(period_, state_.data(), previous_.data(), value)) {
                stage(value, terminal ? 0 : error_at(period_ + 1, located_.data(), action_.data()));
            }
        } else if (replays_) {
            unresolved_.add(period_, transition);
        }
        if (stationary_) {
            for (std::int64_t period = 0; period < horizon_; ++period) {
                if (period != period_ && !known_.determined(period, transition.state, transition.action)) {
                    unresolved_.add(period, transition);
                }
            }
        }
        if (options_.immediate) update();

        waiting_ = false;
        ++period_;
        ++n_periods_;
        const bool ended = terminal || ending == OCP_TRUNCATED;
        if (ended) end_episode(terminal);
        return ended;
    }

    // Drops an unfinished episode: its equalities that have not joined yet are forgotten.
    void begin_episode() {
        staged_.clear();
        start_over();
    }

    bool waiting() const { return waiting_; }  // for observe
    std::int64_t period() const { return period_; }
    const Quadratic& known() const { return known_; }

    // Whether the last episode was complete and each of its actions was known to be the best: then it was optimal, if
    // Q* is in the class.
    bool last_episode_determined() const { return last_determined_; }

    // ---- saving and loading --------------------------------------------------------------------------------

    static std::string kind() { return "OCP on quadratics"; }

    // See archive.hpp.
    template <class Archive>
    void archive(Archive& a) {
        a.same(options_.replay, "replay");
        a.same(options_.immediate, "update");
        a.same(options_.discount, "discount");
        a(known_);
        a.index(period_, 0, horizon_);
        a(waiting_, all_determined_, last_determined_);
        a.fixed(state_);
        a.fixed(located_);
        a.fixed(action_);
        a.fixed(previous_);
        a(looked_ahead_, best_, last_scale_, staged_, unresolved_);
        a.items(trials_);
        a.counts(n_episodes_, n_periods_, n_recomputed_);
        const std::size_t stride = 3 + known_.n_state() + known_.n_action();
        a.require(staged_.size() % stride == 0, "a size");
        for (std::size_t i = 0; i < staged_.size(); i += stride) {
            a.require(staged_[i] >= 0 && staged_[i] < static_cast<double>(horizon_), "a period");
        }
    }

    // ---- statistics ----------------------------------------------------------------------------------------

    std::int64_t n_episodes() const { return n_episodes_; }
    std::int64_t n_periods() const { return n_periods_; }
    std::int64_t n_transitions() const { return unresolved_.size(); }
    std::int64_t n_recomputed() const { return n_recomputed_; }
    static std::int64_t n_searches() { return 0; }

private:
    // The largest power of two that is not above the largest component; 0 for the zero state.
    double scale_of(const double* x) const {
        double most = 0;
        for (std::size_t i = 0; i < known_.n_state(); ++i) most = std::max(most, std::abs(x[i]));
        if (most < QuadraticBlock::smallest) return 0;
        int exponent;
        std::frexp(most, &exponent);
        return std::ldexp(1.0, exponent - 1);
    }
    // About the size of the state: then (x,x'), (x,u) and (u,u') weigh the same in a feature, whatever the units of x.
    double trial_scale(const double* x) const {
        const double scale = scale_of(x);
        return scale > 0 ? scale : last_scale_;
    }

    std::size_t trials_at(std::int64_t period) const { return static_cast<std::size_t>(stationary_ ? 0 : period); }

    Quadratic::Best look(std::int64_t period, const double* x) {
        return known_.best(period, x, trial_scale(x), action_.data(), &trials_[trials_at(period)]);
    }

    // How far off a transition's value is because that of its successor is.
    double error_at(std::int64_t period, const double* x, const double* best) const {
        return options_.discount * known_.error(period, x, best);
    }

    // What the transition says joins when the episode ends.
    void stage(double value, double error) {
        staged_.push_back(static_cast<double>(period_));
        staged_.push_back(value);
        staged_.push_back(error);
        staged_.insert(staged_.end(), state_.begin(), state_.end());
        staged_.insert(staged_.end(), previous_.begin(), previous_.end());
    }

    void update() {
        const std::size_t n = known_.n_state(), stride = 3 + n + known_.n_action();
        for (std::size_t i = 0; i < staged_.size(); i += stride) {
            const double* staged = &staged_[i];
            known_.join(static_cast<std::int64_t>(staged[0]), staged + 3, staged + 3 + n, staged[1], staged[2]);
        }
        staged_.clear();
        if (!replays_) return;
        for (std::int64_t period = horizon_ - 1; period >= 0; --period) {
            const bool last = period == horizon_ - 1;
            unresolved_.sweep(period, last ? 0 : known_.rank(period + 1), [&](const Unresolved::Transition& one) {
                ++n_recomputed_;
                double value = one.reward, error = 0;
                if (!last && !one.terminal) {
                    const auto best =
                        known_.best(period + 1, one.next, trial_scale(one.next), successor_.data(), nullptr);
                    // what is determined already has nothing to tell
                    if (best.verdict != Quadratic::Verdict::determined) {
                        return known_.determined(period, one.state, one.action);
                    }
                    value += options_.discount * best.value;
                    error = error_at(period + 1, one.next, successor_.data());
                }
                known_.join(period, one.state, one.action, value, error);
                return true;
            });
        }
        unresolved_.trim(options_.replay_capacity);
        looked_ahead_ = false;
    }

    void end_episode(bool complete) {
        update();
        ++n_episodes_;
        last_determined_ = complete && all_determined_;
        start_over();
    }

    void start_over() {
        period_ = 0;
        looked_ahead_ = false;
        waiting_ = false;
        all_determined_ = true;
    }

    Quadratic known_;
    OcpOptions options_;
    std::int64_t horizon_;
    bool replays_, stationary_;

    std::int64_t period_ = 0;
    bool waiting_ = false;
    bool all_determined_ = true;    // each action of this episode was known to be the best
    bool last_determined_ = false;  // and each of the last one, which was complete
    std::vector<double> state_;     // x
    std::vector<double> located_;   // the state last taken in
    std::vector<double> action_;    // u, chosen
    std::vector<double> previous_;  // u, while the next one is chosen
    bool looked_ahead_ = false;     // best_ and action_ belong to located_
    Quadratic::Best best_;
    double last_scale_ = 1;  // of the last state but zero: what is tried in a state of zero

    std::vector<double> successor_;  // scratch: best action at a successor

    std::vector<double> staged_;  // period, value, error, x, u of each equality of this episode
    Unresolved unresolved_;
    std::vector<Trials> trials_;  // per period, or one where all are alike

    std::int64_t n_episodes_ = 0, n_periods_ = 0, n_recomputed_ = 0;
};

}  // namespace ocp
