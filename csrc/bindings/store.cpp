// BoxStore: ConstraintStore over a product of intervals.
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "ocpfast/hypothesis/box.hpp"
#include "ocpfast/store.hpp"
#include "stores.hpp"

using BoxStore = ocp::ConstraintStore<ocp::Box>;

void bind_store(py::module_& m) {
    bind_common(py::class_<BoxStore>(m, "BoxStore"))
        .def(py::init([](const std::vector<double>& lower, const std::vector<double>& upper, ocp::Selection selection,
                         std::int64_t window) {
                 if (lower.size() != upper.size()) {
                     throw py::value_error("lower, upper: expected the same length, got " +
                                           std::to_string(lower.size()) + " and " + std::to_string(upper.size()));
                 }
                 return BoxStore(ocp::Box(lower, upper), window > 0 ? ocp::Selection::window : selection, window);
             }),
             py::arg("lower"), py::arg("upper"), py::arg("selection") = ocp::Selection::all, py::arg("window") = 0)
        .def(
            "interval",
            [](const BoxStore& store, py::handle index) {
                const ocp::Box& box = store.hypotheses();
                const auto i = checked_index(index, static_cast<std::int64_t>(box.size()), "index");
                return std::make_pair(box.lower(i), box.upper(i));
            },
            py::arg("index"));
}
