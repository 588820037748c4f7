// An agent that estimates the value of each action, and explores around the best: LSVI, Q-learning.
//
// `Estimates` is what has been learned: value(index), record(...) for each transition, end_episode() when an episode is
// complete; agent/q_learning.hpp shows the interface. Arguments are trusted: the caller has checked them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "ocpfast/agent/exploration.hpp"
#include "ocpfast/hypothesis/partition.hpp"
#include "ocpfast/limits.hpp"
#include "ocpfast/system.h"

namespace ocp {

template <class Estimates>
class ValueAgent {
public:
    using Known = Estimates;

    ValueAgent(Estimates known, const Exploration& exploration) : known_(std::move(known)), exploration_(exploration) {}

    std::int64_t locate(const void* state, std::int64_t = 0) const { return known_.partition().locate(state); }

    std::int64_t act(std::int64_t point, ocp_bitgen* bitgen) {
        point_ = point;
        action_ = exploration_.choose(known_.partition().n_actions(), values_at(point, layer()), bitgen);
        waiting_ = true;
        return action_;
    }

    std::int64_t greedy(std::int64_t point, std::int64_t layer) const {
        return Exploration::greedy(known_.partition().n_actions(), values_at(point, layer));
    }

    bool accepts(double reward, int) const { return is_reward(reward); }
    static const char* expected_reward(double reward) { return instead_of_reward(reward); }

    // Returns true if this closed the episode. next_point is not looked at after a terminal transition.
    bool observe(std::int64_t next_point, double reward, int ending) {
        const std::int64_t horizon = known_.partition().horizon();
        const bool terminal = ending == OCP_TERMINATED || (horizon != 0 && period_ == horizon - 1);
        known_.record(layer(), point_, action_, terminal ? Partition::nowhere : next_point, reward);
        waiting_ = false;
        ++period_;
        ++n_periods_;
        const bool ended = terminal || ending == OCP_TRUNCATED;
        if (ended) {
            known_.end_episode();
            ++n_episodes_;
            begin_episode();
        }
        return ended;
    }

    // Drops an unfinished episode. What was seen is a fact, and stays.
    void begin_episode() {
        period_ = 0;
        waiting_ = false;
    }

    bool waiting() const { return waiting_; }  // for observe
    std::int64_t period() const { return period_; }
    const Estimates& known() const { return known_; }
    std::int64_t n_episodes() const { return n_episodes_; }
    std::int64_t n_periods() const { return n_periods_; }

    // ---- saving and loading ----------------------------------------------------------------------------------

    static std::string kind() { return Estimates::kind; }

    // See archive.hpp.
    template <class Archive>
    void archive(Archive& a) {
        const Partition& partition = known_.partition();
        a(known_, exploration_);
        a.counts(period_);
        a.require(partition.homogeneous() || period_ < partition.horizon(), "a period");
        a.index(point_, 0, partition.n_points());
        a.index(action_, 0, partition.n_actions());
        a(waiting_);
        a.counts(n_episodes_, n_periods_);
    }

private:
    std::int64_t layer() const { return known_.partition().layer(period_); }

    auto values_at(std::int64_t point, std::int64_t layer) const {
        return [this, point, layer](std::int64_t action) {
            return known_.value(known_.partition().cell(layer, point, action));
        };
    }

    Estimates known_;
    Exploration exploration_;
    std::int64_t period_ = 0;
    std::int64_t point_ = 0, action_ = 0;
    bool waiting_ = false;
    std::int64_t n_episodes_ = 0, n_periods_ = 0;
};

}  // namespace ocp
