// The agents of sparse linear classes.
#include <memory>
#include <utility>

#include "agents.hpp"
#include "ocpfast/hypothesis/sparse.hpp"
#include "ocpfast/hypothesis/sparse_block.hpp"

// All supports are gone through.
using Enumerated = ocp::Sparse<ocp::EnumeratedBlock>;
using SparseOcp = ocp::Ocp<Enumerated>;

void bind_sparse_agents(py::module_& m) {
    const auto add_counts = [](py::dict& result, const Enumerated& known) {
        result["supports"] = known.sum([](const ocp::EnumeratedBlock& block) { return block.n_live(); });
    };
    bind_agent<SparseOcp>(m, "SparseOcp", add_counts)
        .def(py::init([](std::shared_ptr<ocp::Features> given, std::int64_t sparsity, const AgentOptions& options) {
                 auto features = std::make_shared<ocp::SparseFeatures>(std::move(given), sparsity);
                 auto supports = std::make_shared<ocp::Supports>(features->n_features(), features->sparsity());
                 Enumerated known(features, {features, std::move(supports)}, options.bounds, {});
                 return SparseOcp(std::move(known), options.ocp);
             }),
             py::arg("features"), py::arg("sparsity"), py::arg("options"));
}
