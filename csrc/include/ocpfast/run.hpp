// Many episodes of one simulation, compiled: system and agent meet in the C struct alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "ocpfast/compensated_sum.hpp"
#include "ocpfast/lanes.hpp"
#include "ocpfast/limits.hpp"
#include "ocpfast/system.h"

namespace ocp {

// How a running simulation is watched and stopped from another thread.
struct Control {
    std::atomic<std::int64_t> episodes_done{0};
    std::atomic<bool> stop{false};
};

struct Outcome {
    enum class Kind { done, stopped, system_error, bad_reward, bad_state, no_memory };
    Kind kind = Kind::done;
    std::int64_t episode = 0, period = 0;  // where it went wrong
    int error = OCP_OK;                    // what the system returned
    double reward = 0;
    const char* expected = "";  // instead of that reward
};

// A clone of the system's memory, where it has one.
class Instance {
public:
    explicit Instance(const ocp_system& system)
        : system_(system), instance_(system.clone == nullptr ? system.parameters : system.clone(system.parameters)) {}
    ~Instance() {
        if (system_.clone != nullptr && instance_ != nullptr) system_.destroy(instance_);
    }
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    void* get() const { return instance_; }
    bool failed() const { return system_.clone != nullptr && instance_ == nullptr; }

private:
    const ocp_system& system_;
    void* instance_;
};

// Where an action is, whatever an agent's act returned: an index, or the numbers of a vector.
inline const void* address_of(const std::int64_t& action) {
    return &action;
}
inline const void* address_of(const double* const& action) {
    return action;
}

// Agents whose steps can be taken in one go, and whose states can be located many at a time; see agent/ocp.hpp.
template <class Agent, class = void>
struct Proceeds : std::false_type {};
template <class Agent>
struct Proceeds<Agent, std::void_t<decltype(&Agent::proceed), decltype(&Agent::grid)>> : std::true_type {};

// Those that need not even be told of steps that say nothing new; see glide.hpp.
template <class Agent, class = void>
struct Glides : std::false_type {};
template <class Agent>
struct Glides<Agent, std::void_t<decltype(&Agent::catch_up), decltype(&Agent::Known::uppers)>> : std::true_type {};

// One simulation between two steps of its system: the agent, its streams, and where it is in its episodes. Writes the
// total reward of each episode and, where the system knows it, the optimal value of its initial state (else NaN). The
// agent's hypothesis class must fit the system. Never throws except for lack of memory.
template <class Agent>
class Simulation {
public:
    Simulation(Agent& agent, std::int64_t episodes, ocp_bitgen* system_bitgen, ocp_bitgen* agent_bitgen,
               double* rewards, double* optimal)
        : agent_(agent),
          system_bitgen_(system_bitgen),
          agent_bitgen_(agent_bitgen),
          rewards_(rewards),
          optimal_(optimal),
          episodes_(episodes) {}

    // Resets the system for the next episode. False where there is none, or the outcome says what went wrong.
    bool begin_episode(const ocp_system& system, void* instance, void* state) {
        if (episode_ == episodes_) return false;
        period_ = 0;
        total_ = {};
        int error = system.reset(instance, episode_, system_bitgen_, state);
        if (error != OCP_OK) return fail({Outcome::Kind::system_error, episode_, -1, error});
        optimal_[episode_] = std::numeric_limits<double>::quiet_NaN();
        if (system.optimal_value != nullptr) {
            error = system.optimal_value(instance, state, &optimal_[episode_]);
            if (error != OCP_OK) return fail({Outcome::Kind::system_error, episode_, -1, error});
        }
        return locate(system, state);
    }

    auto act() { return agent_.act(point_, agent_bitgen_); }

    // Takes in a step. False where it closed the episode, or the outcome says what went wrong.
    bool observe(const ocp_system& system, int error, const void* state, double reward, int ending, Control& control) {
        if (error != OCP_OK) return fail({Outcome::Kind::system_error, episode_, period_, error});
        if (ending == OCP_CONTINUES && period_ == system.horizon - 1) ending = OCP_TRUNCATED;
        if (!agent_.accepts(reward, ending)) {
            return fail({Outcome::Kind::bad_reward, episode_, period_, OCP_OK, reward, agent_.expected_reward(reward)});
        }
        total_.add(reward);
        ++period_;
        if (ending != OCP_TERMINATED && !locate(system, state)) return false;
        if (!agent_.observe(point_, reward, ending)) return true;
        rewards_[episode_] = total_.value();
        ++episode_;
        control.episodes_done.fetch_add(1, std::memory_order_relaxed);
        return false;
    }

    // For agents of which Proceeds holds: observes and acts, where the system and the episode go on and nothing new was
    // seen; else false, and observe has to be called.
    OCP_ALWAYS_INLINE bool proceed(const ocp_system& system, std::int64_t point, double reward, int ending,
                                   std::int64_t& action) {
        if (point < 0 || ending != OCP_CONTINUES || period_ >= system.horizon - 1) return false;
        if (!is_reward(reward) || !agent_.proceed(point, reward, agent_bitgen_, action)) return false;
        total_.add(reward);
        ++period_;
        return true;
    }

    // Takes in that the periods up to this one went by with nothing new, and led to this point and this total reward.
    void catch_up(std::int64_t period, std::int64_t point, const CompensatedSum& total) {
        if (period == period_) return;
        agent_.catch_up(period - period_, point);
        period_ = period;
        point_ = point;
        total_ = total;
    }

    bool fail(const Outcome& outcome) {
        outcome_ = outcome;
        return false;
    }
    void stop() { outcome_ = {Outcome::Kind::stopped, episode_, period_}; }

    const Agent& agent() const { return agent_; }
    bool failed() const { return outcome_.kind != Outcome::Kind::done; }
    const Outcome& outcome() const { return outcome_; }
    std::int64_t period() const { return period_; }
    std::int64_t point() const { return point_; }
    const CompensatedSum& total() const { return total_; }
    ocp_bitgen* system_bitgen() const { return system_bitgen_; }

private:
    bool locate(const ocp_system& system, const void* state) {
        point_ = -1;
        // an index outside the table would be read outside of memory, so this one thing is not trusted
        if (system.state_kind == OCP_STATE_INDEX) {
            const std::int64_t index = *static_cast<const std::int64_t*>(state);
            if (index >= 0 && index < system.state_size) point_ = agent_.locate(state);
        } else {
            point_ = agent_.locate(state);
        }
        return point_ >= 0 || fail({Outcome::Kind::bad_state, episode_, period_});
    }

    Agent& agent_;
    ocp_bitgen *system_bitgen_, *agent_bitgen_;
    double *rewards_, *optimal_;  // per episode
    std::int64_t episodes_, episode_ = 0, period_ = 0;
    std::int64_t point_ = -1;  // the state's, as the agent sees it
    CompensatedSum total_;
    Outcome outcome_;
};

// All episodes of one simulation.
template <class Agent>
void simulate(Simulation<Agent>& simulation, const ocp_system& system, Control& control) {
    const Instance instance(system);
    if (instance.failed()) {
        simulation.fail({Outcome::Kind::no_memory});
        return;
    }
    // eight bytes a component for both kinds of state
    std::vector<double> state(system.state_kind == OCP_STATE_VECTOR ? static_cast<std::size_t>(system.state_size) : 1);
    while (simulation.begin_episode(system, instance.get(), state.data())) {
        int error, ending;
        double reward;
        do {
            if (control.stop.load(std::memory_order_relaxed)) return simulation.stop();
            const auto action = simulation.act();
            error = system.step(instance.get(), simulation.period(), state.data(), address_of(action),
                                simulation.system_bitgen(), &reward, &ending);
        } while (simulation.observe(system, error, state.data(), reward, ending, control));
        if (simulation.failed()) return;
    }
}

}  // namespace ocp
