// Running: what does not depend on the agent.
#include "running.hpp"

#include <sstream>

const ocp_system& system_of(const py::capsule& capsule, const char* caller) {
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
        throw py::value_error(std::string("system: it needs the GIL (OCP_NEEDS_GIL), which ") + caller +
                              " releases; step it by hand");
    }
    return system;
}

// What the codes of ocp_error say; nothing of a system's own.
static const char* meaning_of(int error) {
    switch (error) {
        case OCP_BAD_STATE:
            return " (a state that it does not allow)";
        case OCP_BAD_ACTION:
            return " (an action that it does not allow)";
        case OCP_BAD_PERIOD:
            return " (a period that it does not allow)";
        case OCP_NO_MEMORY:
            return " (no memory)";
        case OCP_OVERFLOW:
            return " (a state or a reward beyond the range of doubles)";
        default:
            return "";
    }
}

std::string describe(const ocp::Outcome& outcome, std::int64_t simulation) {
    std::ostringstream text;
    text << "simulation " << simulation << ", episode " << outcome.episode << ", period " << outcome.period << ": ";
    switch (outcome.kind) {
        case ocp::Outcome::Kind::system_error:
            text << "the system returned error " << outcome.error << meaning_of(outcome.error);
            break;
        case ocp::Outcome::Kind::bad_reward:
            text << "the system paid a reward of " << outcome.reward << ", expected " << outcome.expected;
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

void bind_running(py::module_& m) {
    py::class_<ocp::Control>(m, "Control")
        .def(py::init<>())
        .def("stop", [](ocp::Control& control) { control.stop = true; })
        .def_property_readonly("episodes_done",
                               [](const ocp::Control& control) { return control.episodes_done.load(); });
}
