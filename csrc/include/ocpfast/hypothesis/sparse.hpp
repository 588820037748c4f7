// Sparse linear classes, what is learned: Q_t(x,a) = phi(t,x,a).theta with at most K0 non-zeros in each block's theta.
//
// Only equalities (L = U) are learned, and of these the ones that change what is left. `Block` is what is left of one
// block: hypothesis/sparse_block.hpp goes through all supports, hypothesis/sparse_program_block.hpp asks HiGHS. The
// interface is that of hypothesis/cells.hpp: an index is a triple (layer, point, action), a point is a state.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/sparse_block.hpp"
#include "ocpfast/hypothesis/supports.hpp"
#include "ocpfast/limits.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

template <class Block>
class Sparse {
public:
    static constexpr std::int64_t no_holder = -1;
    static constexpr bool distinct_rewards = true;
    static constexpr bool may_be_open = false;
    static constexpr std::int64_t replay_at_once = 2'000;

    Sparse(std::shared_ptr<const SparseFeatures> features, const typename Block::Shared& shared,
           const PriorBounds& bounds, const Tolerances& tolerances)
        : features_(std::move(features)), bounds_(bounds), tolerances_(tolerances) {
        const std::int64_t n_blocks = features_->features().n_blocks();
        indices_per_block_ = partition().n_cells() / n_blocks;
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            blocks_.emplace_back(shared, b * indices_per_block_, indices_per_block_, tolerances);
        }
        answers_.resize(static_cast<std::size_t>(partition().n_layers() * partition().n_points()));
    }

    const Partition& partition() const { return features_->features().domain(); }
    std::int64_t index(std::int64_t layer, std::int64_t point, std::int64_t action) const {
        return partition().cell(layer, point, action);
    }

    bool coupled() const { return blocks_.size() == 1 && partition().n_layers() > 1; }

    // ---- what is known -------------------------------------------------------------------------------------------

    struct Best {
        double upper;
        std::int64_t action;
        bool determined;
        template <class Archive>
        void archive(Archive& a) {
            a(upper, action, determined);
        }
    };

    Best best(std::int64_t layer, std::int64_t point) const {
        Answer& answer = answer_at(layer, point);
        const std::uint64_t version = block_of_layer(layer).version();
        if (answer.version_of_best != version) {
            answer.best = find_best(index(layer, point, 0));
            answer.version_of_best = version;
        }
        return answer.best;
    }

    double upper(std::int64_t index) const { return clip(index, block(index).ask(index).upper); }
    double lower(std::int64_t index) const { return clip(index, block(index).lower(index)); }
    // Whether all hypotheses left agree on it.
    bool determined(std::int64_t index) const { return block(index).ask(index).settled; }
    bool tied(double upper, double best) const {
        return upper >= best || (best < infinity && best - upper <= tolerances_.ties * std::max(1.0, std::abs(best)));
    }
    bool ties(std::int64_t index, double best) const { return tied(upper(index), best); }

    static constexpr bool knows_lower() { return true; }
    // Where every action is finite the infimum over the hypotheses left of the largest; else something below it, as
    // without a prior bound U is infinite there.
    double lower_max(std::int64_t layer, std::int64_t point) const {
        Answer& answer = answer_at(layer, point);
        const std::uint64_t version = block_of_layer(layer).version();
        if (answer.version_of_lower != version) {
            answer.lower = find_lower_max(index(layer, point, 0));
            answer.version_of_lower = version;
        }
        return answer.lower;
    }

    // ---- learning ------------------------------------------------------------------------------------------------

    // Equalities stay for good, whoever holds them: what a stored transition says once it is an equality never changes
    // as long as Q* is in the class.
    bool join(std::int64_t index, const Estimate& estimate, std::int64_t = no_holder) {
        const auto slack = [&](double value) { return tolerances_.feasibility * std::max(1.0, std::abs(value)); };
        if (estimate.upper < least(index) - slack(estimate.upper) ||
            estimate.lower > most(index) + slack(estimate.lower)) {
            ++n_rejected_;
            return false;
        }
        // Before values that grow for ever overflow they say nothing.
        if (!(std::abs(estimate.upper) <= largest_value)) return false;
        if (estimate.upper - estimate.lower > tolerances_.equality * std::max(1.0, std::abs(estimate.upper)))
            return false;
        // an equality at a prior bound may have been rounded beyond it
        const Joined joined = block(index).join(index, clip(index, estimate.upper));
        n_contradictions_ += joined == Joined::contradiction;
        return joined == Joined::kept || joined == Joined::observed;
    }

    void stage(std::int64_t index, const Estimate& estimate, std::int64_t = no_holder) {
        staged_.push_back({index, estimate.lower, estimate.upper});
    }
    template <class Changed>
    void commit(Changed&& changed) {
        for (const Staged& staged : staged_) {
            if (join(staged.index, {staged.lower, staged.upper, false})) changed(staged.index);
        }
        staged_.clear();
    }
    void discard_staged() { staged_.clear(); }
    void release(std::int64_t) {}

    template <class Changed>
    void end_episode(Changed&&) {}

    // A change of theta reaches every point of the block.
    template <class Visit>
    void for_each_affected(std::int64_t index, Visit&& visit) const {
        const bool everywhere = blocks_.size() == 1;
        const std::int64_t first = everywhere ? 0 : partition().layer_of_cell(index);
        const std::int64_t last = everywhere ? partition().n_layers() : first + 1;
        for (std::int64_t layer = first; layer < last; ++layer) {
            for (std::int64_t point = 0; point < partition().n_points(); ++point) visit(layer, point);
        }
    }

    // Directed exploration.
    void visit(std::int64_t index) { block(index).visit(index); }
    bool is_new(std::int64_t index) const { return block(index).is_new(index); }

    bool order_matters() const { return true; }

    // ---- statistics ----------------------------------------------------------------------------------------------

    std::int64_t n_constraints() const {
        return sum([](const Block& block) { return block.n_kept(); });
    }
    // Each equality kept was independent of those before it with respect to the class: so many of its eluder dimension
    // are used up.
    std::int64_t n_determined() const { return n_constraints(); }
    std::int64_t n_rejected() const { return n_rejected_; }
    std::int64_t n_contradictions() const { return n_contradictions_; }
    // False once something observed proved that Q* is not in the class.
    bool coherent() const { return n_rejected_ == 0 && n_contradictions_ == 0; }

    template <class Count>
    std::int64_t sum(const Count& count) const {
        std::int64_t total = 0;
        for (const Block& block : blocks_) total += count(block);
        return total;
    }

    // ---- saving and loading --------------------------------------------------------------------------------------

    static constexpr const char* kind = Block::kind;

    template <class Archive>
    void archive(Archive& a) {
        a.same(bounds_.lower, "lower bound");
        a.same(bounds_.upper, "upper bound");
        a.same(features_->sparsity(), "sparsity");
        a.items(blocks_);
        a.columns(
            answers_, &Answer::version_of_best, &Answer::version_of_lower, &Answer::lower,
            [](Answer& one) -> double& { return one.best.upper; },
            [](Answer& one) -> std::int64_t& { return one.best.action; },
            [](Answer& one) -> bool& { return one.best.determined; });
        a(staged_);
        a.counts(n_rejected_, n_contradictions_);
        for (const Answer& answer : answers_) a.require_index(answer.best.action, 0, partition().n_actions());
        for (const Staged& staged : staged_) a.require_index(staged.index, 0, partition().n_cells());
    }

private:
    struct Staged {
        std::int64_t index;
        double lower, upper;
        template <class Archive>
        void archive(Archive& a) {
            a(index, lower, upper);
        }
    };
    // Of one (layer, point), each with the version of the block that it was true of.
    struct Answer {
        std::uint64_t version_of_best = ~std::uint64_t{0}, version_of_lower = ~std::uint64_t{0};
        Best best{};
        double lower = 0;
    };

    Block& block(std::int64_t index) const { return blocks_[static_cast<std::size_t>(index / indices_per_block_)]; }
    Block& block_of_layer(std::int64_t layer) const {
        return blocks_[blocks_.size() == 1 ? 0 : static_cast<std::size_t>(layer)];
    }
    Answer& answer_at(std::int64_t layer, std::int64_t point) const {
        return answers_[static_cast<std::size_t>(layer * partition().n_points() + point)];
    }

    std::size_t bound_of(const std::vector<double>& bounds, std::int64_t index) const {
        return bounds.size() == 1 ? 0 : static_cast<std::size_t>(partition().layer_of_cell(index));
    }
    double least(std::int64_t index) const { return bounds_.lower[bound_of(bounds_.lower, index)]; }
    double most(std::int64_t index) const { return bounds_.upper[bound_of(bounds_.upper, index)]; }
    double clip(std::int64_t index, double value) const { return std::min(std::max(value, least(index)), most(index)); }

    Best find_best(std::int64_t first) const {
        Best best{-infinity, 0, false};
        const std::int64_t n_actions = partition().n_actions();
        for (std::int64_t index = first; index < first + n_actions; ++index) {
            best.upper = std::max(best.upper, upper(index));
        }
        for (std::int64_t action = n_actions - 1; action >= 0; --action) {
            if (!ties(first + action, best.upper)) continue;
            best.action = action;
            best.determined |= determined(first + action);
        }
        return best;
    }

    double find_lower_max(std::int64_t first) const {
        const std::int64_t n_actions = partition().n_actions();
        Block& here = block(first);
        bool all_finite = true;
        double largest = -infinity;
        for (std::int64_t index = first; index < first + n_actions; ++index) {
            const SparseAnswer& answer = here.ask(index);
            all_finite &= answer.finite;
            largest = std::max(largest, answer.lower);
        }
        return clip(first, all_finite ? here.infimum_of_maximum(first, n_actions) : largest);
    }

    std::shared_ptr<const SparseFeatures> features_;
    PriorBounds bounds_;
    Tolerances tolerances_;
    std::int64_t indices_per_block_ = 0;

    // Questions are memoised, so they change what is behind them, never what is known.
    mutable std::vector<Block> blocks_;
    mutable std::vector<Answer> answers_;  // per (layer, point)

    std::vector<Staged> staged_;
    std::int64_t n_rejected_ = 0, n_contradictions_ = 0;
};

}  // namespace ocp
