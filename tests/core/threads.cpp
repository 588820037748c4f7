// Simulations in several threads as ocpfast.run does them: one system and one description for all, agents of their own,
// watched and stopped through ocp::Control. A program of its own, for the thread sanitizer; results are those of one
// thread.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"
#include "ocpfast/agent/lsvi.hpp"
#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/agent/quadratic_ocp.hpp"
#include "ocpfast/checkpoint.hpp"
#include "ocpfast/hypothesis/averages.hpp"
#include "ocpfast/hypothesis/cells.hpp"
#include "ocpfast/hypothesis/finite.hpp"
#include "ocpfast/hypothesis/linear.hpp"
#include "ocpfast/hypothesis/sparse.hpp"
#include "ocpfast/run_lanes.hpp"
#include "ocpfast/system/adversary.hpp"
#include "ocpfast/system/chain.hpp"
#include "ocpfast/system/contract.hpp"
#include "ocpfast/system/linear_quadratic.hpp"
#include "ocpfast/system/pendulum.hpp"
#include "play.hpp"
#include "random.hpp"

namespace {

using core::Draw;

constexpr std::size_t n_threads = 4, per_thread = 3;

struct Ran {
    std::vector<std::vector<double>> rewards;  // of each simulation
    std::vector<ocp::Outcome> outcomes;
};

// `per_thread` simulations in each of so many threads, and one more that watches; stops them after so many episodes.
template <class Agent>
Ran run(const Agent& agent, const ocp_system& system, std::int64_t episodes, std::size_t threads,
        std::int64_t stop_after = INT64_MAX) {
    const std::size_t n = n_threads * per_thread;
    Ran ran{std::vector<std::vector<double>>(n, std::vector<double>(static_cast<std::size_t>(episodes))),
            std::vector<ocp::Outcome>(n)};
    std::vector<std::vector<double>> optimal = ran.rewards;
    ocp::Control control;
    const auto work = [&](std::size_t first, std::size_t last) {
        std::vector<Agent> agents(last - first, agent);
        std::vector<core::Streams> streams;
        std::vector<ocp_bitgen> bitgens;
        for (std::size_t k = first; k < last; ++k) streams.emplace_back(k);
        for (core::Streams& one : streams) {
            bitgens.push_back(one.of_system.bitgen());
            bitgens.push_back(one.of_agent.bitgen());
        }
        std::vector<ocp::Simulation<Agent>> simulations;
        for (std::size_t k = first; k < last; ++k) {
            simulations.emplace_back(agents[k - first], episodes, &bitgens[2 * (k - first)],
                                     &bitgens[2 * (k - first) + 1], ran.rewards[k].data(), optimal[k].data());
        }
        ocp::simulate(simulations, system, control);
        for (std::size_t k = first; k < last; ++k) ran.outcomes[k] = simulations[k - first].outcome();
    };
    std::atomic<bool> over{false};
    std::thread watcher([&] {
        while (!over.load()) {
            if (control.episodes_done.load(std::memory_order_relaxed) >= stop_after) control.stop = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < threads; ++i) {
        workers.emplace_back(work, i * n / threads, (i + 1) * n / threads);
    }
    for (std::thread& worker : workers) worker.join();
    over = true;
    watcher.join();
    return ran;
}

// The same in threads and in one.
template <class Agent>
void compare(const Agent& agent, const ocp_system& system, std::int64_t episodes) {
    const Ran together = run(agent, system, episodes, n_threads), alone = run(agent, system, episodes, 1);
    CHECK(together.rewards == alone.rewards);
    for (const ocp::Outcome& outcome : together.outcomes) CHECK(outcome.kind == ocp::Outcome::Kind::done);
}

ocp::OcpOptions options(ocp::Ties ties, ocp::ReplayMode replay) {
    ocp::OcpOptions result;
    result.ties = ties;
    result.replay = replay;
    return result;
}

// A table whose V* all threads ask for at once.
core::TableOptions table_options() {
    core::TableOptions result;
    result.n_states = 8;
    result.horizon = 5;
    result.homogeneous = true;
    result.random_start = true;
    return result;
}

std::shared_ptr<const ocp::Partition> domain() {
    return std::make_shared<ocp::Partition>(table_options().n_states, table_options().n_actions,
                                            table_options().horizon);
}

}  // namespace

TEST(threads_on_tables) {
    Draw draw(1);
    core::RandomTable table(table_options(), draw);
    const ocp_system system = ocp::contract_of(&table);
    for (const ocp::ReplayMode replay : {ocp::ReplayMode::off, ocp::ReplayMode::stationary}) {
        using Agent = ocp::Ocp<ocp::Cells>;
        ocp::Cells cells(domain(), ocp::Selection::all, 0, {}, true);
        compare(Agent(std::move(cells), options(ocp::Ties::random, replay)), system, 100);
    }
    using Lsvi = ocp::Lsvi<ocp::Averages>;
    compare(Lsvi(ocp::Averages(domain(), 100), {ocp::Exploration::Kind::epsilon_greedy, 0.1, true}), system, 100);
}

TEST(threads_on_features) {
    Draw draw(2);
    core::RandomTable table(table_options(), draw);
    const ocp_system system = ocp::contract_of(&table);
    const core::Optimum optimum(system);
    std::vector<double> phi;
    for (const double q : optimum.q) {
        phi.insert(phi.end(), {q, 1, draw.uniform(-1, 1), draw.uniform(-1, 1)});
    }
    auto rows = std::make_shared<ocp::DenseRows>(phi, 4);
    auto features = std::make_shared<ocp::Features>(domain(), rows, 4, false, std::vector<ocp::PriorRow>());
    const ocp::OcpOptions directed = options(ocp::Ties::directed, ocp::ReplayMode::on);
    ocp::Linear linear(features, ocp::Selection::eluder, 0, {}, nullptr, {});
    compare(ocp::Ocp<ocp::Linear>(std::move(linear), directed), system, 60);

    using Sparse = ocp::Sparse<ocp::EnumeratedBlock>;
    auto described = std::make_shared<ocp::SparseFeatures>(features, 2);
    auto supports = std::make_shared<ocp::Supports>(4, 2);
    compare(ocp::Ocp<Sparse>(Sparse(described, {described, supports}, {}, {}), directed), system, 40);

    auto values = std::make_shared<std::vector<double>>();
    for (const double q : optimum.q) {
        for (int k = 0; k < 100; ++k) {
            values->push_back(q + (k > 0 && draw.chance(0.2) ? static_cast<double>(draw.between(-1, 1)) : 0));
        }
    }
    auto tables = std::make_shared<ocp::FiniteTables<double>>(
        domain(), std::shared_ptr<const double>(values, values->data()), 100, 1e-6);
    using Finite = ocp::Finite<double>;
    compare(ocp::Ocp<Finite>(Finite(tables, ocp::Selection::all, 0, {}), directed), system, 60);
}

// Clones of a system with memory; a system that steps many at a time; one with vectors for actions.
TEST(threads_on_every_kind_of_system) {
    using Agent = ocp::Ocp<ocp::Cells>;
    ocp::Adversary adversary(5, 4, 1);
    ocp::Cells cells(std::make_shared<ocp::Partition>(10, 2, 4), ocp::Selection::all, 0, {}, false);
    compare(Agent(std::move(cells), {}), ocp::contract_of(&adversary), 50);

    ocp::InvertedPendulum pendulum(2.5, 100, true, 1);
    ocp::Grid grid({ocp::Bins({-0.6, -0.3, 0.0, 0.3, 0.6}), ocp::Bins({-2.0, -1.0, 0.0, 1.0, 2.0})}, 1);
    auto partition = std::make_shared<ocp::Partition>(grid.n_labels(), 3, 0);
    partition->set_grid(grid);
    for (const ocp::Ties ties : {ocp::Ties::first, ocp::Ties::random}) {
        const Agent agent(ocp::Cells(partition, ocp::Selection::all, 0, {}, false),
                          options(ties, ocp::ReplayMode::off));
        compare(agent, ocp::contract_of(&pendulum), 40);
    }

    ocp::LinearQuadraticArrays arrays;
    arrays.matrices = {2, 1, {1, 0.5, 0, 1}, {0, 1}, {1, 0, 0, 1}, {0.5}};
    arrays.horizon = 4;
    arrays.starts = {1, -1};
    arrays.scale = {1, 1};
    ocp::LinearQuadratic<double> quadratic(arrays);
    compare(ocp::QuadraticOcp(ocp::Quadratic(2, 1, 4, {}, {}), options(ocp::Ties::first, ocp::ReplayMode::on)),
            ocp::contract_of(&quadratic), 30);
}

// One that never ends by itself: the watcher stops it.
TEST(threads_that_are_stopped) {
    using Agent = ocp::Ocp<ocp::Cells>;
    ocp::InvertedPendulum pendulum(2.5, 1'000, true, 1);
    ocp::Grid grid({ocp::Bins({-0.3, 0.0, 0.3}), ocp::Bins({-1.0, 0.0, 1.0})}, 1);
    auto partition = std::make_shared<ocp::Partition>(grid.n_labels(), 3, 0);
    partition->set_grid(grid);
    const Agent agent(ocp::Cells(partition, ocp::Selection::all, 0, {}, false), {});
    ocp_system system = ocp::contract_of(&pendulum);
    for (const bool side_by_side : {true, false}) {
        if (!side_by_side) system.step_many = nullptr;
        const Ran ran = run(agent, system, 1'000'000, n_threads, 200);
        for (const ocp::Outcome& outcome : ran.outcomes) CHECK(outcome.kind == ocp::Outcome::Kind::stopped);
    }
}

// To one place: each time a whole file is there.
TEST(threads_that_save) {
    const std::string file = core::settings().folder + "/threads.ocp";
    ocp::Chain chain(5);
    using Agent = ocp::Ocp<ocp::Cells>;
    const Agent fresh(ocp::Cells(std::make_shared<ocp::Partition>(5, 2, 5), ocp::Selection::all, 0, {}, false), {});
    ocp::save_agent(file, fresh, ocp::Pcg64(0));
    std::vector<int> n_loaded(n_threads);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < n_threads; ++i) {
        threads.emplace_back([&, i] {
            for (std::uint64_t k = 0; k < 20; ++k) {
                Agent agent = fresh;
                core::Streams streams(k);
                core::play(agent, ocp::contract_of(&chain), static_cast<std::int64_t>(k), streams);
                ocp::save_agent(file, agent, streams.of_agent);
                ocp::load_agent(file, agent, streams.of_agent);
                ++n_loaded[i];
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const int n : n_loaded) CHECK(n == 20);
    std::remove(file.c_str());
}
