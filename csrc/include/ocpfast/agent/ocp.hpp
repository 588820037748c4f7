// Optimistic constraint propagation (Algorithm 2): act on the most optimistic hypothesis left, and turn what was
// observed into constraints.
//
// `Class` is what has been learned of a hypothesis class; hypothesis/cells.hpp shows the interface. States reach the
// agent as points of its partition. Arguments are trusted: the caller has checked them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ocpfast/agent/directed.hpp"
#include "ocpfast/agent/replay.hpp"
#include "ocpfast/agent/transitions.hpp"
#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/grid.hpp"
#include "ocpfast/lanes.hpp"
#include "ocpfast/limits.hpp"
#include "ocpfast/system.h"

namespace ocp {

// Which of the actions that attain the largest upper value is taken.
enum class Ties {
    first,          // the lowest
    random,         // any, uniformly
    least_visited,  // the one whose cell was visited least, then the lowest
    directed,       // a determined one if there is one, else the one that leads soonest to something new
};

struct OcpOptions {
    Ties ties = Ties::first;
    ReplayMode replay = ReplayMode::off;
    bool immediate = false;  // update="period": a constraint joins at once, not when the episode ends
    double discount = 1;     // gamma
    std::int64_t replay_sweeps = 36'000;
    std::int64_t replay_capacity = 10'000;  // transitions, where the domain is open
};

// Classes of functions of a linear one (a sigmoid) have a `Link`: between rewards, which only the end of an episode may
// pay, and the values in which they think.
template <class Class, class = void>
struct IsLinked : std::false_type {};
template <class Class>
struct IsLinked<Class, std::void_t<typename Class::Link>> : std::true_type {};

// Classes that can tell at a glance that an observation changes nothing; see Cells::quick.
template <class Class, class = void>
struct LooksUpQuickly : std::false_type {};
template <class Class>
struct LooksUpQuickly<Class, std::void_t<decltype(&Class::quick)>> : std::true_type {};

template <class Class>
class Ocp {
public:
    using Known = Class;

    Ocp(Class known, const OcpOptions& options) : known_(std::move(known)), options_(options) {
        const auto& partition = known_.partition();
        n_actions_ = partition.n_actions();
        horizon_ = partition.horizon();
        knows_lower_ = known_.knows_lower();
        replays_ = options_.replay != ReplayMode::off;
        stationary_ = options_.replay == ReplayMode::stationary;
        revisits_ = options_.immediate && !replays_ && known_.coupled();
        if constexpr (LooksUpQuickly<Class>::value) passes_ = known_.quick() && !options_.immediate;
        stores_transitions_ = replays_ || options_.ties == Ties::directed;
        if (options_.ties == Ties::least_visited) {
            visits_.assign(static_cast<std::size_t>(partition.n_cells()), 0);
        }
        if (stores_transitions_) {
            transitions_ = Transitions(stationary_ ? 1 : partition.n_layers(), partition.n_points(), n_actions_,
                                       Class::distinct_rewards);
        }
        if (replays_) replay_ = Replay<Class>(known_, stationary_, options_.discount, options_.replay_sweeps);
        if (options_.ties == Ties::directed) {
            directed_ = Directed<Class>(known_);
            if (stationary_) pair_visited_.assign(static_cast<std::size_t>(partition.n_points() * n_actions_), 0);
        }
    }

    // ---- one step at a time --------------------------------------------------------------------------------

    // The point of the state that act, or observe, comes next with; Partition::nowhere where it has none.
    std::int64_t locate(const void* state) {
        return locate(state, horizon_ == 0 ? 0 : period_ + static_cast<std::int64_t>(waiting_));
    }
    // The point of a state in some layer.
    std::int64_t locate(const void* state, std::int64_t layer) {
        if constexpr (Class::may_be_open) {
            if (known_.partition().open()) return locate_in_open_domain(static_cast<const double*>(state), layer);
        }
        return known_.partition().locate(state);
    }

    OCP_ALWAYS_INLINE std::int64_t act(std::int64_t point, ocp_bitgen* bitgen) {
        look_at(point);
        action_ = options_.ties == Ties::first ? best_.action : choose(bitgen);
        if (horizon_ != 0) all_determined_ &= known_.determined(known_.index(layer(period_), point_, action_));
        if (options_.ties == Ties::least_visited || options_.ties == Ties::directed) visit();
        waiting_ = true;
        return action_;
    }

    // The action that act would take if ties went to the lowest; changes nothing.
    std::int64_t greedy(std::int64_t point, std::int64_t period) const {
        return known_.best(layer(period), point).action;
    }

    // Whether observe may come with this reward; expected_reward says what instead.
    bool accepts(double reward, int ending) const {
        if constexpr (IsLinked<Class>::value) return Class::Link::accepts(reward, ending == OCP_TERMINATED || last());
        return is_reward(reward);
    }
    static const char* expected_reward(double reward) {
        if constexpr (IsLinked<Class>::value) return Class::Link::expected_reward;
        return instead_of_reward(reward);
    }

    // Returns true if this closed the episode. next_point is not looked at after a terminal transition.
    bool observe(std::int64_t next_point, double reward, int ending) {
        if (ending == OCP_CONTINUES && pass(next_point, reward)) return false;
        return take_in(next_point, reward, ending);
    }

    // Observes and acts in one go, where the system goes on and the step says nothing new; else false, and nothing has
    // happened.
    OCP_ALWAYS_INLINE bool proceed(std::int64_t next_point, double reward, ocp_bitgen* bitgen, std::int64_t& action) {
        if (!pass(next_point, reward)) return false;
        action = act(next_point, bitgen);
        return true;
    }

    // Whether the upper values and the discount are all that decides what such steps do: then they can be taken without
    // the agent, which is told of them afterwards; see glide.hpp.
    bool glides() const { return passes_ && !stores_transitions_ && options_.ties == Ties::first; }
    double discount() const { return options_.discount; }

    // Takes in that this many periods went by, the last of which led to this point.
    void catch_up(std::int64_t periods, std::int64_t point) {
        period_ += periods;
        n_periods_ += periods;
        act(point, nullptr);
    }

    // What locates all states, where something does that can do so for many at a time.
    const Grid* grid() const { return known_.partition().grid(); }

    // Drops an unfinished episode: its constraints that have not joined yet are forgotten.
    void begin_episode() {
        known_.discard_staged();
        start_over();
    }

    bool waiting() const { return waiting_; }  // for observe
    std::int64_t period() const { return period_; }
    const Class& known() const { return known_; }

    // Whether the last episode was complete, and each of its actions had a determined value when it was taken: then it
    // was optimal, if Q* is in the class. Not recorded in time-homogeneous classes.
    bool last_episode_determined() const { return last_determined_; }

    // ---- saving and loading --------------------------------------------------------------------------------

    static std::string kind() { return std::string("OCP on ") + Class::kind; }

    // See archive.hpp.
    template <class Archive>
    void archive(Archive& a) {
        a.same(options_.ties, "ties");
        a.same(options_.replay, "replay");
        a.same(options_.immediate, "update");
        a.same(options_.discount, "discount");
        a(known_);
        const std::int64_t n_points = n_points_now();
        const auto is_point = [&](std::int64_t point) {
            if constexpr (Class::may_be_open) {
                if (known_.partition().open()) return known_.is_point(point);
            }
            return point >= 0 && point < n_points;
        };
        const auto is_point_or_nowhere = [&](std::int64_t point) { return point == nowhere_ || is_point(point); };
        a.counts(period_);
        a.require(horizon_ == 0 || period_ < horizon_, "a period");
        a(point_, known_at_);
        a.index(action_, 0, n_actions_);
        a(waiting_, all_determined_, last_determined_, best_, visited_);
        a.counts(n_episodes_, n_periods_);
        a.require(is_point_or_nowhere(point_) && is_point_or_nowhere(known_at_), "a state");
        a.require(point_ != nowhere_ || !waiting_, "a state");
        a.require_index(best_.action, 0, n_actions_);
        a.require(visited_.size() <= static_cast<std::size_t>(period_), "the length of an episode");
        for (const Visited& step : visited_) {
            a.require_index(step.index, 0, n_indices_now());
            a.require(is_point_or_nowhere(step.next), "a state");
        }
        if (options_.ties == Ties::least_visited) {
            if constexpr (Archive::loading) visits_.resize(static_cast<std::size_t>(n_indices_now()));
            a.fixed(visits_);
            for (const std::int64_t n : visits_) a.require_index(n, 0, INT64_MAX / 2);
        }
        a.fixed(pair_visited_);
        if (stores_transitions_) transitions_.archive(a, n_points, is_point);
        if (replays_) replay_.archive(a, n_points, is_point, transitions_);
        if (options_.ties == Ties::directed) directed_.archive(a, n_points, is_point, n_actions_);
    }

    // ---- statistics ----------------------------------------------------------------------------------------

    std::int64_t n_episodes() const { return n_episodes_; }
    std::int64_t n_periods() const { return n_periods_; }
    std::int64_t n_transitions() const { return transitions_.size(); }
    std::int64_t n_recomputed() const { return replay_.n_recomputed(); }
    std::int64_t n_searches() const { return directed_.n_searches(); }

private:
    static constexpr std::int64_t nowhere_ = -1;

    // Once learning is over nearly every step says nothing new, and this is all that is to be done about it.
    OCP_ALWAYS_INLINE bool pass(std::int64_t next_point, double reward) {
        if constexpr (LooksUpQuickly<Class>::value) {
            if (!passes_) return false;
            if (stores_transitions_) {
                const std::int32_t edge = transitions_.find(0, point_, action_, next_point, reward);
                if (edge < 0 || reward < transitions_.edge(edge).reward) return false;
                if (replays_) reward = transitions_.edge(edge).reward;
            }
            const auto next = known_.look_up(next_point);
            if (!known_.redundant(point_, action_, reward + options_.discount * next.upper)) return false;
            best_ = next;
            known_at_ = next_point;
            waiting_ = false;
            ++period_;
            ++n_periods_;
            return true;
        }
        return false;
    }

    OCP_NEVER_INLINE bool take_in(std::int64_t next_point, double reward, int ending) {
        const bool last = this->last();
        const bool terminal = ending == OCP_TERMINATED || last;
        if constexpr (IsLinked<Class>::value) reward = terminal ? known_.link().value(reward) : 0.0;
        if (stores_transitions_) {
            // a stationary transition can be replayed before the last period, where it does lead somewhere
            const bool nowhere = ending == OCP_TERMINATED || (last && !stationary_);
            reward = store(nowhere ? Transitions::terminal : next_point, reward);
        }

        const std::int64_t index = known_.index(layer(period_), point_, action_);
        known_at_ = terminal ? nowhere_ : next_point;
        learn(index, terminal ? Estimate{reward, reward, true} : leading_to(period_ + 1, next_point, reward));
        if (revisits_) visited_.push_back({index, terminal ? nowhere_ : next_point, reward});

        waiting_ = false;
        ++period_;
        ++n_periods_;
        const bool ended = terminal || ending == OCP_TRUNCATED;
        if (ended) end_episode(terminal);
        return ended;
    }

    // Points and indices are below these; an open domain has as many as were met.
    std::int64_t n_points_now() const {
        if constexpr (Class::may_be_open) {
            if (known_.partition().open()) return known_.n_points();
        }
        return known_.partition().n_points();
    }
    std::int64_t n_indices_now() const {
        const auto& partition = known_.partition();
        return partition.open() ? n_points_now() * n_actions_ : partition.n_cells();
    }

    std::int64_t layer(std::int64_t period) const { return horizon_ == 0 ? 0 : period; }

    bool last() const { return horizon_ != 0 && period_ == horizon_ - 1; }

    void look_at(std::int64_t point) {
        if (known_at_ != point) best_ = known_.best(layer(period_), point);
        known_at_ = point_ = point;
    }

    OCP_NEVER_INLINE std::int64_t choose(ocp_bitgen* bitgen) {
        switch (options_.ties) {
            case Ties::random:
                return choose_randomly(bitgen);
            case Ties::least_visited:
                return choose_least_visited();
            default:  // directed: with Ties::first there is nothing to choose
                return choose_directed();
        }
    }

    template <class Visit>
    void for_each_tied(Visit&& visit) const {
        for (std::int64_t action = best_.action; action < n_actions_; ++action) {
            const std::int64_t index = known_.index(layer(period_), point_, action);
            if (known_.ties(index, best_.upper)) visit(action, index);
        }
    }

    std::int64_t choose_randomly(ocp_bitgen* bitgen) const {
        std::int64_t n_tied = 0;
        if constexpr (LooksUpQuickly<Class>::value) {
            if (passes_) n_tied = known_.count_largest(point_, best_.upper);
        }
        if (n_tied == 0) for_each_tied([&](std::int64_t, std::int64_t) { ++n_tied; });
        if (n_tied == 1) return best_.action;
        auto skip = static_cast<std::int64_t>(bitgen->next_double(bitgen->state) * static_cast<double>(n_tied));
        std::int64_t chosen = best_.action;
        for_each_tied([&](std::int64_t action, std::int64_t) {
            if (skip-- == 0) chosen = action;
        });
        return chosen;
    }

    std::int64_t choose_least_visited() const {
        std::int64_t chosen = best_.action;
        std::int64_t fewest = INT64_MAX;
        for_each_tied([&](std::int64_t action, std::int64_t index) {
            const std::int64_t visits = visits_[static_cast<std::size_t>(index)];
            if (visits < fewest) {
                fewest = visits;
                chosen = action;
            }
        });
        return chosen;
    }

    std::int64_t choose_directed() {
        if (!best_.determined) {
            return directed_.choose(known_, transitions_, layer(period_), point_);
        }
        directed_.forget();
        std::int64_t chosen = n_actions_;
        for_each_tied([&](std::int64_t action, std::int64_t index) {
            if (chosen == n_actions_ && known_.determined(index)) chosen = action;
        });
        return chosen == n_actions_ ? best_.action : chosen;  // there is one, unless somebody made up a state
    }

    void visit() {
        const std::int64_t here = known_.index(layer(period_), point_, action_);
        if (options_.ties == Ties::least_visited) {
            ++visits_[static_cast<std::size_t>(here)];
            return;
        }
        // stationary: what is seen at one period will be replayed at every period
        const std::int64_t first = stationary_ ? 0 : layer(period_);
        const std::int64_t last = stationary_ ? known_.partition().n_layers() - 1 : first;
        if (stationary_) {
            std::uint8_t& visited = pair_visited_[static_cast<std::size_t>(point_ * n_actions_ + action_)];
            if (visited) return;
            visited = 1;
        }
        for (std::int64_t layer = first; layer <= last; ++layer) {
            const std::int64_t index = known_.index(layer, point_, action_);
            if (!known_.is_new(index)) continue;
            known_.visit(index);
            directed_.forget();
        }
    }

    // Returns the smallest reward seen on this transition: the stored transition stands for all of them.
    double store(std::int64_t next, double reward) {
        const auto [edge, changed] = transitions_.record(layer(period_), point_, action_, next, reward);
        edge_ = edge;
        if (changed) directed_.forget();
        if (replays_ && (changed || !replay_.settled())) replay_.edge_changed(edge, layer(period_));
        return replays_ ? transitions_.edge(edge).reward : reward;
    }

    // What a transition says that leads to a point of some period; leaves what is known there in best_.
    Estimate leading_to(std::int64_t period, std::int64_t point, double reward) {
        const std::int64_t there = layer(period);
        // the suprema behind U are those that choose the next action: computed once
        best_ = known_.best(there, point);
        const double lower = knows_lower_ ? reward + options_.discount * known_.lower_max(there, point) : -infinity;
        return {lower, reward + options_.discount * best_.upper, best_.determined};
    }

    void learn(std::int64_t index, const Estimate& estimate) {
        const std::int64_t holder = replays_ ? replay_.holder(edge_, layer(period_)) : Class::no_holder;
        if (!options_.immediate) {
            known_.stage(index, estimate, holder);
            return;
        }
        if (known_.join(index, estimate, holder)) changed(index);
        if (replays_) replay_.propagate(known_, transitions_);
        known_at_ = nowhere_;
    }

    void changed(std::int64_t index) {
        directed_.forget();
        if (replays_) replay_.touch(known_, index);
    }

    void end_episode(bool complete) {
        const auto changed_here = [this](std::int64_t index) { changed(index); };
        try {
            known_.commit(changed_here);
            revisit();
            known_.end_episode(changed_here);
            if (replays_ && !options_.immediate) replay_.propagate(known_, transitions_);
        } catch (...) {  // a solver that failed: what has not joined is dropped, and the next episode can begin
            begin_episode();
            throw;
        }
        if constexpr (Class::may_be_open) {
            // now, when no edge waits to be recomputed; what a forgotten edge said last stays known
            if (stores_transitions_ && known_.partition().open()) {
                transitions_.trim(options_.replay_capacity, [this](std::int64_t edge) { known_.release(edge); });
            }
        }
        ++n_episodes_;
        last_determined_ = complete && all_determined_ && horizon_ != 0;
        start_over();
    }

    // A constraint that joins at once can lower values of the next period, where periods share parameters: what was
    // said before of the way there is then out of date. Looked at again from its end, each period says the last word,
    // and a suboptimal episode determines something as in the proof of Theorem 1.
    void revisit() {
        for (std::int64_t period = static_cast<std::int64_t>(visited_.size()) - 1; period >= 0; --period) {
            const Visited& step = visited_[static_cast<std::size_t>(period)];
            if (step.next != nowhere_) known_.join(step.index, leading_to(period + 1, step.next, step.reward));
        }
        visited_.clear();
    }

    std::int64_t locate_in_open_domain(const double* state, std::int64_t layer) {
        if (layer >= known_.partition().n_layers()) return 0;  // after the last period nothing has a value
        if (known_.crowded(layer)) collect();
        return known_.locate(state, layer, [this](std::int64_t point) {
            if (options_.ties == Ties::least_visited) {
                const auto end = static_cast<std::size_t>((point + 1) * n_actions_);
                if (visits_.size() < end) visits_.resize(end);
                std::fill(visits_.begin() + point * n_actions_, visits_.begin() + static_cast<std::int64_t>(end), 0);
            }
            if (stores_transitions_) transitions_.add_point(point);
            if (replays_) replay_.add_point(point);
            directed_.add_point(point);
        });
    }

    // Forgets the points of an open domain that nothing refers to.
    void collect() {
        known_.collect([this](auto&& hold) {
            hold(point_);
            hold(known_at_);
            for (const Visited& step : visited_) {
                hold(step.index / n_actions_);
                hold(step.next);
            }
            transitions_.for_each_edge([&](const Transitions::Edge& edge) {
                hold(edge.point);
                hold(edge.next);
            });
            replay_.for_each_waiting(hold);
        });
    }

    void start_over() {
        period_ = 0;
        known_at_ = nowhere_;
        waiting_ = false;
        all_determined_ = true;
        visited_.clear();
        directed_.forget();
    }

    Class known_;
    OcpOptions options_;
    std::int64_t n_actions_, horizon_;  // |A|, H (0: time-homogeneous)
    bool knows_lower_, replays_, stationary_, stores_transitions_;
    bool passes_ = false;  // steps that say nothing new
    bool revisits_;        // replay looks at transitions again anyway

    std::int64_t period_ = 0;
    std::int64_t point_ = nowhere_, action_ = 0;
    bool waiting_ = false;
    bool all_determined_ = true;        // the actions of this episode, when they were taken
    bool last_determined_ = false;      // those of the last
    std::int64_t known_at_ = nowhere_;  // the point that best_ belongs to
    typename Class::Best best_{};

    struct Visited {
        std::int64_t index, next;
        double reward;
        template <class Archive>
        void archive(Archive& a) {
            a(index, next, reward);
        }
    };
    std::vector<Visited> visited_;  // this episode's transitions, where revisit looks at them

    std::vector<std::int64_t> visits_;        // per index: least_visited
    std::vector<std::uint8_t> pair_visited_;  // per (point, action): stationary and directed
    Transitions transitions_;
    std::int64_t edge_ = 0;  // of the present transition
    Replay<Class> replay_;
    Directed<Class> directed_;

    std::int64_t n_episodes_ = 0, n_periods_ = 0;
};

}  // namespace ocp
