// What is learned of one period of a linear-quadratic class with continuous actions: equalities phi(z).theta = value.
//
// Features are divided by their length |z|^2, so that a state of 1e-9 says as much as one of 1e9. The directions that
// are known are an orthonormal basis; theta in them is the least-squares solution over the equalities, kept as a
// triangle. An equality in a known direction joins only where it is needed: where its leverage shows that the
// equalities so far say less about it than it does itself. As each such row at least doubles the determinant of the
// normal equations, and rows have length 1, only finitely many do, and what is known becomes quiet.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/basis.hpp"
#include "ocpfast/hypothesis/quadratic_features.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

class QuadraticBlock {
public:
    // Shorter pairs (x,u) are worth 0, longer ones are refused: their squares must be numbers.
    static constexpr double smallest = 1e-100, largest = 1e100;

    QuadraticBlock(std::size_t n_state, std::size_t n_action, const Tolerances& tolerances)
        : n_(n_state),
          m_(n_action),
          n_features_(n_monomials(n_state + n_action)),
          tolerances_(tolerances),
          known_(n_features_),
          triangle_(n_features_ * n_features_),
          right_(n_features_),
          solution_(n_features_),
          theta_(n_features_),
          matrix_((n_state + n_action) * (n_state + n_action)),
          factor_(n_action * n_action),
          last_(n_state),
          z_(n_state + n_action),
          phi_(n_features_),
          action_(n_action),
          slope_(n_action) {}

    std::size_t rank() const { return known_.size(); }
    std::uint64_t version() const { return version_; }  // number of changes

    // ---- one pair (x,u) ------------------------------------------------------------------------------------------

    bool determined(const double* x, const double* u) {
        return known_.full() || direct(x, u) == 0 || residual() <= tolerances_.dependence;
    }
    // Where it is determined.
    double value(const double* x, const double* u) {
        const double size = direct(x, u);
        return size * size * dot(phi_.data(), theta_.data(), n_features_);
    }

    enum class Joined { not_at_all, new_direction, refined, contradicted };

    // Q_t(x,u) = value.
    Joined join(const double* x, const double* u, double value) {
        const double size = direct(x, u);
        if (size == 0) return Joined::not_at_all;
        value /= size * size;
        row_ = phi_;
        known_.split(row_, coefficients_);
        const double left = length(row_.data(), n_features_);
        const bool fresh = left > tolerances_.dependence;
        if (!fresh) {
            const double spread = std::sqrt(leverage());
            const double error = std::abs(value - dot(coefficients_.data(), solution_.data(), rank()));
            const double scale = length(solution_.data(), rank());
            // where the equalities so far say little about this direction, little is contradicted
            if (error > tolerances_.feasibility * scale * std::max(1.0, spread)) return Joined::contradicted;
            if (spread <= 1) return Joined::not_at_all;
        } else {
            known_.add(row_, left);
            coefficients_.push_back(left);
        }
        rotate_in(value);
        solve();
        ++version_;
        return fresh ? Joined::new_direction : Joined::refined;
    }

    // ---- one state: all u ----------------------------------------------------------------------------------------

    // The unisolvent set {0, +-s.e_i, s(e_i + e_j)}: a quadratic in u is known once its values there are.
    std::size_t n_members() const { return (m_ + 1) * (m_ + 2) / 2; }
    const double* member(std::size_t number, double scale) {
        std::fill(action_.begin(), action_.end(), 0.0);
        if (number == 0) return action_.data();
        if (number <= 2 * m_) {
            action_[(number - 1) / 2] = number % 2 == 1 ? scale : -scale;
            return action_.data();
        }
        std::size_t i = 0;
        for (number -= 2 * m_ + 1; number >= m_ - 1 - i; ++i) number -= m_ - 1 - i;
        action_[i] = action_[i + 1 + number] = scale;
        return action_.data();
    }

    // How far a pair is from what is known, relative to its length; 0 where it is determined.
    double novelty(const double* x, const double* u) { return novelty_beside(known_, x, u); }
    double novelty_beside(const Basis& basis, const double* x, const double* u) {
        if (basis.full() || direct(x, u) == 0) return 0;
        const double left = residual_beside(basis);
        return left <= tolerances_.dependence ? 0 : left;
    }
    // The direction of a pair becomes part of a basis, where it is not.
    void widen(Basis& basis, const double* x, const double* u) {
        if (novelty_beside(basis, x, u) > 0) basis.add(row_, length(row_.data(), n_features_));
    }

    bool determined(const double* x, double scale) {
        if (known_.full() || (last_version_ == version_ && std::equal(last_.begin(), last_.end(), x))) return true;
        for (std::size_t number = 0; number < n_members(); ++number) {
            if (novelty(x, member(number, scale)) > 0) return false;
        }
        // fixed initial states come again and again, without the period's theta ever being known in full
        last_version_ = version_;
        std::copy(x, x + n_, last_.begin());
        return true;
    }

    // Where all u are determined and their quadratic is concave: its maximum, and where that is attained. False where
    // it is not concave.
    bool maximise(const double* x, double* action, double& value) {
        if (!concave_) return false;
        const std::size_t d = n_ + m_;
        value = 0;
        for (std::size_t i = 0; i < n_; ++i) value += x[i] * dot(&matrix_[i * d], x, n_);
        for (std::size_t i = 0; i < m_; ++i) action[i] = slope_[i] = dot(&matrix_[(n_ + i) * d], x, n_);
        solve_by_factor(action);  // -Q_uu u = Q_ux x
        for (std::size_t i = 0; i < m_; ++i) value += slope_[i] * action[i];
        return true;
    }

private:
    // z/|z| into z_ and its monomials into phi_; returns |z|.
    double direct(const double* x, const double* u) {
        std::copy(x, x + n_, z_.begin());
        std::copy(u, u + m_, z_.begin() + static_cast<std::ptrdiff_t>(n_));
        const double size = length(z_.data(), n_ + m_);
        if (size < smallest) return 0;
        for (double& part : z_) part /= size;
        write_monomials(z_.data(), n_ + m_, phi_.data());
        return size;
    }

    double residual() { return residual_beside(known_); }
    double residual_beside(const Basis& basis) {
        row_ = phi_;
        basis.split(row_, coefficients_);
        return length(row_.data(), n_features_);
    }

    // Of coefficients_ in the least-squares problem: the square of how much an error of the equalities is magnified.
    double leverage() {
        weights_ = coefficients_;
        double sum = 0;
        for (std::size_t k = 0; k < rank(); ++k) {
            const double weight = weights_[k] /= triangle_[k * n_features_ + k];
            for (std::size_t j = k + 1; j < rank(); ++j) weights_[j] -= weight * triangle_[k * n_features_ + j];
            sum += weight * weight;
        }
        return sum;
    }

    // One row more, coefficients_.y = value, by Givens rotations.
    void rotate_in(double value) {
        const std::size_t r = rank();
        for (std::size_t k = 0; k < r; ++k) {
            double* row = &triangle_[k * n_features_];
            const double size = std::hypot(row[k], coefficients_[k]);
            if (size == 0) continue;
            const double c = row[k] / size, s = coefficients_[k] / size;
            for (std::size_t j = k; j < r; ++j) {
                const double above = row[j];
                row[j] = c * above + s * coefficients_[j];
                coefficients_[j] = c * coefficients_[j] - s * above;
            }
            const double above = right_[k];
            right_[k] = c * above + s * value;
            value = c * value - s * above;
        }
    }

    void solve() {
        for (std::size_t k = rank(); k-- > 0;) {
            const double* row = &triangle_[k * n_features_];
            solution_[k] = (right_[k] - dot(row + k + 1, &solution_[k] + 1, rank() - k - 1)) / row[k];
        }
        std::fill(theta_.begin(), theta_.end(), 0.0);
        known_.combine(solution_.data(), theta_);
        write_matrix(theta_.data(), n_ + m_, matrix_.data());
        concave_ = factorise();
    }

    // Cholesky of -Q_uu; false where it is not positive definite, beyond rounding.
    bool factorise() {
        const std::size_t d = n_ + m_;
        const double least = 1e-12 * length(theta_.data(), n_features_);
        for (std::size_t i = 0; i < m_; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                const double rest =
                    -matrix_[(n_ + i) * d + n_ + j] - dot(&factor_[i * m_], &factor_[j * m_], j);
                if (i == j && !(rest > least)) return false;
                factor_[i * m_ + j] = i == j ? std::sqrt(rest) : rest / factor_[j * m_ + j];
            }
        }
        return true;
    }
    void solve_by_factor(double* vector) const {
        for (std::size_t i = 0; i < m_; ++i) {
            vector[i] = (vector[i] - dot(&factor_[i * m_], vector, i)) / factor_[i * m_ + i];
        }
        for (std::size_t i = m_; i-- > 0;) {
            for (std::size_t j = i + 1; j < m_; ++j) vector[i] -= factor_[j * m_ + i] * vector[j];
            vector[i] /= factor_[i * m_ + i];
        }
    }

    std::size_t n_, m_, n_features_;  // n, m, (m+n)(m+n+1)/2
    Tolerances tolerances_;
    Basis known_;                    // V: directions in which theta is known
    std::vector<double> triangle_;   // of the least-squares problem for y = V.theta, row by row
    std::vector<double> right_;      // its right-hand side
    std::vector<double> solution_;   // y
    std::vector<double> theta_;      // V'y
    std::vector<double> matrix_;     // Q with z'Qz = phi(z).theta
    std::vector<double> factor_;     // lower triangle L with LL' = -Q_uu
    bool concave_ = false;           // whether there is one
    std::uint64_t version_ = 0;
    std::vector<double> last_;       // a state whose actions are all determined
    std::uint64_t last_version_ = ~std::uint64_t{0};

    std::vector<double> z_, phi_, row_, coefficients_, weights_, action_, slope_;  // scratch
};

}  // namespace ocp
