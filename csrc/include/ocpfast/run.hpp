// Many episodes of one simulation, compiled: system and agent meet in the C struct alone.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "ocpfast/compensated_sum.hpp"
#include "ocpfast/system.h"

namespace ocp {

// How a running simulation is watched and stopped from another thread.
struct Control {
    std::atomic<std::int64_t> episodes_done{0};
    std::atomic<bool> stop{false};
};

struct Outcome {
    enum class Kind { done, stopped, system_error, bad_reward, bad_total, bad_state, no_memory };
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

// Runs episodes and writes the total reward of each and, where the system knows it, the optimal value of its initial
// state (else NaN). The agent's hypothesis class must fit the system. Never throws except for lack of memory.
template <class Agent>
Outcome simulate(Agent& agent, const ocp_system& system, std::int64_t episodes, ocp_bitgen* system_bitgen,
                 ocp_bitgen* agent_bitgen, double* rewards, double* optimal, Control& control) {
    const Instance instance(system);
    if (system.clone != nullptr && instance.get() == nullptr) return {Outcome::Kind::no_memory};
    const bool vector_state = system.state_kind == OCP_STATE_VECTOR;
    // eight bytes a component for both kinds of state
    std::vector<double> memory(vector_state ? static_cast<std::size_t>(system.state_size) : 1);
    void* const state = memory.data();
    const auto locate = [&]() -> std::int64_t {
        // an index outside the table would be read outside of memory, so this one thing is not trusted
        if (!vector_state) {
            const std::int64_t index = *static_cast<const std::int64_t*>(state);
            if (index < 0 || index >= system.state_size) return -1;
        }
        return agent.locate(state);
    };

    for (std::int64_t episode = 0; episode < episodes; ++episode) {
        int error = system.reset(instance.get(), episode, system_bitgen, state);
        if (error != OCP_OK) return {Outcome::Kind::system_error, episode, -1, error};
        optimal[episode] = std::numeric_limits<double>::quiet_NaN();
        if (system.optimal_value != nullptr) {
            error = system.optimal_value(instance.get(), state, &optimal[episode]);
            if (error != OCP_OK) return {Outcome::Kind::system_error, episode, -1, error};
        }
        std::int64_t point = locate();
        CompensatedSum total;
        std::int64_t period = 0;
        for (bool ended = false; !ended; ++period) {
            if (control.stop.load(std::memory_order_relaxed)) return {Outcome::Kind::stopped, episode, period};
            if (point < 0) return {Outcome::Kind::bad_state, episode, period};
            const auto action = agent.act(point, agent_bitgen);
            double reward;
            int ending;
            error = system.step(instance.get(), period, state, address_of(action), system_bitgen, &reward, &ending);
            if (error != OCP_OK) return {Outcome::Kind::system_error, episode, period, error};
            if (ending == OCP_CONTINUES && period == system.horizon - 1) ending = OCP_TRUNCATED;
            if (!agent.accepts(reward, ending)) {
                return {Outcome::Kind::bad_reward, episode, period, OCP_OK, reward, agent.expected_reward()};
            }
            total.add(reward);
            if (ending != OCP_TERMINATED) {
                point = locate();
                if (point < 0) return {Outcome::Kind::bad_state, episode, period + 1};
            }
            ended = agent.observe(point, reward, ending);
        }
        rewards[episode] = total.value();
        if (!std::isfinite(rewards[episode])) return {Outcome::Kind::bad_total, episode, period - 1};
        control.episodes_done.fetch_add(1, std::memory_order_relaxed);
    }
    return {};
}

}  // namespace ocp
