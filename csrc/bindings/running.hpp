// Whole simulations with the GIL released, for any agent.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "ocpfast/run.hpp"
#include "ocpfast/run_lanes.hpp"

// The system in a capsule; ValueError where the caller, whom the error names, cannot call it.
const ocp_system& system_of(const py::capsule& capsule, const char* caller = "run()");

std::string describe(const ocp::Outcome& outcome, std::int64_t simulation);

// Runs simulations, side by side where the system can step many, and writes the rewards and the optimal values of their
// episodes. Returns which are complete: all, unless control.stop was set. `first` is the number of the first.
template <class Agent>
std::vector<bool> simulate(const std::vector<Agent*>& agents, const py::capsule& system_capsule,
                           const std::vector<py::capsule>& system_bitgens,
                           const std::vector<py::capsule>& agent_bitgens, py::array_t<double>& rewards,
                           py::array_t<double>& optimal, std::int64_t first, ocp::Control& control) {
    const ocp_system& system = system_of(system_capsule);
    std::vector<ocp::Simulation<Agent>> simulations;
    for (std::size_t i = 0; i < agents.size(); ++i) {
        const auto row = static_cast<py::ssize_t>(i);
        agents[i]->begin_episode();
        simulations.emplace_back(*agents[i], rewards.shape(1), bitgen_of(system_bitgens[i]),
                                 bitgen_of(agent_bitgens[i]), rewards.mutable_data(row, 0),
                                 optimal.mutable_data(row, 0));
    }
    {
        py::gil_scoped_release release;
        ocp::simulate(simulations, system, control);
    }
    std::vector<bool> complete;
    for (const ocp::Simulation<Agent>& simulation : simulations) {
        const ocp::Outcome::Kind kind = simulation.outcome().kind;
        if (kind != ocp::Outcome::Kind::done && kind != ocp::Outcome::Kind::stopped) {
            throw std::runtime_error(
                describe(simulation.outcome(), first + static_cast<std::int64_t>(complete.size())));
        }
        complete.push_back(kind == ocp::Outcome::Kind::done);
    }
    return complete;
}

template <class Agent>
void bind_simulate(py::module_& m) {
    m.def("simulate", &simulate<Agent>, py::arg("agents"), py::arg("system"), py::arg("system_bitgens"),
          py::arg("agent_bitgens"), py::arg("rewards").noconvert(), py::arg("optimal").noconvert(), py::arg("first"),
          py::arg("control"));
}
