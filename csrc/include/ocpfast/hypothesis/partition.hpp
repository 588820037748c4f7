// State aggregation, the description: which (t, x, a) share a parameter. Tabula rasa is the finest partition.
//
// States that share all their cells are one *point*: what the class can tell apart. All learning goes by points, so
// a continuous state is located once, and an agent's memory depends on the partition alone. Periods that share their
// parameters are one *layer*: there is one layer a period, or a single one where the class is time-homogeneous.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ocpfast/hypothesis/grid.hpp"

namespace ocp {

class Partition {
public:
    static constexpr std::int64_t nowhere = -1;  // the point of a state that has none

    // One cell for each point and action, in each layer. horizon 0: time-homogeneous.
    Partition(std::int64_t n_points, std::int64_t n_actions, std::int64_t horizon)
        : n_points_(n_points), n_actions_(n_actions), horizon_(horizon), n_states_(n_points) {
        n_cells_ = n_layers() * n_points_ * n_actions_;
    }

    // States are indices; point_of_state[x] is x's point.
    void set_points(std::vector<std::int32_t> point_of_state) {
        n_states_ = static_cast<std::int64_t>(point_of_state.size());
        point_of_state_ = std::move(point_of_state);
    }

    // States are vectors; a state's point is its label.
    void set_grid(Grid grid) {
        n_states_ = 0;
        vector_size_ = grid.dimension();
        grid_ = std::move(grid);
    }

    // States are vectors of which the class tells any two apart: an open domain. Its points are numbered by the agent
    // as it meets them, each belongs to one layer, and there is one cell for each point and action: n_points is 0, so
    // that first_slot does not depend on the layer.
    void set_open(std::int64_t vector_size) {
        n_points_ = n_states_ = n_cells_ = 0;
        vector_size_ = vector_size;
    }

    // Cells shared between points or actions: cells[(layer, point, action)], each cell in one layer only.
    void set_cells(std::vector<std::int32_t> cells, std::int64_t n_cells) {
        cells_ = std::move(cells);
        n_cells_ = n_cells;
        // Counting sort of the slots by cell: slots_[start_[c]] .. slots_[start_[c + 1]] are cell c's.
        start_.assign(static_cast<std::size_t>(n_cells_) + 1, 0);
        for (const std::int32_t cell : cells_) ++start_[static_cast<std::size_t>(cell) + 1];
        for (std::size_t c = 1; c < start_.size(); ++c) start_[c] += start_[c - 1];
        slots_.resize(cells_.size());
        std::vector<std::int64_t> next(start_.begin(), start_.end() - 1);
        for (std::size_t slot = 0; slot < cells_.size(); ++slot) {
            slots_[static_cast<std::size_t>(next[static_cast<std::size_t>(cells_[slot])]++)] =
                static_cast<std::int64_t>(slot);
        }
    }

    std::int64_t n_points() const { return n_points_; }  // 0: open
    std::int64_t n_actions() const { return n_actions_; }
    std::int64_t n_cells() const { return n_cells_; }    // K
    std::int64_t n_states() const { return n_states_; }  // 0 where states are vectors
    std::int64_t horizon() const { return horizon_; }    // H, or 0
    std::int64_t n_layers() const { return horizon_ == 0 ? 1 : horizon_; }
    bool homogeneous() const { return horizon_ == 0; }
    std::int64_t layer(std::int64_t period) const { return horizon_ == 0 ? 0 : period; }
    std::int64_t vector_size() const { return vector_size_; }  // 0 where states are indices
    bool open() const { return vector_size_ > 0 && !grid_; }
    const Grid* grid() const { return grid_ ? &*grid_ : nullptr; }

    // The point of a state in the memory layout of ocp_system, or `nowhere`. Not for open domains.
    std::int64_t locate(const void* state) const {
        if (grid_) return grid_->label(static_cast<const double*>(state));
        return point_of_state(*static_cast<const std::int64_t*>(state));
    }
    std::int64_t point_of_state(std::int64_t state) const {
        return point_of_state_.empty() ? state : point_of_state_[static_cast<std::size_t>(state)];
    }

    std::int64_t cell(std::int64_t layer, std::int64_t point, std::int64_t action) const {
        const std::int64_t slot = first_slot(layer, point) + action;
        return one_cell_a_slot() ? slot : cells_[static_cast<std::size_t>(slot)];
    }
    // Slots number all (layer, point, action); the actions of a point are neighbours.
    std::int64_t first_slot(std::int64_t layer, std::int64_t point) const {
        return (layer * n_points_ + point) * n_actions_;
    }
    bool one_cell_a_slot() const { return cells_.empty(); }

    // Calls visit(layer, point) for every point that a cell belongs to, possibly more than once each.
    template <class Visit>
    void for_each_point(std::int64_t cell, Visit&& visit) const {
        if (one_cell_a_slot()) return visit_slot(cell, visit);
        for (std::int64_t k = start_[static_cast<std::size_t>(cell)]; k < start_[static_cast<std::size_t>(cell) + 1];
             ++k) {
            visit_slot(slots_[static_cast<std::size_t>(k)], visit);
        }
    }

    std::int64_t layer_of_cell(std::int64_t cell) const {
        const std::int64_t slot =
            one_cell_a_slot() ? cell : slots_[static_cast<std::size_t>(start_[static_cast<std::size_t>(cell)])];
        return slot / (n_points_ * n_actions_);
    }

private:
    template <class Visit>
    void visit_slot(std::int64_t slot, Visit& visit) const {
        const std::int64_t row = slot / n_actions_;
        visit(row / n_points_, row % n_points_);
    }

    std::int64_t n_points_, n_actions_, horizon_, n_states_, n_cells_;
    std::int64_t vector_size_ = 0;
    std::optional<Grid> grid_;
    std::vector<std::int32_t> point_of_state_;  // empty: a state is its own point
    std::vector<std::int32_t> cells_;           // empty: the slot is the cell
    std::vector<std::int64_t> start_, slots_;   // cell -> its slots; empty where cells_ is
};

}  // namespace ocp
