// What counts as equal in linear classes.
#pragma once

namespace ocp {

// Lengths are relative to the feature at hand, values to the larger of 1 and themselves.
struct Tolerances {
    double dependence = 1e-9;  // a feature whose residual is shorter is in the span
    double span = 2e-15;       // likewise of all that is added up, where that is exact: rounding of features themselves
    double doubt = 1e-13;      // likewise; between both it is not known whether it is
    double observed = 1e-15;   // how wrong the value of an equality is taken to be
    double certainty = 2e-9;   // how wrong a value may be that equalities tell, else it is uncertain
    double equality = 1e-9;    // a constraint with U - L smaller, or L above U by rounding, is an equality
    double feasibility = 1e-8;  // how far a kept constraint may be from being satisfiable; below HiGHS's own
    double ties = 1e-9;         // upper values closer than this are tied

    // Of linear programs, whose rows and objectives have length 1: what HiGHS is told, and what its optima must
    // satisfy.
    double primal = 1e-7;
    double dual = 1e-9;
    double verified = 1e-6;
    double rounding = 1e-12;  // multipliers below this are 0
    // Rows whose directions are closer than this are HiGHS's, whose answers are checked; the others make a box.
    double box = 1e-6;
    // Of a row's feature so much must be outside of what equalities and other rows span: the fewer digits are left of
    // it, the less HiGHS's answers are worth. Others are left out, but for the bounds of their own feature.
    double row = 1e-7;
};

}  // namespace ocp
