// Linear classes, what is learned: Q_t(x,a) = phi(t,x,a).theta with theta in a polyhedron, block by block.
//
// The interface is that of hypothesis/cells.hpp: an index is a triple (layer, point, action), a point is a state.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/basis.hpp"
#include "ocpfast/hypothesis/features.hpp"
#include "ocpfast/hypothesis/linear_block.hpp"
#include "ocpfast/store.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

class Linear {
public:
    static constexpr std::int64_t no_holder = -1;
    static constexpr bool distinct_rewards = true;
    static constexpr std::int64_t replay_at_once = 2'000;  // constraints: about 0.2 s where each needs programs

    // bounds: answers are clipped to [lower, upper] of their layer (or of the only pair); no rows are added.
    Linear(std::shared_ptr<const Features> features, Selection selection, std::int64_t window,
           std::vector<double> lower, std::vector<double> upper, const HighsApi* api, const Tolerances& tolerances)
        : features_(std::move(features)),
          selection_(selection),
          lower_bounds_(std::move(lower)),
          upper_bounds_(std::move(upper)),
          tolerances_(tolerances),
          indices_per_block_(features_->indices_per_block()) {
        for (std::int64_t block = 0; block < features_->n_blocks(); ++block) {
            blocks_.emplace_back(LinearBlock(features_, block, api, tolerances), selection, window);
        }
        answers_.resize(static_cast<std::size_t>(partition().n_layers() * partition().n_points()));
    }

    const Partition& partition() const { return features_->domain(); }
    std::int64_t index(std::int64_t layer, std::int64_t point, std::int64_t action) const {
        return partition().cell(layer, point, action);
    }

    // ---- what is known -----------------------------------------------------------------------------------------

    struct Best {
        double upper;
        std::int64_t action;
        bool determined;
    };

    Best best(std::int64_t layer, std::int64_t point) const {
        Answer& answer = answer_at(layer, point);
        const std::uint64_t version = blocks_[block_of_layer(layer)].hypotheses().version();
        if (answer.version_of_best != version) {
            answer.best = find_best(index(layer, point, 0));
            answer.version_of_best = version;
        }
        return answer.best;
    }

    double upper(std::int64_t index) const { return clip(index, block(index).upper(index)); }
    double lower(std::int64_t index) const { return clip(index, block(index).lower(index)); }
    bool determined(std::int64_t index) const { return block(index).pinned(index); }
    bool tied(double upper, double best) const {
        return upper >= best || (best < infinity && best - upper <= tolerances_.ties * std::max(1.0, std::abs(best)));
    }

    static constexpr bool knows_lower() { return true; }
    double lower_max(std::int64_t layer, std::int64_t point) const {
        Answer& answer = answer_at(layer, point);
        LinearBlock& hypotheses = blocks_[block_of_layer(layer)].hypotheses();
        if (answer.version_of_lower != hypotheses.version()) {
            const std::int64_t first = index(layer, point, 0);
            answer.lower = clip(first, find_lower_max(hypotheses, first));
            answer.version_of_lower = hypotheses.version();
        }
        return answer.lower;
    }

    // ---- learning ----------------------------------------------------------------------------------------------

    bool join(std::int64_t index, Estimate estimate, std::int64_t holder = no_holder) {
        Store& store = blocks_[block_number(index)];
        const std::uint64_t before = store.hypotheses().version();
        tidy(estimate);
        if (estimate.upper < bound(lower_bounds_, index) || estimate.lower > bound(upper_bounds_, index)) {
            ++n_rejected_;
            return false;
        }
        if (selection_ == Selection::eluder && estimate.lower != estimate.upper) return false;
        if (holder == no_holder) {
            store.insert(index, estimate.lower, estimate.upper);
        } else {
            Held& held = held_[holder];
            if (held.sequence >= 0 && held.lower == estimate.lower && held.upper == estimate.upper) return false;
            const std::int64_t sequence = store.insert(index, estimate.lower, estimate.upper, true);
            if (sequence >= 0) {  // else it was dropped, and what it said before stays
                if (held.sequence >= 0) store.erase(held.sequence);
                held = {sequence, estimate.lower, estimate.upper};
            }
        }
        return store.hypotheses().version() != before;
    }

    void stage(std::int64_t index, const Estimate& estimate, std::int64_t holder = no_holder) {
        staged_.push_back({index, estimate, holder});
    }
    template <class Changed>
    void commit(Changed&& changed) {
        for (const Staged& staged : staged_) {
            if (join(staged.index, staged.estimate, staged.holder)) changed(staged.index);
        }
        staged_.clear();
    }
    void discard_staged() { staged_.clear(); }

    template <class Changed>
    void end_episode(Changed&& changed) {
        if (selection_ != Selection::window) return;
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            const std::uint64_t before = blocks_[b].hypotheses().version();
            blocks_[b].end_episode();
            if (blocks_[b].hypotheses().version() != before) {
                changed(static_cast<std::int64_t>(b) * features_->indices_per_block());
            }
        }
    }

    // A change of theta reaches every point of the block.
    template <class Visit>
    void for_each_affected(std::int64_t index, Visit&& visit) const {
        const std::int64_t per_layer = partition().n_points() * partition().n_actions();
        const std::int64_t first = features_->block(index) * features_->indices_per_block() / per_layer;
        const std::int64_t last = first + features_->indices_per_block() / per_layer;
        for (std::int64_t layer = first; layer < last; ++layer) {
            for (std::int64_t point = 0; point < partition().n_points(); ++point) visit(layer, point);
        }
    }

    // Directed exploration: a triple is new if its feature is independent of those visited.
    void visit(std::int64_t index) {
        if (visited_.empty()) visited_.assign(blocks_.size(), Basis(features_->n_features()));
        std::vector<double> vector = feature(index), coefficients;
        Basis& basis = visited_[static_cast<std::size_t>(features_->block(index))];
        const double size = length(vector.data(), vector.size());
        basis.split(vector, coefficients);
        const double left = length(vector.data(), vector.size());
        if (left > tolerances_.dependence * size) basis.add(vector, left);
    }
    bool is_new(std::int64_t index) const {
        std::vector<double> vector = feature(index), coefficients;
        const double size = length(vector.data(), vector.size());
        if (visited_.empty()) return size > 0;
        const Basis& basis = visited_[static_cast<std::size_t>(features_->block(index))];
        if (basis.full()) return false;
        basis.split(vector, coefficients);
        return length(vector.data(), vector.size()) > tolerances_.dependence * size;
    }

    bool order_matters() const { return true; }

    // ---- statistics --------------------------------------------------------------------------------------------

    std::int64_t n_constraints() const {
        std::int64_t n = 0;
        for (const auto& store : blocks_) n += static_cast<std::int64_t>(store.entries().size());
        return n;
    }
    std::int64_t n_determined() const {  // dimensions of theta that are known
        std::int64_t n = 0;
        for (const auto& store : blocks_) n += static_cast<std::int64_t>(store.hypotheses().n_pinned());
        return n;
    }
    std::int64_t n_rejected() const {
        std::int64_t n = n_rejected_;
        for (const auto& store : blocks_) n += static_cast<std::int64_t>(store.n_rejected());
        return n;
    }
    std::int64_t n_contradictions() const {
        std::int64_t n = 0;
        for (const auto& store : blocks_) n += store.n_contradictions();
        return n;
    }
    LpStatistics lp_statistics() const {
        LpStatistics sum;
        for (const auto& store : blocks_) {
            const LpStatistics& one = store.hypotheses().statistics();
            sum.solved += one.solved;
            sum.pivots += one.pivots;
            sum.cold += one.cold;
            sum.answered += one.answered;
        }
        return sum;
    }

private:
    using Store = ConstraintStore<LinearBlock>;
    struct Staged {
        std::int64_t index;
        Estimate estimate;
        std::int64_t holder;
    };
    struct Held {
        std::int64_t sequence = -1;
        double lower = 0, upper = 0;
    };
    // Of one (layer, point), each with the version of the block that it was true of. Once nothing changes any more,
    // finding it here takes a few nanoseconds, where the values of two actions behind it took 40.
    struct Answer {
        std::uint64_t version_of_best = ~std::uint64_t{0}, version_of_lower = ~std::uint64_t{0};
        Best best{};
        double lower = 0;
    };

    std::size_t block_number(std::int64_t index) const {
        return blocks_.size() == 1 ? 0 : static_cast<std::size_t>(index / indices_per_block_);
    }
    std::size_t block_of_layer(std::int64_t layer) const {
        return blocks_.size() == 1 ? 0 : static_cast<std::size_t>(layer);
    }
    LinearBlock& block(std::int64_t index) const { return blocks_[block_number(index)].hypotheses(); }
    Answer& answer_at(std::int64_t layer, std::int64_t point) const {
        return answers_[static_cast<std::size_t>(layer * partition().n_points() + point)];
    }

    Best find_best(std::int64_t first) const {
        const std::int64_t n_actions = partition().n_actions();
        Best best{-infinity, 0, false};
        for (std::int64_t action = 0; action < n_actions; ++action) {
            best.upper = std::max(best.upper, upper(first + action));
        }
        for (std::int64_t action = n_actions - 1; action >= 0; --action) {
            if (!tied(upper(first + action), best.upper)) continue;
            best.action = action;
            best.determined |= determined(first + action);
        }
        return best;
    }

    double find_lower_max(LinearBlock& hypotheses, std::int64_t first) const {
        std::vector<std::int64_t> indices;
        for (std::int64_t action = 0; action < partition().n_actions(); ++action) indices.push_back(first + action);
        if (selection_ == Selection::eluder && !hypotheses.has_rows()) {
            // Only equalities matter, and without rows U is finite only where every action is pinned.
            double largest = -infinity;
            for (const std::int64_t i : indices) {
                if (hypotheses.pinned(i)) largest = std::max(largest, hypotheses.upper(i));
            }
            return largest;
        }
        return hypotheses.infimum_of_maximum(indices);
    }

    std::vector<double> feature(std::int64_t index) const {
        const double* phi = features_->of(index);
        return {phi, phi + features_->n_features()};
    }

    double bound(const std::vector<double>& bounds, std::int64_t index) const {
        return bounds[bounds.size() == 1 ? 0 : static_cast<std::size_t>(partition().layer_of_cell(index))];
    }
    double clip(std::int64_t index, double value) const {
        return std::min(std::max(value, bound(lower_bounds_, index)), bound(upper_bounds_, index));
    }

    // What projections and linear programs return is rounded, so that values that are equal in theory are equal here:
    // the order of Algorithm 1 goes by equal U. L above U, or just below it, is an equality.
    void tidy(Estimate& estimate) const {
        estimate.lower = to_40_bits(estimate.lower);
        estimate.upper = to_40_bits(estimate.upper);
        if (estimate.upper == infinity) return;
        const double size = std::max(1.0, std::abs(estimate.upper));
        if (estimate.upper - estimate.lower <= tolerances_.equality * size) estimate.lower = estimate.upper;
    }
    static double to_40_bits(double value) {
        if (!std::isfinite(value)) return value;
        std::uint64_t bits;  // 53 of them are the value's: 13 go
        std::memcpy(&bits, &value, sizeof bits);
        bits = (bits + (std::uint64_t{1} << 12)) & ~((std::uint64_t{1} << 13) - 1);
        std::memcpy(&value, &bits, sizeof bits);
        return value;
    }

    std::shared_ptr<const Features> features_;
    Selection selection_;
    std::vector<double> lower_bounds_, upper_bounds_;
    Tolerances tolerances_;

    // Questions are memoised and warm-start the next one, so they change what is behind them, never what is known.
    mutable std::vector<Store> blocks_;
    mutable std::vector<Answer> answers_;  // per (layer, point)
    std::int64_t indices_per_block_;

    std::vector<Staged> staged_;
    std::unordered_map<std::int64_t, Held> held_;  // by stored transition
    std::vector<Basis> visited_;                   // per block, once something was
    std::int64_t n_rejected_ = 0;
};

}  // namespace ocp
