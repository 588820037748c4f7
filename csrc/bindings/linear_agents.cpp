// The agents of linear classes.
#include <memory>
#include <utility>

#include "agents.hpp"
#include "ocpfast/hypothesis/linear.hpp"

using LinearOcp = ocp::Ocp<ocp::Linear>;

void bind_linear_agents(py::module_& m) {
    const auto add_counts = [](py::dict& result, const ocp::Linear& known) {
        const ocp::LpStatistics lp = known.lp_statistics();
        result["lps"] = lp.solved;
        result["pivots"] = lp.pivots;
        result["cold_lps"] = lp.cold;
        result["skipped_lps"] = lp.answered;
        result["states"] = known.n_states();
    };
    bind_agent<LinearOcp>(m, "LinearOcp", add_counts)
        .def(py::init([](std::shared_ptr<ocp::Features> features, const AgentOptions& options) {
                 ocp::Linear known(std::move(features), options.selection, options.window, options.bounds,
                                   loaded_highs(), {});
                 return LinearOcp(std::move(known), options.ocp);
             }),
             py::arg("features"), py::arg("options"));
}
