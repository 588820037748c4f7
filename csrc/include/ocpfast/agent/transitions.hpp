// The distinct transitions seen so far, as a graph over points: the memory behind replay and directed exploration.
//
// One edge for each (layer, point, action, next point). For aggregation it has the smallest reward seen: a larger one
// could only give a weaker upper end, and memory is bounded by the partition, whatever the number of episodes. Other
// classes keep an edge for each reward, as a larger one also says something of L.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ocp {

class Transitions {
public:
    static constexpr std::int64_t terminal = -1;  // the next point where there is none

    struct Edge {
        std::int32_t point, action;
        std::int32_t next;                // a point, or terminal
        std::int32_t following_outgoing;  // linked lists through the edges, -1 at their end
        std::int32_t following_incoming;
        double reward;
    };

    Transitions() = default;
    // n_layers 1: edges are the same in every layer. by_reward: other rewards make other edges.
    Transitions(std::int64_t n_layers, std::int64_t n_points, std::int64_t n_actions, bool by_reward)
        : by_reward_(by_reward),
          n_layers_(n_layers),
          n_points_(n_points),
          n_actions_(n_actions),
          outgoing_(static_cast<std::size_t>(n_layers * n_points * n_actions), -1),
          incoming_(static_cast<std::size_t>(n_layers * n_points), -1) {}

    // Returns the edge's number, and whether the edge is new or has a smaller reward than before.
    std::pair<std::int64_t, bool> record(std::int64_t layer, std::int64_t point, std::int64_t action, std::int64_t next,
                                         double reward) {
        std::int32_t& head = outgoing_[action_slot(layer, point, action)];
        std::int32_t previous = -1;
        for (std::int32_t e = head; e >= 0; previous = e, e = edges_[at(e)].following_outgoing) {
            Edge& edge = edges_[at(e)];
            if (edge.next != next || (by_reward_ && edge.reward != reward)) continue;
            if (previous >= 0) {  // to the front: outcomes repeat, so the next search is short
                edges_[at(previous)].following_outgoing = edge.following_outgoing;
                edge.following_outgoing = head;
                head = e;
            }
            const bool smaller = reward < edge.reward;
            if (smaller) edge.reward = reward;
            return {e, smaller};
        }
        const auto number = static_cast<std::int32_t>(edges_.size());
        edges_.push_back({static_cast<std::int32_t>(point), static_cast<std::int32_t>(action),
                          static_cast<std::int32_t>(next), head, -1, reward});
        head = number;
        if (next != terminal) {
            std::int32_t& incoming = incoming_[slot(layer, next)];
            edges_.back().following_incoming = incoming;
            incoming = number;
        }
        return {number, true};
    }

    std::int64_t size() const { return static_cast<std::int64_t>(edges_.size()); }
    const Edge& edge(std::int64_t number) const { return edges_[at(number)]; }

    // Edges of (layer, point, action): for (e = first_outgoing(...); e >= 0; e = edge(e).following_outgoing)
    std::int64_t first_outgoing(std::int64_t layer, std::int64_t point, std::int64_t action) const {
        return outgoing_[action_slot(layer, point, action)];
    }
    // Edges of a layer that lead to `next`: follow following_incoming.
    std::int64_t first_incoming(std::int64_t layer, std::int64_t next) const { return incoming_[slot(layer, next)]; }

private:
    static std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }
    std::size_t action_slot(std::int64_t layer, std::int64_t point, std::int64_t action) const {
        return slot(layer, point) * at(n_actions_) + at(action);
    }
    std::size_t slot(std::int64_t layer, std::int64_t point) const {
        return at((n_layers_ == 1 ? 0 : layer) * n_points_ + point);
    }

    bool by_reward_ = false;
    std::int64_t n_layers_ = 1, n_points_ = 0, n_actions_ = 0;
    std::vector<Edge> edges_;
    std::vector<std::int32_t> outgoing_, incoming_;
};

}  // namespace ocp
