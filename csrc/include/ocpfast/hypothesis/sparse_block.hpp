// The hypotheses of one block of a sparse linear class: a union over supports of small linear classes, cut down by
// equalities phi.theta = y.
//
// A support is dead once the equalities contradict each other on it; known once they give all of its parameters, which
// are then kept; else it is open, and what is known of it is worked out from the equalities when it is asked about.
// Before the first equality all are open and none is looked at.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/basis.hpp"
#include "ocpfast/hypothesis/supports.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

// What a block answers about one feature.
struct SparseAnswer {
    double upper = infinity, lower = -infinity;
    bool finite = false;   // every live support knows its value
    bool settled = false;  // and they agree: for good, as supports can only die
};

enum class Joined {
    redundant,
    kept,
    contradiction,  // nothing would be left
    observed,       // it leaves the supports as they are, but its value was more uncertain than an observation is
};

// How uncertain a value may be that supports predict; beyond it only an observation counts. Where features are nearly
// dependent, what rounding makes of a prediction would else be passed on to the period before as if it were known.
inline double allowed_uncertainty(double value) {
    return 1e-6 * std::max(1.0, std::abs(value));
}

class EnumeratedBlock {
public:
    struct Shared {
        std::shared_ptr<const SparseFeatures> features;
        std::shared_ptr<const Supports> supports;
    };

    EnumeratedBlock(Shared shared, std::int64_t first_index, std::int64_t n_indices, const Tolerances& tolerances)
        : shared_(std::move(shared)),
          first_index_(first_index),
          tolerances_(tolerances),
          memo_(static_cast<std::size_t>(n_indices)),
          visited_basis_(shared_.features->n_features()),
          feature_(shared_.features->n_features()) {}

    std::uint64_t version() const { return version_; }  // number of changes
    std::int64_t n_kept() const { return static_cast<std::int64_t>(equalities_.size()); }
    std::int64_t n_live() const {
        return equalities_.empty() ? shared_.supports->count()
                                   : static_cast<std::int64_t>(open_.size() + known_.size());
    }

    const SparseAnswer& ask(std::int64_t index) {
        Memo& memo = memo_[static_cast<std::size_t>(index - first_index_)];
        if (memo.answer.settled || memo.version == version()) return memo.answer;
        memo.answer = examine(index);
        memo.version = version();
        return memo.answer;
    }

    double lower(std::int64_t index) { return ask(index).lower; }

    // inf over the hypotheses left of the largest of n neighbouring indices, all of which must have finite answers.
    double infimum_of_maximum(std::int64_t first, std::int64_t n) {
        double settled = -infinity;
        bool all_settled = true;
        for (std::int64_t index = first; index < first + n; ++index) {
            const SparseAnswer& answer = ask(index);
            if (answer.settled) settled = std::max(settled, answer.upper);
            all_settled &= answer.settled;
        }
        if (all_settled) return settled;
        double least = infinity;
        largest_.assign(static_cast<std::size_t>(n_live()), settled);
        for (std::int64_t index = first; index < first + n; ++index) {
            if (ask(index).settled) continue;
            std::size_t place = 0;
            for_each_value(read(index), [&](double value, double) {
                largest_[place] = std::max(largest_[place], value);
                ++place;
            });
        }
        for (const double one : largest_) least = std::min(least, one);
        return least;
    }

    // Lets an equality join if it kills a support or makes one smaller; never if it kills all of them.
    Joined join(std::int64_t index, double value) {
        const SparseAnswer answer = ask(index);
        if (answer.settled && std::abs(answer.upper - value) <= slack(value)) return Joined::redundant;
        const Equality equality{{read(index), read(index) + feature_.size()}, feature_length_, value};

        std::vector<std::int32_t> open, known;
        std::vector<double> theta, error;
        bool changed = false;
        const std::size_t k0 = shared_.supports->size();
        for_each_open(equalities_, [&](std::int32_t support, auto& parameters) {
            using Change = typename std::decay_t<decltype(parameters)>::Change;
            const Change change = parameters.meet(equality);
            changed |= change != Change::none;
            if (change == Change::empty) return true;
            if (!parameters.known() || known.size() == most_known) {
                open.push_back(support);
                return true;
            }
            known.push_back(support);
            theta.resize(theta.size() + k0);
            error.push_back(parameters.solve(&theta[theta.size() - k0]));
            return true;
        });
        for (std::size_t k = 0; k < known_.size(); ++k) {
            double size = 0;
            const double difference = std::abs(value_at(k, equality.feature.data(), size) - value);
            if (difference > slack(value) + size * error_[k]) {
                changed = true;
                continue;
            }
            known.push_back(known_[k]);
            theta.insert(theta.end(), &theta_[k * k0], &theta_[k * k0] + k0);
            error.push_back(error_[k]);
        }
        if (open.empty() && known.empty()) return Joined::contradiction;
        Memo& memo = memo_[static_cast<std::size_t>(index - first_index_)];
        if (!changed && memo.observed) return Joined::redundant;
        memo.answer = {value, value, true, true};
        memo.observed = true;
        ++version_;
        if (!changed) return Joined::observed;
        open_ = std::move(open);
        known_ = std::move(known);
        theta_ = std::move(theta);
        error_ = std::move(error);
        equalities_.push_back(equality);
        return Joined::kept;
    }

    // ---- directed exploration ------------------------------------------------------------------------------------

    // Whether a triple is certainly independent of those visited: fewer than 2 K0 independent features were, and this
    // is another (then some 2 K0 features tell it apart), or some live support tells it apart alone. Exact where
    // features are 2 K0-full-rank; else some that are independent only on 2 K0 features may be overlooked, which would
    // take a search over C(K, 2 K0) sets: it is a rule for ties, and bounds do not rest on it.
    bool is_new(std::int64_t index) {
        Memo& memo = memo_[static_cast<std::size_t>(index - first_index_)];
        if (memo.old) return false;
        if (memo.answer.settled || !is_independent(index)) memo.old = true;
        return !memo.old;
    }

    void visit(std::int64_t index) {
        if (!is_new(index)) return;
        visited_.push_back({{read(index), read(index) + feature_.size()}, feature_length_, 0});
        residual_.assign(feature_.begin(), feature_.end());
        visited_basis_.split(residual_, coefficients_);
        visited_basis_.add(residual_, length(residual_.data(), residual_.size()));
        unspanned_stale_ = true;
    }

    // ---- saving and loading --------------------------------------------------------------------------------------

    static constexpr const char* kind = "sparse features";

    template <class Archive>
    void archive(Archive& a) {
        const std::size_t n_features = feature_.size(), k0 = shared_.supports->size();
        const std::int32_t n_supports = shared_.supports->count();
        a(version_, equalities_);
        a.indices(open_, 0, n_supports);
        a.indices(known_, 0, n_supports);
        a(theta_, error_);
        a.columns(
            memo_, &Memo::version, &Memo::observed, &Memo::old, [](Memo& one) -> double& { return one.answer.upper; },
            [](Memo& one) -> double& { return one.answer.lower; }, [](Memo& one) -> bool& { return one.answer.finite; },
            [](Memo& one) -> bool& { return one.answer.settled; });
        a(visited_, visited_basis_);
        a.indices(unspanned_, 0, n_supports);
        a(version_of_unspanned_, unspanned_stale_);
        if constexpr (!Archive::loading) return;
        feature_index_ = -1;
        a.require(theta_.size() == known_.size() * k0 && error_.size() == known_.size(), "a size");
        const bool all_open = known_.empty() && (open_.empty() || open_.size() == static_cast<std::size_t>(n_supports));
        a.require(!equalities_.empty() || all_open, "a size");
        for (const auto* list : {&equalities_, &visited_}) {
            for (const Equality& one : *list) a.require(one.feature.size() == n_features, "a size");
        }
    }

private:
    // Supports of which the parameters are kept: 6 MB where there are 4 each. Others go with the open ones.
    static constexpr std::size_t most_known = 1 << 17;

    struct Memo {
        SparseAnswer answer;
        std::uint64_t version = ~std::uint64_t{0};
        bool observed = false;  // the answer is a value observed, not one predicted
        bool old = false;       // not new, and never new again
    };

    double slack(double value) const { return tolerances_.feasibility * std::max(1.0, std::abs(value)); }

    // Until the next call.
    const double* read(std::int64_t index) {
        if (index != feature_index_) {
            shared_.features->read(index, feature_.data());
            feature_length_ = length(feature_.data(), feature_.size());
            feature_index_ = index;
        }
        return feature_.data();
    }

    // Calls visit(support, parameters) for each open support, the parameters being those that satisfy the equalities,
    // until it returns false; that support moves to the front, where it will be asked first. True if all were visited.
    template <class Visit>
    bool for_each_open(const std::vector<Equality>& equalities, const Visit& visit) {
        if (equalities_.empty() && open_.empty()) {
            open_.resize(static_cast<std::size_t>(shared_.supports->count()));
            std::iota(open_.begin(), open_.end(), 0);
        }
        return for_each(open_, equalities, visit);
    }
    template <class Visit>
    bool for_each(std::vector<std::int32_t>& which, const std::vector<Equality>& equalities, const Visit& visit) const {
        bool all = true;
        with_parameters(shared_.supports->size(), tolerances_, [&](auto parameters) {
            for (std::int32_t& support : which) {
                parameters.start((*shared_.supports)[support]);
                for (const Equality& equality : equalities) parameters.meet(equality);
                if (visit(support, parameters)) continue;
                std::swap(which.front(), support);
                all = false;
                return;
            }
        });
        return all;
    }

    // What the k-th known support says, and the length of the feature there.
    double value_at(std::size_t k, const double* feature, double& size) const {
        const std::size_t k0 = shared_.supports->size();
        const std::int32_t* const support = (*shared_.supports)[known_[k]];
        const double* const theta = &theta_[k * k0];
        double value = 0, squares = 0;
        for (std::size_t i = 0; i < k0; ++i) {
            const double part = feature[support[i]];
            value += part * theta[i];
            squares += part * part;
        }
        size = std::sqrt(squares);
        return value;
    }

    // Calls visit(value, error) for each live support; false as soon as one does not know the value.
    template <class Visit>
    bool for_each_value(const double* feature, const Visit& visit) {
        const bool all = for_each_open(equalities_, [&](std::int32_t, auto& parameters) {
            double value = 0, error = 0;
            if (!parameters.tells(feature, feature_length_, value, error)) return false;
            visit(value, error);
            return true;
        });
        if (!all) return false;
        for (std::size_t k = 0; k < known_.size(); ++k) {
            double size = 0;
            const double value = value_at(k, feature, size);
            visit(value, size * error_[k]);
        }
        return true;
    }

    SparseAnswer examine(std::int64_t index) {
        const double* const feature = read(index);
        if (feature_length_ == 0) return {0, 0, true, true};
        if (equalities_.empty()) return {};
        double upper = -infinity, lower = infinity;
        double above = -infinity, below = infinity;  // the ends nearest to each other of what supports allow
        double value = 0, smallest_error = infinity;
        const bool finite = for_each_value(feature, [&](double one, double error) {
            upper = std::max(upper, one);
            lower = std::min(lower, one);
            above = std::max(above, one - error);
            below = std::min(below, one + error);
            if (error < smallest_error) {
                smallest_error = error;
                value = one;
            }
        });
        if (!finite || smallest_error > allowed_uncertainty(value)) return {};
        // those that agree say the same: the value of the one that rounding hurt least
        if (above - below <= slack(value)) return {value, value, true, true};
        return {upper, lower, true, false};
    }

    bool is_independent(std::int64_t index) {
        residual_.assign(read(index), read(index) + feature_.size());
        visited_basis_.split(residual_, coefficients_);
        if (length(residual_.data(), residual_.size()) <= tolerances_.dependence * feature_length_) return false;
        if (visited_.size() < 2 * shared_.supports->size()) return true;
        find_unspanned();
        return !for_each(unspanned_, visited_, [&](std::int32_t, auto& parameters) {
            double value = 0, error = 0;
            return parameters.tells(feature_.data(), feature_length_, value, error);
        });
    }

    // The live supports on which the features visited do not span everything.
    void find_unspanned() {
        if (!unspanned_stale_ && version_of_unspanned_ == version()) return;
        unspanned_stale_ = false;
        version_of_unspanned_ = version();
        unspanned_.clear();
        for_each_open(visited_, [&](std::int32_t support, auto& parameters) {
            if (!parameters.known()) unspanned_.push_back(support);
            return true;
        });
    }

    Shared shared_;
    std::int64_t first_index_;
    Tolerances tolerances_;

    std::uint64_t version_ = 0;
    std::vector<Equality> equalities_;  // kept
    std::vector<std::int32_t> open_;    // supports; empty before the first equality asks for them: then all are
    std::vector<std::int32_t> known_;
    std::vector<double> theta_, error_;  // of the known ones: K0 parameters and an error each
    std::vector<Memo> memo_;             // per index of the block

    std::vector<double> largest_;                  // scratch: per live support
    std::vector<double> residual_, coefficients_;  // scratch: of the feature last looked at

    // Directed exploration.
    std::vector<Equality> visited_;  // the features, all with value 0
    Basis visited_basis_;
    std::vector<std::int32_t> unspanned_;
    std::uint64_t version_of_unspanned_ = 0;
    bool unspanned_stale_ = true;

    std::vector<double> feature_;  // last read, as long as feature_index_ says which it is
    double feature_length_ = 0;
    std::int64_t feature_index_ = -1;
};

}  // namespace ocp
