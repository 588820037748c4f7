// The state of agents as bytes; a class that was made from the same description takes it in again.
#pragma once

#include <string>
#include <string_view>

#include "bindings.hpp"
#include "ocpfast/archive.hpp"

template <class Agent>
py::class_<Agent> bind_saving(py::class_<Agent> agent) {
    return agent.def("state", [](const Agent& self) { return py::bytes(ocp::sealed(self, Agent::kind())); })
        .def(
            "restore",  // of one that is new, and of no use where this fails
            [](Agent& self, const py::bytes& state) {
                try {
                    ocp::unseal(self, Agent::kind(), std::string_view(state));
                } catch (const ocp::ArchiveError& error) {
                    throw py::value_error(error.what());
                }
            },
            py::arg("state"));
}
