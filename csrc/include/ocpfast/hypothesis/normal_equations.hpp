// Least squares by normal equations: G theta = b with G = sum of phi phi', possibly singular.
//
// Where G is singular the shortest solution is taken, as numpy.linalg.lstsq does. The rank is that of a Cholesky
// factorisation with pivots, of G scaled to a unit diagonal so that the units of features do not matter: a feature of
// which the ones before it leave less than `dependence` of its square counts as dependent on them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace ocp {

class NormalEquations {
public:
    // A millionth of a feature's length, squared: sums over 10^5 data are rounded to about 1e-13.
    static constexpr double dependence = 1e-12;

    explicit NormalEquations(std::size_t n) : n_(n), gram_(n * n, 0.0) {}

    void add(const double* feature) {
        for (std::size_t i = 0; i < n_; ++i) {
            if (feature[i] == 0) continue;
            for (std::size_t j = 0; j <= i; ++j) gram_[i * n_ + j] += feature[i] * feature[j];
        }
        factored_ = false;
    }

    std::size_t rank() {
        if (!factored_) factor();
        return rank_;
    }

    // The shortest theta with G theta = b, into b.
    void solve(std::vector<double>& b) {
        if (std::all_of(b.begin(), b.end(), [](double one) { return one == 0; })) return;
        if (!factored_) factor();
        reduced_.assign(rank_, 0.0);
        if (rank_ == n_) {  // L L' y = D^-1 b, theta = D^-1 y
            for (std::size_t k = 0; k < n_; ++k) reduced_[k] = b[order_[k]] / length_[order_[k]];
            solve_triangular(factor_, n_);
            for (std::size_t k = 0; k < n_; ++k) b[order_[k]] = reduced_[k] / length_[order_[k]];
            return;
        }
        // G = M M' with M = D L, so theta = M (M'M)^-1 (M'M)^-1 M' b
        for (std::size_t i = 0; i < n_; ++i) {
            for (std::size_t k = 0; k < rank_; ++k) reduced_[k] += tall(i, k) * b[order_[i]];
        }
        solve_triangular(small_, rank_);
        solve_triangular(small_, rank_);
        for (std::size_t i = 0; i < n_; ++i) {
            double sum = 0;
            for (std::size_t k = 0; k < rank_; ++k) sum += tall(i, k) * reduced_[k];
            b[order_[i]] = sum;
        }
    }

    template <class Archive>
    void archive(Archive& a) {
        a.fixed(gram_);  // its factor is made anew: the same bits
        if constexpr (Archive::loading) factored_ = false;
    }

private:
    double tall(std::size_t i, std::size_t k) const {  // M, rows in the order of pivots
        return i < k ? 0.0 : length_[order_[i]] * factor_[i * n_ + k];
    }

    void factor() {
        factored_ = true;
        length_.resize(n_);
        for (std::size_t i = 0; i < n_; ++i) length_[i] = std::sqrt(gram_[i * n_ + i]);
        order_.resize(n_);
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        factor_.assign(n_ * n_, 0.0);
        left_.resize(n_);  // of the diagonal
        for (std::size_t i = 0; i < n_; ++i) left_[i] = length_[i] > 0 ? 1.0 : 0.0;
        for (rank_ = 0; rank_ < n_; ++rank_) {
            const std::size_t k = rank_;
            std::size_t pivot = k;
            for (std::size_t i = k + 1; i < n_; ++i) {
                if (left_[order_[i]] > left_[order_[pivot]]) pivot = i;
            }
            if (!(left_[order_[pivot]] > dependence)) break;
            std::swap(order_[k], order_[pivot]);
            std::swap_ranges(&factor_[k * n_], &factor_[k * n_] + k, &factor_[pivot * n_]);
            const double diagonal = std::sqrt(left_[order_[k]]);
            factor_[k * n_ + k] = diagonal;
            for (std::size_t i = k + 1; i < n_; ++i) {
                double sum = scaled(order_[i], order_[k]);
                for (std::size_t j = 0; j < k; ++j) sum -= factor_[i * n_ + j] * factor_[k * n_ + j];
                const double entry = sum / diagonal;
                factor_[i * n_ + k] = entry;
                left_[order_[i]] -= entry * entry;
            }
        }
        if (rank_ < n_) factor_small();
    }

    double scaled(std::size_t i, std::size_t j) const {
        const double entry = gram_[std::max(i, j) * n_ + std::min(i, j)];
        return entry == 0 ? 0.0 : entry / length_[i] / length_[j];
    }

    // The Cholesky factor of M'M.
    void factor_small() {
        const std::size_t r = rank_;
        small_.assign(r * r, 0.0);
        for (std::size_t a = 0; a < r; ++a) {
            for (std::size_t b = 0; b <= a; ++b) {
                double sum = 0;
                for (std::size_t i = a; i < n_; ++i) sum += tall(i, a) * tall(i, b);
                for (std::size_t j = 0; j < b; ++j) sum -= small_[a * r + j] * small_[b * r + j];
                small_[a * r + b] = a == b ? std::sqrt(sum) : sum / small_[b * r + b];
            }
        }
    }

    // L L' x = reduced_, in place.
    void solve_triangular(const std::vector<double>& lower, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < i; ++j) reduced_[i] -= lower[i * n + j] * reduced_[j];
            reduced_[i] /= lower[i * n + i];
        }
        for (std::size_t i = n; i-- > 0;) {
            for (std::size_t j = i + 1; j < n; ++j) reduced_[i] -= lower[j * n + i] * reduced_[j];
            reduced_[i] /= lower[i * n + i];
        }
    }

    std::size_t n_, rank_ = 0;
    std::vector<double> gram_;  // G, the lower triangle
    bool factored_ = false;
    std::vector<double> length_;  // D: square roots of G's diagonal
    std::vector<std::size_t> order_;
    std::vector<double> factor_;  // L, rows in the order of pivots
    std::vector<double> small_, left_, reduced_;
};

}  // namespace ocp
