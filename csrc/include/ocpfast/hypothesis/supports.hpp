// The supports of a sparse linear class: all index sets of K0 of its K features, and one of them with what equalities
// say of the parameters on it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "ocpfast/hypothesis/features.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

// The description that the blocks of a class and the copies of an agent share.
class SparseFeatures {
public:
    SparseFeatures(std::shared_ptr<const Features> features, std::int64_t sparsity)
        : features_(std::move(features)),
          sparsity_(std::min(static_cast<std::size_t>(sparsity), features_->n_features())) {
        // A support stays one when a feature is multiplied by a number: each in units that make its largest value 1 or
        // so, for then the length of a restricted feature means something.
        scale_.assign(features_->n_features(), 0.0);
        std::vector<double> row(features_->n_features());
        for (std::int64_t index = 0; index < features_->domain().n_cells(); ++index) {
            features_->rows()->read(index, row.data());
            for (std::size_t k = 0; k < row.size(); ++k) scale_[k] = std::max(scale_[k], std::abs(row[k]));
        }
        for (double& scale : scale_) {
            int exponent = 0;
            if (scale > 0) std::frexp(scale, &exponent);
            scale = std::ldexp(1.0, std::max(-1000, std::min(1000, -exponent)));  // a power of two: exact
        }
    }

    const Features& features() const { return *features_; }
    std::size_t n_features() const { return features_->n_features(); }  // K
    std::size_t sparsity() const { return sparsity_; }                  // K0
    double scale(std::size_t feature) const { return scale_[feature]; }

    void read(std::int64_t index, double* feature) const {
        features_->rows()->read(index, feature);
        for (std::size_t k = 0; k < scale_.size(); ++k) feature[k] *= scale_[k];
    }

private:
    std::shared_ptr<const Features> features_;
    std::size_t sparsity_;
    std::vector<double> scale_;
};

// All index sets, in lexicographic order, one after the other.
class Supports {
public:
    Supports(std::size_t n_features, std::size_t size) : size_(size) {
        std::vector<std::int32_t> support(size);
        for (std::size_t k = 0; k < size; ++k) support[k] = static_cast<std::int32_t>(k);
        while (true) {
            indices_.insert(indices_.end(), support.begin(), support.end());
            std::size_t k = size;
            while (k > 0 && support[k - 1] == static_cast<std::int32_t>(n_features - size + k - 1)) --k;
            if (k == 0) return;
            ++support[k - 1];
            for (; k < size; ++k) support[k] = support[k - 1] + 1;
        }
    }

    std::int32_t count() const { return static_cast<std::int32_t>(indices_.size() / size_); }
    std::size_t size() const { return size_; }  // K0
    const std::int32_t* operator[](std::int32_t support) const {
        return &indices_[static_cast<std::size_t>(support) * size_];
    }

private:
    std::size_t size_;
    std::vector<std::int32_t> indices_;
};

// phi.theta = y; the feature in the units of SparseFeatures.
struct Equality {
    std::vector<double> feature;
    double length;  // of the feature
    double value;   // y

    template <class Archive>
    void archive(Archive& a) {
        a(feature, length, value);
    }
};

// The parameters on one support that satisfy some equalities: an orthonormal basis of the directions in which they are
// known, and their values there. It is made from the equalities when it is asked for: kept, those of 34,220 supports
// and 50 blocks would take 200 MB. N: the number of parameters where it is known to the compiler, else 0.
//
// What rounding can do is followed from equality to equality, so that it never kills the support of Q*: directions and
// values get as uncertain as features that are nearly dependent make them.
template <std::size_t N>
class RestrictedParameters {
public:
    enum class Change { none, smaller, empty };

    RestrictedParameters(std::size_t size, const Tolerances& tolerances) : size_(size), tolerances_(tolerances) {
        if constexpr (N == 0) {
            vectors_.resize(size * size);
            values_.resize(size);
            coefficients_.resize(size);
            residual_.resize(size);
        }
    }

    void start(const std::int32_t* support) {
        support_ = support;
        rank_ = 0;
        direction_error_ = value_error_ = squared_values_ = 0;
    }

    bool known() const { return rank_ == n(); }

    // Intersects with an equality.
    Change meet(const Equality& equality) {
        split(equality.feature.data());
        const double y = equality.value, size = std::max(1.0, std::abs(y));
        const double difference = y - predicted(), rounding = rounding_of_residual();
        if (left_ <= std::max(tolerances_.dependence * equality.length, rounding)) {
            if (std::abs(difference) <= tolerances_.feasibility * size + uncertainty()) return Change::none;
            // What is short but more than rounding may carry a large parameter: only what is certain kills.
            if (left_ <= rounding) return Change::empty;
        }
        const double error = (input_error * size + rounding * std::sqrt(squared_values_) + uncertainty()) / left_;
        const double direction = rounding / left_, value = difference / left_;
        for (std::size_t i = 0; i < n(); ++i) vectors_[rank_ * n() + i] = residual_[i] / left_;
        values_[rank_++] = value;
        squared_values_ += value * value;
        value_error_ = std::sqrt(value_error_ * value_error_ + error * error);
        direction_error_ = std::sqrt(direction_error_ * direction_error_ + direction * direction);
        return Change::smaller;
    }

    // Whether the value of a feature is known here; writes it, and how uncertain it is.
    bool tells(const double* feature, double feature_length, double& value, double& error) {
        split(feature);
        if (left_ > std::max(tolerances_.dependence * feature_length, rounding_of_residual())) return false;
        value = predicted();
        error = uncertainty();
        return true;
    }

    // Where all is known: the parameters, and the error of phi.theta for each unit of phi's length.
    double solve(double* theta) const {
        for (std::size_t i = 0; i < n(); ++i) {
            double sum = 0;
            for (std::size_t k = 0; k < n(); ++k) sum += values_[k] * vectors_[k * n() + i];
            theta[i] = sum;
        }
        return value_error_ + epsilon * std::sqrt(squared_values_);
    }

private:
    static constexpr double epsilon = 8 * std::numeric_limits<double>::epsilon();
    // How wrong an observed value may be, relative to the larger of 1 and itself: it rests on what is known of the
    // periods after it. A hundredth of Tolerances::feasibility.
    static constexpr double input_error = 1e-10;

    template <std::size_t M>
    using Numbers = std::conditional_t<N == 0, std::vector<double>, std::array<double, M>>;

    std::size_t n() const {
        if constexpr (N > 0) return N;
        return size_;
    }

    static double norm(const double* a, std::size_t n) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += a[i] * a[i];
        return std::sqrt(sum);
    }

    // A second pass where the first left little: it has then lost orthogonality.
    void split(const double* feature) {
        for (std::size_t i = 0; i < n(); ++i) residual_[i] = feature[support_[i]];
        length_ = left_ = norm(residual_.data(), n());
        for (std::size_t k = 0; k < rank_; ++k) coefficients_[k] = 0;
        for (int pass = 0; pass < 2 && rank_ > 0; ++pass) {
            for (std::size_t k = 0; k < rank_; ++k) {
                const double* const vector = &vectors_[k * n()];
                double part = 0;
                for (std::size_t i = 0; i < n(); ++i) part += vector[i] * residual_[i];
                for (std::size_t i = 0; i < n(); ++i) residual_[i] -= part * vector[i];
                coefficients_[k] += part;
            }
            left_ = norm(residual_.data(), n());
            if (left_ > 0.5 * length_) break;
        }
        if (known()) left_ = 0;  // but for rounding
        along_ = norm(coefficients_.data(), rank_);
    }

    double predicted() const {
        double sum = 0;
        for (std::size_t k = 0; k < rank_; ++k) sum += coefficients_[k] * values_[k];
        return sum;
    }
    double uncertainty() const { return value_error_ * along_; }  // of predicted()
    double rounding_of_residual() const { return epsilon * length_ + direction_error_ * along_; }

    std::size_t size_;
    Tolerances tolerances_;
    const std::int32_t* support_ = nullptr;
    std::size_t rank_ = 0;
    Numbers<N * N> vectors_;
    Numbers<N> values_;
    double direction_error_ = 0, value_error_ = 0, squared_values_ = 0;

    // Of the feature last looked at.
    Numbers<N> coefficients_, residual_;
    double length_ = 0, left_ = 0, along_ = 0;
};

// Calls work with an object of RestrictedParameters: the usual sizes have code of their own, which takes half the time.
template <class Work>
void with_parameters(std::size_t size, const Tolerances& tolerances, const Work& work) {
    switch (size) {
        case 1:
            return work(RestrictedParameters<1>(size, tolerances));
        case 2:
            return work(RestrictedParameters<2>(size, tolerances));
        case 3:
            return work(RestrictedParameters<3>(size, tolerances));
        case 4:
            return work(RestrictedParameters<4>(size, tolerances));
        default:
            return work(RestrictedParameters<0>(size, tolerances));
    }
}

}  // namespace ocp
