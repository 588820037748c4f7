// Kernels that take many numbers side by side, against the same one by one, in every instruction set that this machine
// has; lanes in odd numbers.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/agent/random.hpp"
#include "ocpfast/hypothesis/cells.hpp"
#include "ocpfast/hypothesis/grid.hpp"
#include "ocpfast/lanes.hpp"
#include "ocpfast/run_lanes.hpp"
#include "ocpfast/system/contract.hpp"
#include "ocpfast/system/pendulum.hpp"

static std::mt19937_64 random_bits(1);

static double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_bits);
}

static std::vector<double> edges() {
    const auto n = static_cast<std::size_t>(random_bits() % 40 + 1);
    const double first = uniform(-10, 10), width = std::pow(10.0, uniform(-6, 3));
    std::vector<double> made;
    for (std::size_t i = 0; i < n; ++i) made.push_back(first + width * static_cast<double>(i));
    return made;
}

// A value on an edge, beside it, at the border of what a guess is sure of, anywhere, or none at all.
static double value_near(const std::vector<double>& edges) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double edge = edges[random_bits() % edges.size()];
    const double width = edges.size() > 1 ? edges[1] - edges[0] : 1.0;
    switch (random_bits() % 12) {
        case 0:
            return edge;
        case 1:
            return std::nextafter(edge, -infinity);
        case 2:
            return std::nextafter(edge, infinity);
        case 3:
            return edge + width * uniform(-2e-5, 2e-5);
        case 4: {
            const double odd[] = {infinity, -infinity, std::nan(""), 0.0, -0.0, 1e300, -1e300, 5e-324};
            return odd[random_bits() % 8];
        }
        default:
            return uniform(edges.front() - 2 * width, edges.back() + 2 * width);
    }
}

static void compare_labels(ocp::Instructions instructions) {
    std::int64_t n_compared = 0, n_unsure = 0;
    for (int i = 0; i < core::cases(5'000); ++i) {
        std::vector<std::vector<double>> all_edges;
        std::vector<ocp::Bins> bins;
        const std::size_t dimension = random_bits() % 3 + 1;
        for (std::size_t d = 0; d < dimension; ++d) {
            all_edges.push_back(edges());
            bins.emplace_back(all_edges.back());
        }
        const ocp::Grid grid(bins, static_cast<std::int64_t>(random_bits() % 3));
        const auto n = static_cast<std::int64_t>(random_bits() % 70 + 1);
        std::vector<double> states(dimension * static_cast<std::size_t>(n));
        for (std::size_t d = 0; d < dimension; ++d) {
            for (std::int64_t k = 0; k < n; ++k) {
                states[d * static_cast<std::size_t>(n) + static_cast<std::size_t>(k)] = value_near(all_edges[d]);
            }
        }
        std::vector<std::int64_t> labels(static_cast<std::size_t>(n), -7);
        grid.guess_labels(n, states.data(), labels.data(), instructions);
        for (std::size_t k = 0; k < labels.size(); ++k) {
            std::vector<double> state(dimension);
            for (std::size_t d = 0; d < dimension; ++d) state[d] = states[d * static_cast<std::size_t>(n) + k];
            ++n_compared;
            n_unsure += labels[k] == ocp::Grid::unsure;
            CHECK(labels[k] == ocp::Grid::unsure || labels[k] == grid.label(state.data()));
        }
    }
    // half of the values are on or beside an edge, or odd in other ways
    CHECK(0 < n_unsure && 10 * n_unsure < 6 * n_compared);
}

static double next_double(void* state) {
    auto* count = static_cast<std::uint64_t*>(state);
    return static_cast<double>((++*count * 0x9e3779b97f4a7c15) >> 11) * 0x1p-53;
}

static void compare_steps() {
    for (int i = 0; i < core::cases(3'000); ++i) {
        const double disturbance = i % 3 == 0 ? 0.0 : uniform(0, 5);
        ocp::InvertedPendulum pendulum(disturbance, 36'000, i % 5 != 0, i % 7 == 0 ? 3 : 1);
        const ocp_system system = ocp::contract_of(&pendulum);
        const auto n = static_cast<std::size_t>(random_bits() % 150 + 1);
        std::vector<double> states(2 * n), before, rewards(n);
        std::vector<std::int64_t> actions(n), periods(n);
        std::vector<int> endings(n);
        std::vector<std::uint64_t> counts(n), counts_before;
        std::vector<ocp_bitgen> bitgens(n);
        std::vector<ocp_bitgen*> pointers(n);
        std::vector<void*> instances(n, &pendulum);
        for (std::size_t k = 0; k < n; ++k) {
            states[k] = uniform(-1.7, 1.7);
            states[n + k] = random_bits() % 20 == 0 ? uniform(-1.1e4, 1.1e4) : uniform(-8, 8);
            if (random_bits() % 200 == 0) states[n + k] = std::nan("");
            actions[k] = static_cast<std::int64_t>(random_bits() % 3);
            counts[k] = random_bits();
            bitgens[k] = {&counts[k], nullptr, nullptr, next_double, nullptr};
            pointers[k] = &bitgens[k];
        }
        before = states;
        counts_before = counts;
        const int error =
            system.step_many(instances.data(), static_cast<std::int64_t>(n), periods.data(), states.data(),
                             actions.data(), pointers.data(), rewards.data(), endings.data());
        bool failed = false;
        for (std::size_t k = 0; k < n; ++k) {
            double state[2] = {before[k], before[n + k]};
            double reward = 0;
            int ending = 0;
            std::uint64_t count = counts_before[k];
            ocp_bitgen bitgen{&count, nullptr, nullptr, next_double, nullptr};
            const int alone = system.step(&pendulum, 0, state, &actions[k], &bitgen, &reward, &ending);
            failed |= alone != OCP_OK;
            if (alone != OCP_OK) {
                CHECK(endings[k] == -alone);
                continue;
            }
            CHECK(std::memcmp(&state[0], &states[k], 8) == 0);
            CHECK(std::memcmp(&state[1], &states[n + k], 8) == 0);
            CHECK(endings[k] == ending);
            CHECK(rewards[k] == reward);
            CHECK(count == counts[k]);
        }
        CHECK(failed == (error != OCP_OK));
    }
}

// A pendulum that pays what depends on where it is, and beyond some velocity what no agent takes.
class Payer {
public:
    using Component = double;
    using Action = std::int64_t;

    Payer(std::int64_t horizon, double limit) : pendulum_(3.0, horizon, true, 1), limit_(limit) {}

    void describe(ocp_system& contract) const noexcept {
        pendulum_.describe(contract);
        contract.reward_min = -std::numeric_limits<double>::infinity();
        contract.reward_max = std::numeric_limits<double>::infinity();
    }
    int reset(std::int64_t episode, ocp_bitgen* bitgen, double* state) const noexcept {
        return pendulum_.reset(episode, bitgen, state);
    }
    int step(std::int64_t period, double* state, std::int64_t action, ocp_bitgen* bitgen, double* reward,
             int* ending) const noexcept {
        const int error = pendulum_.step(period, state, action, bitgen, reward, ending);
        if (error == OCP_OK) *reward = pay(state[0], state[1]);
        return error;
    }
    int step_many(std::int64_t lanes, double* states, const std::int64_t* actions, ocp_bitgen* const* bitgens,
                  double* rewards, int* endings) const noexcept {
        const int error = pendulum_.step_many(lanes, states, actions, bitgens, rewards, endings);
        for (std::int64_t k = 0; k < lanes; ++k) {
            if (endings[k] >= 0) rewards[k] = pay(states[k], states[lanes + k]);
        }
        return error;
    }

private:
    double pay(double angle, double velocity) const noexcept {
        if (std::abs(velocity) > limit_) return std::numeric_limits<double>::infinity();
        return std::nearbyint(8 * angle) * 0.37 + 0.01 * velocity;
    }

    ocp::InvertedPendulum pendulum_;
    double limit_;
};

// All episodes of several agents in lockstep, against each of them alone.
template <class System>
static void compare_simulations(System& made, ocp::OcpOptions options, bool other_discounts) {
    const ocp_system system = ocp::contract_of(&made);
    ocp::Grid grid({ocp::Bins({-0.6, -0.3, 0.0, 0.3, 0.6}), ocp::Bins({-2.0, -1.0, 0.0, 1.0, 2.0})}, 1);
    auto partition = std::make_shared<ocp::Partition>(grid.n_labels(), 3, 0);
    partition->set_grid(grid);
    using Agent = ocp::Ocp<ocp::Cells>;
    const std::int64_t episodes = 30;
    const std::size_t n = random_bits() % 20 + 2;
    std::vector<Agent> together;
    for (std::size_t k = 0; k < n; ++k) {
        if (other_discounts) options.discount = uniform(0.5, 1);
        together.emplace_back(ocp::Cells(partition, ocp::Selection::all, 0, {}, false), options);
    }
    std::vector<Agent> alone = together;

    std::vector<std::uint64_t> counts(2 * n), counts_alone;
    for (std::uint64_t& count : counts) count = random_bits();
    counts_alone = counts;
    std::vector<double> rewards(n * 30), rewards_alone(n * 30), optimal(30);
    std::vector<ocp_bitgen> bitgens;
    for (std::size_t k = 0; k < 2 * n; ++k) bitgens.push_back({&counts[k], nullptr, nullptr, next_double, nullptr});
    for (std::size_t k = 0; k < 2 * n; ++k) {
        bitgens.push_back({&counts_alone[k], nullptr, nullptr, next_double, nullptr});
    }
    std::vector<ocp::Simulation<Agent>> simulations;
    ocp::Control control;
    for (std::size_t k = 0; k < n; ++k) {
        simulations.emplace_back(together[k], episodes, &bitgens[2 * k], &bitgens[2 * k + 1], &rewards[30 * k],
                                 optimal.data());
    }
    ocp::simulate(simulations, system, control);
    for (std::size_t k = 0; k < n; ++k) {
        const ocp::Outcome& outcome = simulations[k].outcome();
        if (outcome.kind == ocp::Outcome::Kind::stopped) continue;  // as another one failed
        ocp::Simulation<Agent> one(alone[k], episodes, &bitgens[2 * (n + k)], &bitgens[2 * (n + k) + 1],
                                   &rewards_alone[30 * k], optimal.data());
        ocp::simulate(one, system, control);
        CHECK(one.outcome().kind == outcome.kind);
        CHECK(one.outcome().episode == outcome.episode && one.outcome().period == outcome.period);
        for (std::size_t e = 30 * k; e < 30 * (k + 1); ++e) CHECK(rewards[e] == rewards_alone[e]);
        for (const std::size_t i : {2 * k, 2 * k + 1}) CHECK(counts[i] == counts_alone[i]);
        CHECK(together[k].n_periods() == alone[k].n_periods());
        CHECK(together[k].period() == alone[k].period());
        for (std::int64_t cell = 0; cell < partition->n_cells(); ++cell) {
            CHECK(together[k].known().upper(cell) == alone[k].known().upper(cell));
        }
    }
}

static void compare_simulations() {
    for (int i = 0; i < core::cases(30); ++i) {
        const std::int64_t horizon = i % 2 == 0 ? 7 + i % 5 : 60;
        ocp::OcpOptions options;
        options.replay_sweeps = 100;  // discounted values creep towards each other
        if (i % 3 == 1) options.replay = ocp::ReplayMode::on;
        if (i % 3 == 2) options.ties = ocp::Ties::random;
        if (i % 4 < 2) {
            ocp::InvertedPendulum pendulum(uniform(0.5, 5), horizon, true, 1);
            compare_simulations(pendulum, options, i % 5 == 0);
        } else {
            if (i % 5 == 1) options.discount = 0.75;
            Payer payer(horizon, i % 7 == 0 ? 4.5 : 1e4);
            compare_simulations(payer, options, i % 5 == 0);
        }
    }
}

// Once for each set of instructions that this machine has.
template <class Compare>
static void in_every_set(const Compare& compare) {
    const char* const before = std::getenv("OCPFAST_INSTRUCTIONS");
    const std::string chosen = before == nullptr ? "" : before;
    for (const char* name : {"scalar", "baseline", "avx2", "avx512"}) {
        setenv("OCPFAST_INSTRUCTIONS", name, 1);
        if (std::strcmp(ocp::name_of(ocp::best_instructions()), name) == 0) compare();
    }
    setenv("OCPFAST_INSTRUCTIONS", chosen.c_str(), 1);
}

TEST(labels_of_many) {
    in_every_set([] { compare_labels(ocp::best_instructions()); });
}

TEST(steps_of_many) {
    in_every_set(compare_steps);
}

TEST(simulations_of_many) {
    in_every_set([] { compare_simulations(); });
}

// Lanes that cannot even begin: each is told where it failed.
TEST(lanes_whose_reset_fails) {
    Payer payer(10, std::numeric_limits<double>::infinity());
    ocp_system system = ocp::contract_of(&payer);
    system.reset = [](void*, std::int64_t, ocp_bitgen*, void*) { return 101; };
    std::uint64_t count = 1;
    ocp_bitgen bitgen{&count, nullptr, nullptr, next_double, nullptr};
    std::vector<ocp::RandomPolicy> agents(3, ocp::RandomPolicy(3));
    std::vector<double> rewards(3), optimal(3);
    std::vector<ocp::Simulation<ocp::RandomPolicy>> simulations;
    for (std::size_t k = 0; k < 3; ++k) {
        simulations.emplace_back(agents[k], 1, &bitgen, &bitgen, &rewards[k], &optimal[k]);
    }
    ocp::Control control;
    ocp::simulate(simulations, system, control);
    for (const auto& simulation : simulations) {
        const ocp::Outcome& outcome = simulation.outcome();
        CHECK(outcome.kind == ocp::Outcome::Kind::system_error && outcome.error == 101 && outcome.period == -1);
    }
}
