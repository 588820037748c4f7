// Replay: recompute what stored transitions say under what is known now, so that what is learned of a state at once
// reaches everything seen to lead there, without going there again.
//
// Only edges into points whose value changed since are recomputed; all others would give the constraint they gave.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ocpfast/agent/layer_set.hpp"
#include "ocpfast/agent/transitions.hpp"
#include "ocpfast/constraint.hpp"
#include "ocpfast/prefetch.hpp"

namespace ocp {

enum class ReplayMode {
    off,
    on,          // a transition is replayed at the period it was seen at
    stationary,  // the user states that F and R do not depend on t: it is replayed at every period
};

// Classes that look something up for each index may have prefetch(index).
template <class Class, class = void>
struct CanPrefetch : std::false_type {};
template <class Class>
struct CanPrefetch<Class, std::void_t<decltype(&Class::prefetch)>> : std::true_type {};

template <class Class>
class Replay {
public:
    Replay() = default;
    Replay(const Class& known, bool stationary, double discount, std::int64_t max_sweeps)
        : n_layers_(known.partition().n_layers()),
          n_points_(known.partition().n_points()),
          homogeneous_(known.partition().homogeneous()),
          stationary_(stationary && !homogeneous_),
          discount_(discount),
          max_sweeps_(max_sweeps) {
        value_.reserve(slot(n_layers_, 0));
        for (std::int64_t layer = 0; layer < n_layers_; ++layer) {
            for (std::int64_t point = 0; point < n_points_; ++point) value_.push_back(value_of(known, layer, point));
        }
        mark_.assign(value_.size(), Mark::settled);
        dirty_.resize(static_cast<std::size_t>(n_layers_));
        fresh_.resize(dirty_.size());
        waiting_layers_ = LayerSet(n_layers_);
    }

    // Open domains: a point that nothing leads to yet, whose value will be looked up when something does.
    void add_point(std::int64_t point) {
        const std::size_t n = static_cast<std::size_t>(point) + 1;
        if (mark_.size() < n) {
            mark_.resize(n);
            value_.resize(n);
        }
        mark_[n - 1] = Mark::outdated;
    }
    // The points that wait to be looked at.
    template <class Visit>
    void for_each_waiting(Visit&& visit) const {
        for (const auto& points : dirty_) {
            for (const std::int64_t point : points) visit(point);
        }
    }

    // What is known of `index` changed: the points it belongs to must be looked at again.
    void touch(const Class& known, std::int64_t index) {
        known.for_each_affected(index, [&](std::int64_t layer, std::int64_t point) {
            Mark& mark = mark_[slot(layer, point)];
            if (mark != Mark::settled) return;
            mark = Mark::dirty;
            prefetch(&value_[slot(layer, point)]);  // for settle
            dirty_[static_cast<std::size_t>(layer)].push_back(point);
            if (!homogeneous_) waiting_layers_.insert(layer);
        });
    }

    // An edge was stored, or its reward became smaller: recompute it even if what it leads to stays as it is.
    void edge_changed(std::int64_t edge, std::int64_t layer) {
        fresh_[static_cast<std::size_t>(stationary_ ? 0 : layer)].push_back(edge);
        if (!stationary_ && !homogeneous_) waiting_layers_.insert(layer);
    }

    // Whether all edges have seen what was known after the last sweep.
    bool settled() const { return homogeneous_ ? dirty_[0].empty() : !left_behind_; }

    // The holder of the constraint that an edge owns in a layer.
    std::int64_t holder(std::int64_t edge, std::int64_t layer) const {
        return stationary_ ? edge * n_layers_ + layer : edge;
    }

    void propagate(Class& known, const Transitions& transitions) {
        if (homogeneous_) {
            sweep_until_still(known, transitions);
        } else {
            sweep_backward(known, transitions);
        }
    }

    std::int64_t n_recomputed() const { return n_recomputed_; }

    template <class Archive, class IsPoint>
    void archive(Archive& a, std::int64_t n_points, const IsPoint& is_point, const Transitions& transitions) {
        if constexpr (Archive::loading) {
            value_.resize(slot(n_layers_, 0) + static_cast<std::size_t>(n_points_ == 0 ? n_points : 0));
            mark_.resize(value_.size());
        }
        a.columns(value_, &Value::upper, &Value::lower, &Value::determined);
        a.columns(mark_, [](Mark& mark) -> std::uint8_t& { return reinterpret_cast<std::uint8_t&>(mark); });
        a.sparse_items(dirty_);
        a.sparse_items(fresh_);
        a(waiting_layers_, left_behind_);
        a.counts(n_recomputed_);
        if constexpr (!Archive::loading) return;
        for (const Mark mark : mark_) a.require(mark <= Mark::outdated, "a mark");
        for (const auto& points : dirty_) {
            for (const std::int64_t point : points) a.require(is_point(point), "a state");
        }
        for (const auto& edges : fresh_) {
            for (const std::int64_t edge : edges) a.require(transitions.in_use(edge), "an index");
        }
    }

private:
    struct Value {  // sup and inf over what is left of max_a Q
        double upper, lower;
        bool determined;
        bool operator!=(const Value& o) const {
            return upper != o.upper || lower != o.lower || determined != o.determined;
        }
    };

    enum class Mark : std::uint8_t { settled, dirty, outdated };

    std::size_t slot(std::int64_t layer, std::int64_t point) const {
        return static_cast<std::size_t>(layer * n_points_ + point);
    }

    static Value value_of(const Class& known, std::int64_t layer, std::int64_t point) {
        const auto best = known.best(layer, point);
        return {best.upper, known.knows_lower() ? known.lower_max(layer, point) : -infinity, best.determined};
    }

    // Period-indexed: one sweep t = H-1 .. 0 over the layers with something to do; what is known of t+1 is final when
    // t is recomputed. Where layers share their parameters, what t tells of a later layer waits for the next sweep.
    void sweep_backward(Class& known, const Transitions& transitions) {
        changed_.clear();
        const bool everywhere = stationary_ && !fresh_[0].empty();
        std::int64_t layer = everywhere ? n_layers_ - 1 : waiting_layers_.below(n_layers_);
        while (layer >= 0) {
            waiting_layers_.erase(layer);
            gather(transitions, layer);
            recompute(known, transitions, layer, layer + 1);
            waiting_layers_.erase(layer);
            settle(known, transitions, layer);
            layer = everywhere || !changed_.empty() ? layer - 1 : waiting_layers_.below(layer);
        }
        if (stationary_) fresh_[0].clear();
        left_behind_ = !waiting_layers_.empty();
    }

    // Time-homogeneous: whole sweeps, each under what was known at its start, until nothing changes. What is left
    // after max_sweeps, or after so much work that a caller would wonder, stays dirty for the next call.
    void sweep_until_still(Class& known, const Transitions& transitions) {
        const std::int64_t before = n_recomputed_;
        for (std::int64_t sweep = 0; sweep < max_sweeps_ && n_recomputed_ - before < Class::replay_at_once; ++sweep) {
            if (dirty_[0].empty() && fresh_[0].empty()) return;
            settle(known, transitions, 0);
            gather(transitions, 0);
            recompute(known, transitions, 0, 0);
        }
    }

    // The dirty points of a layer whose value really changed become `changed_`.
    void settle(const Class& known, const Transitions& transitions, std::int64_t layer) {
        changed_.clear();
        auto& dirty = dirty_[static_cast<std::size_t>(layer)];
        for (const std::int64_t point : dirty) {
            const std::int64_t source_layer = homogeneous_ ? 0 : layer - 1;
            if (source_layer < 0 || transitions.first_incoming(source_layer, point) < 0) {
                mark_[slot(layer, point)] = Mark::outdated;  // nothing leads there: its value may never be asked for
            } else if (refresh(known, layer, point)) {
                changed_.push_back(point);
            }
        }
        dirty.clear();
    }

    // Brings a point's value up to date; true if it changed.
    bool refresh(const Class& known, std::int64_t layer, std::int64_t point) {
        mark_[slot(layer, point)] = Mark::settled;
        const Value value = value_of(known, layer, point);
        if (!(value != value_[slot(layer, point)])) return false;
        value_[slot(layer, point)] = value;
        return true;
    }

    // Fills work_ with the edges of a layer into changed points, and with the fresh ones.
    void gather(const Transitions& transitions, std::int64_t layer) {
        work_.clear();
        for (const std::int64_t point : changed_) {
            for (std::int64_t e = transitions.first_incoming(layer, point); e >= 0;
                 e = transitions.edge(e).following_incoming) {
                work_.push_back(e);
            }
        }
        auto& fresh = fresh_[static_cast<std::size_t>(stationary_ ? 0 : layer)];
        work_.insert(work_.end(), fresh.begin(), fresh.end());
        if (!stationary_) fresh.clear();
    }

    void recompute(Class& known, const Transitions& transitions, std::int64_t layer, std::int64_t next_layer) {
        if (known.order_matters()) std::sort(work_.begin(), work_.end());
        const auto leads_on = [&](const Transitions::Edge& edge) {
            return edge.next != Transitions::terminal && next_layer < n_layers_;
        };
        for (const std::int64_t e : work_) {  // before anything joins: a sweep sees what was known at its start
            const Transitions::Edge& edge = transitions.edge(e);
            // of 500 states, 6 actions and 200 periods all that is known does not fit into a core's cache
            if constexpr (CanPrefetch<Class>::value) known.prefetch(known.index(layer, edge.point, edge.action));
            if (leads_on(edge)) {
                const std::size_t next = slot(next_layer, edge.next);
                prefetch(&value_[next]);
                if (mark_[next] == Mark::outdated) refresh(known, next_layer, edge.next);
            }
        }
        for (const std::int64_t e : work_) {
            const Transitions::Edge& edge = transitions.edge(e);
            Estimate estimate{edge.reward, edge.reward, true};
            if (leads_on(edge)) {
                const Value& value = value_[slot(next_layer, edge.next)];
                estimate = {edge.reward + discount_ * value.lower, edge.reward + discount_ * value.upper,
                            value.determined};
            }
            const std::int64_t index = known.index(layer, edge.point, edge.action);
            if (known.join(index, estimate, holder(e, layer))) touch(known, index);
        }
        n_recomputed_ += static_cast<std::int64_t>(work_.size());
    }

    std::int64_t n_layers_ = 0, n_points_ = 0;
    bool homogeneous_ = false, stationary_ = false;
    double discount_ = 1;
    std::int64_t max_sweeps_ = 0;

    std::vector<Value> value_;                      // per (layer, point), as edges last saw it
    std::vector<Mark> mark_;                        // per (layer, point)
    std::vector<std::vector<std::int64_t>> dirty_;  // per layer
    std::vector<std::vector<std::int64_t>> fresh_;  // edges, per layer; stationary: one list for all layers
    LayerSet waiting_layers_;                       // period-indexed: layers with something dirty or fresh
    bool left_behind_ = false;                      // some of them after a sweep
    std::vector<std::int64_t> changed_, work_;      // scratch: points, edges
    std::int64_t n_recomputed_ = 0;
};

}  // namespace ocp
