// BoxStore: ConstraintStore over a product of intervals.
#include "bindings.hpp"

#include <tuple>
#include <vector>

#include "ocpfast/hypothesis/box.hpp"
#include "ocpfast/store.hpp"

namespace {

using BoxStore = ocp::ConstraintStore<ocp::Box>;
using Row = std::tuple<std::int64_t, std::int64_t, double, double>;

std::vector<Row> rows(const BoxStore& store, bool kept) {
    std::vector<Row> result;
    for (const auto& entry : store.entries()) {
        const ocp::Constraint& c = entry.constraint;
        if (entry.kept == kept) result.emplace_back(c.sequence, c.index, c.lower, c.upper);
    }
    return result;
}

std::int64_t insert(BoxStore& store, py::handle index, double lower, double upper) {
    const auto coordinate = checked_index(index, static_cast<std::int64_t>(store.hypotheses().size()), "index");
    if (!(lower <= upper) || lower == ocp::infinity || upper == -ocp::infinity) {
        throw py::value_error("lower, upper: expected a non-empty interval, got [" + std::to_string(lower) + ", " +
                              std::to_string(upper) + "]");
    }
    return store.insert(coordinate, lower, upper);
}

}  // namespace

void bind_store(py::module_& m) {
    py::class_<BoxStore>(m, "BoxStore")
        .def(py::init([](const std::vector<double>& lower, const std::vector<double>& upper, ocp::Selection selection,
                         std::int64_t window) {
                 if (lower.size() != upper.size()) {
                     throw py::value_error("lower, upper: expected the same length, got " +
                                           std::to_string(lower.size()) + " and " + std::to_string(upper.size()));
                 }
                 return BoxStore(ocp::Box(lower, upper), window > 0 ? ocp::Selection::window : selection, window);
             }),
             py::arg("lower"), py::arg("upper"), py::arg("selection") = ocp::Selection::all, py::arg("window") = 0)
        .def("insert", &insert, py::arg("index"), py::arg("lower"), py::arg("upper"))
        .def("erase", &BoxStore::erase, py::arg("sequence"))
        .def("end_episode", &BoxStore::end_episode)
        .def_property_readonly("n_contradictions", &BoxStore::n_contradictions)
        .def("kept", [](const BoxStore& store) { return rows(store, true); })
        .def("rejected", [](const BoxStore& store) { return rows(store, false); })
        .def(
            "interval",
            [](const BoxStore& store, py::handle index) {
                const ocp::Box& box = store.hypotheses();
                const auto i = checked_index(index, static_cast<std::int64_t>(box.size()), "index");
                return std::make_pair(box.lower(i), box.upper(i));
            },
            py::arg("index"));
}
