// The purely random policy: every action with the same probability, whatever the state.
#pragma once

#include <cstdint>
#include <string>

#include "ocpfast/agent/exploration.hpp"
#include "ocpfast/limits.hpp"
#include "ocpfast/system.h"

namespace ocp {

class RandomPolicy {
public:
    explicit RandomPolicy(std::int64_t n_actions) : n_actions_(n_actions) {}

    std::int64_t locate(const void*) const { return 0; }  // all states are one

    std::int64_t act(std::int64_t, ocp_bitgen* bitgen) {
        waiting_ = true;
        return uniform_action(n_actions_, bitgen);
    }

    bool accepts(double reward, int) const { return is_reward(reward); }
    static const char* expected_reward(double reward) { return instead_of_reward(reward); }

    // Returns true if this closed the episode.
    bool observe(std::int64_t, double, int ending) {
        waiting_ = false;
        ++period_;
        ++n_periods_;
        if (ending == OCP_CONTINUES) return false;
        ++n_episodes_;
        begin_episode();
        return true;
    }

    void begin_episode() {
        period_ = 0;
        waiting_ = false;
    }

    bool waiting() const { return waiting_; }  // for observe
    std::int64_t period() const { return period_; }
    std::int64_t n_actions() const { return n_actions_; }
    std::int64_t n_episodes() const { return n_episodes_; }
    std::int64_t n_periods() const { return n_periods_; }

    static std::string kind() { return "the random policy"; }
    template <class Archive>
    void archive(Archive& a) {
        a.same(n_actions_, "number of actions");
        a.counts(period_);
        a(waiting_);
        a.counts(n_episodes_, n_periods_);
    }

private:
    std::int64_t n_actions_;
    std::int64_t period_ = 0;
    bool waiting_ = false;
    std::int64_t n_episodes_ = 0, n_periods_ = 0;
};

}  // namespace ocp
