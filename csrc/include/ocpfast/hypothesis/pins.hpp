// What equalities phi.theta = y tell of theta.
//
// Of the features that were observed some are members, independent of each other. The value of any sum of multiples of
// them is that sum of their y, and as wrong as the y are, times the multipliers: what that makes uncertain does not
// count as known. Where such a feature is observed itself, it becomes a member instead of the one that made it so.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "ocpfast/hypothesis/members.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

class Pins {
public:
    enum class Standing {
        free,       // equalities do not tell the value
        uncertain,  // they may, or do but for errors that are too large
        pinned,
    };
    // phi.theta = constant + scale * residual.theta
    struct Reduced {
        double constant = 0, scale = 0;
        double error = 0;              // of the constant
        bool in_span = false;          // of what was observed
        double rounding = 0;           // of the residual, where phi is free
        std::vector<double> residual;  // outside of the span, of length 1; where phi is free
    };

    Pins(std::size_t dimension, const Tolerances& tolerances)
        : dimension_(dimension), tolerances_(tolerances), members_(dimension) {}

    std::size_t size() const { return members_.size(); }
    const Members& members() const { return members_; }
    double value(std::size_t member) const { return values_[member]; }
    // In how many directions, from that of the k-th member on, theta is known as well as values must be.
    std::size_t n_certain(std::size_t k) const {
        std::size_t n = 0;
        for (; k < size(); ++k) n += errors_[k] <= allowed_error(coordinates_[k]);
        return n;
    }
    void clear() {
        members_.clear();
        values_.clear();
        coordinates_.clear();
        errors_.clear();
    }

    // sign * phi.
    Standing reduce(const double* phi, double sign, Reduced& reduced) {
        if (!reduce_quickly(phi, reduced)) reduce_exactly(phi, reduced);
        reduced.constant *= sign;
        reduced.in_span = members_.full() || reduced.scale <= tolerances_.span * added_;
        if (reduced.in_span || reduced.scale <= tolerances_.doubt * added_) {
            const bool certain = reduced.in_span && reduced.error <= allowed_error(reduced.constant);
            return certain ? Standing::pinned : Standing::uncertain;
        }
        for (double& part : reduced.residual) part *= sign / reduced.scale;
        return Standing::free;
    }

    // Adds phi.theta = value where it tells something new; says what phi was before.
    Standing add(const double* phi, double value) {
        const Standing standing = reduce(phi, 1, reduced_);
        if (standing == Standing::free) join(phi, value);
        if (standing == Standing::uncertain) take_place(phi, value);
        return standing;
    }

    // How wrong a value may be that is known.
    double allowed_error(double value) const { return tolerances_.certainty * std::max(1.0, std::abs(value)); }
    // By how much a value that must not be too small is moved, where it may be wrong by more than is allowed; of
    // something that is divided by a scale, less is.
    double margin(double error, double value, double scale = 1) const {
        return error > scale * allowed_error(value) ? error : 0;
    }
    // How wrong the constant is if the values of the members are as wrong as those of constraints that are kept.
    double largest_error(const Reduced& reduced) const {
        return reduced.error * (tolerances_.feasibility / tolerances_.observed);
    }
    // How wrong the value of an equality, or of a bound, is taken to be.
    double error_of_observed(double value) const { return tolerances_.observed * std::max(1.0, std::abs(value)); }

    // Adds what is known of theta to a vector.
    void combine(std::vector<double>& theta) const { members_.combine(coordinates_.data(), theta); }

    template <class Archive>
    void archive(Archive& a) {
        a(members_, values_, coordinates_, errors_);
        a.require(values_.size() == size() && coordinates_.size() == size() && errors_.size() == size(), "a basis");
    }

private:
    // Where members are far from dependent, as nearly always, the digits of a double do. False where they do not: what
    // rounding makes of phi, times theta, must be small as well, which a chain of members can make large although each
    // is far from the others.
    bool reduce_quickly(const double* phi, Reduced& reduced) {
        if (members_.least_new() < 1e-3) return false;
        reduced.residual.assign(phi, phi + dimension_);
        added_ = members_.split_quickly(reduced.residual, quick_);
        reduced.constant = dot(quick_.data(), values_.data(), quick_.size());
        const double own_length = length(phi, dimension_);
        const double rounding = 1e-12 * added_ * length(coordinates_.data(), size());  // seen: a tenth of that
        reduced.error = 0;
        for (std::size_t k = 0; k < quick_.size(); ++k) {
            const double times =
                std::abs(quick_[k]) + own_length / members_.length_of(k);  // with what rounding makes of 0
            reduced.error += 100 * times * error_of_observed(values_[k]);
        }
        measure(reduced);
        return reduced.error + rounding <= allowed_error(reduced.constant) &&
               (reduced.scale <= tolerances_.span * added_ || reduced.scale > 1e-6 * own_length);
    }
    void reduce_exactly(const double* phi, Reduced& reduced) {
        exact_.assign(dimension_, {});
        add_multiple(1, phi, exact_);
        added_ = members_.split(exact_, multipliers_);
        round(exact_, reduced.residual);
        measure(reduced);
        CompensatedSum constant;
        reduced.error = 0;
        for (std::size_t k = 0; k < size(); ++k) {
            add_product(multipliers_[k].sum, values_[k], constant);
            add_product(multipliers_[k].lost, values_[k], constant);
            reduced.error += std::abs(multipliers_[k].value()) * error_of_observed(values_[k]);
        }
        reduced.constant = constant.value();
    }

    void measure(Reduced& reduced) const {
        reduced.scale = length(reduced.residual.data(), dimension_);
        reduced.rounding = tolerances_.span * added_ / reduced.scale;
    }

    // phi is free, and what was left of it is in reduced_.
    void join(const double* phi, double value) {
        members_.add(phi, reduced_.residual, reduced_.scale);
        values_.push_back(value);
        coordinates_.push_back((value - reduced_.constant) / reduced_.scale);
        errors_.push_back((error_of_observed(value) + reduced_.error) / reduced_.scale);
    }

    // phi is uncertain. It takes the place of the member to which most of the error is due, if that is more than twice
    // its own: what errors leave open shrinks by half each time, so this ends.
    void take_place(const double* phi, double value) {
        reduce_exactly(phi, reduced_);
        std::size_t worst = 0;
        double most = 2 * error_of_observed(value);
        bool found = false;
        for (std::size_t k = 0; k < size(); ++k) {
            const double error = std::abs(multipliers_[k].value()) * error_of_observed(values_[k]);
            if (error <= most) continue;
            most = error;
            worst = k;
            found = true;
        }
        if (!found) return;
        std::vector<double> features(members_[0], members_[0] + size() * dimension_), values = values_;
        std::copy(phi, phi + dimension_, features.begin() + static_cast<std::ptrdiff_t>(worst * dimension_));
        values[worst] = value;
        Pins before = *this;
        clear();
        for (std::size_t k = 0; k < values.size(); ++k) {
            const double* feature = &features[k * dimension_];
            if (reduce(feature, 1, reduced_) == Standing::free) join(feature, values[k]);
        }
        if (size() < values.size()) *this = std::move(before);  // one of them is not independent of phi
    }

    std::size_t dimension_;
    Tolerances tolerances_;
    Members members_;
    std::vector<double> values_;       // y of the members
    std::vector<double> coordinates_;  // of theta in their basis
    std::vector<double> errors_;       // of the coordinates

    // scratch
    Twofold exact_, multipliers_;  // of the feature last looked at
    std::vector<double> quick_;    // likewise
    double added_ = 0;             // likewise: what its parts add up to in length
    Reduced reduced_;              // of the feature last added
};

}  // namespace ocp
