// Finite classes: Q* among other tables; every selection, in floats and in doubles.
#include "ocpfast/hypothesis/finite.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "check.hpp"
#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/system/contract.hpp"
#include "play.hpp"
#include "random.hpp"

namespace {

using core::Draw;
using ocp::ReplayMode;
using ocp::Selection;
using ocp::Ties;

template <class T>
void learn(Draw& draw, int n) {
    for (int i = 0; i < n; ++i) {
        core::TableOptions table_options;
        table_options.n_states = draw.between(1, 5);
        table_options.horizon = draw.between(1, 4);
        const Selection selection =
            draw.one_of({Selection::all, Selection::eluder, Selection::first, Selection::window});
        ocp::OcpOptions options;
        options.ties = draw.one_of({Ties::first, Ties::random, Ties::least_visited, Ties::directed});
        if (selection != Selection::window) {
            options.replay = draw.one_of({ReplayMode::off, ReplayMode::on, ReplayMode::stationary});
        }
        options.immediate = draw.chance(0.3);
        table_options.homogeneous = options.replay == ReplayMode::stationary;
        core::RandomTable table(table_options, draw);
        const ocp_system system = ocp::contract_of(&table);
        const core::Optimum optimum(system);

        // around a multiple of 64: hypotheses are bits of words
        const std::int64_t n_hypotheses = draw.one_of<std::int64_t>({1, 2, 63, 64, 65, 130});
        const std::int64_t right = draw.below(n_hypotheses);
        auto values = std::make_shared<std::vector<T>>();
        for (const double q : optimum.q) {
            for (std::int64_t k = 0; k < n_hypotheses; ++k) {
                const bool wrong = k != right && draw.chance(0.3);
                values->push_back(static_cast<T>(q + (wrong ? static_cast<double>(draw.between(-2, 2)) : 0)));
            }
        }
        auto domain =
            std::make_shared<ocp::Partition>(table_options.n_states, table_options.n_actions, table_options.horizon);
        auto tables = std::make_shared<ocp::FiniteTables<T>>(domain, std::shared_ptr<const T>(values, values->data()),
                                                             n_hypotheses, 1e-6);
        ocp::PriorBounds bounds;
        if (draw.chance(0.3)) bounds = {{-20}, {20}};
        const std::int64_t window = selection == Selection::window ? 4 : 0;
        using Agent = ocp::Ocp<ocp::Finite<T>>;
        const Agent fresh{ocp::Finite<T>(tables, selection, window, bounds), options};
        Agent agent = fresh;
        core::Streams streams(static_cast<std::uint64_t>(draw.below(1'000)));
        const core::Played played = core::play_and_restore(agent, fresh, system, 40, streams);
        core::check_optimism(agent.known(), optimum.q, 1e-5);
        CHECK(agent.known().n_survivors() >= 1);
        if (selection == Selection::all) CHECK(played.n_suboptimal(1e-5) <= n_hypotheses - 1);
    }
}

}  // namespace

TEST(finite_of_floats) {
    Draw draw(1);
    learn<float>(draw, core::cases(300));
}

TEST(finite_of_doubles) {
    Draw draw(2);
    learn<double>(draw, core::cases(300));
}

TEST(groups_of_tables) {
    auto domain = std::make_shared<ocp::Partition>(2, 1, 1);
    // of the five, the first and the fourth agree, and the second and the last do but for rounding
    auto values = std::make_shared<std::vector<double>>(
        std::vector<double>{0, 1, 1, 0, 1 + 1e-9, /* and of the other state */ 2, 2, 3, 2, 2});
    const ocp::FiniteTables<double> tables(domain, std::shared_ptr<const double>(values, values->data()), 5, 1e-6);
    ocp::Groups<double> groups(tables);
    CHECK(groups.splits(tables, 0) && groups.splits(tables, 1));
    groups.split(tables, 0);
    groups.split(tables, 1);
    CHECK(groups.representatives().size() == 3);
    CHECK(!groups.splits(tables, 0) && !groups.all_told_apart());
}
