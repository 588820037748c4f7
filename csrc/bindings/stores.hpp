// What all constraint stores offer to Python.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "ocpfast/constraint.hpp"

template <class Store>
std::vector<std::tuple<std::int64_t, std::int64_t, double, double>> rows_of(const Store& store, bool kept) {
    std::vector<std::tuple<std::int64_t, std::int64_t, double, double>> rows;
    for (const auto& entry : store.entries()) {
        const ocp::Constraint& c = entry.constraint;
        if (entry.kept == kept) rows.emplace_back(c.sequence, c.index, c.lower, c.upper);
    }
    return rows;
}

template <class Store>
std::int64_t checked_insert(Store& store, py::handle index, double lower, double upper) {
    const auto subject = checked_index(index, static_cast<std::int64_t>(store.hypotheses().size()), "index");
    if (!(lower <= upper) || lower == ocp::infinity || upper == -ocp::infinity) {
        throw py::value_error("lower, upper: expected a non-empty interval, got [" + std::to_string(lower) + ", " +
                              std::to_string(upper) + "]");
    }
    return store.insert(subject, lower, upper);
}

template <class Store>
py::class_<Store> bind_common(py::class_<Store> store) {
    return store.def("insert", &checked_insert<Store>, py::arg("index"), py::arg("lower"), py::arg("upper"))
        .def("erase", &Store::erase, py::arg("sequence"))
        .def("end_episode", &Store::end_episode)
        .def_property_readonly("n_contradictions", &Store::n_contradictions)
        .def("kept", [](const Store& s) { return rows_of(s, true); })
        .def("rejected", [](const Store& s) { return rows_of(s, false); });
}
