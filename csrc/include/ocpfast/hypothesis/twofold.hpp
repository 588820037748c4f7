// Vectors with twice the digits of a double.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "ocpfast/compensated_sum.hpp"

namespace ocp {

using Twofold = std::vector<CompensatedSum>;

inline void add_product(double a, double b, CompensatedSum& sum) {
    const double product = a * b;
    sum.add(product);
    sum.add(std::fma(a, b, -product));
}
inline void add_multiple(double factor, const double* vector, Twofold& sum) {
    for (std::size_t i = 0; i < sum.size(); ++i) add_product(factor, vector[i], sum[i]);
}
inline void round(const Twofold& exact, std::vector<double>& rounded) {
    rounded.resize(exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) rounded[i] = exact[i].value();
}

}  // namespace ocp
