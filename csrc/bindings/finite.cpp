// Finite classes: their tables, which stay where NumPy has them, and their agents.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "agents.hpp"
#include "ocpfast/hypothesis/finite.hpp"

namespace {

template <class T>
using Tables = ocp::FiniteTables<T>;

// values: of shape (H, S, A, n), and nobody writes to them.
template <class T>
std::shared_ptr<Tables<T>> make_tables(std::shared_ptr<ocp::Partition> domain,
                                       const py::array_t<T, py::array::c_style>& values, double tolerance) {
    const std::int64_t n_hypotheses = values.shape(3);
    auto* kept = new py::object(values);
    const std::shared_ptr<py::object> owner(kept, [](const py::object* one) {
        const py::gil_scoped_acquire gil;
        delete one;
    });
    return std::make_shared<Tables<T>>(std::move(domain), std::shared_ptr<const T>(owner, values.data()), n_hypotheses,
                                       tolerance);
}

// One of each set of hypotheses that agree on every triple.
template <class T>
std::vector<std::uint32_t> distinct(const Tables<T>& tables) {
    const py::gil_scoped_release release;
    ocp::Groups<T> groups(tables);
    for (std::int64_t i = 0; i < tables.domain().n_cells() && !groups.all_told_apart(); ++i) groups.split(tables, i);
    return groups.representatives();
}

// The number of triples on which hypotheses differ.
template <class T>
std::int64_t n_telling(const Tables<T>& tables) {
    const py::gil_scoped_release release;
    const ocp::Groups<T> all(tables);
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < tables.domain().n_cells(); ++i) n += all.splits(tables, i);
    return n;
}

template <class T>
bool independent(const Tables<T>& tables, std::int64_t index, const std::vector<std::int64_t>& indices) {
    const py::gil_scoped_release release;
    ocp::Groups<T> groups(tables);
    for (const std::int64_t i : indices) groups.split(tables, i);
    return groups.splits(tables, index);
}

template <class T>
void bind_tables(py::module_& m, const char* name) {
    py::class_<Tables<T>, std::shared_ptr<Tables<T>>>(m, name)
        .def(py::init(&make_tables<T>), py::arg("domain"), py::arg("values").noconvert(), py::arg("tolerance"))
        .def("distinct", &distinct<T>)
        .def("n_telling", &n_telling<T>)
        .def("independent", &independent<T>, py::arg("index"), py::arg("indices"));
}

template <class T>
void bind_finite_agent(py::module_& m, const char* name) {
    using Agent = ocp::Ocp<ocp::Finite<T>>;
    const auto add_counts = [](py::dict& result, const ocp::Finite<T>& known) {
        result["survivors"] = known.n_survivors();
        result["distinct_survivors"] = known.n_distinct_survivors();
    };
    bind_agent<Agent>(m, name, add_counts)
        .def(py::init([](std::shared_ptr<Tables<T>> tables, const AgentOptions& options) {
                 ocp::Finite<T> known(std::move(tables), options.selection, options.window, options.bounds);
                 return Agent(std::move(known), options.ocp);
             }),
             py::arg("tables"), py::arg("options"));
}

}  // namespace

void bind_finite(py::module_& m) {
    bind_tables<float>(m, "FiniteTables32");
    bind_tables<double>(m, "FiniteTables64");
    bind_finite_agent<float>(m, "FiniteOcp32");
    bind_finite_agent<double>(m, "FiniteOcp64");
}
