// ocpfast._core: the compiled learners. The Python modules beside it check, convert and document.
#include <pybind11/native_enum.h>

#include "bindings.hpp"
#include "ocpfast/agent/ocp.hpp"

namespace {

void bind_options(py::module_& m) {
    py::native_enum<ocp::Selection>(m, "Selection", "enum.Enum")
        .value("all", ocp::Selection::all)
        .value("eluder", ocp::Selection::eluder)
        .value("first", ocp::Selection::first)
        .value("window", ocp::Selection::window)
        .finalize();
    py::native_enum<ocp::Ties>(m, "Ties", "enum.Enum")
        .value("first", ocp::Ties::first)
        .value("random", ocp::Ties::random)
        .value("least_visited", ocp::Ties::least_visited)
        .value("directed", ocp::Ties::directed)
        .finalize();
    py::native_enum<ocp::ReplayMode>(m, "ReplayMode", "enum.Enum")
        .value("off", ocp::ReplayMode::off)
        .value("on", ocp::ReplayMode::on)
        .value("stationary", ocp::ReplayMode::stationary)
        .finalize();
}

}  // namespace

PYBIND11_MODULE(_core, m) {
    m.doc() = "Compiled core of ocpfast; use the names in `ocpfast` instead.";
    bind_options(m);
    bind_hypothesis(m);
    bind_store(m);
    bind_linear(m);
    bind_agents(m);
    bind_linear_agents(m);
    bind_finite(m);
    bind_sparse_agents(m);
    bind_quadratic(m);
    bind_baselines(m);
    bind_running(m);
    bind_solving(m);
}
