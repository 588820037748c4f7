// What counts as equal in linear classes. Everything is relative to the length of the feature at hand.
#pragma once

namespace ocp {

struct Tolerances {
    double dependence = 1e-9;   // a feature whose residual is smaller is in the span
    double equality = 1e-9;     // a constraint with U - L smaller is an equality
    double feasibility = 1e-8;  // how far a kept constraint may be from being satisfiable; below HiGHS's own 1e-7
    double ties = 1e-9;         // upper values closer than this are tied
};

}  // namespace ocp
