// Snapshots of agents: copies, and the state as bytes, which a class that was made from the same description takes in
// again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bindings.hpp"
#include "guarded.hpp"
#include "ocpfast/archive.hpp"

// In Python: `with core.reading():` keeps others from changing the agent, so that what is read of it, and of its
// generator, is of one moment.
template <class Agent>
struct Snapshot {
    py::object core;  // kept alive
    std::optional<typename Core<Agent>::Reading> inside;
};

template <class Agent>
py::class_<Core<Agent>> bind_saving(py::class_<Core<Agent>> core) {
    using Own = Snapshot<Agent>;
    py::class_<Own>(core, "Reading")
        .def("__enter__", [](const Own&) {})
        .def("__exit__", [](Own& self, const py::args&) { self.inside.reset(); });
    return core
        .def("reading",
             [](py::object self) {
                 auto& held = self.cast<Core<Agent>&>();
                 return Own{std::move(self), typename Core<Agent>::Reading(held)};
             })
        .def("copy", entry([](const Agent& agent) { return Core<Agent>(agent); }))
        .def("state", entry([](const Agent& agent) { return py::bytes(ocp::sealed(agent, Agent::kind())); }))
        .def("restore",  // of one that is new, and of no use where this fails
             entry([](Agent& agent, const py::bytes& state) {
                 try {
                     ocp::unseal(agent, Agent::kind(), std::string_view(state));
                 } catch (const ocp::ArchiveError& error) {
                     throw py::value_error(error.what());
                 }
             }),
             py::arg("state"));
}
