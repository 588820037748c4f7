// The functions of HiGHS's C API that ocpfast calls, found at run time: neither its headers nor its library are needed
// to compile. Their names and types are the stable part of HiGHS; tested with 1.9 to 1.15. Whoever fills in the table
// by other means keeps to their conventions: a negative status is a failure, nothing throws, create may return NULL.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#if defined(_WIN32)
#error "HiGHS is loaded with dlopen, which this platform does not have"
#endif
#include <dlfcn.h>

namespace ocp {

using HighsInt = std::int32_t;

struct HighsApi {
    void* (*create)();
    void (*destroy)(void* highs);
    HighsInt (*size_of_int)(const void* highs);
    HighsInt (*set_bool)(void* highs, const char* option, HighsInt value);
    HighsInt (*set_int)(void* highs, const char* option, HighsInt value);
    HighsInt (*set_double)(void* highs, const char* option, double value);
    HighsInt (*set_string)(void* highs, const char* option, const char* value);
    HighsInt (*pass_lp)(void* highs, HighsInt n_columns, HighsInt n_rows, HighsInt n_entries, HighsInt format,
                        HighsInt sense, double offset, const double* cost, const double* column_lower,
                        const double* column_upper, const double* row_lower, const double* row_upper,
                        const HighsInt* start, const HighsInt* index, const double* value);
    HighsInt (*add_column)(void* highs, double cost, double lower, double upper, HighsInt n, const HighsInt* index,
                           const double* value);
    HighsInt (*add_row)(void* highs, double lower, double upper, HighsInt n, const HighsInt* index,
                        const double* value);
    HighsInt (*change_costs)(void* highs, HighsInt first_column, HighsInt last_column, const double* cost);
    HighsInt (*change_column_bounds)(void* highs, HighsInt column, double lower, double upper);
    HighsInt (*change_row_bounds)(void* highs, HighsInt row, double lower, double upper);
    HighsInt (*change_coefficient)(void* highs, HighsInt row, HighsInt column, double value);
    HighsInt (*change_integrality)(void* highs, HighsInt first_column, HighsInt last_column, const HighsInt* kinds);
    HighsInt (*run)(void* highs);
    HighsInt (*clear_solver)(void* highs);
    HighsInt (*model_status)(const void* highs);
    HighsInt (*solution)(const void* highs, double* column_value, double* column_dual, double* row_value,
                         double* row_dual);
    HighsInt (*get_basis)(const void* highs, HighsInt* column_status, HighsInt* row_status);
    HighsInt (*set_basis)(void* highs, const HighsInt* column_status, const HighsInt* row_status);
    HighsInt (*int_info)(const void* highs, const char* name, HighsInt* value);
    HighsInt (*double_info)(const void* highs, const char* name, double* value);
    void (*reset_scheduler)(HighsInt blocking);  // of the calling thread

    // The library must stay the one that Python imported, so that its threads' schedulers are shared.
    static HighsApi load(const char* path) {
        void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) throw std::runtime_error(std::string("HiGHS: ") + dlerror());
        const auto find = [&](auto& function, const char* name) {
            void* symbol = dlsym(library, name);
            if (symbol == nullptr) throw std::runtime_error(std::string("HiGHS: no ") + name + " in " + path);
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
        };
        HighsApi api;
        find(api.create, "Highs_create");
        find(api.destroy, "Highs_destroy");
        find(api.size_of_int, "Highs_getSizeofHighsInt");
        find(api.set_bool, "Highs_setBoolOptionValue");
        find(api.set_int, "Highs_setIntOptionValue");
        find(api.set_double, "Highs_setDoubleOptionValue");
        find(api.set_string, "Highs_setStringOptionValue");
        find(api.pass_lp, "Highs_passLp");
        find(api.add_column, "Highs_addCol");
        find(api.add_row, "Highs_addRow");
        find(api.change_costs, "Highs_changeColsCostByRange");
        find(api.change_column_bounds, "Highs_changeColBounds");
        find(api.change_row_bounds, "Highs_changeRowBounds");
        find(api.change_coefficient, "Highs_changeCoeff");
        find(api.change_integrality, "Highs_changeColsIntegralityByRange");
        find(api.run, "Highs_run");
        find(api.clear_solver, "Highs_clearSolver");
        find(api.model_status, "Highs_getModelStatus");
        find(api.solution, "Highs_getSolution");
        find(api.get_basis, "Highs_getBasis");
        find(api.set_basis, "Highs_setBasis");
        find(api.int_info, "Highs_getIntInfoValue");
        find(api.double_info, "Highs_getDoubleInfoValue");
        find(api.reset_scheduler, "Highs_resetGlobalScheduler");
        void* highs = api.create();
        const HighsInt size = api.size_of_int(highs);
        api.destroy(highs);
        if (size != sizeof(HighsInt)) {
            throw std::runtime_error("HiGHS: its integers have " + std::to_string(size) + " bytes, expected " +
                                     std::to_string(sizeof(HighsInt)));
        }
        return api;
    }
};

}  // namespace ocp
