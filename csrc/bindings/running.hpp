// Whole simulations with the GIL released, for any agent.
#pragma once

#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "ocpfast/run.hpp"

// The system in a capsule; ValueError where the caller, whom the error names, cannot call it.
const ocp_system& system_of(const py::capsule& capsule, const char* caller = "run()");

std::string describe(const ocp::Outcome& outcome, std::int64_t simulation);

// Runs one simulation and writes the rewards and the optimal values of its episodes. Returns whether it is complete:
// it is, unless control.stop was set.
template <class Agent>
bool simulate(Agent& agent, const py::capsule& system_capsule, const py::capsule& system_bitgen,
              const py::capsule& agent_bitgen, py::array_t<double>& rewards, py::array_t<double>& optimal,
              std::int64_t simulation, ocp::Control& control) {
    const ocp_system& system = system_of(system_capsule);
    ocp_bitgen* for_system = bitgen_of(system_bitgen);
    ocp_bitgen* for_agent = bitgen_of(agent_bitgen);
    double* const reward_of = rewards.mutable_data();
    double* const optimal_of = optimal.mutable_data();
    const std::int64_t episodes = rewards.shape(0);

    ocp::Outcome outcome;
    {
        py::gil_scoped_release release;
        agent.begin_episode();
        outcome = ocp::simulate(agent, system, episodes, for_system, for_agent, reward_of, optimal_of, control);
    }
    if (outcome.kind != ocp::Outcome::Kind::done && outcome.kind != ocp::Outcome::Kind::stopped) {
        throw std::runtime_error(describe(outcome, simulation));
    }
    return outcome.kind == ocp::Outcome::Kind::done;
}

template <class Agent>
void bind_simulate(py::module_& m) {
    m.def("simulate", &simulate<Agent>, py::arg("agent"), py::arg("system"), py::arg("system_bitgen"),
          py::arg("agent_bitgen"), py::arg("rewards").noconvert(), py::arg("optimal").noconvert(),
          py::arg("simulation"), py::arg("control"));
}
