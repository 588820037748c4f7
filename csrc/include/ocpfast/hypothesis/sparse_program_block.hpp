// The hypotheses of one block of a sparse linear class with too many supports to go through: HiGHS finds the extremes.
//
// The interface is that of EnumeratedBlock. Parameters are bounded, so that every value is finite; it is settled where
// the supports of the supremum and of the infimum both know it and agree, and then its value is worked out from the
// equalities on them, not taken from HiGHS. A support that leaves a value open is answer enough: no infimum is asked
// for then.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ocpfast/hypothesis/basis.hpp"
#include "ocpfast/hypothesis/sparse_block.hpp"
#include "ocpfast/hypothesis/sparse_program.hpp"
#include "ocpfast/hypothesis/supports.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

class ProgramBlock {
public:
    struct Shared {
        std::shared_ptr<const SparseFeatures> features;
        std::shared_ptr<const SparseProgram> program;
    };

    ProgramBlock(Shared shared, std::int64_t first_index, std::int64_t n_indices, const Tolerances& tolerances)
        : shared_(std::move(shared)),
          first_index_(first_index),
          tolerances_(tolerances),
          memo_(static_cast<std::size_t>(n_indices)),
          visited_(shared_.features->n_features()) {}

    std::uint64_t version() const { return equalities_.size(); }
    std::int64_t n_kept() const { return static_cast<std::int64_t>(equalities_.size()); }
    std::int64_t n_programs() const { return n_programs_; }

    // `finite` is said of settled values alone: those that others have rest on the bounds of the parameters.
    const SparseAnswer& ask(std::int64_t index) {
        Memo& memo = memo_of(index);
        if (memo.answer.settled || memo.version == version()) return memo.answer;
        memo.answer = examine(index);
        memo.version = version();
        return memo.answer;
    }

    double lower(std::int64_t index) {
        const SparseAnswer answer = ask(index);
        if (answer.settled) return answer.lower;
        Memo& memo = memo_of(index);
        if (memo.version_of_lower != version()) {
            memo.lower = -maximise(read(index), -1).value;
            memo.version_of_lower = version();
        }
        return memo.lower;
    }

    double infimum_of_maximum(std::int64_t first, std::int64_t n) {  // all of them settled
        double largest = -infinity;
        for (std::int64_t index = first; index < first + n; ++index) largest = std::max(largest, ask(index).upper);
        return largest;
    }

    Joined join(std::int64_t index, double value) {
        const SparseAnswer answer = ask(index);
        if (answer.settled) {
            return std::abs(answer.upper - value) <= slack(value) ? Joined::redundant : Joined::contradiction;
        }
        equalities_.push_back({read(index), 0, value});
        equalities_.back().length = length(equalities_.back().feature.data(), equalities_.back().feature.size());
        const std::vector<double> nothing(equalities_.back().feature.size(), 0.0);
        bool feasible = false;
        try {
            feasible = maximise(nothing, 1).feasible;
        } catch (...) {
            equalities_.pop_back();
            throw;
        }
        if (!feasible) {
            equalities_.pop_back();
            return Joined::contradiction;
        }
        memo_of(index).answer = {value, value, true, true};
        return Joined::kept;
    }

    // New: independent of what was visited, in all features. More than is independent with respect to the class.
    bool is_new(std::int64_t index) {
        Memo& memo = memo_of(index);
        if (memo.old) return false;
        std::vector<double> residual = read(index), coefficients;
        const double size = length(residual.data(), residual.size());
        visited_.split(residual, coefficients);
        const double left = length(residual.data(), residual.size());
        memo.old = memo.answer.settled || left <= tolerances_.dependence * size;
        return !memo.old;
    }
    void visit(std::int64_t index) {
        if (!is_new(index)) return;
        std::vector<double> residual = read(index), coefficients;
        visited_.split(residual, coefficients);
        visited_.add(residual, length(residual.data(), residual.size()));
    }

    // ---- saving and loading --------------------------------------------------------------------------------------

    static constexpr const char* kind = "sparse features by programs";

    template <class Archive>
    void archive(Archive& a) {
        a(equalities_, visited_);
        a.counts(n_programs_);
        a.columns(
            memo_, &Memo::lower, &Memo::version, &Memo::version_of_lower, &Memo::old,
            [](Memo& one) -> double& { return one.answer.upper; },
            [](Memo& one) -> double& { return one.answer.lower; }, [](Memo& one) -> bool& { return one.answer.finite; },
            [](Memo& one) -> bool& { return one.answer.settled; });
        for (const Equality& one : equalities_) {
            a.require(one.feature.size() == shared_.features->n_features(), "a size");
        }
    }

private:
    // How far apart the extremes may be that are the same: HiGHS's tolerance, times what features that are nearly
    // dependent make of it.
    static constexpr double spread = 1e-5;

    struct Memo {
        SparseAnswer answer;
        double lower = -infinity;
        std::uint64_t version = ~std::uint64_t{0}, version_of_lower = ~std::uint64_t{0};
        bool old = false;
    };
    Memo& memo_of(std::int64_t index) { return memo_[static_cast<std::size_t>(index - first_index_)]; }
    double slack(double value) const { return tolerances_.feasibility * std::max(1.0, std::abs(value)); }

    std::vector<double> read(std::int64_t index) const {
        std::vector<double> feature(shared_.features->n_features());
        shared_.features->read(index, feature.data());
        return feature;
    }

    SparseProgram::Maximum maximise(const std::vector<double>& feature, double sign) {
        return shared_.program->maximise(feature, sign, equalities_, n_programs_);
    }

    SparseAnswer examine(std::int64_t index) {
        const std::vector<double> feature = read(index);
        if (length(feature.data(), feature.size()) == 0) return {0, 0, true, true};
        const SparseProgram::Maximum highest = maximise(feature, 1);
        const SparseAnswer open{highest.value, -infinity, false, false};
        double upper = 0, lower = 0, error_of_upper = 0, error_of_lower = 0;
        if (!tells(highest.support, feature, upper, error_of_upper)) return open;
        const SparseProgram::Maximum lowest = maximise(feature, -1);
        Memo& memo = memo_of(index);
        memo.lower = -lowest.value;
        memo.version_of_lower = version();
        if (!tells(lowest.support, feature, lower, error_of_lower)) return open;
        const double most = spread * std::max(1.0, std::abs(upper));
        if (highest.value + lowest.value > most) return open;
        if (std::abs(upper - lower) > slack(upper) + error_of_upper + error_of_lower) return open;
        const double value = error_of_lower < error_of_upper ? lower : upper;
        return {value, value, true, true};
    }

    // Whether the equalities on a support give the value of a feature.
    bool tells(const std::vector<std::int32_t>& support, const std::vector<double>& feature, double& value,
               double& error) const {
        if (support.empty()) return false;
        RestrictedParameters<0> parameters(support.size(), tolerances_);
        parameters.start(support.data());
        for (const Equality& equality : equalities_) {
            if (parameters.meet(equality) == RestrictedParameters<0>::Change::empty) return false;
        }
        return parameters.tells(feature.data(), length(feature.data(), feature.size()), value, error) &&
               error <= allowed_uncertainty(value);
    }

    Shared shared_;
    std::int64_t first_index_;
    Tolerances tolerances_;
    std::vector<Equality> equalities_;
    std::vector<Memo> memo_;  // per index of the block
    Basis visited_;
    std::int64_t n_programs_ = 0;
};

}  // namespace ocp
