// Independent features, and how others are sums of multiples of them: phi = m_1 phi_1 + m_2 phi_2 + ... + rest.
//
// An orthonormal basis finds the multipliers, to the digits that nearly dependent members leave; what is left of phi in
// twice the digits of a double then corrects them. So the sum is exact however nearly dependent the members are: what
// holds for the values of the members holds for that of phi, whatever theta is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/basis.hpp"
#include "ocpfast/hypothesis/twofold.hpp"

namespace ocp {

class Members {
public:
    explicit Members(std::size_t dimension) : dimension_(dimension), basis_(dimension) {}

    std::size_t size() const { return basis_.size(); }
    bool full() const { return basis_.full(); }
    const double* operator[](std::size_t k) const { return &features_[k * dimension_]; }
    double length_of(std::size_t k) const { return lengths_[k]; }
    // Of the smallest share that was new in a member: small where they are nearly dependent.
    double least_new() const { return least_new_; }

    void clear() {
        basis_.clear();
        features_.clear();
        lengths_.clear();
        triangle_.clear();
        least_new_ = 1;
    }

    // Leaves the rest in place of phi; says how much was added up: lengths times multipliers.
    double split(Twofold& phi, Twofold& multipliers) {
        multipliers.assign(size(), {});
        round(phi, rounded_);
        double added = length(rounded_.data(), dimension_), before = infinity;
        for (;;) {
            coefficients_.resize(size());
            for (std::size_t k = 0; k < size(); ++k) coefficients_[k] = dot(basis_[k], rounded_.data(), dimension_);
            const double inside = length(coefficients_.data(), size());
            const double all = length(rounded_.data(), dimension_);
            // NaNs, which a made-up file may bring, end it too
            if (!(inside > std::max(epsilon * all, negligible * added)) || !(inside <= before / 2)) break;
            before = inside;
            multiply(coefficients_);
            for (std::size_t k = 0; k < size(); ++k) {
                const double more = coefficients_[k];
                multipliers[k].add(more);
                add_multiple(-more, (*this)[k], phi);
                added += std::abs(more) * lengths_[k];
            }
            round(phi, rounded_);
        }
        return added;
    }

    // The same in the digits of a double; phi in place.
    double split_quickly(std::vector<double>& phi, std::vector<double>& multipliers) const {
        double added = length(phi.data(), dimension_);
        basis_.split(phi, multipliers);
        multiply(multipliers);
        for (std::size_t k = 0; k < size(); ++k) added += std::abs(multipliers[k]) * lengths_[k];
        return added;
    }

    // Of the feature split left so much, which must be more than rounding, in this direction.
    void add(const double* feature, const std::vector<double>& direction, double left) {
        lengths_.push_back(length(feature, dimension_));
        least_new_ = std::min(least_new_, left / lengths_.back());
        features_.insert(features_.end(), feature, feature + dimension_);
        basis_.add(direction, length(direction.data(), dimension_));
        // rounded as they will be: the feature itself is taken exactly once
        rounded_.assign(feature, feature + dimension_);
        basis_.split(rounded_, coefficients_);
        triangle_.insert(triangle_.end(), coefficients_.begin(), coefficients_.end());
    }

    // Adds the combination of the basis with these coefficients to a vector.
    void combine(const double* coefficients, std::vector<double>& vector) const {
        basis_.combine(coefficients, vector);
    }

    template <class Archive>
    void archive(Archive& a) {
        a(basis_, features_, lengths_, triangle_, least_new_);
        a.require(features_.size() == size() * dimension_ && lengths_.size() == size() &&
                      triangle_.size() == size() * (size() + 1) / 2,
                  "a basis");
    }

private:
    static constexpr double epsilon = std::numeric_limits<double>::epsilon();
    static constexpr double negligible = 1e-26;  // of what was added up; a theta of 1e12 makes 1e-14 of it

    // From coefficients in the basis to multipliers of the members, in place.
    void multiply(std::vector<double>& coefficients) const {
        for (std::size_t k = size(); k-- > 0;) {
            const double* const row = &triangle_[k * (k + 1) / 2];
            coefficients[k] /= row[k];
            for (std::size_t j = 0; j < k; ++j) coefficients[j] -= coefficients[k] * row[j];
        }
    }

    std::size_t dimension_;
    Basis basis_;
    std::vector<double> features_;  // the members, one after the other
    std::vector<double> lengths_;   // of them
    std::vector<double> triangle_;  // their coefficients in the basis: k + 1 of the k-th
    double least_new_ = 1;
    std::vector<double> rounded_, coefficients_;  // scratch
};

}  // namespace ocp
