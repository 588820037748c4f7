// What agents are made with, and the agents of state aggregation.
#include "agents.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "ocpfast/hypothesis/cells.hpp"

using AggregationOcp = ocp::Ocp<ocp::Cells>;

void bind_agents(py::module_& m) {
    py::class_<AgentOptions>(m, "AgentOptions")
        .def(py::init([](ocp::Selection selection, std::int64_t window, std::vector<double> lower,
                         std::vector<double> upper, ocp::Ties ties, ocp::ReplayMode replay, bool immediate,
                         double discount, std::int64_t replay_sweeps, std::int64_t replay_capacity) {
                 return AgentOptions{selection,
                                     window,
                                     {std::move(lower), std::move(upper)},
                                     {ties, replay, immediate, discount, replay_sweeps, replay_capacity}};
             }),
             py::kw_only(), py::arg("selection"), py::arg("window"), py::arg("lower"), py::arg("upper"),
             py::arg("ties"), py::arg("replay"), py::arg("immediate"), py::arg("discount"), py::arg("replay_sweeps"),
             py::arg("replay_capacity"))
        .def_readonly("selection", &AgentOptions::selection)
        .def_property_readonly("ties", [](const AgentOptions& options) { return options.ocp.ties; })
        .def_property_readonly("replay", [](const AgentOptions& options) { return options.ocp.replay; })
        .def_property_readonly("discount", [](const AgentOptions& options) { return options.ocp.discount; });
    bind_agent<AggregationOcp>(m, "AggregationOcp")
        .def(py::init([](std::shared_ptr<ocp::Partition> partition, bool track_lower, const AgentOptions& options) {
                 ocp::Cells cells(std::move(partition), options.selection, options.window, options.bounds, track_lower);
                 return AggregationOcp(std::move(cells), options.ocp);
             }),
             py::arg("partition"), py::arg("track_lower"), py::arg("options"));
}
