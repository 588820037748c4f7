// Least squares, one equation after the other: the triangle of a QR decomposition, and what it says of a new equation.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "ocpfast/hypothesis/basis.hpp"

namespace ocp {

class Triangle {
public:
    explicit Triangle(std::size_t capacity) : capacity_(capacity), rows_(capacity * capacity), right_(capacity) {}

    std::size_t size() const { return size_; }

    // The equation coefficients.y = right, by Givens rotations. As many coefficients as there are unknowns, or one
    // more: then there is an unknown more. Overwrites the coefficients.
    void add(std::vector<double>& coefficients, double right) {
        size_ = coefficients.size();
        for (std::size_t k = 0; k < size_; ++k) {
            double* row = &rows_[k * capacity_];
            const double length = std::hypot(row[k], coefficients[k]);
            if (length == 0) continue;
            const double c = row[k] / length, s = coefficients[k] / length;
            for (std::size_t j = k; j < size_; ++j) {
                const double above = row[j];
                row[j] = c * above + s * coefficients[j];
                coefficients[j] = c * coefficients[j] - s * above;
            }
            const double above = right_[k];
            right_[k] = c * above + s * right;
            right = c * right - s * above;
        }
    }

    // y of least squares.
    void solve(std::vector<double>& y) const {
        y.resize(size_);
        for (std::size_t k = size_; k-- > 0;) {
            const double* row = &rows_[k * capacity_];
            double rest = right_[k];
            for (std::size_t j = k + 1; j < size_; ++j) rest -= row[j] * y[j];
            y[k] = rest / row[k];
        }
    }

    // The square root of the leverage of coefficients: how far off coefficients.y is, if each right-hand side is off by
    // about 1. Overwrites the coefficients.
    double spread(std::vector<double>& coefficients) const {
        double sum = 0;
        for (std::size_t k = 0; k < size_; ++k) {
            const double* row = &rows_[k * capacity_];
            const double weight = coefficients[k] / row[k];
            for (std::size_t j = k + 1; j < size_; ++j) coefficients[j] -= weight * row[j];
            sum += weight * weight;
        }
        return std::sqrt(sum);
    }

    template <class Archive>
    void archive(Archive& a) {
        a(size_);
        a.require(size_ <= capacity_, "a size");
        a.fixed(rows_);
        a.fixed(right_);
    }

private:
    std::size_t capacity_, size_ = 0;
    std::vector<double> rows_;   // upper triangle, row by row
    std::vector<double> right_;  // right-hand side
};

}  // namespace ocp
