// Rows L <= a.z <= U in independent directions, and multiples of them. In the coordinates w_k = a_k.z they are a box,
// so that extremes of linear functions can be written down and need no simplex.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

struct AffineFunction {
    std::vector<double> coefficients;
    double constant;
};

class IndependentRows {
public:
    explicit IndependentRows(const Tolerances& tolerances) : box_(tolerances.box), negligible_(tolerances.rounding) {}

    void clear() {
        directions_.clear();
        size_ = 0;
        rows_.clear();
        independent_ = true;
        outdated_ = true;
    }

    // HiGHS decides from now on.
    void give_up() { independent_ = false; }

    // Whether the rows are of this kind: if not, nothing below may be asked.
    bool independent() const { return independent_; }

    // A row over the first n variables, its coefficients of length 1 or so; a new direction is one over a new variable.
    void add(const double* coefficients, std::size_t n) {
        if (!independent_) return;
        if (n == size_ + 1) {
            // Weights can grow by 1 / the last coefficient. Where rounding could then decide between finite and not,
            // HiGHS, whose answers are checked, decides.
            independent_ = coefficients[size_] > box_;
            directions_.insert(directions_.end(), coefficients, coefficients + n);
            rows_.push_back({size_, 1, -infinity, infinity});
            ++size_;
        } else {
            weigh(coefficients, n, first_);
            std::size_t direction = 0, n_directions = 0;
            for (std::size_t k = 0; k < first_.size(); ++k) {
                if (std::abs(first_[k]) <= negligible_) continue;
                direction = k;
                ++n_directions;
            }
            independent_ = n <= size_ && n_directions == 1;
            if (independent_) rows_.push_back({direction, first_[direction], -infinity, infinity});
        }
        outdated_ = true;
    }

    void set_bounds(std::size_t row, double lower, double upper) {
        if (!independent_) return;
        rows_[row].lower = lower;
        rows_[row].upper = upper;
        outdated_ = true;
    }

    // sup of c.z; c of length 1 or so. Writes how many times it takes each row.
    double maximum(const std::vector<double>& objective, std::vector<double>& multipliers) {
        update();
        weigh(objective.data(), objective.size(), first_);
        double sum = 0;
        for (std::size_t k = 0; k < first_.size(); ++k) sum -= smallest(-first_[k], k, negligible_);
        take_rows(first_, multipliers);
        return sum;
    }

    // inf of max(f, g). By duality it is the largest over m in [0, 1] of inf m f + (1 - m) g, which is concave and
    // piecewise linear in m: one of its corners attains it, and they are 0, 1 and where a weight vanishes.
    // Writes m, and how many times -(m f + (1 - m) g) takes each row.
    double minimum_of_larger(const AffineFunction& f, const AffineFunction& g, double& m,
                             std::vector<double>& multipliers) {
        update();
        weigh(f.coefficients.data(), f.coefficients.size(), first_);
        weigh(g.coefficients.data(), g.coefficients.size(), second_);
        const std::size_t n = std::max(first_.size(), second_.size());
        first_.resize(n, 0.0);
        second_.resize(n, 0.0);
        const double size_of_f = largest(first_), size_of_g = largest(second_);
        double result = -infinity;
        m = 0;
        const auto mix = [&](double share) {
            const double little = negligible_ * (share * size_of_f + (1 - share) * size_of_g);
            double sum = share * f.constant + (1 - share) * g.constant;
            for (std::size_t k = 0; k < n; ++k) {
                sum += smallest(share * first_[k] + (1 - share) * second_[k], k, little);
            }
            if (sum <= result) return;
            result = sum;
            m = share;
        };
        mix(0);
        mix(1);
        for (std::size_t k = 0; k < n; ++k) {
            if (first_[k] * second_[k] < 0) mix(second_[k] / (second_[k] - first_[k]));
        }
        for (std::size_t k = 0; k < n; ++k) first_[k] = -m * first_[k] - (1 - m) * second_[k];
        take_rows(first_, multipliers);
        return result;
    }

    template <class Archive>
    void archive(Archive& a) {
        a(directions_, size_, rows_, independent_);
        if constexpr (Archive::loading) {
            outdated_ = true;
            if (!independent_) return;  // then nothing is asked
            a.require(size_ <= directions_.size() && directions_.size() == size_ * (size_ + 1) / 2, "a size");
            for (const Row& row : rows_) a.require_index(row.direction, 0, size_);
        }
    }
    std::size_t n_rows() const { return rows_.size(); }  // where they are independent
    std::size_t n_directions() const { return size_; }

private:
    struct Row {
        std::size_t direction;
        double factor;  // of that direction
        double lower, upper;
        template <class Archive>
        void archive(Archive& a) {
            a(direction, factor, lower, upper);
        }
    };
    static double largest(const std::vector<double>& weights) {
        double result = 0;
        for (const double weight : weights) result = std::max(result, std::abs(weight));
        return result;
    }

    // The weights of a vector in the directions, by back substitution; coordinates beyond them stay what they are.
    void weigh(const double* coefficients, std::size_t n, std::vector<double>& weights) const {
        weights.assign(coefficients, coefficients + n);
        weights.resize(std::max(n, size_), 0.0);
        for (std::size_t k = size_; k-- > 0;) {
            const double* direction = &directions_[k * (k + 1) / 2];
            weights[k] /= direction[k];
            for (std::size_t j = 0; j < k; ++j) weights[j] -= weights[k] * direction[j];
        }
    }

    void update() {
        if (!outdated_) return;
        outdated_ = false;
        lower_.assign(size_, {-infinity, 0});
        upper_.assign(size_, {infinity, 0});
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            const Row& row = rows_[i];
            const double one = row.lower / row.factor, other = row.upper / row.factor;
            End& lower = lower_[row.direction];
            End& upper = upper_[row.direction];
            if (std::min(one, other) > lower.value) lower = {std::min(one, other), i};
            if (std::max(one, other) < upper.value) upper = {std::max(one, other), i};
        }
    }

    // Of a sup with these weights of the directions: how many times it takes each row.
    void take_rows(const std::vector<double>& weights, std::vector<double>& multipliers) const {
        multipliers.assign(rows_.size(), 0.0);
        for (std::size_t k = 0; k < size_; ++k) {
            const End& end = weights[k] > 0 ? upper_[k] : lower_[k];
            if (std::isfinite(end.value)) multipliers[end.row] = weights[k] / rows_[end.row].factor;
        }
    }

    // inf of weight * w_k.
    double smallest(double weight, std::size_t k, double little) const {
        const double bound = k >= size_ ? -infinity : weight > 0 ? lower_[k].value : upper_[k].value;
        if (std::isfinite(bound)) return weight * bound;
        return std::abs(weight) <= little ? 0 : -infinity;
    }

    double box_;
    double negligible_;               // a weight that rounding can make of 0
    std::vector<double> directions_;  // a triangle: direction k has k + 1 coefficients
    std::size_t size_ = 0;            // number of directions
    std::vector<Row> rows_;
    bool independent_ = true;
    struct End {
        double value;
        std::size_t row;  // that sets it, where it is finite
    };
    std::vector<End> lower_, upper_;      // of w_k: what the rows of a direction have in common
    bool outdated_ = true;                // the two above
    std::vector<double> first_, second_;  // scratch: weights
};

}  // namespace ocp
