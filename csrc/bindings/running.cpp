// Chunks of simulations with the GIL released.
#include <sstream>
#include <stdexcept>
#include <vector>

#include "agents.hpp"
#include "bindings.hpp"
#include "ocpfast/run.hpp"

namespace {

const ocp_system& system_of(const py::capsule& capsule) {
    const void* pointer = PyCapsule_GetPointer(capsule.ptr(), OCP_SYSTEM_CAPSULE);
    if (pointer == nullptr) throw py::error_already_set();
    const auto& system = *static_cast<const ocp_system*>(pointer);
    if (system.abi_version != OCP_SYSTEM_ABI || system.struct_size < sizeof(ocp_system)) {
        throw py::value_error("system: it was compiled for version " + std::to_string(system.abi_version) +
                              " of ocpfast/system.h, this is version " + std::to_string(OCP_SYSTEM_ABI) +
                              "; compile it again");
    }
    return system;
}

std::string describe(const ocp::Outcome& outcome, std::int64_t simulation) {
    std::ostringstream text;
    text << "simulation " << simulation << ", episode " << outcome.episode << ", period " << outcome.period << ": ";
    switch (outcome.kind) {
        case ocp::Outcome::Kind::system_error:
            text << "the system returned error " << outcome.error;
            break;
        case ocp::Outcome::Kind::bad_reward:
            text << "the system paid a reward of " << outcome.reward << ", expected a finite number";
            break;
        case ocp::Outcome::Kind::bad_state:
            text << "the system is in a state that the hypothesis class has no place for";
            break;
        default:
            text << "no memory for the system";
    }
    return text.str();
}

// Runs agents[i] on the i-th pair of bit generators and writes row i of rewards and optimal. Returns how many
// simulations are complete: all of them, unless control.stop was set.
std::int64_t simulate(const std::vector<AggregationOcp*>& agents, const py::capsule& system_capsule,
                      const std::vector<py::capsule>& system_bitgens, const std::vector<py::capsule>& agent_bitgens,
                      std::int64_t episodes, py::array_t<double>& rewards, py::array_t<double>& optimal,
                      std::int64_t first_simulation, ocp::Control& control) {
    const ocp_system& system = system_of(system_capsule);
    std::vector<ocp_bitgen*> for_system, for_agent;
    for (const py::capsule& capsule : system_bitgens) for_system.push_back(bitgen_of(capsule));
    for (const py::capsule& capsule : agent_bitgens) for_agent.push_back(bitgen_of(capsule));
    double* reward_rows = rewards.mutable_data();
    double* optimal_rows = optimal.mutable_data();

    ocp::Outcome outcome;
    std::size_t done = 0;
    {
        py::gil_scoped_release release;
        for (; done < agents.size(); ++done) {
            const std::int64_t row = static_cast<std::int64_t>(done) * episodes;
            agents[done]->begin_episode();
            outcome = ocp::simulate(*agents[done], system, episodes, for_system[done], for_agent[done],
                                    reward_rows + row, optimal_rows + row, control);
            if (outcome.kind != ocp::Outcome::Kind::done) break;
        }
    }
    if (outcome.kind != ocp::Outcome::Kind::done && outcome.kind != ocp::Outcome::Kind::stopped) {
        throw std::runtime_error(describe(outcome, first_simulation + static_cast<std::int64_t>(done)));
    }
    return static_cast<std::int64_t>(done);
}

}  // namespace

void bind_running(py::module_& m) {
    py::class_<ocp::Control>(m, "Control")
        .def(py::init<>())
        .def("stop", [](ocp::Control& control) { control.stop = true; })
        .def_property_readonly("episodes_done",
                               [](const ocp::Control& control) { return control.episodes_done.load(); });
    m.def("simulate", &simulate, py::arg("agents"), py::arg("system"), py::arg("system_bitgens"),
          py::arg("agent_bitgens"), py::arg("episodes"), py::arg("rewards").noconvert(), py::arg("optimal").noconvert(),
          py::arg("first_simulation"), py::arg("control"));
}
