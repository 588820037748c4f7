// What all agents offer to Python, one step at a time; a file for each hypothesis class registers its own.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "guarded.hpp"
#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/constraint.hpp"
#include "ocpfast/store.hpp"
#include "running.hpp"
#include "saving.hpp"

// What an agent is made with, besides its hypothesis class.
struct AgentOptions {
    ocp::Selection selection;
    std::int64_t window;
    ocp::PriorBounds bounds;
    ocp::OcpOptions ocp;
};

// Only the bounds that the C++ types need: periods below the horizon, any period where there is none.
template <class Agent>
std::int64_t checked_layer(const Agent& agent, py::handle period) {
    const ocp::Partition& partition = agent.known().partition();
    if (!partition.homogeneous()) return checked_index(period, partition.horizon(), "period");
    checked_index(period, INT64_MAX, "period");
    return 0;
}

// The point of a Python state in a layer.
template <class Agent>
std::int64_t point_of(Agent& agent, py::handle state, std::int64_t layer, const char* name) {
    const ocp::Partition& partition = agent.known().partition();
    if (!partition.open()) return checked_point(partition, state, name);
    const VectorState vector(state, partition.vector_size(), name);
    const std::int64_t point = agent.locate(vector.data(), layer);
    if (point == ocp::Partition::nowhere) {
        throw py::value_error(std::string(name) + ": expected numbers, got NaN among them");
    }
    return point;
}

template <class Agent>
std::int64_t checked_cell(Agent& agent, py::handle state, py::handle action, py::handle period) {
    const ocp::Partition& partition = agent.known().partition();
    const std::int64_t layer = checked_layer(agent, period);
    const std::int64_t number = checked_index(action, partition.n_actions(), "action");
    return partition.cell(layer, point_of(agent, state, layer, "state"), number);
}

template <class Agent>
void check_not_waiting(const Agent& agent) {
    if (agent.waiting()) {
        throw std::runtime_error("act: called twice in period " + std::to_string(agent.period()) +
                                 " without observe(); call observe() with what came of the action, or begin_episode() "
                                 "to drop the episode (an agent serves one loop, and one thread, at a time)");
    }
}

inline int ending_of(bool terminated, bool truncated) {
    return terminated ? OCP_TERMINATED : truncated ? OCP_TRUNCATED : OCP_CONTINUES;
}

template <class Agent>
void check_observation(const Agent& agent, double reward, int ending) {
    if (!agent.waiting()) throw std::runtime_error("observe: there is no action to observe; call act() first");
    if (!agent.accepts(reward, ending)) {
        throw py::value_error(std::string("reward: expected ") + agent.expected_reward(reward) + ", got " +
                              shown(py::float_(reward)));
    }
}

template <class Agent>
std::int64_t act(Agent& agent, py::handle state, const py::capsule& bitgen) {
    check_not_waiting(agent);
    const std::int64_t layer = agent.known().partition().layer(agent.period());
    return agent.act(point_of(agent, state, layer, "state"), bitgen_of(bitgen));
}

template <class Agent>
std::int64_t greedy(Agent& agent, py::handle state, py::handle period) {
    const std::int64_t layer =
        period.is_none() ? agent.known().partition().layer(agent.period()) : checked_layer(agent, period);
    return agent.greedy(point_of(agent, state, layer, "state"), layer);
}

template <class Agent>
bool observe(Agent& agent, py::handle next_state, double reward, bool terminated, bool truncated) {
    const int ending = ending_of(terminated, truncated);
    check_observation(agent, reward, ending);
    // after a terminal transition the next state has no value: whatever it is, it is not looked at
    const std::int64_t next_layer = agent.known().partition().layer(agent.period() + 1);
    const std::int64_t point = terminated ? 0 : point_of(agent, next_state, next_layer, "next_state");
    return agent.observe(point, reward, ending);
}

// A value in which the class thinks, as users know it.
template <class Agent>
double in_rewards(double value) {
    if constexpr (ocp::IsLinked<typename Agent::Known>::value) return Agent::Known::Link::reward(value);
    return value;
}

template <class Agent>
double lower(Agent& agent, py::handle state, py::handle action, py::handle period) {
    if (!agent.known().knows_lower()) {
        throw py::value_error("lower: not tracked; make the hypothesis class with lower=\"exact\"");
    }
    return in_rewards<Agent>(agent.known().lower(checked_cell(agent, state, action, period)));
}

template <class Agent>
py::dict statistics(const Agent& agent) {
    py::dict result;
    result["episodes"] = agent.n_episodes();
    result["periods"] = agent.n_periods();
    result["constraints"] = agent.known().n_constraints();
    result["determined"] = agent.known().n_determined();
    result["rejected"] = agent.known().n_rejected();
    result["contradictions"] = agent.known().n_contradictions();
    result["transitions"] = agent.n_transitions();
    result["recomputed"] = agent.n_recomputed();
    result["searches"] = agent.n_searches();
    return result;
}

// An agent with all that needs no state and no action.
template <class Agent>
py::class_<Core<Agent>> bind_progress(py::module_& m, const char* name) {
    bind_simulate<Agent>(m);
    return bind_saving(py::class_<Core<Agent>>(m, name))
        .def("begin_episode", entry([](Agent& agent) { agent.begin_episode(); }))
        .def_property_readonly("n_constraints", entry([](const Agent& agent) { return agent.known().n_constraints(); }))
        .def_property_readonly("period", entry([](const Agent& agent) { return agent.period(); }))
        .def_property_readonly("last_episode_determined",
                               entry([](const Agent& agent) { return agent.last_episode_determined(); }))
        .def_property_readonly("coherent", entry([](const Agent& agent) { return agent.known().coherent(); }));
}

// add_counts(dict, known) adds a class's own counts to the statistics.
template <class Agent, class AddCounts>
py::class_<Core<Agent>> bind_agent(py::module_& m, const char* name, AddCounts add_counts) {
    return bind_progress<Agent>(m, name)
        .def("act", entry(&act<Agent>), py::arg("state"), py::arg("bitgen"))
        .def("greedy", entry(&greedy<Agent>), py::arg("state"), py::arg("period"))
        .def("observe", entry(&observe<Agent>), py::arg("next_state"), py::arg("reward"), py::arg("terminated"),
             py::arg("truncated"))
        .def("upper", entry([](Agent& agent, py::handle state, py::handle action, py::handle period) {
                 return in_rewards<Agent>(agent.known().upper(checked_cell(agent, state, action, period)));
             }),
             py::arg("state"), py::arg("action"), py::arg("period"))
        .def("lower", entry(&lower<Agent>), py::arg("state"), py::arg("action"), py::arg("period"))
        .def("determined", entry([](Agent& agent, py::handle state, py::handle action, py::handle period) {
                 return agent.known().determined(checked_cell(agent, state, action, period));
             }),
             py::arg("state"), py::arg("action"), py::arg("period"))
        .def("statistics", entry([add_counts](const Agent& agent) {
                 py::dict result = statistics(agent);
                 add_counts(result, agent.known());
                 return result;
             }));
}

template <class Agent>
py::class_<Core<Agent>> bind_agent(py::module_& m, const char* name) {
    return bind_agent<Agent>(m, name, [](py::dict&, const auto&) {});
}
