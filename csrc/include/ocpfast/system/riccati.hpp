// The Riccati recursion: the cost x'Px that remains in a linear-quadratic system, one period back at a time.
//
//     M = [ Q + A'PA   A'PB     ]   is the matrix of -Q*_t(x, u) where P is that of -V*_{t+1}; minimising over u gives
//         [ B'PA       R + B'PB ]   u = -Kx with K = (R + B'PB)^-1 B'PA, and P_t = Q + K'RK + (A - BK)'P(A - BK).
//
// The last formula (Joseph's) is a sum of positive semidefinite terms in which an error of K counts to second order
// only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ocpfast/system/linear_quadratic_matrices.hpp"

namespace ocp {

class Riccati {
public:
    enum class Status { ok, overflow, ill_conditioned };

    explicit Riccati(const LinearQuadraticMatrices& given)
        : given_(given),
          pa_(given.n * given.n),
          pb_(given.n * given.m),
          uu_(given.m * given.m),
          gain_(given.m * given.n),
          closed_(given.n * given.n) {}

    // The matrix M, (n + m) x (n + m), of -Q*_t from the P of period t + 1.
    Status action_values(const double* p, double* values) {
        products(p);
        const std::size_t n = given_.n, m = given_.m, size = n + m;
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                double sum = given_.q[i * n + j];
                for (std::size_t k = 0; k < n; ++k) sum += given_.a[k * n + i] * pa_[k * n + j];
                values[i * size + j] = values[j * size + i] = sum;
            }
            for (std::size_t j = 0; j < m; ++j) {
                double sum = 0.0;
                for (std::size_t k = 0; k < n; ++k) sum += given_.a[k * n + i] * pb_[k * m + j];
                values[i * size + n + j] = values[(n + j) * size + i] = sum;
            }
        }
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < m; ++j) values[(n + i) * size + n + j] = uu_[i * m + j];
        }
        return finite(values, size * size) ? Status::ok : Status::overflow;
    }

    // Replaces the P of period t + 1 by that of period t.
    Status back(double* p) {
        products(p);
        if (!finite(uu_.data(), uu_.size())) return Status::overflow;
        if (!factorise()) return Status::ill_conditioned;
        solve_gain();
        const std::size_t n = given_.n, m = given_.m;
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                double sum = given_.a[i * n + j];
                for (std::size_t k = 0; k < m; ++k) sum -= given_.b[i * m + k] * gain_[k * n + j];
                closed_[i * n + j] = sum;
            }
        }
        for (std::size_t i = 0; i < n; ++i) {  // pa_ is now P(A - BK)
            for (std::size_t j = 0; j < n; ++j) {
                double sum = 0.0;
                for (std::size_t k = 0; k < n; ++k) sum += p[i * n + k] * closed_[k * n + j];
                pa_[i * n + j] = sum;
            }
        }
        for (std::size_t i = 0; i < m; ++i) {  // pb_ is now (RK)'
            for (std::size_t j = 0; j < n; ++j) {
                double sum = 0.0;
                for (std::size_t k = 0; k < m; ++k) sum += given_.r[i * m + k] * gain_[k * n + j];
                pb_[j * m + i] = sum;
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                double sum = given_.q[i * n + j];
                for (std::size_t k = 0; k < m; ++k) sum += gain_[k * n + i] * pb_[j * m + k];
                for (std::size_t k = 0; k < n; ++k) sum += closed_[k * n + i] * pa_[k * n + j];
                p[i * n + j] = p[j * n + i] = sum;
            }
        }
        return finite(p, n * n) ? Status::ok : Status::overflow;
    }

    // The same over many periods; stops at the first that fails.
    Status back(std::int64_t periods, double* p) {
        for (; periods > 0; --periods) {
            const Status status = back(p);
            if (status != Status::ok) return status;
        }
        return Status::ok;
    }

private:
    static bool finite(const double* numbers, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            if (!std::isfinite(numbers[i])) return false;
        }
        return true;
    }

    // PA, PB and R + B'PB.
    void products(const double* p) {
        const std::size_t n = given_.n, m = given_.m;
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                double sum = 0.0;
                for (std::size_t k = 0; k < n; ++k) sum += p[i * n + k] * given_.a[k * n + j];
                pa_[i * n + j] = sum;
            }
            for (std::size_t j = 0; j < m; ++j) {
                double sum = 0.0;
                for (std::size_t k = 0; k < n; ++k) sum += p[i * n + k] * given_.b[k * m + j];
                pb_[i * m + j] = sum;
            }
        }
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                double sum = given_.r[i * m + j];
                for (std::size_t k = 0; k < n; ++k) sum += given_.b[k * m + i] * pb_[k * m + j];
                uu_[i * m + j] = uu_[j * m + i] = sum;
            }
        }
    }

    // Cholesky: the lower triangle of uu_ becomes L with LL' = R + B'PB. False where rounding left it indefinite.
    bool factorise() {
        const std::size_t m = given_.m;
        for (std::size_t j = 0; j < m; ++j) {
            double pivot = uu_[j * m + j];
            for (std::size_t k = 0; k < j; ++k) pivot -= uu_[j * m + k] * uu_[j * m + k];
            if (!(pivot > 0.0)) return false;
            const double root = std::sqrt(pivot);
            uu_[j * m + j] = root;
            for (std::size_t i = j + 1; i < m; ++i) {
                double sum = uu_[i * m + j];
                for (std::size_t k = 0; k < j; ++k) sum -= uu_[i * m + k] * uu_[j * m + k];
                uu_[i * m + j] = sum / root;
            }
        }
        return true;
    }

    // K = (LL')^-1 B'PA, column by column.
    void solve_gain() {
        const std::size_t n = given_.n, m = given_.m;
        for (std::size_t column = 0; column < n; ++column) {
            for (std::size_t i = 0; i < m; ++i) {
                double sum = 0.0;
                for (std::size_t k = 0; k < n; ++k) sum += given_.b[k * m + i] * pa_[k * n + column];
                for (std::size_t k = 0; k < i; ++k) sum -= uu_[i * m + k] * gain_[k * n + column];
                gain_[i * n + column] = sum / uu_[i * m + i];
            }
            for (std::size_t i = m; i-- > 0;) {
                double sum = gain_[i * n + column];
                for (std::size_t k = i + 1; k < m; ++k) sum -= uu_[k * m + i] * gain_[k * n + column];
                gain_[i * n + column] = sum / uu_[i * m + i];
            }
        }
    }

    const LinearQuadraticMatrices& given_;
    std::vector<double> pa_, pb_, uu_, gain_, closed_;
};

// P_0 .. P_H into p, (H + 1, n, n); on failure at a period those before it mean nothing.
inline Riccati::Status all_remaining(const LinearQuadraticMatrices& matrices, std::int64_t horizon, double* p) {
    const std::size_t size = matrices.n * matrices.n;
    double* now = p + static_cast<std::size_t>(horizon) * size;
    std::fill_n(now, size, 0.0);
    Riccati recursion(matrices);
    while (now != p) {
        std::copy_n(now, size, now - size);
        now -= size;
        const Riccati::Status status = recursion.back(now);
        if (status != Riccati::Status::ok) return status;
    }
    return Riccati::Status::ok;
}

// M of Q*_t with `later` periods after t, (n + m, n + m): Q*_t(x, u) = -(x, u)'M(x, u).
inline Riccati::Status action_values(const LinearQuadraticMatrices& matrices, std::int64_t later, double* values) {
    std::vector<double> p(matrices.n * matrices.n, 0.0);
    Riccati recursion(matrices);
    const Riccati::Status status = recursion.back(later, p.data());
    return status == Riccati::Status::ok ? recursion.action_values(p.data(), values) : status;
}

}  // namespace ocp
