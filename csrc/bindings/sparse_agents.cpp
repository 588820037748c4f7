// The agents of sparse linear classes.
#include <memory>
#include <string>
#include <utility>

#include "agents.hpp"
#include "ocpfast/hypothesis/sparse.hpp"
#include "ocpfast/hypothesis/sparse_block.hpp"

namespace {

using Description = std::shared_ptr<ocp::Features>;

// All supports are gone through; N: their size, 0 for any.
template <int N>
void bind_enumerated(py::module_& m, const std::string& name) {
    using Block = ocp::EnumeratedBlock<N>;
    using Agent = ocp::Ocp<ocp::Sparse<Block>>;
    const auto add_counts = [](py::dict& result, const ocp::Sparse<Block>& known) {
        result["supports"] = known.sum([](const Block& block) { return block.n_live(); });
    };
    bind_agent<Agent>(m, name.c_str(), add_counts)
        .def(py::init([](Description given, std::int64_t sparsity, const AgentOptions& options) {
                 auto features = std::make_shared<ocp::SparseFeatures>(std::move(given), sparsity);
                 auto supports = std::make_shared<ocp::Supports>(features->n_features(), features->sparsity());
                 ocp::Sparse<Block> known(features, {features, std::move(supports)}, options.bounds, {});
                 return Agent(std::move(known), options.ocp);
             }),
             py::arg("features"), py::arg("sparsity"), py::arg("options"));
}

}  // namespace

void bind_sparse_agents(py::module_& m) {
    // The usual sizes each have code of their own: on the chain with K = 60 and K0 = 3 that halves the time.
    bind_enumerated<1>(m, "SparseOcp1");
    bind_enumerated<2>(m, "SparseOcp2");
    bind_enumerated<3>(m, "SparseOcp3");
    bind_enumerated<4>(m, "SparseOcp4");
    bind_enumerated<0>(m, "SparseOcp");
}
