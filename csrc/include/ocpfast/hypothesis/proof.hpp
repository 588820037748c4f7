// Proof of an upper bound by duality, in the features themselves.
//
// Where phi is a sum of multiples of other features, their bounds bound phi.theta: it is at most the sum of m_i U_i, or
// m_i L_i where m_i < 0. A linear program finds which features to take and how many times, but in coordinates that have
// lost digits where features are nearly dependent, and to tolerances that a theta of 1e8 makes as large as any value.
// Here they add up to phi in twice the digits of a double, and what they prove holds whatever theta is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/members.hpp"
#include "ocpfast/hypothesis/pins.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

class Proof {
public:
    Proof(std::size_t dimension, const Tolerances& tolerances)
        : dimension_(dimension), tolerances_(tolerances), members_(dimension) {}

    // From what equalities tell.
    void begin(const Pins& pins) {
        pins_ = &pins;
        members_ = pins.members();
        rows_.clear();
        aim_.assign(dimension_, {});
        added_ = dependent_ = 0;
    }
    // Adds weight * feature.theta to what is to be bounded.
    void aim(double weight, const double* feature) {
        add_multiple(weight, feature, aim_);
        added_ += std::abs(weight) * length(feature, dimension_);
    }
    // Takes lower <= feature.theta <= upper: so many times where it depends on what was taken before, else as many
    // times as is needed. Where that end is infinite, the multiplier is rounding.
    void use(double multiplier, const double* feature, double lower, double upper) {
        const double end = multiplier > 0 ? upper : lower;
        if (std::isinf(end)) return;
        rest_.assign(dimension_, {});
        add_multiple(1, feature, rest_);
        const double added = members_.split(rest_, multipliers_);
        round(rest_, rounded_);
        const double left = length(rounded_.data(), dimension_);
        if (!members_.full() && left > tolerances_.span * added) {
            members_.add(feature, rounded_, left);
            rows_.push_back({lower, upper});
            return;
        }
        aim(-multiplier, feature);
        dependent_ += multiplier * end;
    }

    // The bound; +inf where nothing is proved.
    double bound() {
        added_ += members_.split(aim_, multipliers_);
        round(aim_, rounded_);
        if (length(rounded_.data(), dimension_) > tolerances_.span * added_) return infinity;
        CompensatedSum sum;
        sum.add(dependent_);
        double error = 0;
        for (std::size_t k = 0; k < members_.size(); ++k) {
            const double multiplier = multipliers_[k].value();
            const double value = value_of(k, multiplier);
            if (std::isinf(value)) {
                // of a row that is not needed, rounding may be left
                if (std::abs(multiplier) * members_.length_of(k) <= tolerances_.span * added_) continue;
                return infinity;
            }
            add_product(multipliers_[k].sum, value, sum);
            add_product(multipliers_[k].lost, value, sum);
            error += std::abs(multiplier) * pins_->error_of_observed(value);
        }
        return sum.value() + pins_->margin(error, sum.value());
    }

private:
    struct Row {
        double lower, upper;
    };
    // What a member has at most, or at least where it is taken a negative number of times.
    double value_of(std::size_t member, double multiplier) const {
        if (member < pins_->size()) return pins_->value(member);
        const Row& row = rows_[member - pins_->size()];
        return multiplier > 0 ? row.upper : row.lower;
    }

    std::size_t dimension_;
    Tolerances tolerances_;
    const Pins* pins_ = nullptr;  // while a proof is made
    Members members_;             // those of the equalities, then rows
    std::vector<Row> rows_;
    Twofold aim_;
    double added_ = 0;      // what its parts add up to in length
    double dependent_ = 0;  // what rows that depend on others add
    Twofold rest_, multipliers_;
    std::vector<double> rounded_;
};

}  // namespace ocp
