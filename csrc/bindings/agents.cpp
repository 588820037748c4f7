// OCP on cells, one step at a time from Python.
#include "agents.hpp"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "bindings.hpp"

namespace {

// Only the bounds that the C++ types need: periods below the horizon, any period where there is none.
std::int64_t checked_layer(const AggregationOcp& agent, py::handle period) {
    const ocp::Partition& partition = agent.known().partition();
    if (!partition.homogeneous()) return checked_index(period, partition.horizon(), "period");
    checked_index(period, INT64_MAX, "period");
    return 0;
}

std::int64_t checked_cell(const AggregationOcp& agent, py::handle state, py::handle action, py::handle period) {
    const ocp::Partition& partition = agent.known().partition();
    const std::int64_t point = checked_point(partition, state, "state");
    return partition.cell(checked_layer(agent, period), point, checked_index(action, partition.n_actions(), "action"));
}

std::int64_t act(AggregationOcp& agent, py::handle state, const py::capsule& bitgen) {
    if (agent.waiting()) {
        throw std::runtime_error("act: called twice in period " + std::to_string(agent.period()) +
                                 " without observe(); an agent serves one loop (and one thread) at a time");
    }
    return agent.act(checked_point(agent.known().partition(), state, "state"), bitgen_of(bitgen));
}

std::int64_t greedy(const AggregationOcp& agent, py::handle state, py::handle period) {
    const std::int64_t point = checked_point(agent.known().partition(), state, "state");
    if (period.is_none()) return agent.greedy(point, agent.period());
    checked_layer(agent, period);
    return agent.greedy(point, period.cast<std::int64_t>());
}

bool observe(AggregationOcp& agent, py::handle next_state, double reward, bool terminated, bool truncated) {
    if (!agent.waiting()) throw std::runtime_error("observe: there is no action to observe; call act() first");
    if (!std::isfinite(reward)) {
        throw py::value_error("reward: expected a finite number, got " + std::to_string(reward));
    }
    const int ending = terminated ? OCP_TERMINATED : truncated ? OCP_TRUNCATED : OCP_CONTINUES;
    // after a terminal transition the next state has no value: whatever it is, it is not looked at
    const std::int64_t point = terminated ? 0 : checked_point(agent.known().partition(), next_state, "next_state");
    return agent.observe(point, reward, ending);
}

double lower(const AggregationOcp& agent, py::handle state, py::handle action, py::handle period) {
    if (!agent.known().knows_lower()) {
        throw py::value_error("lower: not tracked; make the hypothesis class with lower=\"exact\"");
    }
    return agent.known().lower(checked_cell(agent, state, action, period));
}

py::dict statistics(const AggregationOcp& agent) {
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

}  // namespace

void bind_agents(py::module_& m) {
    py::class_<AggregationOcp>(m, "AggregationOcp")
        .def(py::init([](std::shared_ptr<ocp::Partition> partition, ocp::Selection selection, std::int64_t window,
                         std::vector<double> lower, std::vector<double> upper, bool track_lower, ocp::Ties ties,
                         ocp::ReplayMode replay, bool immediate, double discount, std::int64_t replay_sweeps) {
                 ocp::Cells cells(std::move(partition), selection, window, {std::move(lower), std::move(upper)},
                                  track_lower);
                 return AggregationOcp(std::move(cells), {ties, replay, immediate, discount, replay_sweeps});
             }),
             py::arg("partition"), py::arg("selection"), py::arg("window"), py::arg("lower"), py::arg("upper"),
             py::arg("track_lower"), py::arg("ties"), py::arg("replay"), py::arg("immediate"), py::arg("discount"),
             py::arg("replay_sweeps"))
        .def("act", &act, py::arg("state"), py::arg("bitgen"))
        .def("greedy", &greedy, py::arg("state"), py::arg("period"))
        .def("observe", &observe, py::arg("next_state"), py::arg("reward"), py::arg("terminated"), py::arg("truncated"))
        .def("begin_episode", &AggregationOcp::begin_episode)
        .def(
            "upper",
            [](const AggregationOcp& agent, py::handle state, py::handle action, py::handle period) {
                return agent.known().upper(checked_cell(agent, state, action, period));
            },
            py::arg("state"), py::arg("action"), py::arg("period"))
        .def("lower", &lower, py::arg("state"), py::arg("action"), py::arg("period"))
        .def(
            "determined",
            [](const AggregationOcp& agent, py::handle state, py::handle action, py::handle period) {
                return agent.known().determined(checked_cell(agent, state, action, period));
            },
            py::arg("state"), py::arg("action"), py::arg("period"))
        .def_property_readonly("n_constraints",
                               [](const AggregationOcp& agent) { return agent.known().n_constraints(); })
        .def_property_readonly("period", &AggregationOcp::period)
        .def("statistics", &statistics)
        .def("copy", [](const AggregationOcp& agent) { return AggregationOcp(agent); });
}
