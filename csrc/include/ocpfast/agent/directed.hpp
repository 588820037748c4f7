// Directed exploration: among tied undetermined actions, the one that leads soonest to something new.
//
// D(x,a) = 0 if (x,a,t) was never visited; else 1 + the smallest D over tied actions at the outcomes seen; else
// infinity. Instead of a table of D kept up to date, a breadth-first search from where it is asked finds the nearest
// new triple and the way there; the way is then followed until something changes. Children are searched in the order
// of actions, so the way found is also the one that takes the lowest action wherever D is tied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ocpfast/agent/marks.hpp"
#include "ocpfast/agent/transitions.hpp"

namespace ocp {

template <class Class>
class Directed {
public:
    Directed() = default;
    explicit Directed(const Class& known)
        : n_layers_(known.partition().n_layers()),
          homogeneous_(known.partition().homogeneous()),
          seen_(known.partition().n_points()) {}

    // Open domains: a point more.
    void add_point(std::int64_t point) { seen_.add_point(point); }

    // The way found rests on what is known, visited and stored: call this when any of them changes, when an
    // episode begins and when an action was chosen otherwise.
    void forget() {
        way_.clear();
        nothing_new_ = false;
    }

    // All maximisers at (layer, point) must be undetermined.
    std::int64_t choose(const Class& known, const Transitions& transitions, std::int64_t layer, std::int64_t point) {
        const auto best = known.best(layer, point);
        const std::int64_t fresh = first_new(known, layer, point, best.upper);
        if (fresh != none) return fresh;
        // From where nothing new can be reached, nothing new is reached a step further on.
        if (nothing_new_) return best.action;
        if (way_.empty() || way_.back().point != point) search(known, transitions, layer, point);
        if (way_.empty()) {
            nothing_new_ = true;
            return best.action;
        }
        const std::int64_t action = way_.back().action;
        way_.pop_back();
        return action;
    }

    std::int64_t n_searches() const { return n_searches_; }

    // What earlier searches have seen needs no keeping.
    template <class Archive, class IsPoint>
    void archive(Archive& a, std::int64_t n_points, const IsPoint& is_point, std::int64_t n_actions) {
        a(way_, nothing_new_);
        a.counts(n_searches_);
        if constexpr (Archive::loading) {
            for (const Step& step : way_) {
                a.require(is_point(step.point), "a state");
                a.require_index(step.action, 0, n_actions);
            }
            seen_ = Marks<>(n_points);
        }
    }

private:
    static constexpr std::int64_t none = -1;
    struct Node {
        std::int32_t point;
        std::int32_t parent;  // in nodes_
        std::int32_t action;  // taken at the parent
    };
    struct Step {
        std::int64_t point, action;
        template <class Archive>
        void archive(Archive& a) {
            a(point, action);
        }
    };

    static std::int64_t first_new(const Class& known, std::int64_t layer, std::int64_t point, double upper) {
        for (std::int64_t action = 0; action < known.partition().n_actions(); ++action) {
            const std::int64_t index = known.index(layer, point, action);
            if (known.ties(index, upper) && known.is_new(index)) return action;
        }
        return none;
    }

    // Fills way_, last step first, with the shortest way to a new triple; leaves it empty if there is none.
    void search(const Class& known, const Transitions& transitions, std::int64_t layer, std::int64_t point) {
        ++n_searches_;
        way_.clear();
        nodes_.clear();
        nodes_.push_back({static_cast<std::int32_t>(point), -1, -1});
        seen_.clear();
        seen_.mark(point);
        std::size_t begin = 0;
        while (begin < nodes_.size()) {
            const std::size_t end = nodes_.size();
            // In a period-indexed class the same point is another state one period later.
            if (!homogeneous_) seen_.clear();
            for (std::size_t n = begin; n < end; ++n) {
                const std::int64_t here = nodes_[n].point;
                const auto best = known.best(layer, here);
                if (best.determined) continue;
                if (first_new(known, layer, here, best.upper) != none) return trace(n);
                if (!homogeneous_ && layer == n_layers_ - 1) continue;
                for (std::int64_t action = 0; action < known.partition().n_actions(); ++action) {
                    if (known.ties(known.index(layer, here, action), best.upper)) {
                        extend(transitions, layer, n, action);
                    }
                }
            }
            begin = end;
            if (!homogeneous_) ++layer;
        }
    }

    void extend(const Transitions& transitions, std::int64_t layer, std::size_t n, std::int64_t action) {
        for (std::int64_t e = transitions.first_outgoing(layer, nodes_[n].point, action); e >= 0;
             e = transitions.edge(e).following_outgoing) {
            const std::int32_t next = transitions.edge(e).next;
            if (next == Transitions::terminal || !seen_.mark(next)) continue;
            nodes_.push_back({next, static_cast<std::int32_t>(n), static_cast<std::int32_t>(action)});
        }
    }

    void trace(std::size_t n) {
        for (auto node = static_cast<std::int32_t>(n); nodes_[static_cast<std::size_t>(node)].parent >= 0;) {
            const Node& child = nodes_[static_cast<std::size_t>(node)];
            way_.push_back({nodes_[static_cast<std::size_t>(child.parent)].point, child.action});
            node = child.parent;
        }
    }

    std::int64_t n_layers_ = 0;
    bool homogeneous_ = false;
    std::vector<Step> way_;
    bool nothing_new_ = false;
    std::vector<Node> nodes_;
    Marks<> seen_;  // points that the search (and level) has found
    std::int64_t n_searches_ = 0;
};

}  // namespace ocp
