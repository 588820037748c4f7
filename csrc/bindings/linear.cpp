// Features, HiGHS, and LinearStore: ConstraintStore over a block of a linear class.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "ocpfast/hypothesis/features.hpp"
#include "ocpfast/hypothesis/linear_block.hpp"
#include "ocpfast/store.hpp"
#include "stores.hpp"

namespace {

// A model keeps the table it was made with: tables stay where they are, whichever is in use for new ones.
std::map<std::string, ocp::HighsApi> libraries;  // by path
const ocp::HighsApi* highs = nullptr;            // in use
std::optional<std::string> highs_source;         // its path, or "highspy"

void load_highs(const std::string& path) {
    auto found = libraries.find(path);
    if (found == libraries.end()) found = libraries.emplace(path, ocp::HighsApi::load(path.c_str())).first;
    highs = &found->second;
    highs_source = path;
}

void use_highspy() {
    highs = &python_highs();
    highs_source = "highspy";
}

std::vector<ocp::PriorRow> prior_rows(const Doubles& a, const Doubles& b, const std::vector<bool>& equality) {
    std::vector<ocp::PriorRow> rows;
    const py::ssize_t d = a.ndim() == 2 ? a.shape(1) : 0;
    for (py::ssize_t i = 0; i < b.size(); ++i) {
        rows.push_back({{a.data() + i * d, a.data() + (i + 1) * d},
                        b.data()[i],
                        !equality.empty() && equality[static_cast<std::size_t>(i)]});
    }
    return rows;
}

std::shared_ptr<ocp::Features> make_features(std::shared_ptr<ocp::Partition> domain, const Doubles& table,
                                             std::int64_t n_features, std::int64_t periods, bool shared,
                                             const Doubles& prior_a, const Doubles& prior_b,
                                             const std::vector<bool>& prior_equality) {
    return std::make_shared<ocp::Features>(std::move(domain),
                                           std::vector<double>(table.data(), table.data() + table.size()), n_features,
                                           periods, shared, prior_rows(prior_a, prior_b, prior_equality));
}

using LinearStore = ocp::ConstraintStore<ocp::LinearBlock>;

// The features of a store are those of so many states with one action each, in one period.
LinearStore make_store(const Doubles& table, const Doubles& prior_a, const Doubles& prior_b,
                       const std::vector<bool>& prior_equality, ocp::Selection selection, std::int64_t window) {
    const std::int64_t n = table.shape(0);
    auto features = make_features(std::make_shared<ocp::Partition>(n, 1, 0), table, table.shape(1), 1, true, prior_a,
                                  prior_b, prior_equality);
    // room for every feature in infimum_of_maximum
    return LinearStore(ocp::LinearBlock(std::move(features), 0, loaded_highs(), {}, n),
                       window > 0 ? ocp::Selection::window : selection, window);
}

}  // namespace

const ocp::HighsApi* loaded_highs() {
    return highs;
}

void bind_linear(py::module_& m) {
    m.def("load_highs", &load_highs, py::arg("path"));
    m.def("use_highspy", &use_highspy);
    m.def("highs_in_use", [] { return highs_source; });
    py::class_<ocp::Features, std::shared_ptr<ocp::Features>>(m, "Features")
        .def(py::init(&make_features), py::arg("domain"), py::arg("table"), py::arg("n_features"), py::arg("periods"),
             py::arg("shared"), py::arg("prior_a"), py::arg("prior_b"), py::arg("prior_equality"));
    bind_common(py::class_<LinearStore>(m, "LinearStore"))
        .def(py::init(&make_store), py::arg("features"), py::arg("prior_a"), py::arg("prior_b"),
             py::arg("prior_equality") = std::vector<bool>(), py::arg("selection") = ocp::Selection::all,
             py::arg("window") = 0)
        .def(
            "upper", [](LinearStore& s, std::int64_t index) { return s.hypotheses().upper(index); }, py::arg("index"))
        .def(
            "lower", [](LinearStore& s, std::int64_t index) { return s.hypotheses().lower(index); }, py::arg("index"))
        .def(
            "infimum_of_maximum",
            [](LinearStore& s, const std::vector<std::int64_t>& indices) {
                const std::set<std::int64_t> once(indices.begin(), indices.end());  // there is room for that many
                return s.hypotheses().infimum_of_maximum({once.begin(), once.end()});
            },
            py::arg("indices"))
        .def_property_readonly("lps", [](const LinearStore& s) { return s.hypotheses().statistics().solved; });
}
