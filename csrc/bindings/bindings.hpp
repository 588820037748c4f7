// What the binding files share: each registers its part of ocpfast._core.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ocpfast/hypothesis/partition.hpp"
#include "ocpfast/lp/highs_api.hpp"
#include "ocpfast/system.h"

namespace py = pybind11;

using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Indices = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;

void bind_hypothesis(py::module_& m);
void bind_store(py::module_& m);
void bind_linear(py::module_& m);
void bind_agents(py::module_& m);
void bind_linear_agents(py::module_& m);
void bind_finite(py::module_& m);
void bind_sparse_agents(py::module_& m);
void bind_quadratic(py::module_& m);
void bind_baselines(py::module_& m);
void bind_running(py::module_& m);
void bind_solving(py::module_& m);

// The repr of a value, cut to a length that fits into an error.
std::string shown(py::handle value);

// An integer argument in 0..size-1; TypeError or ValueError that names it otherwise.
std::int64_t checked_index(py::handle value, std::int64_t size, const char* name);

// The numbers of a Python state that is a vector; ValueError that names the argument otherwise.
class VectorState {
public:
    VectorState(py::handle state, std::int64_t size, const char* name);
    const double* data() const { return large_.empty() ? usual_ : large_.data(); }

private:
    double usual_[8];  // larger states go through the heap
    std::vector<double> large_;
};

// The point of a Python state where the domain is not open; TypeError or ValueError that names the argument otherwise.
std::int64_t checked_point(const ocp::Partition& partition, py::handle state, const char* name);

// HiGHS, once load_highs or use_highspy was called from Python; else NULL.
const ocp::HighsApi* loaded_highs();

// HiGHS through highspy's Python API.
const ocp::HighsApi& python_highs();

// The bit generator in a NumPy capsule. Whoever passes the capsule keeps the generator alive.
ocp_bitgen* bitgen_of(const py::capsule& capsule);
