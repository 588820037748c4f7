// Grid and Partition, and how Python states become points.
#include "bindings.hpp"

#include <cmath>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "ocpfast/hypothesis/grid.hpp"

std::string shown(py::handle value) {
    std::string text = py::repr(value).cast<std::string>();
    constexpr std::size_t longest = 80;
    return text.size() <= longest ? text : text.substr(0, longest - 3) + "...";
}

namespace {

ocp::Grid make_grid(const std::vector<Doubles>& edges, std::int64_t extra) {
    std::vector<ocp::Bins> dimensions;
    for (const Doubles& e : edges) dimensions.emplace_back(std::vector<double>(e.data(), e.data() + e.size()));
    return ocp::Grid(std::move(dimensions), extra);
}

py::array_t<std::int64_t> labels(const ocp::Grid& grid, const Doubles& states) {
    const py::ssize_t n = states.shape(0);
    py::array_t<std::int64_t> result(n);
    std::int64_t* out = result.mutable_data();
    const double* state = states.data();
    for (py::ssize_t i = 0; i < n; ++i, state += grid.dimension()) out[i] = grid.label(state);
    return result;
}

std::shared_ptr<ocp::Partition> make_partition(std::int64_t n_points, std::int64_t n_actions, std::int64_t horizon,
                                               const std::optional<Indices>& points,
                                               const std::optional<Indices>& cells, std::int64_t n_cells,
                                               const std::optional<ocp::Grid>& grid, std::int64_t vector_size) {
    auto partition = std::make_shared<ocp::Partition>(n_points, n_actions, horizon);
    if (points) partition->set_points({points->data(), points->data() + points->size()});
    if (cells) partition->set_cells({cells->data(), cells->data() + cells->size()}, n_cells);
    if (grid) partition->set_grid(*grid);
    if (vector_size > 0) partition->set_open(vector_size);
    return partition;
}

// Copies a vector state; false where it has another shape or other contents.
bool read_vector(py::handle state, std::int64_t size, double* out) {
    const auto given = py::array::ensure(state);
    if (!given) {  // ragged, say
        PyErr_Clear();
        return false;
    }
    // numbers only: NumPy would also read strings, None (as NaN) and dates
    const char kind = given.dtype().kind();
    if (kind != 'f' && kind != 'i' && kind != 'u') return false;
    const auto array = Doubles::ensure(given);
    if (array.ndim() != 1 || array.shape(0) != size) return false;
    std::copy(array.data(), array.data() + size, out);
    return true;
}

}  // namespace

// What to do about a value that was not expected; nothing where that is plain.
static std::string hint(py::handle value, const char* wanted) {
    return py::module_::import("ocpfast._check").attr("hint")(value, wanted).cast<std::string>();
}

std::int64_t checked_index(py::handle value, std::int64_t size, const char* name) {
    const std::string expected = std::string(name) + ": expected an integer in 0.." + std::to_string(size - 1);
    if (PyBool_Check(value.ptr()) || !PyIndex_Check(value.ptr())) {
        throw py::type_error(expected + ", got " + shown(value) + hint(value, "int"));
    }
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!number) {  // an array of several, say
        PyErr_Clear();
        throw py::type_error(expected + ", got " + shown(value) + hint(value, "int"));
    }
    int overflow = 0;
    const std::int64_t index = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0 || index < 0 || index >= size) throw py::value_error(expected + ", got " + shown(value));
    return index;
}

VectorState::VectorState(py::handle state, std::int64_t size, const char* name) {
    double* values = usual_;
    if (size > static_cast<std::int64_t>(std::size(usual_))) {
        large_.resize(static_cast<std::size_t>(size));
        values = large_.data();
    }
    if (!read_vector(state, size, values)) {
        throw py::value_error(std::string(name) + ": expected " + std::to_string(size) + " numbers, got " +
                              shown(state) + hint(state, "vector"));
    }
}

std::int64_t checked_point(const ocp::Partition& partition, py::handle state, const char* name) {
    const ocp::Grid* grid = partition.grid();
    if (grid == nullptr) return partition.point_of_state(checked_index(state, partition.n_states(), name));
    const std::int64_t point = grid->label(VectorState(state, grid->dimension(), name).data());
    if (point == ocp::Grid::no_label) {
        throw py::value_error(std::string(name) + ": NaN in " + shown(state) +
                              ", but the grid has no extra label for it (Grid(edges, extra=1) gives it one)");
    }
    return point;
}

ocp_bitgen* bitgen_of(const py::capsule& capsule) {
    auto* bitgen = PyCapsule_GetPointer(capsule.ptr(), "BitGenerator");
    if (bitgen == nullptr) throw py::error_already_set();
    return static_cast<ocp_bitgen*>(bitgen);
}

void bind_hypothesis(py::module_& m) {
    py::class_<ocp::Grid>(m, "Grid")
        .def(py::init(&make_grid), py::arg("edges"), py::arg("extra"))
        .def_property_readonly("n_labels", &ocp::Grid::n_labels)
        .def("labels", &labels, py::arg("states"));

    py::class_<ocp::Partition, std::shared_ptr<ocp::Partition>>(m, "Partition")
        .def(py::init(&make_partition), py::arg("n_points"), py::arg("n_actions"), py::arg("horizon"),
             py::arg("points") = py::none(), py::arg("cells") = py::none(), py::arg("n_cells") = 0,
             py::arg("grid") = py::none(), py::arg("vector_size") = 0)
        .def_property_readonly("n_points", &ocp::Partition::n_points)
        .def_property_readonly("n_cells", &ocp::Partition::n_cells);
}
