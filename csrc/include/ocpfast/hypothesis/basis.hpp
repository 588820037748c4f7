// An orthonormal basis that grows one vector at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace ocp {

// Four sums side by side: each addition would otherwise wait for the one before it.
inline double dot(const double* a, const double* b, std::size_t n) {
    double sums[4] = {0, 0, 0, 0};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (std::size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
    }
    for (; i < n; ++i) sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
inline double length(const double* a, std::size_t n) {
    const double squares = dot(a, a, n);
    if (squares > 1e-200 && squares < 1e200) return std::sqrt(squares);
    // scaled, so that features of 1e200 do not overflow and those of 1e-200 do not vanish
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(a[i]));
    if (largest == 0) return 0;
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += (a[i] / largest) * (a[i] / largest);
    return largest * std::sqrt(sum);
}

class Basis {
public:
    // Of a vector's length: how far what split makes of it is from adding up to it.
    static constexpr double epsilon = 8 * std::numeric_limits<double>::epsilon();

    explicit Basis(std::size_t dimension) : dimension_(dimension) {}

    std::size_t size() const { return dimension_ == 0 ? 0 : vectors_.size() / dimension_; }
    bool full() const { return size() == dimension_; }
    const double* operator[](std::size_t k) const { return &vectors_[k * dimension_]; }
    void clear() {
        vectors_.clear();
        tilts_.clear();
    }

    // Splits a vector: its coefficients in the basis, and what is left in place of the vector. Twice, because one
    // pass of Gram-Schmidt loses orthogonality when little is left.
    void split(std::vector<double>& vector, std::vector<double>& coefficients) const {
        coefficients.assign(size(), 0.0);
        for (int pass = 0; pass < 2; ++pass) {
            for (std::size_t k = 0; k < size(); ++k) {
                const double* member = &vectors_[k * dimension_];
                const double part = dot(member, vector.data(), dimension_);
                coefficients[k] += part;
                for (std::size_t i = 0; i < dimension_; ++i) vector[i] -= part * member[i];
            }
        }
    }

    // How much of what split left of a vector may be rounding: its own, and that of the members, whose directions are
    // the less certain the less was left of them.
    double rounding(double vector_length, const std::vector<double>& coefficients) const {
        double squares = 0;
        for (std::size_t k = 0; k < coefficients.size(); ++k) {
            squares += (coefficients[k] * tilts_[k]) * (coefficients[k] * tilts_[k]);
        }
        return epsilon * vector_length + std::sqrt(squares);
    }

    // The residual must be orthogonal to the basis, as split leaves it; so much of it may be rounding.
    void add(const std::vector<double>& residual, double residual_length, double rounding = 0) {
        for (const double part : residual) vectors_.push_back(part / residual_length);
        tilts_.push_back(rounding / residual_length);
    }

    // Adds the combination of the basis with these coefficients to a vector.
    void combine(const double* coefficients, std::vector<double>& vector) const {
        for (std::size_t k = 0; k < size(); ++k) {
            for (std::size_t i = 0; i < dimension_; ++i) vector[i] += coefficients[k] * vectors_[k * dimension_ + i];
        }
    }

    template <class Archive>
    void archive(Archive& a) {
        a(vectors_, tilts_);
        // as many as there are dimensions, and perhaps one or two of rounding
        a.require(vectors_.size() <= dimension_ * (dimension_ + 2) && vectors_.size() == size() * dimension_ &&
                      tilts_.size() == size(),
                  "a basis");
    }

private:
    std::size_t dimension_;
    std::vector<double> vectors_;  // row by row
    std::vector<double> tilts_;    // of each: how far rounding may have turned it, in radians
};

}  // namespace ocp
