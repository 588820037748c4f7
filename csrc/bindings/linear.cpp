// Features, HiGHS, and LinearStore: ConstraintStore over a block of a linear class.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "ocpfast/hypothesis/features.hpp"
#include "ocpfast/hypothesis/linear_block.hpp"
#include "ocpfast/lp/highs_library.hpp"
#include "ocpfast/store.hpp"
#include "stores.hpp"

namespace {

// A model keeps the table it was made with: tables stay where they are, whichever is in use for new ones.
std::map<std::string, ocp::HighsApi> libraries;  // by path
const ocp::HighsApi* highs = nullptr;            // in use
std::optional<std::string> highs_source;         // its path, or "highspy"

void load_highs(const std::string& path) {
    auto found = libraries.find(path);
    if (found == libraries.end()) found = libraries.emplace(path, ocp::load_highs(path)).first;
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

using Shape = std::shared_ptr<ocp::Partition>;

std::shared_ptr<ocp::Features> dense_features(Shape domain, const Doubles& table, std::int64_t n_features, bool shared,
                                              const Doubles& prior_a, const Doubles& prior_b,
                                              const std::vector<bool>& prior_equality) {
    auto rows = std::make_shared<ocp::DenseRows>(std::vector<double>(table.data(), table.data() + table.size()),
                                                 static_cast<std::size_t>(n_features));
    return std::make_shared<ocp::Features>(std::move(domain), std::move(rows), n_features, shared,
                                           prior_rows(prior_a, prior_b, prior_equality));
}

std::shared_ptr<ocp::Features> sparse_features(Shape domain, const std::vector<std::int64_t>& start,
                                               const std::vector<std::int32_t>& column,
                                               const std::vector<double>& value, std::int64_t n_features, bool shared,
                                               const Doubles& prior_a, const Doubles& prior_b,
                                               const std::vector<bool>& prior_equality) {
    auto rows = std::make_shared<ocp::SparseRows>(start, column, value, static_cast<std::size_t>(n_features));
    return std::make_shared<ocp::Features>(std::move(domain), std::move(rows), n_features, shared,
                                           prior_rows(prior_a, prior_b, prior_equality));
}

// A Python function of vector states behind the C signature. What it raises goes through the kernels as it is: they
// have evaluated nothing else yet.
struct PythonFunction {
    py::object function;
    py::ssize_t state_size, n_features;

    static int evaluate(std::int64_t period, const void* state, std::int64_t action, double* features,
                        void* user_data) {
        const py::gil_scoped_acquire gil;
        const auto& self = *static_cast<const PythonFunction*>(user_data);
        const py::array_t<double> vector(self.state_size, static_cast<const double*>(state));
        const Doubles values = self.function(vector, action, period);
        std::copy(values.data(), values.data() + self.n_features, features);
        return 0;
    }
};

// address 0: `function` is called with (state, action, period); else it is only kept alive.
std::shared_ptr<ocp::Features> open_features(Shape domain, std::uintptr_t address, std::uintptr_t user_data,
                                             py::object function, double unit, std::int64_t n_features, bool shared,
                                             const Doubles& prior_a, const Doubles& prior_b,
                                             const std::vector<bool>& prior_equality) {
    const auto state_size = static_cast<py::ssize_t>(domain->vector_size());
    std::shared_ptr<PythonFunction> kept(
        new PythonFunction{std::move(function), state_size, static_cast<py::ssize_t>(n_features)},
        [](const PythonFunction* one) {
            const py::gil_scoped_acquire gil;
            delete one;
        });
    ocp::FeatureSource source{&PythonFunction::evaluate, kept, unit};
    if (address != 0) {
        source.function = reinterpret_cast<ocp_feature_function>(address);
        source.user_data = std::shared_ptr<void>(kept, reinterpret_cast<void*>(user_data));
    }
    return std::make_shared<ocp::Features>(std::move(domain), std::move(source), n_features, shared,
                                           prior_rows(prior_a, prior_b, prior_equality));
}

// Address, user data and signature in the capsule of a scipy.LowLevelCallable.
std::tuple<std::uintptr_t, std::uintptr_t, std::string> unpack_callable(const py::capsule& capsule) {
    const char* signature = capsule.name();
    void* pointer = PyCapsule_GetPointer(capsule.ptr(), signature);
    if (pointer == nullptr) throw py::error_already_set();
    return {reinterpret_cast<std::uintptr_t>(pointer),
            reinterpret_cast<std::uintptr_t>(PyCapsule_GetContext(capsule.ptr())),
            signature == nullptr ? "" : signature};
}

using LinearStore = ocp::ConstraintStore<ocp::LinearBlock>;

// The features of a store are those of so many states with one action each, in one period.
LinearStore make_store(const Doubles& table, const Doubles& prior_a, const Doubles& prior_b,
                       const std::vector<bool>& prior_equality, ocp::Selection selection, std::int64_t window) {
    const std::int64_t n = table.shape(0);
    auto features = dense_features(std::make_shared<ocp::Partition>(n, 1, 0), table, table.shape(1), true, prior_a,
                                   prior_b, prior_equality);
    // room for every feature in infimum_of_maximum
    return LinearStore(ocp::LinearBlock(std::move(features), 0, loaded_highs(), {}, {}, n),
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
        .def(py::init(&dense_features), py::kw_only(), py::arg("domain"), py::arg("table"), py::arg("n_features"),
             py::arg("shared"), py::arg("prior_a"), py::arg("prior_b"), py::arg("prior_equality"))
        .def(py::init(&sparse_features), py::kw_only(), py::arg("domain"), py::arg("start"), py::arg("column"),
             py::arg("value"), py::arg("n_features"), py::arg("shared"), py::arg("prior_a"), py::arg("prior_b"),
             py::arg("prior_equality"))
        .def(py::init(&open_features), py::kw_only(), py::arg("domain"), py::arg("address"), py::arg("user_data"),
             py::arg("function"), py::arg("unit"), py::arg("n_features"), py::arg("shared"), py::arg("prior_a"),
             py::arg("prior_b"), py::arg("prior_equality"));
    m.def("unpack_callable", &unpack_callable, py::arg("capsule"));
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
