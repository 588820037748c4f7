// The functions of HiGHS's C API that ocpfast calls, as a table: neither its headers nor its library are needed to
// compile. `highs_library.hpp` fills it in from a library found at run time, `highs_linked.hpp` from one that the
// program is linked with. Their names and types are the stable part of HiGHS; tested with 1.9 to 1.15. Whoever fills in
// the table by other means keeps to their conventions: a negative status is a failure, nothing throws, create may
// return NULL.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

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
};

// visit(field, name) for each of them: the field of the table, the name in the library.
// clang-format off
#define OCP_FOR_EACH_HIGHS_FUNCTION(visit) \
    visit(create, Highs_create) \
    visit(destroy, Highs_destroy) \
    visit(size_of_int, Highs_getSizeofHighsInt) \
    visit(set_bool, Highs_setBoolOptionValue) \
    visit(set_int, Highs_setIntOptionValue) \
    visit(set_double, Highs_setDoubleOptionValue) \
    visit(set_string, Highs_setStringOptionValue) \
    visit(pass_lp, Highs_passLp) \
    visit(add_column, Highs_addCol) \
    visit(add_row, Highs_addRow) \
    visit(change_costs, Highs_changeColsCostByRange) \
    visit(change_column_bounds, Highs_changeColBounds) \
    visit(change_row_bounds, Highs_changeRowBounds) \
    visit(change_coefficient, Highs_changeCoeff) \
    visit(change_integrality, Highs_changeColsIntegralityByRange) \
    visit(run, Highs_run) \
    visit(clear_solver, Highs_clearSolver) \
    visit(model_status, Highs_getModelStatus) \
    visit(solution, Highs_getSolution) \
    visit(get_basis, Highs_getBasis) \
    visit(set_basis, Highs_setBasis) \
    visit(int_info, Highs_getIntInfoValue) \
    visit(double_info, Highs_getDoubleInfoValue) \
    visit(reset_scheduler, Highs_resetGlobalScheduler)
// clang-format on

// Throws where the library's integers have another size than the table's.
inline void check_integers(const HighsApi& api) {
    void* highs = api.create();
    const HighsInt size = api.size_of_int(highs);
    api.destroy(highs);
    if (size != sizeof(HighsInt)) {
        throw std::runtime_error("HiGHS: its integers have " + std::to_string(size) + " bytes, expected " +
                                 std::to_string(sizeof(HighsInt)));
    }
}

}  // namespace ocp
