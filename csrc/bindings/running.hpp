// Whole simulations without Python, for any agent.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "guarded.hpp"
#include "ocpfast/run.hpp"
#include "ocpfast/run_lanes.hpp"

// The system in a capsule; ValueError where it was compiled for another contract.
const ocp_system& system_of(const py::capsule& capsule);

// A system while C++ calls it. The GIL is released as long as this lives. With OCP_NEEDS_GIL it is kept: to take it for
// every step would be a change of threads for every step, where several want it. Other threads get their turn by the
// Python that is called, and now and then; what the functions raise is thrown as it is.
class Calls {
public:
    explicit Calls(const ocp_system& system);
    Calls(const Calls&) = delete;
    Calls& operator=(const Calls&) = delete;

    const ocp_system& system() const { return system_; }

private:
    // What the functions of a system that needs the GIL get as their instance.
    struct Guarded {
        const ocp_system* system;
        void* instance;
        std::int64_t calls = 0;
        int checked(int error);
    };
    static void guard(ocp_system& contract);

    Guarded shared_;
    ocp_system system_;
    std::optional<py::gil_scoped_release> release_;
};

std::string describe(const ocp::Outcome& outcome, std::int64_t simulation);

// Runs simulations, side by side where the system can step many, and writes the rewards and the optimal values of their
// episodes. Returns which are complete: all, unless control.stop was set. `first` is the number of the first.
template <class Agent>
std::vector<bool> simulate(const std::vector<Core<Agent>*>& agents, const py::capsule& system_capsule,
                           const std::vector<py::capsule>& system_bitgens,
                           const std::vector<py::capsule>& agent_bitgens, py::array_t<double>& rewards,
                           py::array_t<double>& optimal, std::int64_t first, ocp::Control& control) {
    const ocp_system& system = system_of(system_capsule);
    std::vector<typename Core<Agent>::Change> inside;
    std::vector<ocp::Simulation<Agent>> simulations;
    for (std::size_t i = 0; i < agents.size(); ++i) {
        const auto row = static_cast<py::ssize_t>(i);
        Agent& agent = *inside.emplace_back(*agents[i]);
        agent.begin_episode();
        simulations.emplace_back(agent, rewards.shape(1), bitgen_of(system_bitgens[i]), bitgen_of(agent_bitgens[i]),
                                 rewards.mutable_data(row, 0), optimal.mutable_data(row, 0));
    }
    {
        const Calls calls(system);
        ocp::simulate(simulations, calls.system(), control);
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
