// Running: what does not depend on the agent.
#include "running.hpp"

#include <chrono>
#include <sstream>
#include <thread>

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
    return system;
}

Calls::Calls(const ocp_system& system) : shared_{&system, system.parameters}, system_(system) {
    if ((system.flags & OCP_NEEDS_GIL) == 0) {
        release_.emplace();
    } else {
        system_.parameters = &shared_;
        guard(system_);
    }
}

int Calls::Guarded::checked(int error) {
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    // Others get their turn now and then: compiled code that keeps the GIL never makes way, and two threads that only
    // pass it to each other keep it from the one that tells of the progress. Awake again at once we would take it back.
    constexpr std::int64_t often = 4096;
    if (++calls % often == 0) {
        const py::gil_scoped_release others;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return error;
}

void Calls::guard(ocp_system& contract) {
    contract.reset = [](void* instance, std::int64_t episode, ocp_bitgen* bitgen, void* state) {
        auto& own = *static_cast<Guarded*>(instance);
        return own.checked(own.system->reset(own.instance, episode, bitgen, state));
    };
    contract.step = [](void* instance, std::int64_t period, void* state, const void* action, ocp_bitgen* bitgen,
                       double* reward, int* ending) {
        auto& own = *static_cast<Guarded*>(instance);
        return own.checked(own.system->step(own.instance, period, state, action, bitgen, reward, ending));
    };
    contract.step_many = nullptr;
    if (contract.optimal_value != nullptr) {
        contract.optimal_value = [](void* instance, const void* state, double* value) {
            auto& own = *static_cast<Guarded*>(instance);
            return own.checked(own.system->optimal_value(own.instance, state, value));
        };
    }
    if (contract.clone != nullptr) {
        contract.clone = [](const void* parameters) -> void* {
            const ocp_system& system = *static_cast<const Guarded*>(parameters)->system;
            Guarded clone{&system, system.clone(system.parameters)};
            clone.checked(OCP_OK);
            return clone.instance == nullptr ? nullptr : new Guarded(clone);
        };
        contract.destroy = [](void* instance) {
            auto* own = static_cast<Guarded*>(instance);
            own->system->destroy(own->instance);
            delete own;
        };
    }
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
