// What is learned of one period of a linear-quadratic class with continuous actions: equalities phi(z).theta = value.
//
// Features are divided by their length |z|^2, so that a state of 1e-9 says as much as one of 1e9. The directions that
// are known are an orthonormal basis; an equality in a new direction gives theta there. How far off that may be is kept
// beside it, to tell a contradiction from rounding: a value that comes from a successor has that one's error, and a
// direction seen only as a small residual magnifies it. Equalities in known directions change nothing: to take them
// into a weighted least-squares problem was measured, and failed where this does not. (On 240 badly conditioned systems
// a fixed tolerance counted 151 contradictions that were rounding; this one counts none.)
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
    static constexpr double rounding = 1e-15;  // what it makes of rewards, relative to the largest

    QuadraticBlock(std::size_t n_state, std::size_t n_action, const Tolerances& tolerances)
        : n_(n_state),
          m_(n_action),
          n_features_(n_monomials(n_state + n_action)),
          tolerances_(tolerances),
          known_(n_features_),
          theta_(n_features_),
          matrix_((n_state + n_action) * (n_state + n_action)),
          factor_(n_action * n_action),
          last_(n_state),
          z_(n_state + n_action),
          phi_(n_features_),
          action_(n_action),
          slope_(n_action) {}

    std::size_t rank() const { return known_.size(); }

    // ---- one pair (x,u) ------------------------------------------------------------------------------------------

    bool determined(const double* x, const double* u) {
        return known_.full() || direct(x, u) == 0 || residual() <= tolerances_.dependence;
    }
    // Where it is determined.
    double value(const double* x, const double* u) {
        const double size = direct(x, u);
        return size * size * dot(phi_.data(), theta_.data(), n_features_);
    }
    // About how far off that value may be.
    double error(const double* x, const double* u) {
        const double size = direct(x, u);
        if (size == 0) return 0;
        const double left = residual();
        return size * size * (spread() + left * scale_);
    }

    // How large values are, about, where actions have this size.
    double magnitude(const double* x, double scale) const { return scale_ * (dot(x, x, n_) + scale * scale); }

    // The feature of a pair, divided by its length.
    const std::vector<double>& feature(const double* x, const double* u) {
        if (direct(x, u) == 0) std::fill(phi_.begin(), phi_.end(), 0.0);
        return phi_;
    }

    // Whether Q_t(x,u) = value is nothing new.
    bool agrees(const double* x, const double* u, double value) {
        const double size = direct(x, u);
        if (size == 0) return true;
        const double off = value / (size * size) - dot(phi_.data(), theta_.data(), n_features_);
        if (std::abs(off) > tolerances_.feasibility * scale_) return false;
        return known_.full() || residual() <= tolerances_.dependence;
    }

    // Q_t(x,u) = value, give or take an error beyond that of rounding. False where that contradicts what is known.
    bool join(const double* x, const double* u, double value, double error) {
        const double size = direct(x, u);
        if (size == 0) return true;
        value /= size * size;
        largest_value_ = std::max(largest_value_, std::abs(value));
        error = error / (size * size) + rounding * largest_value_;
        const double left = residual();
        const double off = value - dot(coefficients_.data(), solution_.data(), rank());
        if (left <= tolerances_.dependence) {
            const double allowed = tolerances_.feasibility * scale_ + 100 * (error + spread() + left * scale_);
            return std::abs(off) <= allowed;
        }
        errors_.push_back(std::hypot(error, spread()) / left);
        solution_.push_back(off / left);
        known_.add(row_, left);
        std::fill(theta_.begin(), theta_.end(), 0.0);
        known_.combine(solution_.data(), theta_);
        scale_ = length(theta_.data(), n_features_);
        write_matrix(theta_.data(), n_ + m_, matrix_.data());
        concave_ = factorise();
        return true;
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

    bool determined(const double* x, double scale) {
        if (known_.full() || (has_last_ && std::equal(last_.begin(), last_.end(), x))) return true;
        for (std::size_t number = 0; number < n_members(); ++number) {
            if (!determined(x, member(number, scale))) return false;
        }
        // fixed initial states come again and again, without the period's theta ever being known in full
        has_last_ = true;
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

    template <class Archive>
    void archive(Archive& a) {
        a(known_, solution_, errors_);
        a.fixed(theta_);
        a.fixed(matrix_);
        a.fixed(factor_);
        a(concave_, scale_, largest_value_);
        a.fixed(last_);
        a(has_last_);
        a.require(solution_.size() == rank() && errors_.size() == rank(), "a size");
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

    // What is left of phi_ beside what is known, into row_; returns its length.
    double residual() {
        row_ = phi_;
        known_.split(row_, coefficients_);
        return length(row_.data(), n_features_);
    }

    // About how far off coefficients_.y may be.
    double spread() const {
        double sum = 0;
        for (std::size_t k = 0; k < rank(); ++k) {
            const double part = coefficients_[k] * errors_[k];
            sum += part * part;
        }
        return std::sqrt(sum);
    }

    // Cholesky of -Q_uu; false where it is not positive definite, beyond rounding.
    bool factorise() {
        const std::size_t d = n_ + m_;
        const double least = 1e-12 * length(theta_.data(), n_features_);
        for (std::size_t i = 0; i < m_; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                const double rest = -matrix_[(n_ + i) * d + n_ + j] - dot(&factor_[i * m_], &factor_[j * m_], j);
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
    Basis known_;                   // V: directions in which theta is known
    std::vector<double> solution_;  // y = V.theta
    std::vector<double> errors_;    // about how far off each may be
    std::vector<double> theta_;     // V'y
    std::vector<double> matrix_;    // Q with z'Qz = phi(z).theta
    std::vector<double> factor_;    // lower triangle L with LL' = -Q_uu
    bool concave_ = false;          // whether there is one
    double scale_ = 0;              // |theta|
    double largest_value_ = 0;      // of a unit z, seen
    std::vector<double> last_;      // a state whose actions are all determined, where there is one
    bool has_last_ = false;

    std::vector<double> z_, phi_, row_, coefficients_, action_, slope_;  // scratch
};

}  // namespace ocp
