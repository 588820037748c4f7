// The agents that OCP is compared with: LSVI on cells and on features, Q-learning, the random policy.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "check.hpp"
#include "ocpfast/agent/exploration.hpp"
#include "ocpfast/agent/lsvi.hpp"
#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/agent/q_learning.hpp"
#include "ocpfast/agent/random.hpp"
#include "ocpfast/hypothesis/averages.hpp"
#include "ocpfast/hypothesis/cells.hpp"
#include "ocpfast/hypothesis/least_squares.hpp"
#include "ocpfast/system/contract.hpp"
#include "play.hpp"
#include "random.hpp"

namespace {

using core::Draw;
using ocp::Exploration;

Exploration any_exploration(Draw& draw) {
    const bool random_ties = draw.chance(0.5);
    switch (draw.below(3)) {
        case 0:
            return {Exploration::Kind::none, 0, random_ties};
        case 1:
            return {Exploration::Kind::epsilon_greedy, 0.3, random_ties};
        default:
            return {Exploration::Kind::boltzmann, draw.chance(0.5) ? 1.0 : 1e-3, random_ties};
    }
}

core::TableOptions any_table(Draw& draw) {
    core::TableOptions options;
    options.n_states = draw.between(1, 6);
    options.n_actions = draw.between(1, 3);
    options.horizon = draw.between(1, 5);
    options.homogeneous = draw.chance(0.5);
    return options;
}

// That what a period-indexed fit of a table says is the average of r + max Q over all that was seen: in a
// deterministic system, of what was seen once.
void check_fitted(const ocp::Averages& known, const core::RandomTable& table, const core::TableOptions& options) {
    const ocp::Partition& partition = known.partition();
    for (std::int64_t period = 0; period < options.horizon; ++period) {
        for (std::int64_t x = 0; x < options.n_states; ++x) {
            for (std::int64_t action = 0; action < options.n_actions; ++action) {
                const double value = known.value(partition.cell(period, x, action));
                if (value == 0) continue;  // or never seen
                std::int64_t next = x;
                double target = 0;
                int ending = 0;
                table.step(period, &next, action, nullptr, &target, &ending);
                if (ending == OCP_CONTINUES && period + 1 < options.horizon) {
                    double best = known.value(partition.cell(period + 1, next, 0));
                    for (std::int64_t b = 1; b < options.n_actions; ++b) {
                        best = std::max(best, known.value(partition.cell(period + 1, next, b)));
                    }
                    target += best;
                }
                CHECK(std::abs(value - target) <= 1e-9);
            }
        }
    }
}

}  // namespace

TEST(lsvi_on_cells) {
    Draw draw(1);
    using Agent = ocp::Lsvi<ocp::Averages>;
    for (int i = 0; i < core::cases(200); ++i) {
        const core::TableOptions options = any_table(draw);
        core::RandomTable table(options, draw);
        const ocp_system system = ocp::contract_of(&table);
        const bool by_period = draw.chance(0.5);
        auto partition =
            std::make_shared<ocp::Partition>(options.n_states, options.n_actions, by_period ? options.horizon : 0);
        const Agent fresh{ocp::Averages(partition, 100), any_exploration(draw)};
        Agent agent = fresh;
        core::Streams streams(static_cast<std::uint64_t>(draw.below(1'000)));
        core::play_and_restore(agent, fresh, system, 30, streams);
        if (by_period) check_fitted(agent.known(), table, options);
        CHECK(agent.n_episodes() == 30 && agent.n_periods() >= 30);
    }
}

TEST(lsvi_on_features) {
    Draw draw(2);
    using Agent = ocp::Lsvi<ocp::LeastSquares>;
    for (int i = 0; i < core::cases(100); ++i) {
        const core::TableOptions options = any_table(draw);
        core::RandomTable table(options, draw);
        const ocp_system system = ocp::contract_of(&table);
        const std::int64_t horizon = draw.chance(0.5) ? options.horizon : 0, n_features = 3;
        auto domain = std::make_shared<ocp::Partition>(options.n_states, options.n_actions, horizon);
        std::vector<double> phi;
        for (std::int64_t k = 0; k < domain->n_cells() * n_features; ++k) phi.push_back(draw.uniform(-1, 1));
        auto rows = std::make_shared<ocp::DenseRows>(std::move(phi), static_cast<std::size_t>(n_features));
        auto features = std::make_shared<ocp::Features>(domain, std::move(rows), n_features,
                                                        horizon == 0 || draw.chance(0.5), std::vector<ocp::PriorRow>());
        const Agent fresh{ocp::LeastSquares(features, 50), any_exploration(draw)};
        Agent agent = fresh;
        core::Streams streams(static_cast<std::uint64_t>(draw.below(1'000)));
        core::play_and_restore(agent, fresh, system, 20, streams);
        for (std::int64_t cell = 0; cell < domain->n_cells(); ++cell) CHECK(std::isfinite(agent.known().value(cell)));
    }
}

TEST(q_learning) {
    Draw draw(3);
    for (int i = 0; i < core::cases(100); ++i) {
        const core::TableOptions options = any_table(draw);
        core::RandomTable table(options, draw);
        const ocp_system system = ocp::contract_of(&table);
        auto partition = std::make_shared<ocp::Partition>(options.n_states, options.n_actions, options.horizon);
        const ocp::QLearning fresh{ocp::QTable(partition, 0, 0.1, 0.95), any_exploration(draw)};
        ocp::QLearning agent = fresh;
        core::Streams streams(static_cast<std::uint64_t>(draw.below(1'000)));
        core::play_and_restore(agent, fresh, system, 30, streams);
        for (std::int64_t cell = 0; cell < partition->n_cells(); ++cell)
            CHECK(std::isfinite(agent.known().value(cell)));
    }
}

// With rate 1 from infinity it is OCP, action for action (the paper's appendix); with an update at every period.
TEST(q_learning_is_ocp) {
    Draw draw(4);
    for (int i = 0; i < core::cases(100); ++i) {
        const core::TableOptions options = any_table(draw);
        core::RandomTable table(options, draw);
        const ocp_system system = ocp::contract_of(&table);
        auto partition = std::make_shared<ocp::Partition>(options.n_states, options.n_actions, options.horizon);
        ocp::QLearning learning{ocp::QTable(partition, ocp::infinity, 1, 1), Exploration()};
        ocp::OcpOptions immediate;
        immediate.immediate = true;
        ocp::Ocp<ocp::Cells> agent{ocp::Cells(partition, ocp::Selection::all, 0, {}, false), immediate};
        core::Streams streams(1), same = streams;
        CHECK(core::play(learning, system, 60, streams).rewards == core::play(agent, system, 60, same).rewards);
        for (std::int64_t cell = 0; cell < partition->n_cells(); ++cell) {
            CHECK(learning.known().value(cell) == agent.known().upper(cell));
        }
    }
}

TEST(random_policy) {
    Draw draw(5);
    core::TableOptions options;
    options.n_actions = 4;
    options.ends = 0;
    core::RandomTable table(options, draw);
    const ocp_system system = ocp::contract_of(&table);
    const ocp::RandomPolicy fresh(4);
    ocp::RandomPolicy agent = fresh;
    core::Streams streams(1);
    core::play_and_restore(agent, fresh, system, 100, streams);
    CHECK(agent.n_periods() == 100 * options.horizon);
    std::vector<int> counts(4);
    ocp_bitgen bitgen = streams.of_agent.bitgen();
    for (int i = 0; i < 4'000; ++i) {
        ++counts[static_cast<std::size_t>(agent.act(0, &bitgen))];
        agent.observe(0, 0, OCP_TERMINATED);
    }
    for (const int count : counts) CHECK(count > 850 && count < 1'150);
}
