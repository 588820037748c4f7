// The distinct transitions seen so far, as a graph over points: the memory behind replay and directed exploration.
//
// One edge for each (layer, point, action, next point). For aggregation it has the smallest reward seen: a larger one
// could only give a weaker upper end, and memory is bounded by the partition, whatever the number of episodes. Other
// classes keep an edge for each reward, as a larger one also says something of L. Where the domain is open, points come
// and go and only the newest edges are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
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

        template <class Archive>
        void archive(Archive& a) {
            a(point, action, next, following_outgoing, following_incoming, reward);
        }
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

    // Open domains: a point that has no edges yet.
    void add_point(std::int64_t point) {
        const auto n = at(point) + 1;
        if (incoming_.size() >= n) return;
        incoming_.resize(n, -1);
        outgoing_.resize(n * at(n_actions_), -1);
    }

    // Forgets the oldest edges beyond `capacity`; calls forgotten(number) before each goes.
    template <class Forgotten>
    void trim(std::int64_t capacity, Forgotten&& forgotten) {
        for (; size() > capacity; oldest_.pop_front()) {
            const std::int32_t number = oldest_.front();
            forgotten(number);
            const Edge edge = edges_[at(number)];
            unlink(outgoing_[action_slot(0, edge.point, edge.action)], number, &Edge::following_outgoing);
            if (edge.next != terminal) unlink(incoming_[slot(0, edge.next)], number, &Edge::following_incoming);
            edges_[at(number)].point = -1;
            free_.push_back(number);
        }
    }

    template <class Visit>
    void for_each_edge(Visit&& visit) const {
        for (const std::int32_t number : oldest_) visit(edges_[at(number)]);
    }

    // The edge that a transition takes, or -1 where it is new. Outcomes repeat, so the edge comes to the front of its
    // list, and the next search is short.
    std::int32_t find(std::int64_t layer, std::int64_t point, std::int64_t action, std::int64_t next, double reward) {
        std::int32_t& head = outgoing_[action_slot(layer, point, action)];
        std::int32_t previous = -1;
        for (std::int32_t e = head; e >= 0; previous = e, e = edges_[at(e)].following_outgoing) {
            Edge& edge = edges_[at(e)];
            if (edge.next != next || (by_reward_ && edge.reward != reward)) continue;
            if (previous >= 0) {
                edges_[at(previous)].following_outgoing = edge.following_outgoing;
                edge.following_outgoing = head;
                head = e;
            }
            return e;
        }
        return -1;
    }

    // Returns the edge's number, and whether the edge is new or has a smaller reward than before.
    std::pair<std::int64_t, bool> record(std::int64_t layer, std::int64_t point, std::int64_t action, std::int64_t next,
                                         double reward) {
        const std::int32_t known = find(layer, point, action, next, reward);
        if (known >= 0) {
            Edge& edge = edges_[at(known)];
            const bool smaller = reward < edge.reward;
            if (smaller) edge.reward = reward;
            return {known, smaller};
        }
        std::int32_t& head = outgoing_[action_slot(layer, point, action)];
        const std::int32_t number = place();
        Edge& edge = edges_[at(number)];
        edge = {static_cast<std::int32_t>(point),
                static_cast<std::int32_t>(action),
                static_cast<std::int32_t>(next),
                head,
                -1,
                reward};
        head = number;
        if (next != terminal) {
            std::int32_t& incoming = incoming_[slot(layer, next)];
            edge.following_incoming = incoming;
            incoming = number;
        }
        return {number, true};
    }

    std::int64_t size() const { return static_cast<std::int64_t>(edges_.size() - free_.size()); }
    const Edge& edge(std::int64_t number) const { return edges_[at(number)]; }

    // Edges of (layer, point, action): for (e = first_outgoing(...); e >= 0; e = edge(e).following_outgoing)
    std::int64_t first_outgoing(std::int64_t layer, std::int64_t point, std::int64_t action) const {
        return outgoing_[action_slot(layer, point, action)];
    }
    // Edges of a layer that lead to `next`: follow following_incoming.
    std::int64_t first_incoming(std::int64_t layer, std::int64_t next) const { return incoming_[slot(layer, next)]; }

    bool in_use(std::int64_t edge) const {
        return edge >= 0 && at(edge) < edges_.size() && edges_[at(edge)].point >= 0;
    }

    // n_points: as many as there are now, also where the domain is open; is_point tells which of them there are.
    template <class Archive, class IsPoint>
    void archive(Archive& a, std::int64_t n_points, const IsPoint& is_point) {
        a(edges_);
        if (n_points_ == 0) {
            if constexpr (Archive::loading) {
                incoming_.resize(at(n_points));
                outgoing_.resize(at(n_points * n_actions_));
            }
            a(oldest_, free_);
        }
        a.fixed(outgoing_);
        a.fixed(incoming_);
        if constexpr (Archive::loading) check(a, n_points, is_point);
    }

private:
    // Each edge that is in use stands on the lists that it belongs to, once; what is free stands on none.
    template <class Archive, class IsPoint>
    void check(Archive& a, std::int64_t n_points, const IsPoint& is_point) const {
        const auto n = static_cast<std::int64_t>(edges_.size());
        a.require(n < INT32_MAX, "the number of transitions");
        std::int64_t n_used = 0, n_leading = 0;
        for (const Edge& edge : edges_) {
            if (edge.point < 0) continue;
            a.require(is_point(edge.point) && (edge.next == terminal || is_point(edge.next)), "a transition");
            a.require_index(edge.action, 0, n_actions_);
            ++n_used;
            n_leading += edge.next != terminal;
        }
        std::vector<std::uint8_t> listed(edges_.size(), 0);
        for (const std::int32_t e : free_) {
            a.require_index(e, 0, n);
            a.require(!in_use(e) && !listed[at(e)], "a list of transitions");
            listed[at(e)] = 1;
        }
        a.require(n_used == size(), "a list of transitions");
        // As many steps as there are edges, each along a list of its own: so no list has a loop or shares a tail.
        const auto walk = [&](const std::vector<std::int32_t>& heads, std::int64_t n_edges, auto following,
                              auto owner) {
            std::int64_t n_steps = 0;
            for (std::size_t head = 0; head < heads.size(); ++head) {
                for (std::int64_t e = heads[head]; e != -1; e = edges_[at(e)].*following) {
                    a.require_index(e, 0, n);
                    a.require(in_use(e) && owner(edges_[at(e)], head) && ++n_steps <= n_edges, "a list of transitions");
                }
            }
            a.require(n_steps == n_edges, "a list of transitions");
        };
        walk(outgoing_, n_used, &Edge::following_outgoing, [&](const Edge& edge, std::size_t head) {
            return head % at(n_points * n_actions_) == at(edge.point * n_actions_ + edge.action);
        });
        walk(incoming_, n_leading, &Edge::following_incoming,
             [&](const Edge& edge, std::size_t head) { return head % at(n_points) == at(edge.next); });
        if (n_points_ != 0) return;
        for (const std::int32_t e : oldest_) {
            a.require_index(e, 0, n);
            a.require(in_use(e) && !listed[at(e)], "a list of transitions");
            listed[at(e)] = 1;
        }
        a.require(static_cast<std::int64_t>(oldest_.size()) == n_used, "a list of transitions");
    }

    std::int32_t place() {
        std::int32_t number = static_cast<std::int32_t>(edges_.size());
        if (free_.empty()) {
            edges_.emplace_back();
        } else {
            number = free_.back();
            free_.pop_back();
        }
        if (n_points_ == 0) oldest_.push_back(number);
        return number;
    }

    void unlink(std::int32_t& head, std::int32_t number, std::int32_t Edge::* following) {
        std::int32_t* link = &head;
        while (*link != number) link = &(edges_[at(*link)].*following);
        *link = edges_[at(number)].*following;
    }

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
    std::deque<std::int32_t> oldest_;  // open domains: the edges in the order in which they came
    std::vector<std::int32_t> free_;   // numbers without an edge
};

}  // namespace ocp
