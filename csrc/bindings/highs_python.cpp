// HiGHS through highspy's Python API: the same table of functions, for where highspy's library cannot be opened.
//
// A model is a highspy.Highs object. Whoever calls may or may not hold the GIL (the runner has released it), so every
// function takes it; highspy releases it while it solves.
#include <algorithm>
#include <numeric>
#include <vector>

#include "bindings.hpp"

namespace {

using ocp::HighsInt;
constexpr HighsInt failed = -1;

// The callers are C++ that knows nothing of Python: an exception ends here. It is shown as one that could not be
// raised, with its traceback, and becomes the status from which the caller makes an error of its own.
template <class Call>
HighsInt with_python(const char* what, const Call& call) {
    const py::gil_scoped_acquire gil;
    try {
        return call();
    } catch (py::error_already_set& error) {
        const bool interrupted = error.matches(PyExc_KeyboardInterrupt);
        error.discard_as_unraisable(what);
        if (interrupted) PyErr_SetInterrupt();  // Ctrl-C must not be lost: raised again once Python runs
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
        PyErr_WriteUnraisable(nullptr);
    }
    return failed;
}

py::handle model(const void* highs) {
    return static_cast<PyObject*>(const_cast<void*>(highs));
}

// Of highspy's enumerations.
HighsInt number(const py::object& status) {
    return py::int_(status).cast<HighsInt>();
}

template <class... Arguments>
HighsInt call(const void* highs, const char* method, const Arguments&... arguments) {
    return with_python(method, [&] { return number(model(highs).attr(method)(arguments...)); });
}

// A copy, as the arguments of highspy's functions are arrays.
template <class Value>
py::array_t<Value> array(HighsInt n, const Value* values) {
    py::array_t<Value> result(n);
    std::copy(values, values + n, result.mutable_data());
    return result;
}

void* create() {
    PyObject* highs = nullptr;
    with_python("highspy.Highs", [&] {
        highs = py::module_::import("highspy").attr("Highs")().release().ptr();
        return HighsInt{0};
    });
    return highs;
}

void destroy(void* highs) {
    const py::gil_scoped_acquire gil;
    const py::error_scope pending;  // it may happen while an exception is on its way
    model(highs).dec_ref();
}

HighsInt set_bool(void* highs, const char* option, HighsInt value) {
    return call(highs, "setOptionValue", option, value != 0);
}
HighsInt set_int(void* highs, const char* option, HighsInt value) {
    return call(highs, "setOptionValue", option, value);
}
HighsInt set_double(void* highs, const char* option, double value) {
    return call(highs, "setOptionValue", option, value);
}
HighsInt set_string(void* highs, const char* option, const char* value) {
    return call(highs, "setOptionValue", option, value);
}

HighsInt pass_lp(void* highs, HighsInt n_columns, HighsInt n_rows, HighsInt n_entries, HighsInt format, HighsInt sense,
                 double offset, const double* cost, const double* column_lower, const double* column_upper,
                 const double* row_lower, const double* row_upper, const HighsInt* start, const HighsInt* index,
                 const double* value) {
    return with_python("passModel", [&] {
        const auto highspy = py::module_::import("highspy");
        py::object lp = highspy.attr("HighsLp")();
        lp.attr("num_col_") = n_columns;
        lp.attr("num_row_") = n_rows;
        lp.attr("sense_") = highspy.attr("ObjSense")(sense);
        lp.attr("offset_") = offset;
        lp.attr("col_cost_") = array(n_columns, cost);
        lp.attr("col_lower_") = array(n_columns, column_lower);
        lp.attr("col_upper_") = array(n_columns, column_upper);
        lp.attr("row_lower_") = array(n_rows, row_lower);
        lp.attr("row_upper_") = array(n_rows, row_upper);
        py::object matrix = lp.attr("a_matrix_");
        const auto kind = highspy.attr("MatrixFormat")(format);
        const bool by_columns = kind.equal(highspy.attr("MatrixFormat").attr("kColwise"));
        std::vector<HighsInt> starts(start, start + (by_columns ? n_columns : n_rows));
        starts.push_back(n_entries);  // which the C function takes as an argument
        matrix.attr("format_") = kind;
        matrix.attr("start_") = array(static_cast<HighsInt>(starts.size()), starts.data());
        matrix.attr("index_") = array(n_entries, index);
        matrix.attr("value_") = array(n_entries, value);
        return number(model(highs).attr("passModel")(lp));
    });
}

HighsInt add_column(void* highs, double cost, double lower, double upper, HighsInt n, const HighsInt* index,
                    const double* value) {
    return with_python("addCol", [&] {
        return number(model(highs).attr("addCol")(cost, lower, upper, n, array(n, index), array(n, value)));
    });
}
HighsInt add_row(void* highs, double lower, double upper, HighsInt n, const HighsInt* index, const double* value) {
    return with_python("addRow", [&] {
        return number(model(highs).attr("addRow")(lower, upper, n, array(n, index), array(n, value)));
    });
}

HighsInt change_costs(void* highs, HighsInt first_column, HighsInt last_column, const double* cost) {
    return with_python("changeColsCost", [&] {
        const HighsInt n = last_column - first_column + 1;
        py::array_t<HighsInt> columns(n);
        std::iota(columns.mutable_data(), columns.mutable_data() + n, first_column);
        return number(model(highs).attr("changeColsCost")(n, columns, array(n, cost)));
    });
}
HighsInt change_column_bounds(void* highs, HighsInt column, double lower, double upper) {
    return call(highs, "changeColBounds", column, lower, upper);
}
HighsInt change_row_bounds(void* highs, HighsInt row, double lower, double upper) {
    return call(highs, "changeRowBounds", row, lower, upper);
}
HighsInt change_coefficient(void* highs, HighsInt row, HighsInt column, double value) {
    return call(highs, "changeCoeff", row, column, value);
}

HighsInt change_integrality(void* highs, HighsInt first_column, HighsInt last_column, const HighsInt* kinds) {
    return with_python("changeColIntegrality", [&] {
        const auto kind_of = py::module_::import("highspy").attr("HighsVarType");
        HighsInt status = 0;
        for (HighsInt column = first_column; column <= last_column; ++column) {
            const auto kind = kind_of(kinds[column - first_column]);
            status = std::min(status, number(model(highs).attr("changeColIntegrality")(column, kind)));
        }
        return status;
    });
}

HighsInt run(void* highs) {
    return call(highs, "run");
}
HighsInt clear_solver(void* highs) {
    return call(highs, "clearSolver");
}
HighsInt model_status(const void* highs) {
    return call(highs, "getModelStatus");
}

HighsInt solution(const void* highs, double* column_value, double* column_dual, double* row_value, double* row_dual) {
    return with_python("getSolution", [&] {
        const py::object found = model(highs).attr("getSolution")();
        const auto copy = [&](const char* part, double* values) {
            const auto numbers = found.attr(part).cast<std::vector<double>>();
            std::copy(numbers.begin(), numbers.end(), values);
        };
        copy("col_value", column_value);
        copy("col_dual", column_dual);
        copy("row_value", row_value);
        copy("row_dual", row_dual);
        return HighsInt{0};
    });
}

HighsInt get_basis(const void* highs, HighsInt* column_status, HighsInt* row_status) {
    return with_python("getBasis", [&] {
        const py::object basis = model(highs).attr("getBasis")();
        const auto copy = [&](const char* part, HighsInt* out) {
            for (const py::handle status : basis.attr(part))
                *out++ = number(py::reinterpret_borrow<py::object>(status));
        };
        copy("col_status", column_status);
        copy("row_status", row_status);
        return HighsInt{0};
    });
}
HighsInt set_basis(void* highs, const HighsInt* column_status, const HighsInt* row_status) {
    return with_python("setBasis", [&] {
        const auto highspy = py::module_::import("highspy");
        const auto list = [&](const HighsInt* statuses, const char* size) {
            py::list result;
            const HighsInt n = py::int_(model(highs).attr(size)()).cast<HighsInt>();
            for (HighsInt i = 0; i < n; ++i) result.append(highspy.attr("HighsBasisStatus")(statuses[i]));
            return result;
        };
        py::object basis = highspy.attr("HighsBasis")();
        basis.attr("col_status") = list(column_status, "getNumCol");
        basis.attr("row_status") = list(row_status, "getNumRow");
        return number(model(highs).attr("setBasis")(basis));
    });
}

template <class Value>
HighsInt info(const void* highs, const char* name, Value* value) {
    return with_python("getInfoValue", [&] {
        const py::tuple answer = model(highs).attr("getInfoValue")(name);
        *value = answer[1].cast<Value>();
        return number(answer[0]);
    });
}
HighsInt int_info(const void* highs, const char* name, HighsInt* value) {
    return info(highs, name, value);
}
HighsInt double_info(const void* highs, const char* name, double* value) {
    return info(highs, name, value);
}

void reset_scheduler(HighsInt blocking) {
    with_python("resetGlobalScheduler", [&] {
        py::module_::import("highspy").attr("Highs").attr("resetGlobalScheduler")(blocking != 0);
        return HighsInt{0};
    });
}

}  // namespace

const ocp::HighsApi& python_highs() {
    static const ocp::HighsApi api = [] {
        ocp::HighsApi table{};
        table.create = create;
        table.destroy = destroy;
        table.size_of_int = nullptr;  // asked of libraries alone: highspy converts
        table.set_bool = set_bool;
        table.set_int = set_int;
        table.set_double = set_double;
        table.set_string = set_string;
        table.pass_lp = pass_lp;
        table.add_column = add_column;
        table.add_row = add_row;
        table.change_costs = change_costs;
        table.change_column_bounds = change_column_bounds;
        table.change_row_bounds = change_row_bounds;
        table.change_coefficient = change_coefficient;
        table.change_integrality = change_integrality;
        table.run = run;
        table.clear_solver = clear_solver;
        table.model_status = model_status;
        table.solution = solution;
        table.get_basis = get_basis;
        table.set_basis = set_basis;
        table.int_info = int_info;
        table.double_info = double_info;
        table.reset_scheduler = reset_scheduler;
        return table;
    }();
    return api;
}
