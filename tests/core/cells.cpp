// Tables and state aggregation: what is known of a cell beside its closed form from scratch, and OCP on random systems.
#include "ocpfast/hypothesis/cells.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "check.hpp"
#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/system/contract.hpp"
#include "play.hpp"
#include "random.hpp"

namespace {

using core::Draw;
using ocp::infinity;
using ocp::ReplayMode;
using ocp::Selection;
using ocp::Ties;
using Agent = ocp::Ocp<ocp::Cells>;

// A constraint that joined, and when.
struct Joined {
    std::int64_t episode, cell;
    ocp::Estimate estimate;
};

// Algorithm 1 in one cell: the smallest U, and the largest L that is not above it.
ocp::Estimate expected(const std::vector<Joined>& all, std::int64_t cell, double least, double most) {
    ocp::Estimate result{least, most, false};
    const auto each = [&](auto visit) {
        for (const Joined& one : all) {
            if (one.cell == cell && one.estimate.upper >= least && one.estimate.lower <= most) visit(one.estimate);
        }
    };
    each([&](const ocp::Estimate& e) { result.upper = std::min(result.upper, e.upper); });
    each([&](const ocp::Estimate& e) { result.determined |= e.determined && e.upper == result.upper; });
    each([&](const ocp::Estimate& e) {
        if (e.lower <= result.upper) result.lower = std::max(result.lower, e.lower);
    });
    return result;
}

ocp::Estimate drawn(Draw& draw) {
    ocp::Estimate estimate;
    estimate.upper = static_cast<double>(draw.between(-6, 6));
    estimate.lower = estimate.upper - static_cast<double>(draw.below(4));
    estimate.determined = draw.chance(0.5);
    if (draw.chance(0.15)) estimate.lower = -infinity;
    if (draw.chance(0.15)) {
        estimate.upper = infinity;
        estimate.determined = false;
    }
    return estimate;
}

}  // namespace

TEST(cells_beside_their_closed_form) {
    Draw draw(1);
    for (int i = 0; i < core::cases(300); ++i) {
        const bool windowed = i % 2 == 1, bounded = i % 3 == 1;
        const std::int64_t window = windowed ? draw.between(1, 3) : 0;
        const double least = bounded ? -4 : -infinity, most = bounded ? 4 : infinity;
        auto partition = std::make_shared<ocp::Partition>(2, 2, i % 5 == 0 ? 2 : 0);
        ocp::Cells cells(partition, windowed ? Selection::window : Selection::all, window, {{least}, {most}}, true);
        std::vector<Joined> all;
        std::int64_t n_changed = 0;
        const auto compare = [&] {
            for (std::int64_t cell = 0; cell < partition->n_cells(); ++cell) {
                const ocp::Estimate e = expected(all, cell, least, most);
                CHECK(cells.upper(cell) == e.upper);
                CHECK(cells.lower(cell) == e.lower);
                CHECK(cells.determined(cell) == e.determined);
            }
        };
        for (std::int64_t episode = 0; episode < 8; ++episode) {
            for (std::int64_t n = draw.between(0, 10); n > 0; --n) {
                const Joined one{episode, draw.below(partition->n_cells()), drawn(draw)};
                all.push_back(one);
                if (draw.chance(0.5)) {
                    cells.stage(one.cell, one.estimate);
                    cells.commit([&](std::int64_t) { ++n_changed; });
                } else {
                    n_changed += cells.join(one.cell, one.estimate);
                }
                compare();
            }
            const auto before = all;
            cells.stage(0, {-6, -6, true});
            cells.discard_staged();
            cells.end_episode([&](std::int64_t) { ++n_changed; });
            const auto old = [&](const Joined& one) { return windowed && one.episode < episode + 1 - window; };
            all.erase(std::remove_if(all.begin(), all.end(), old), all.end());
            compare();
        }
        CHECK(n_changed > 0);
        CHECK(cells.n_constraints() >= 0);
    }
}

namespace {

struct Variant {
    Selection selection;
    Ties ties;
    ReplayMode replay;
    bool immediate, track_lower, bounded;
};

template <class Visit>
void for_each_variant(const Visit& visit) {
    for (const Selection selection : {Selection::all, Selection::eluder, Selection::first, Selection::window}) {
        for (const Ties ties : {Ties::first, Ties::random, Ties::least_visited, Ties::directed}) {
            for (const ReplayMode replay : {ReplayMode::off, ReplayMode::on, ReplayMode::stationary}) {
                if (selection == Selection::window && replay != ReplayMode::off) continue;
                for (int flags = 0; flags < 8; ++flags) {
                    visit(Variant{selection, ties, replay, flags % 2 == 1, flags / 2 % 2 == 1, flags / 4 == 1});
                }
            }
        }
    }
}

Agent made(std::shared_ptr<const ocp::Partition> partition, const Variant& variant, double largest, double discount) {
    ocp::PriorBounds bounds;
    if (variant.bounded) bounds = {{-largest}, {largest}};
    ocp::OcpOptions options;
    options.ties = variant.ties;
    options.replay = variant.replay;
    options.immediate = variant.immediate;
    options.discount = discount;
    options.replay_sweeps = 200;
    const std::int64_t window = variant.selection == Selection::window ? 5 : 0;
    return {ocp::Cells(std::move(partition), variant.selection, window, bounds, variant.track_lower), options};
}

}  // namespace

// Tabula rasa: coherent, optimistic, and suboptimal no more often than it has parameters, whatever the variant. With
// replay at every period the system is one that does not depend on it.
TEST(tables_in_every_variant) {
    Draw draw(2);
    for_each_variant([&](const Variant& variant) {
        for (int i = 0; i < core::cases(3); ++i) {
            core::TableOptions options;
            options.n_states = draw.between(1, 5);
            options.n_actions = draw.between(1, 3);
            options.horizon = draw.between(1, 5);
            options.homogeneous = variant.replay == ReplayMode::stationary || draw.chance(0.3);
            options.random_start = draw.chance(0.3);
            core::RandomTable table(options, draw);
            const ocp_system system = ocp::contract_of(&table);
            const core::Optimum optimum(system);

            auto partition = std::make_shared<ocp::Partition>(options.n_states, options.n_actions, options.horizon);
            const Agent fresh = made(partition, variant, 3.0 * static_cast<double>(options.horizon), 1);
            Agent agent = fresh;
            core::Streams streams(static_cast<std::uint64_t>(draw.below(1'000)));
            const core::Played played = core::play_and_restore(agent, fresh, system, 60, streams);
            core::check_optimism(agent.known(), optimum.q);
            CHECK(agent.known().coherent());
            if (variant.selection != Selection::window) CHECK(played.n_suboptimal() <= partition->n_cells());
        }
    });
}

// Aggregation at random, which says nothing true of the system: every number stays within bounds all the same. Cells
// are shared between states, or between states and actions; time-homogeneous or not, discounted or not.
TEST(aggregation_of_anything) {
    Draw draw(3);
    for_each_variant([&](const Variant& variant) {
        for (int i = 0; i < core::cases(2); ++i) {
            core::TableOptions options;
            options.n_states = draw.between(2, 8);
            options.horizon = draw.between(2, 6);
            options.homogeneous = variant.replay == ReplayMode::stationary || draw.chance(0.5);
            core::RandomTable table(options, draw);
            const ocp_system system = ocp::contract_of(&table);

            const std::int64_t n_points = draw.between(1, 4);
            const std::int64_t horizon = draw.chance(0.5) ? 0 : options.horizon;
            auto partition = std::make_shared<ocp::Partition>(n_points, options.n_actions, horizon);
            std::vector<std::int32_t> points;
            for (std::int64_t x = 0; x < options.n_states; ++x) {
                points.push_back(static_cast<std::int32_t>(draw.below(n_points)));
            }
            partition->set_points(std::move(points));
            if (draw.chance(0.5)) {
                std::vector<std::int32_t> cells;
                const std::int64_t in_layer = draw.between(1, 4);
                for (std::int64_t slot = 0; slot < partition->n_layers() * n_points * options.n_actions; ++slot) {
                    // the first of a layer use each of its cells
                    const std::int64_t layer = slot / (n_points * options.n_actions);
                    const std::int64_t within = slot % (n_points * options.n_actions);
                    const std::int64_t n_used = std::min(in_layer, n_points * options.n_actions);
                    cells.push_back(
                        static_cast<std::int32_t>(layer * n_used + (within < n_used ? within : draw.below(n_used))));
                }
                const auto n_cells = static_cast<std::int64_t>(*std::max_element(cells.begin(), cells.end())) + 1;
                partition->set_cells(std::move(cells), n_cells);
            }
            const double discount = variant.bounded ? 0.9 : 1;
            const Agent fresh = made(partition, variant, 40, discount);
            Agent agent = fresh;
            core::Streams streams(static_cast<std::uint64_t>(draw.below(1'000)));
            core::play_and_restore(agent, fresh, system, 40, streams);
            const ocp::Cells& known = agent.known();
            for (std::int64_t cell = 0; cell < partition->n_cells(); ++cell) {
                CHECK(known.lower(cell) <= known.upper(cell));
                if (variant.bounded) CHECK(known.upper(cell) <= 40 && known.lower(cell) >= -40);
            }
            agent.begin_episode();
            for (std::int64_t x = 0; x < options.n_states; ++x) {
                const std::int64_t action = agent.greedy(agent.locate(&x), 0);
                CHECK(action >= 0 && action < options.n_actions);
            }
        }
    });
}
