// The monomials of a linear-quadratic class: Q_t(x,u) = phi(z).theta with z = (x,u), phi(z) the products z_i z_j.
//
// Products of different components carry a factor of sqrt(2), so that phi(z).phi(w) = (z.w)^2: phi has the length
// |z|^2, and turning the coordinates of z turns phi without stretching it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ocp {

inline std::size_t n_monomials(std::size_t n) {
    return n * (n + 1) / 2;
}

inline constexpr double sqrt_of_two = 1.4142135623730951;

inline void write_monomials(const double* z, std::size_t n, double* phi) {
    for (std::size_t i = 0; i < n; ++i) {
        *phi++ = z[i] * z[i];
        for (std::size_t j = i + 1; j < n; ++j) *phi++ = sqrt_of_two * z[i] * z[j];
    }
}

// The symmetric matrix Q with phi(z).theta = z'Qz, row by row.
inline void write_matrix(const double* theta, std::size_t n, double* matrix) {
    for (std::size_t i = 0; i < n; ++i) {
        matrix[i * n + i] = *theta++;
        for (std::size_t j = i + 1; j < n; ++j) matrix[i * n + j] = matrix[j * n + i] = *theta++ / sqrt_of_two;
    }
}

// Where actions are a finite list, this is a linear class over vector states; `features` is its ocp_feature_function
// (ocpfast/features.h), with a QuadraticList as user data.
class QuadraticList {
public:
    // actions: n_action numbers for each.
    QuadraticList(std::size_t n_state, std::size_t n_action, std::vector<double> actions)
        : n_state_(n_state), n_action_(n_action), actions_(std::move(actions)) {}

    static int features(std::int64_t, const void* state, std::int64_t action, double* phi, void* user_data) {
        const auto& self = *static_cast<const QuadraticList*>(user_data);
        const auto* x = static_cast<const double*>(state);
        const double* u = &self.actions_[static_cast<std::size_t>(action) * self.n_action_];
        const std::size_t n = self.n_state_;
        const auto z = [&](std::size_t i) { return i < n ? x[i] : u[i - n]; };
        for (std::size_t i = 0; i < n + self.n_action_; ++i) {  // no scratch: several threads call this at once
            *phi++ = z(i) * z(i);
            for (std::size_t j = i + 1; j < n + self.n_action_; ++j) *phi++ = sqrt_of_two * z(i) * z(j);
        }
        return 0;
    }

private:
    std::size_t n_state_, n_action_;
    std::vector<double> actions_;
};

}  // namespace ocp
