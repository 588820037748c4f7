// The agents of sparse linear classes.
#include <memory>
#include <utility>
#include <vector>

#include "agents.hpp"
#include "ocpfast/hypothesis/sparse.hpp"
#include "ocpfast/hypothesis/sparse_block.hpp"
#include "ocpfast/hypothesis/sparse_program.hpp"
#include "ocpfast/hypothesis/sparse_program_block.hpp"

// All supports are gone through.
using Enumerated = ocp::Sparse<ocp::EnumeratedBlock>;
using SparseOcp = ocp::Ocp<Enumerated>;

// HiGHS finds the extremes over all supports.
using Programmed = ocp::Sparse<ocp::ProgramBlock>;
using SparseProgramOcp = ocp::Ocp<Programmed>;

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

    const auto add_programs = [](py::dict& result, const Programmed& known) {
        result["programs"] = known.sum([](const ocp::ProgramBlock& block) { return block.n_programs(); });
    };
    bind_agent<SparseProgramOcp>(m, "SparseProgramOcp", add_programs)
        .def(py::init([](std::shared_ptr<ocp::Features> given, std::int64_t sparsity, double theta_bound,
                         std::int64_t max_nodes, const AgentOptions& options) {
                 auto features = std::make_shared<ocp::SparseFeatures>(std::move(given), sparsity);
                 std::vector<double> bounds(features->n_features());
                 for (std::size_t k = 0; k < bounds.size(); ++k) bounds[k] = theta_bound / features->scale(k);
                 auto program = std::make_shared<ocp::SparseProgram>(loaded_highs(), std::move(bounds),
                                                                     features->sparsity(), max_nodes);
                 Programmed known(features, {features, std::move(program)}, options.bounds, {});
                 return SparseProgramOcp(std::move(known), options.ocp);
             }),
             py::arg("features"), py::arg("sparsity"), py::arg("theta_bound"), py::arg("max_nodes"),
             py::arg("options"));
}
