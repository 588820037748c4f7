// State aggregation, fitted by least squares: a cell's value is the average of r + max_a Q(x', a) over what was seen in
// it, and 0 where nothing was.
//
// What was seen is held as distinct edges (cell, next point) with counts, and the sum of the rewards of each cell:
// memory and the cost of a fit are bounded by them, whatever the number of episodes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ocpfast/compensated_sum.hpp"
#include "ocpfast/hypothesis/partition.hpp"
#include "ocpfast/hypothesis/value_iteration.hpp"

namespace ocp {

class Averages {
public:
    // sweeps: of each fit, where the class is time-homogeneous.
    Averages(std::shared_ptr<const Partition> partition, std::int64_t sweeps)
        : partition_(std::move(partition)),
          sweeps_(sweeps),
          value_(static_cast<std::size_t>(partition_->n_cells()), 0.0),
          slot_of_cell_(static_cast<std::size_t>(partition_->n_cells()), -1) {
        if (partition_->homogeneous()) {
            number_of_point_.assign(static_cast<std::size_t>(partition_->n_points()), -1);
        } else {
            incoming_.assign(static_cast<std::size_t>(partition_->n_layers() * partition_->n_points()), -1);
            waiting_.resize(static_cast<std::size_t>(partition_->n_layers()));
        }
    }

    const Partition& partition() const { return *partition_; }
    double value(std::int64_t cell) const { return value_[at(cell)]; }

    // One transition; next is nowhere where nothing follows.
    void record(std::int64_t layer, std::int64_t point, std::int64_t action, std::int64_t next, double reward) {
        const std::int32_t number = visited(partition_->cell(layer, point, action));
        Visited& cell = visited_[at(number)];
        ++cell.count;
        cell.rewards.add(reward);
        if (next != Partition::nowhere) ++edges_[at(edge(number, layer, next))].count;
        if (!partition_->homogeneous()) wait(number, layer);
    }

    // Fits all values to all that was recorded.
    void end_episode() {
        if (partition_->homogeneous()) {
            fit_homogeneous();
        } else {
            fit_backward();
        }
    }

    std::int64_t n_transitions() const { return static_cast<std::int64_t>(edges_.size()); }
    std::int64_t n_sweeps() const { return iteration_.n_sweeps() + n_backward_; }
    std::int64_t n_skipped() const { return iteration_.n_skipped(); }

    static constexpr const char* kind = "LSVI on cells";
    template <class Archive>
    void archive(Archive& a) {
        a.same(sweeps_, "number of sweeps");
        a.fixed(value_);
        a(visited_, edges_);
        a.fixed(incoming_);
        a.sparse_items(waiting_);
        a.counts(n_backward_);
        a(iteration_);
        if constexpr (Archive::loading) check(a);
    }

private:
    struct Visited {  // a cell with data
        std::int64_t cell;
        std::int64_t count = 0;
        CompensatedSum rewards;
        std::int32_t first_edge = -1;
        bool waits = false;  // for the next fit: something it is made of changed
        double mean_reward() const { return rewards.value() / static_cast<double>(count); }
        template <class Archive>
        void archive(Archive& a) {
            a(cell);
            a.counts(count);
            a(rewards, first_edge, waits);
        }
    };
    struct Edge {
        std::int64_t count = 0;
        std::int32_t from;                // number of the visited cell
        std::int32_t next;                // a point of the layer after the cell's
        std::int32_t following;           // of the same cell, -1 at the end
        std::int32_t following_incoming;  // to the same point
        template <class Archive>
        void archive(Archive& a) {
            a.counts(count);
            a(from, next, following, following_incoming);
        }
    };

    // Each edge stands on the lists that it belongs to, once, and leads to a layer that there is.
    template <class Archive>
    void check(Archive& a) {
        const std::int64_t n = n_transitions(), n_points = partition_->n_points(), last = partition_->n_layers() - 1;
        const auto n_visited = static_cast<std::int64_t>(visited_.size());
        const bool homogeneous = partition_->homogeneous();
        a.require(n_visited <= partition_->n_cells() && n < INT32_MAX, "a size");
        for (const Edge& edge : edges_) {
            a.require_index(edge.from, 0, n_visited);
            a.require_index(edge.next, 0, n_points);
            a.require(edge.count > 0, "a count");
        }
        std::int64_t n_steps = 0;
        std::fill(slot_of_cell_.begin(), slot_of_cell_.end(), -1);
        for (std::int64_t number = 0; number < n_visited; ++number) {
            const Visited& cell = visited_[at(number)];
            a.require_index(cell.cell, 0, partition_->n_cells());
            a.require(slot_of_cell_[at(cell.cell)] == -1 && cell.count > 0, "a cell");
            a.require(cell.first_edge == -1 || homogeneous || partition_->layer_of_cell(cell.cell) < last, "a cell");
            slot_of_cell_[at(cell.cell)] = static_cast<std::int32_t>(number);
            for (std::int64_t e = cell.first_edge; e != -1; e = edges_[at(e)].following) {
                a.require_index(e, 0, n);
                a.require(edges_[at(e)].from == number && ++n_steps <= n, "a list of transitions");
            }
        }
        a.require(n_steps == n, "a list of transitions");
        if (homogeneous) return;
        const auto layer_of = [&](std::int64_t number) { return partition_->layer_of_cell(visited_[at(number)].cell); };
        for (std::int64_t head = 0; head < static_cast<std::int64_t>(incoming_.size()); ++head) {
            for (std::int64_t e = incoming_[at(head)]; e != -1; e = edges_[at(e)].following_incoming) {
                a.require_index(e, 0, n);
                const Edge& edge = edges_[at(e)];
                a.require(edge.next == head % n_points && layer_of(edge.from) == head / n_points - 1 && --n_steps >= 0,
                          "a list of transitions");
            }
        }
        for (std::int64_t layer = 0; layer <= last; ++layer) {
            for (const std::int32_t number : waiting_[at(layer)]) {
                a.require_index(number, 0, n_visited);
                a.require(layer_of(number) == layer, "a cell");
            }
        }
    }

    static std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }

    // The number of a cell among those visited.
    std::int32_t visited(std::int64_t cell) {
        std::int32_t& slot = slot_of_cell_[at(cell)];
        if (slot < 0) {
            slot = static_cast<std::int32_t>(visited_.size());
            visited_.push_back({cell, 0, {}, -1, false});
        }
        return slot;
    }

    std::int32_t edge(std::int32_t from, std::int64_t layer, std::int64_t next) {
        std::int32_t& head = visited_[at(from)].first_edge;
        std::int32_t previous = -1;
        for (std::int32_t e = head; e >= 0; previous = e, e = edges_[at(e)].following) {
            if (edges_[at(e)].next != next) continue;
            if (previous >= 0) {  // to the front: outcomes repeat, so the next search is short
                edges_[at(previous)].following = edges_[at(e)].following;
                edges_[at(e)].following = head;
                head = e;
            }
            return e;
        }
        const auto number = static_cast<std::int32_t>(edges_.size());
        Edge one{0, from, static_cast<std::int32_t>(next), head, -1};
        head = number;
        if (!partition_->homogeneous()) {
            std::int32_t& incoming = incoming_[at((layer + 1) * partition_->n_points() + next)];
            one.following_incoming = incoming;
            incoming = number;
        }
        edges_.push_back(one);
        return number;
    }

    double largest(std::int64_t layer, std::int64_t point) const {
        double largest = value(partition_->cell(layer, point, 0));
        for (std::int64_t action = 1; action < partition_->n_actions(); ++action) {
            largest = std::max(largest, value(partition_->cell(layer, point, action)));
        }
        return largest;
    }

    // ---- a horizon: backward, once ------------------------------------------------------------------------------

    void wait(std::int32_t number, std::int64_t layer) {
        if (visited_[at(number)].waits) return;
        visited_[at(number)].waits = true;
        waiting_[at(layer)].push_back(number);
    }

    // Only cells with new data, or whose successors changed, can change.
    void fit_backward() {
        for (std::int64_t layer = partition_->n_layers() - 1; layer >= 0; --layer) {
            for (const std::int32_t number : waiting_[at(layer)]) {
                Visited& cell = visited_[at(number)];
                cell.waits = false;
                double average = cell.mean_reward();
                for (std::int32_t e = cell.first_edge; e >= 0; e = edges_[at(e)].following) {
                    average += share(edges_[at(e)], cell) * largest(layer + 1, edges_[at(e)].next);
                }
                if (average == value(cell.cell)) continue;
                value_[at(cell.cell)] = average;
                if (layer == 0) continue;
                partition_->for_each_point(cell.cell, [&](std::int64_t, std::int64_t point) {
                    for (std::int32_t e = incoming_[at(layer * partition_->n_points() + point)]; e >= 0;
                         e = edges_[at(e)].following_incoming) {
                        wait(edges_[at(e)].from, layer - 1);
                    }
                });
            }
            waiting_[at(layer)].clear();
        }
        ++n_backward_;
    }

    // 1 where a cell has one outcome: its value is then the reward's mean plus what follows, not rounded twice.
    static double share(const Edge& edge, const Visited& cell) {
        return static_cast<double>(edge.count) / static_cast<double>(cell.count);
    }

    // ---- no horizon: so many sweeps from 0 ------------------------------------------------------------------------

    void fit_homogeneous() {
        iteration_.clear();
        points_.clear();
        for (const Visited& cell : visited_) {
            for (std::int32_t e = cell.first_edge; e >= 0; e = edges_[at(e)].following) {
                const std::int32_t number = number_of(edges_[at(e)].next);
                if (number >= 0) iteration_.add_outcome(number, share(edges_[at(e)], cell));
            }
            iteration_.add_cell(cell.mean_reward());
        }
        for (const std::int32_t point : points_) {
            bool has_unvisited = false;
            for (std::int64_t action = 0; action < partition_->n_actions(); ++action) {
                const std::int32_t slot = slot_of_cell_[at(partition_->cell(0, point, action))];
                if (slot < 0) {
                    has_unvisited = true;
                } else {
                    iteration_.add_choice(slot);
                }
            }
            iteration_.add_point(has_unvisited);
            number_of_point_[at(point)] = -1;
        }
        iteration_.run(sweeps_);
        for (std::size_t number = 0; number < visited_.size(); ++number) {
            value_[at(visited_[number].cell)] = iteration_.cell_value(static_cast<std::int32_t>(number));
        }
    }

    // The number of a point in the iteration; -1 where its value is 0 for want of data.
    std::int32_t number_of(std::int32_t point) {
        std::int32_t& number = number_of_point_[at(point)];
        if (number >= 0) return number;
        for (std::int64_t action = 0; action < partition_->n_actions(); ++action) {
            if (slot_of_cell_[at(partition_->cell(0, point, action))] < 0) continue;
            number = static_cast<std::int32_t>(points_.size());
            points_.push_back(point);
            break;
        }
        return number;
    }

    std::shared_ptr<const Partition> partition_;
    std::int64_t sweeps_;
    std::vector<double> value_;               // per cell
    std::vector<std::int32_t> slot_of_cell_;  // its number among those visited, or -1
    std::vector<Visited> visited_;
    std::vector<Edge> edges_;

    std::vector<std::int32_t> incoming_;              // horizon: per (layer, point), the first edge to it
    std::vector<std::vector<std::int32_t>> waiting_;  // horizon: per layer, visited cells to look at in the next fit
    std::int64_t n_backward_ = 0;

    ValueIteration iteration_;                   // no horizon
    std::vector<std::int32_t> number_of_point_;  // in the iteration, or -1
    std::vector<std::int32_t> points_;           // by that number
};

}  // namespace ocp
