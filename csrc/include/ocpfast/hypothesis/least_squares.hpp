// Linear classes over finite states, fitted by least squares: Q_t(x, a) = phi(t, x, a).theta_t with theta_t fitted to
// r + max_a Q_{t+1}(x', a) over all that was seen at t.
//
// Each period has parameters of its own, fitted once, backward from the last; where all share them, each of so many
// sweeps from 0 fits them to all data. Transitions are held as distinct ones with counts: once nothing new is seen, a
// fit costs the same whatever the number of episodes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ocpfast/hypothesis/features.hpp"
#include "ocpfast/hypothesis/normal_equations.hpp"
#include "ocpfast/limits.hpp"

namespace ocp {

class LeastSquares {
public:
    // sweeps: of each fit, where all periods share their parameters.
    LeastSquares(std::shared_ptr<const Features> features, std::int64_t sweeps)
        : features_(std::move(features)),
          sweeps_(sweeps),
          first_edge_(static_cast<std::size_t>(partition().n_cells()), -1),
          memo_(static_cast<std::size_t>(partition().n_cells())),
          feature_(features_->n_features()) {
        for (std::int64_t block = 0; block < features_->n_blocks(); ++block) blocks_.emplace_back(feature_.size());
    }

    const Partition& partition() const { return features_->domain(); }

    double value(std::int64_t index) const {
        const Block& block = blocks_[at(features_->block(index))];
        Memo& memo = memo_[at(index)];
        if (memo.version == block.version) return memo.value;
        read(index);
        memo.value = 0;
        for (std::size_t k = 0; k < feature_.size(); ++k) memo.value += feature_[k] * block.theta[k];
        memo.version = block.version;
        return memo.value;
    }

    // One transition; next is nowhere where nothing follows.
    void record(std::int64_t layer, std::int64_t point, std::int64_t action, std::int64_t next, double reward) {
        const std::int64_t index = partition().cell(layer, point, action);
        Block& block = blocks_[at(features_->block(index))];
        read(index);
        block.equations.add(feature_.data());
        for (std::size_t k = 0; k < feature_.size(); ++k) block.rewards[k] += reward * feature_[k];
        block.new_data = true;
        if (next == Partition::nowhere) return;
        const bool last = layer + 1 == partition().n_layers();
        count(block, index, partition().first_slot(last ? 0 : layer + 1, next));  // without a horizon: the same layer
    }

    void end_episode() {
        if (blocks_.size() == 1 && (partition().homogeneous() || partition().n_layers() > 1)) {
            fit_shared();
            return;
        }
        bool follows_changed = false;
        for (std::size_t b = blocks_.size(); b-- > 0;) {
            Block& block = blocks_[b];
            if (block.new_data || follows_changed) {
                follows_changed = fit_block(block);
                block.new_data = false;
            }
        }
        ++n_sweeps_;
    }

    std::int64_t n_transitions() const { return n_edges_; }
    std::int64_t n_sweeps() const { return n_sweeps_; }
    std::int64_t n_diverged() const { return n_diverged_; }  // fits that were cut short by largest_value

    static constexpr const char* kind = "LSVI on linear features";
    template <class Archive>
    void archive(Archive& a) {
        a.same(sweeps_, "number of sweeps");
        a.items(blocks_);
        a.fixed(first_edge_);
        a.counts(n_edges_, n_sweeps_, n_diverged_);
        if constexpr (Archive::loading) {
            check(a);
            std::fill(memo_.begin(), memo_.end(), Memo{0, ~std::uint64_t{0}});
        }
    }

private:
    struct Edge {
        std::int64_t index;      // (layer, point, action)
        std::int64_t next;       // the first of the indices that follow
        std::int64_t following;  // of the same index, -1 at the end
        double count;
        template <class Archive>
        void archive(Archive& a) {
            a(index, next, following, count);
        }
    };

    // Each edge stands on the list of its index, once.
    template <class Archive>
    void check(Archive& a) const {
        const std::int64_t n_cells = partition().n_cells();
        std::int64_t n_edges = 0, n_steps = 0;
        for (const Block& block : blocks_) {
            n_edges += static_cast<std::int64_t>(block.edges.size());
            for (const Edge& edge : block.edges) {
                a.require_index(edge.index, 0, n_cells);
                a.require_index(edge.next, 0, n_cells - partition().n_actions() + 1);
            }
        }
        for (std::int64_t index = 0; index < n_cells; ++index) {
            const std::vector<Edge>& edges = blocks_[at(features_->block(index))].edges;
            for (std::int64_t e = first_edge_[at(index)]; e != -1; e = edges[at(e)].following) {
                a.require_index(e, 0, edges.size());
                a.require(edges[at(e)].index == index && ++n_steps <= n_edges, "a list of transitions");
            }
        }
        a.require(n_steps == n_edges && n_edges == n_edges_, "a list of transitions");
    }

    struct Block {  // periods that share their parameters
        explicit Block(std::size_t n) : equations(n), rewards(n, 0.0), theta(n, 0.0) {}
        NormalEquations equations;
        std::vector<double> rewards;  // sum of r phi
        std::vector<double> theta;
        std::vector<Edge> edges;
        std::uint64_t version = 0;  // of theta
        bool new_data = false;
        template <class Archive>
        void archive(Archive& a) {
            a(equations);
            a.fixed(rewards);
            a.fixed(theta);
            a(edges, version, new_data);
        }
    };
    struct Memo {
        double value = 0;
        std::uint64_t version = 0;  // theta is 0 at first
    };

    static std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }

    void read(std::int64_t index) const { features_->rows()->read(index, feature_.data()); }

    void count(Block& block, std::int64_t index, std::int64_t next) {
        std::int64_t& head = first_edge_[at(index)];
        for (std::int64_t e = head; e >= 0; e = block.edges[at(e)].following) {
            if (block.edges[at(e)].next != next) continue;
            ++block.edges[at(e)].count;
            return;
        }
        block.edges.push_back({index, next, head, 1.0});
        head = static_cast<std::int64_t>(block.edges.size()) - 1;
        ++n_edges_;
    }

    double largest(std::int64_t first) const {
        double largest = value(first);
        for (std::int64_t action = 1; action < partition().n_actions(); ++action) {
            largest = std::max(largest, value(first + action));
        }
        return largest;
    }

    // Fits theta to the present values of what follows; true if it changed.
    bool fit_block(Block& block) {
        right_ = block.rewards;
        for (const Edge& edge : block.edges) {
            const double target = edge.count * largest(edge.next);
            if (target == 0) continue;
            read(edge.index);
            for (std::size_t k = 0; k < feature_.size(); ++k) right_[k] += target * feature_[k];
        }
        block.equations.solve(right_);
        // fits that generalise need not converge: before products of values overflow, the last sweep is undone
        for (const double one : right_) {
            if (std::abs(one) <= largest_value) continue;
            ++n_diverged_;
            return false;
        }
        if (right_ == block.theta) return false;
        block.theta.swap(right_);
        ++block.version;
        return true;
    }

    void fit_shared() {
        Block& block = blocks_[0];
        std::fill(block.theta.begin(), block.theta.end(), 0.0);
        ++block.version;
        const std::int64_t most = partition().homogeneous() ? sweeps_ : partition().horizon();
        for (std::int64_t sweep = 0; sweep < most; ++sweep) {
            ++n_sweeps_;
            if (!fit_block(block)) break;
        }
    }

    std::shared_ptr<const Features> features_;
    std::int64_t sweeps_;
    std::vector<Block> blocks_;
    std::vector<std::int64_t> first_edge_;  // per index, in its block
    std::int64_t n_edges_ = 0, n_sweeps_ = 0, n_diverged_ = 0;

    mutable std::vector<Memo> memo_;  // per index
    mutable std::vector<double> feature_, right_;
};

}  // namespace ocp
