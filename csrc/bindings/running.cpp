// Whole simulations with the GIL released.
#include <sstream>
#include <stdexcept>

#include "agents.hpp"
#include "bindings.hpp"
#include "ocpfast/run.hpp"

namespace {

const ocp_system& system_of(const py::capsule& capsule) {
    const void* pointer = PyCapsule_GetPointer(capsule.ptr(), OCP_SYSTEM_CAPSULE);
    if (pointer == nullptr) throw py::error_already_set();
    const auto& system = *static_cast<const ocp_system*>(pointer);
    if (system.abi_version != OCP_SYSTEM_ABI || system.struct_size < sizeof(ocp_system)) {
        throw py::value_error("system: it was compiled for version " + std::to_string(system.abi_version) + " (" +
                              std::to_string(system.struct_size) + " bytes) of ocpfast/system.h, this is version " +
                              std::to_string(OCP_SYSTEM_ABI) + " (" + std::to_string(sizeof(ocp_system)) +
                              " bytes); compile it again");
    }
    if ((system.flags & OCP_NEEDS_GIL) != 0) {
        throw py::value_error("system: it needs the GIL (OCP_NEEDS_GIL), which run() releases; step it by hand");
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
        case ocp::Outcome::Kind::bad_total:
            text << "the rewards of the episode add up to more than a double can hold";
            break;
        case ocp::Outcome::Kind::bad_state:
            text << "the system is in a state that the hypothesis class has no place for";
            break;
        default:
            text << "no memory for the system";
    }
    return text.str();
}

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

}  // namespace

void bind_running(py::module_& m) {
    py::class_<ocp::Control>(m, "Control")
        .def(py::init<>())
        .def("stop", [](ocp::Control& control) { control.stop = true; })
        .def_property_readonly("episodes_done",
                               [](const ocp::Control& control) { return control.episodes_done.load(); });
    bind_simulate<AggregationOcp>(m);
    bind_simulate<LinearOcp>(m);
}
