// The agents of linear classes.
#include <memory>
#include <utility>

#include "agents.hpp"
#include "ocpfast/hypothesis/linear.hpp"
#include "ocpfast/hypothesis/sigmoid.hpp"

using LinearOcp = ocp::Ocp<ocp::Linear>;
using SigmoidOcp = ocp::Ocp<ocp::Sigmoid>;

static ocp::Linear make_linear(std::shared_ptr<ocp::Features> features, const AgentOptions& options) {
    return {std::move(features), options.selection, options.window, options.bounds, loaded_highs(), {}};
}

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
                 return LinearOcp(make_linear(std::move(features), options), options.ocp);
             }),
             py::arg("features"), py::arg("options"));
    bind_agent<SigmoidOcp>(m, "SigmoidOcp", add_counts)
        .def(py::init([](std::shared_ptr<ocp::Features> features, double clip, const AgentOptions& options) {
                 ocp::Sigmoid known(make_linear(std::move(features), options), ocp::LogisticLink(clip));
                 return SigmoidOcp(std::move(known), options.ocp);
             }),
             py::arg("features"), py::arg("clip"), py::arg("options"));
}
