// Linear classes, what is learned: Q_t(x,a) = phi(t,x,a).theta with theta in a polyhedron, block by block.
//
// The interface is that of hypothesis/cells.hpp: an index is a triple (layer, point, action), a point is a state.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/basis.hpp"
#include "ocpfast/hypothesis/features.hpp"
#include "ocpfast/hypothesis/linear_block.hpp"
#include "ocpfast/limits.hpp"
#include "ocpfast/store.hpp"
#include "ocpfast/tolerances.hpp"

namespace ocp {

class Linear {
public:
    static constexpr std::int64_t no_holder = -1;
    static constexpr bool distinct_rewards = true;
    static constexpr bool may_be_open = true;
    static constexpr std::int64_t replay_at_once = 2'000;  // constraints: about 0.2 s where each needs programs

    Linear(std::shared_ptr<const Features> features, Selection selection, std::int64_t window,
           const PriorBounds& bounds, const HighsApi* api, const Tolerances& tolerances)
        : features_(std::move(features)),
          selection_(selection),
          tolerances_(tolerances),
          indices_per_block_(partition().n_cells() / features_->n_blocks()) {
        for (std::int64_t block = 0; block < features_->n_blocks(); ++block) {
            const bool own = features_->n_blocks() > 1 && bounds.upper.size() > 1;  // those of its layer
            const auto b = static_cast<std::size_t>(block);
            const PriorBounds of_block = own ? PriorBounds{{bounds.lower[b]}, {bounds.upper[b]}} : bounds;
            blocks_.emplace_back(LinearBlock(features_, block, api, tolerances, of_block), selection, window);
        }
        answers_.resize(static_cast<std::size_t>(partition().n_layers() * partition().n_points()));
    }

    const Partition& partition() const { return features_->domain(); }
    std::int64_t index(std::int64_t layer, std::int64_t point, std::int64_t action) const {
        return partition().cell(layer, point, action);
    }

    bool coupled() const { return blocks_.size() == 1 && partition().n_layers() > 1; }

    // ---- what is known -----------------------------------------------------------------------------------------

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
        const std::uint64_t version = blocks_[block_of_layer(layer)].hypotheses().version();
        if (answer.version_of_best != version) {
            answer.best = find_best(index(layer, point, 0));
            answer.version_of_best = version;
        }
        return answer.best;
    }

    double upper(std::int64_t index) const { return block(index).upper(index); }
    double lower(std::int64_t index) const { return block(index).lower(index); }
    bool determined(std::int64_t index) const { return block(index).pinned(index); }
    bool tied(double upper, double best) const {
        return upper >= best || (best < infinity && best - upper <= tolerances_.ties * std::max(1.0, std::abs(best)));
    }

    // Whether the upper value of an index is tied with the best one.
    bool ties(std::int64_t index, double best) const {
        return tied(block(index).upper_bound(index), best) && tied(upper(index), best);
    }

    static constexpr bool knows_lower() { return true; }
    double lower_max(std::int64_t layer, std::int64_t point) const {
        Answer& answer = answer_at(layer, point);
        LinearBlock& hypotheses = blocks_[block_of_layer(layer)].hypotheses();
        if (answer.version_of_lower != hypotheses.version()) {
            const std::int64_t first = index(layer, point, 0);
            answer.lower = find_lower_max(hypotheses, first);
            answer.version_of_lower = hypotheses.version();
        }
        return answer.lower;
    }

    // ---- learning ----------------------------------------------------------------------------------------------

    bool join(std::int64_t index, const Estimate& estimate, std::int64_t holder = no_holder) {
        return join(index, estimate.lower, estimate.upper, estimate.determined, holder);
    }

    void stage(std::int64_t index, const Estimate& estimate, std::int64_t holder = no_holder) {
        Staged& staged = staged_.emplace_back();
        staged.index = index;
        staged.holder = holder;
        staged.lower = estimate.lower;
        staged.upper = estimate.upper;
        staged.determined = estimate.determined;
    }
    template <class Changed>
    void commit(Changed&& changed) {
        for (const Staged& staged : staged_) {
            if (join(staged.index, staged.lower, staged.upper, staged.determined, staged.holder)) {
                changed(staged.index);
            }
        }
        staged_.clear();
    }
    void discard_staged() { staged_.clear(); }

    // The stored transition is forgotten; what it said last stays.
    void release(std::int64_t holder) { owners_.erase(holder); }

    template <class Changed>
    void end_episode(Changed&& changed) {
        if (selection_ != Selection::window) return;
        std::exception_ptr failure;  // of a solver; the episode ends in every block all the same
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            const std::uint64_t before = blocks_[b].hypotheses().version();
            try {
                blocks_[b].end_episode();
            } catch (...) {
                if (!failure) failure = std::current_exception();
            }
            if (blocks_[b].hypotheses().version() != before) {
                // some index of the block; an open domain may have none, and with a window nobody asks which it is
                changed(static_cast<std::int64_t>(b) * indices_per_block_);
            }
        }
        if (failure) std::rethrow_exception(failure);
    }

    // A change of theta reaches every point of the block.
    template <class Visit>
    void for_each_affected(std::int64_t index, Visit&& visit) const {
        if (partition().open()) return block(index).for_each_point(visit);
        const bool everywhere = blocks_.size() == 1;
        const std::int64_t first = everywhere ? 0 : partition().layer_of_cell(index);
        const std::int64_t last = everywhere ? partition().n_layers() : first + 1;
        for (std::int64_t layer = first; layer < last; ++layer) {
            for (std::int64_t point = 0; point < partition().n_points(); ++point) visit(layer, point);
        }
    }

    // ---- open domains ------------------------------------------------------------------------------------------

    // The point of a state, met before or not; calls added(point) for a new one.
    template <class Added>
    std::int64_t locate(const double* state, std::int64_t layer, Added&& added) {
        auto& store = blocks_[block_of_layer(layer)];
        return store.hypotheses().locate(state, layer, [&](std::int64_t point) {
            const auto at = static_cast<std::size_t>(point);
            if (answers_.size() <= at) answers_.resize(at + 1);
            answers_[at] = Answer{};
            for (std::int64_t action = 0; action < partition().n_actions(); ++action) {
                const auto i = static_cast<std::size_t>(index(layer, point, action));
                if (i < old_.size()) old_[i] = 0;
            }
            added(point);
        });
    }

    // Whether there are so many points that collect is worth its time.
    bool crowded(std::int64_t layer) const { return blocks_[block_of_layer(layer)].hypotheses().crowded(); }

    // Forgets the points that neither a constraint holds nor the caller, who calls hold(point) for each of its own.
    template <class HoldOwn>
    void collect(HoldOwn&& hold_own) {
        std::vector<bool> held(answers_.size(), false);
        const auto hold = [&](std::int64_t point) {
            if (point >= 0) held[static_cast<std::size_t>(point)] = true;
        };
        hold_own(hold);
        for (const Staged& staged : staged_) hold(staged.index / partition().n_actions());
        for (const Store& store : blocks_) {
            for (const auto& entry : store.entries()) hold(entry.constraint.index / partition().n_actions());
        }
        for (Store& store : blocks_) {
            store.hypotheses().collect([&](std::int64_t point) { return held[static_cast<std::size_t>(point)]; });
        }
    }

    // Directed exploration: a triple is new if its feature is independent of those visited.
    void visit(std::int64_t index) {
        if (!is_new(index)) return;
        Basis& basis = visited_[block_number(index)];
        basis.add(unvisited_part_, length(unvisited_part_.data(), unvisited_part_.size()));
    }
    bool is_new(std::int64_t index) const {
        if (visited_.empty()) visited_.assign(blocks_.size(), Basis(features_->n_features()));
        const auto at = static_cast<std::size_t>(index);
        if (old_.size() <= at) old_.resize(std::max(at + 1, static_cast<std::size_t>(partition().n_cells())), 0);
        if (old_[at]) return false;
        const std::size_t number = block_number(index), n = features_->n_features();
        unvisited_part_.resize(n);
        blocks_[number].hypotheses().read_feature(index, unvisited_part_.data());
        const double size = length(unvisited_part_.data(), n);
        visited_[number].split(unvisited_part_, coefficients_);
        old_[at] = length(unvisited_part_.data(), n) <= tolerances_.dependence * size;
        return !old_[at];
    }

    bool order_matters() const { return true; }

    // ---- statistics --------------------------------------------------------------------------------------------

    std::int64_t n_constraints() const {
        std::int64_t n = 0;
        for (const auto& store : blocks_) n += static_cast<std::int64_t>(store.entries().size());
        return n;
    }
    std::int64_t n_determined() const {  // dimensions of theta that became known
        std::int64_t n = 0;
        for (auto& store : blocks_) n += static_cast<std::int64_t>(store.hypotheses().n_pinned());
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
    // False once something observed proved that Q* is not in the class.
    bool coherent() const {
        return n_rejected_ == 0 &&
               std::all_of(blocks_.begin(), blocks_.end(), [](const Store& store) { return store.coherent(); });
    }
    std::int64_t n_states() const {  // vector states that are remembered
        std::int64_t n = 0;
        for (const auto& store : blocks_) n += store.hypotheses().n_states();
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

    // ---- saving and loading --------------------------------------------------------------------------------------

    static constexpr const char* kind = "linear features";

    // Of an open domain: points are below the first; those that were forgotten are none.
    std::int64_t n_points() const { return static_cast<std::int64_t>(answers_.size()); }
    bool is_point(std::int64_t point) const {
        return point >= 0 && blocks_[static_cast<std::size_t>(point) % blocks_.size()].hypotheses().is_point(point);
    }

    template <class Archive>
    void archive(Archive& a) {
        a.items(blocks_);
        const bool open = partition().open();
        if constexpr (Archive::loading) {
            std::int64_t n = 0;
            for (const Store& store : blocks_) n = std::max(n, store.hypotheses().n_points());
            if (open) answers_.resize(static_cast<std::size_t>(n));
        }
        a.columns(
            answers_, &Answer::version_of_best, &Answer::version_of_lower, &Answer::lower,
            [](Answer& one) -> double& { return one.best.upper; },
            [](Answer& one) -> std::int64_t& { return one.best.action; },
            [](Answer& one) -> bool& { return one.best.determined; });
        a(staged_, owners_);
        a.counts(n_rejected_);
        bool directed = !visited_.empty();
        a(directed);
        if constexpr (Archive::loading) {
            visited_.assign(directed ? blocks_.size() : 0, Basis(features_->n_features()));
        }
        a.items(visited_);
        if (open) {
            a(old_);
        } else {
            a.fixed_or_empty(old_, static_cast<std::size_t>(partition().n_cells()));
        }
        if constexpr (!Archive::loading) return;
        for (const Answer& answer : answers_) a.require_index(answer.best.action, 0, partition().n_actions());
        for (const Staged& staged : staged_) a.require(is_index(staged.index), "a constraint");
    }

private:
    bool is_index(std::int64_t index) const {
        if (partition().open()) return index >= 0 && is_point(index / partition().n_actions());
        return index >= 0 && index < partition().n_cells();
    }

    using Store = ConstraintStore<LinearBlock>;
    // Written and passed member by member: to copy a whole struct just after its members were written stalls the
    // processor, here for a sixth of a learned period.
    struct Staged {
        std::int64_t index, holder;
        double lower, upper;
        bool determined;
        template <class Archive>
        void archive(Archive& a) {
            a(index, holder, lower, upper, determined);
        }
    };
    // Of one (layer, point), each with the version of the block that it was true of: a learned period takes half the
    // time that it took when the values of each action were looked up.
    struct Answer {
        std::uint64_t version_of_best = ~std::uint64_t{0}, version_of_lower = ~std::uint64_t{0};
        Best best{};
        double lower = 0;
    };

    std::size_t block_number(std::int64_t index) const {
        if (blocks_.size() == 1) return 0;
        return static_cast<std::size_t>(partition().open() ? features_->block(index) : index / indices_per_block_);
    }
    std::size_t block_of_layer(std::int64_t layer) const {
        return blocks_.size() == 1 ? 0 : static_cast<std::size_t>(layer);
    }
    LinearBlock& block(std::int64_t index) const { return blocks_[block_number(index)].hypotheses(); }
    Answer& answer_at(std::int64_t layer, std::int64_t point) const {
        return answers_[static_cast<std::size_t>(layer * partition().n_points() + point)];
    }

    // Most promising action first: one whose upper value was below the best when it was last found is below it still,
    // and needs no program.
    Best find_best(std::int64_t first) const {
        const std::int64_t n_actions = partition().n_actions();
        LinearBlock& hypotheses = block(first);
        bounds_.resize(static_cast<std::size_t>(n_actions));
        for (std::int64_t action = 0; action < n_actions; ++action) {
            bounds_[static_cast<std::size_t>(action)] = hypotheses.upper_bound(first + action);
        }
        Best best{-infinity, 0, false};
        double known = -infinity;
        for (std::int64_t n = 0; n < n_actions; ++n) {
            const auto promising = std::max_element(bounds_.begin(), bounds_.end());
            if (n > 0 && !tied(*promising, best.upper)) break;
            best.upper = std::max(best.upper, upper(first + (promising - bounds_.begin())));
            *promising = -infinity;  // looked at
        }
        for (std::int64_t action = n_actions - 1; action >= 0; --action) {
            if (!ties(first + action, best.upper)) continue;
            best.action = action;
            if (!determined(first + action)) continue;
            known = std::max(known, upper(first + action));
            best.determined = true;
        }
        if (best.determined) best.upper = known;  // not what a program found, which is the same but for rounding
        return best;
    }

    double find_lower_max(LinearBlock& hypotheses, std::int64_t first) const {
        std::vector<std::int64_t> indices;
        for (std::int64_t action = 0; action < partition().n_actions(); ++action) indices.push_back(first + action);
        if (selection_ == Selection::eluder && !hypotheses.has_rows() && hypotheses.most(first) == infinity) {
            // Only equalities matter, and without rows U is finite only where every action is pinned. (Not with a prior
            // bound: 0 is both ends of max(phi.theta, -phi.theta) where no value may be above 0.)
            double largest = -infinity;
            for (const std::int64_t i : indices) {
                if (hypotheses.pinned(i)) largest = std::max(largest, hypotheses.upper(i));
            }
            return std::max(largest, hypotheses.least(first));
        }
        return hypotheses.infimum_of_maximum(indices, first);
    }

    bool join(std::int64_t index, double lower, double upper, bool determined, std::int64_t holder) {
        Store& store = blocks_[block_number(index)];
        const std::uint64_t before = store.hypotheses().version();
        const double least = store.hypotheses().least(index), most = store.hypotheses().most(index);
        tidy(lower, upper, determined);
        // sums of rewards may miss a bound by rounding, and an equality goes as a whole
        if (upper < least && close(upper, least)) {
            if (lower == upper) lower = least;
            upper = least;
        }
        if (lower > most && close(lower, most)) {
            if (lower == upper) upper = most;
            lower = most;
        }
        if (upper < least || lower > most || lower > largest_value || upper < -largest_value) {
            ++n_rejected_;
            return false;
        }
        if (selection_ == Selection::eluder) {
            if (lower != upper) return false;
            // The store would find the same, with three questions where this is one: a tenth of a learned period.
            if (store.hypotheses().pinned_at(index, upper)) return false;
        }
        if (holder == no_holder) {
            store.insert(index, lower, upper);
        } else {
            ConstraintOwner& owner = owners_[holder];
            if (owner.says(lower, upper)) return false;
            store.insert(index, lower, upper, &owner);  // where it is dropped, what it said before stays
        }
        return store.hypotheses().version() != before;
    }

    bool close(double a, double b) const {
        return std::abs(a - b) <= tolerances_.equality * std::max(1.0, std::abs(b));
    }

    // What projections and linear programs return is rounded, so that values that are equal in theory are equal here:
    // the order of Algorithm 1 goes by equal U. Equalities alone need no order, and where features are nearly dependent
    // every bit of them counts. L above U, or just below it, is an equality where U is what equalities tell. Where it
    // is what programs found, and not the same to the last of 40 bits, it is wrong by 1e-10 or so, which ten such
    // equalities made 1e-8 and a contradiction: there it is an interval that is a little wider.
    void tidy(double& lower, double& upper, bool determined) const {
        if (selection_ != Selection::eluder) {
            lower = to_40_bits(lower);
            upper = to_40_bits(upper);
        }
        if (lower < -largest_value) lower = -infinity;
        if (upper > largest_value) upper = infinity;
        if (upper == infinity) return;
        if (lower == upper || (lower < upper && !close(lower, upper))) return;
        lower = determined || selection_ == Selection::eluder
                    ? upper
                    : std::min(lower, upper) - tolerances_.equality * std::max(1.0, std::abs(upper));
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
    Tolerances tolerances_;

    // Questions are memoised and warm-start the next one, so they change what is behind them, never what is known.
    mutable std::vector<Store> blocks_;
    mutable std::vector<Answer> answers_;  // per (layer, point)
    mutable std::vector<double> bounds_;   // scratch: per action
    std::int64_t indices_per_block_;       // 0 where the domain is open

    std::vector<Staged> staged_;
    std::unordered_map<std::int64_t, ConstraintOwner> owners_;  // by stored transition
    std::int64_t n_rejected_ = 0;

    // Directed exploration, empty until it asks.
    mutable std::vector<Basis> visited_;                         // per block
    mutable std::vector<std::uint8_t> old_;                      // per index: not new, and never new again
    mutable std::vector<double> unvisited_part_, coefficients_;  // scratch: of the triple last looked at
};

}  // namespace ocp
