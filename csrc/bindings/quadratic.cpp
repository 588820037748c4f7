// The linear-quadratic class: the features of a finite list of actions, and the agent whose actions are vectors.
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "agents.hpp"
#include "ocpfast/agent/quadratic_ocp.hpp"
#include "ocpfast/hypothesis/quadratic_features.hpp"

namespace {

using Agent = ocp::QuadraticOcp;

std::int64_t checked_period(const Agent& agent, py::handle period) {
    return checked_index(period, agent.known().horizon(), "period");
}

VectorState checked_vector(py::handle given, std::size_t size, const char* name) {
    const VectorState vector(given, static_cast<std::int64_t>(size), name);
    for (std::size_t i = 0; i < size; ++i) {
        const double part = vector.data()[i];
        if (std::abs(part) <= ocp::QuadraticBlock::largest) continue;
        throw py::value_error(std::string(name) + ": expected numbers of at most 1e100 in size, got " +
                              py::repr(py::float_(part)).cast<std::string>() + " among them");
    }
    return vector;
}
VectorState checked_state(const Agent& agent, py::handle given, const char* name) {
    return checked_vector(given, agent.known().n_state(), name);
}

py::array_t<double> act_in(Agent& agent, py::handle given, const py::capsule& bitgen) {
    check_not_waiting(agent);
    const VectorState state = checked_state(agent, given, "state");
    agent.locate(state.data());
    return py::array_t<double>(static_cast<py::ssize_t>(agent.known().n_action()), agent.act(0, bitgen_of(bitgen)));
}

py::array_t<double> best_in(const Agent& agent, py::handle given, py::handle period) {
    const VectorState state = checked_state(agent, given, "state");
    py::array_t<double> action(static_cast<py::ssize_t>(agent.known().n_action()));
    agent.greedy(state.data(), period.is_none() ? agent.period() : checked_period(agent, period),
                 action.mutable_data());
    return action;
}

bool observe_from(Agent& agent, py::handle next_state, double reward, bool terminated, bool truncated) {
    const int ending = terminated ? OCP_TERMINATED : truncated ? OCP_TRUNCATED : OCP_CONTINUES;
    check_observation(agent, reward, ending);
    // after a terminal transition the next state has no value: whatever it is, it is not looked at
    if (!terminated) {
        const VectorState next(next_state, static_cast<std::int64_t>(agent.known().n_state()), "next_state");
        if (agent.locate(next.data()) == ocp::Partition::nowhere) checked_state(agent, next_state, "next_state");
    }
    return agent.observe(0, reward, ending);
}

// ask(period, x, u)
template <class Ask>
auto asked(const Agent& agent, py::handle state, py::handle action, py::handle period, Ask&& ask) {
    const std::int64_t t = checked_period(agent, period);
    const VectorState x = checked_state(agent, state, "state");
    const VectorState u = checked_vector(action, agent.known().n_action(), "action");
    return ask(t, x.data(), u.data());
}

}  // namespace

void bind_quadratic(py::module_& m) {
    py::class_<ocp::QuadraticList>(m, "QuadraticList")
        .def(py::init([](std::size_t n_state, const Doubles& actions) {
                 return ocp::QuadraticList(n_state, static_cast<std::size_t>(actions.shape(1)),
                                           {actions.data(), actions.data() + actions.size()});
             }),
             py::arg("n_state"), py::arg("actions"))
        .def_property_readonly_static(
            "address",
            [](const py::object&) { return reinterpret_cast<std::uintptr_t>(&ocp::QuadraticList::features); })
        .def_property_readonly("user_data",
                               [](const ocp::QuadraticList& list) { return reinterpret_cast<std::uintptr_t>(&list); });

    bind_progress<Agent>(m, "QuadraticOcp")
        .def(py::init([](std::size_t n_state, std::size_t n_action, std::int64_t horizon, const AgentOptions& options) {
                 return Agent(ocp::Quadratic(n_state, n_action, horizon, options.bounds, {}), options.ocp);
             }),
             py::arg("n_state"), py::arg("n_action"), py::arg("horizon"), py::arg("options"))
        .def("act", entry(&act_in), py::arg("state"), py::arg("bitgen"))
        .def("greedy", entry(&best_in), py::arg("state"), py::arg("period"))
        .def("observe", entry(&observe_from), py::arg("next_state"), py::arg("reward"), py::arg("terminated"),
             py::arg("truncated"))
        .def("upper", entry([](const Agent& agent, py::handle state, py::handle action, py::handle period) {
                 return asked(agent, state, action, period,
                              [&](auto... triple) { return agent.known().upper(triple...); });
             }),
             py::arg("state"), py::arg("action"), py::arg("period"))
        .def("lower", entry([](const Agent& agent, py::handle state, py::handle action, py::handle period) {
                 return asked(agent, state, action, period,
                              [&](auto... triple) { return agent.known().lower(triple...); });
             }),
             py::arg("state"), py::arg("action"), py::arg("period"))
        .def("determined", entry([](const Agent& agent, py::handle state, py::handle action, py::handle period) {
                 return asked(agent, state, action, period,
                              [&](auto... triple) { return agent.known().determined(triple...); });
             }),
             py::arg("state"), py::arg("action"), py::arg("period"))
        .def("statistics", entry(&statistics<Agent>));
}
