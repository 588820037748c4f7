// The matrices of a linear-quadratic system, and one step of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ocp {

// A (n x n), B (n x m), Q (n x n) positive semidefinite and R (m x m) positive definite, both symmetric; row by row.
struct LinearQuadraticMatrices {
    static constexpr std::size_t max_n = 1024;  // so that a step needs no memory but the stack

    std::size_t n = 0, m = 0;
    std::vector<double> a, b, q, r;

    // Replaces x by Ax + Bu and returns the cost x'Qx + u'Ru of the x and u there were.
    double move(double* x, const double* u) const noexcept {
        const double cost = form(q.data(), x, n) + form(r.data(), u, m);
        double next[max_n];
        for (std::size_t i = 0; i < n; ++i) {
            double sum = 0.0;
            for (std::size_t j = 0; j < n; ++j) sum += a[i * n + j] * x[j];
            for (std::size_t j = 0; j < m; ++j) sum += b[i * m + j] * u[j];
            next[i] = sum;
        }
        std::copy_n(next, n, x);
        return cost;
    }

    // z'Mz for a square matrix M.
    static double form(const double* matrix, const double* z, std::size_t size) noexcept {
        double total = 0.0;
        for (std::size_t i = 0; i < size; ++i) {
            double sum = 0.0;
            for (std::size_t j = 0; j < size; ++j) sum += matrix[i * size + j] * z[j];
            total += z[i] * sum;
        }
        return total;
    }
};

}  // namespace ocp
