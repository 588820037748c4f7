// Two tanks, one above the other: a pump fills the first, which drains into the second, which drains away. The learner
// switches the pump so that the second tank's level stays between two marks; nobody tells it how tanks work.
//
//     tanks FILE
//
// shows the whole way: a system of one's own, a loop of one's own, a checkpoint in the middle of an episode (in FILE,
// which `ocpfast.load_agent` in Python reads too), and many simulations in threads. It fails where something is not as
// it should be. csrc/examples/tanks_in_c is the same in C.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <ocpfast/checkpoint.hpp>
#include <ocpfast/description.hpp>
#include <ocpfast/description_json.hpp>
#include <ocpfast/pcg64.hpp>
#include <ocpfast/run_lanes.hpp>
#include <ocpfast/system/contract.hpp>

namespace {

// ---- the system ----------------------------------------------------------------------------------------------------

// ocpfast/system/contract.hpp says what a system has to have: this is all of it.
struct Tanks {
    using Component = double;  // a state is two levels, in cm
    using Action = std::int64_t;

    static constexpr double lowest = 8, highest = 12;  // the marks
    static constexpr std::int64_t horizon = 500;       // periods of 5 s

    void describe(ocp_system& contract) const noexcept {
        contract.flags = OCP_HOMOGENEOUS;
        contract.state_size = 2;
        contract.n_actions = 2;  // the pump is off, on
        contract.horizon = horizon;
        contract.reward_min = 0;
        contract.reward_max = 1;
    }

    int reset(std::int64_t episode, ocp_bitgen*, double* levels) const noexcept {
        levels[0] = levels[1] = 9 + 0.2 * static_cast<double>(episode * 7 % 11);
        return OCP_OK;
    }

    int step(std::int64_t, double* levels, std::int64_t action, ocp_bitgen*, double* reward,
             int* ending) const noexcept {
        const double inflow = action == 1 ? 0.6 : 0.0;
        for (int i = 0; i < 10; ++i) {  // half seconds
            const double between = 0.1 * std::sqrt(levels[0]), out = 0.1 * std::sqrt(levels[1]);
            levels[0] = std::fmax(levels[0] + 0.5 * (inflow - between), 0);
            levels[1] = std::fmax(levels[1] + 0.5 * (between - out), 0);
        }
        const bool inside = levels[1] > lowest && levels[1] < highest;
        *reward = inside ? 1 : 0;  // a period between the marks
        *ending = inside ? OCP_CONTINUES : OCP_TERMINATED;
        return OCP_OK;
    }
};

// ---- the learner ---------------------------------------------------------------------------------------------------

using Agent = ocp::Ocp<ocp::Cells>;

std::vector<double> edges(double first, double last, int n) {
    std::vector<double> result;
    for (int i = 0; i < n; ++i) result.push_back(first + (last - first) * i / (n - 1));
    return result;
}

ocp::Description description() {
    ocp::Description d;
    d.hypothesis = ocp::Description::Hypothesis::state_aggregation;
    d.edges = {edges(4, 20, 17), edges(Tanks::lowest, Tanks::highest, 17)};
    d.n_actions = 2;
    d.horizon = 0;  // time-homogeneous: the clock only stops the episode
    d.options.ties = ocp::Ties::random;
    d.options.replay = ocp::ReplayMode::on;
    return d;
}

// ---- a loop of one's own -------------------------------------------------------------------------------------------

struct Loop {
    Agent agent;
    ocp::Pcg64 generator;
    Tanks tanks{};
    double levels[2] = {0, 0};
    std::int64_t episode = 0;
    std::vector<double> lengths{};  // of the episodes, the present one included

    // One period; returns the action. A new episode begins where the last one ended.
    std::int64_t step() {
        if (agent.period() == 0) {
            tanks.reset(episode, nullptr, levels);
            lengths.push_back(0);
        }
        ocp_bitgen bitgen = generator.bitgen();
        const std::int64_t action = agent.act(agent.locate(levels), &bitgen);
        double reward = 0;
        int ending = OCP_CONTINUES;
        tanks.step(agent.period(), levels, action, nullptr, &reward, &ending);
        lengths.back() += reward;
        // the learner would go on for ever: the clock is the caller's
        if (ending == OCP_CONTINUES && agent.period() == Tanks::horizon - 1) ending = OCP_TRUNCATED;
        const std::int64_t next = ending == OCP_TERMINATED ? 0 : agent.locate(levels);
        if (agent.observe(next, reward, ending)) ++episode;
        return action;
    }
};

double mean(const std::vector<double>& numbers, std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += numbers[i];
    return sum / static_cast<double>(last - first);
}

void expect(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error("expected " + what);
}

// ---- all of it -----------------------------------------------------------------------------------------------------

constexpr std::uint64_t seed = 1;
constexpr std::int64_t episodes = 400;

// Learns half of the episodes, saves, loads, and lets both go on. Returns the loop that has done them all.
Loop learn_and_save(const std::string& path) {
    const ocp::Described described(description());  // throws where something is wrong with it
    Loop loop{described.aggregation_agent(), ocp::Pcg64(seed)};
    while (loop.episode < episodes / 2) loop.step();
    for (int i = 0; i < 3; ++i) loop.step();

    ocp::save_agent(path, loop.agent, loop.generator, described.description());
    const ocp::Checkpoint checkpoint = ocp::Checkpoint::read(path);
    Agent loaded = ocp::Described(ocp::DescriptionInFile::read(checkpoint)).aggregation_agent();
    checkpoint.restore(loaded);

    Loop twin = loop;
    twin.agent = loaded;
    twin.generator = checkpoint.generator();
    std::int64_t n_steps = 0;
    for (; loop.episode < episodes; ++n_steps) {
        expect(loop.step() == twin.step(), "the loaded agent to act as the saved one");
    }
    std::printf("saved and loaded: the same actions in %lld steps\n", static_cast<long long>(n_steps));
    return loop;
}

// As many simulations as threads, each with an agent of its own, compiled: see ocpfast/run.hpp.
std::vector<std::vector<double>> simulate(std::size_t n) {
    Tanks tanks;
    const ocp_system system = ocp::contract_of(&tanks);
    const ocp::Described described(description());
    std::vector<Agent> agents(n, described.aggregation_agent());
    std::vector<std::vector<double>> rewards(n, std::vector<double>(episodes)), optimal = rewards;
    std::vector<ocp::Outcome> outcomes(n);
    ocp::Control control;
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < n; ++k) {
        threads.emplace_back([&, k] {
            ocp::Pcg64 of_agent(seed + k);
            ocp_bitgen bitgen = of_agent.bitgen();
            // the system draws nothing, so any generator will do
            std::vector<ocp::Simulation<Agent>> one;
            one.emplace_back(agents[k], episodes, &bitgen, &bitgen, rewards[k].data(), optimal[k].data());
            ocp::simulate(one, system, control);
            outcomes[k] = one[0].outcome();
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const ocp::Outcome& outcome : outcomes) {
        expect(outcome.kind == ocp::Outcome::Kind::done, "a simulation without errors");
    }
    return rewards;
}

}  // namespace

int main(int n_arguments, char** arguments) {
    if (n_arguments != 2) {
        std::fprintf(stderr, "usage: tanks FILE\n");
        return 2;
    }
    try {
        Loop loop = learn_and_save(arguments[1]);
        const std::vector<double>& lengths = loop.lengths;
        std::printf("between the marks: %.1f periods in the first 20 episodes, %.1f in the last 20\n",
                    mean(lengths, 0, 20), mean(lengths, episodes - 20, episodes));
        std::printf("constraints: %lld\n", static_cast<long long>(loop.agent.known().n_constraints()));
        expect(mean(lengths, episodes - 20, episodes) == Tanks::horizon, "all of the last episodes to last");
        ocp::save_agent(arguments[1], loop.agent, loop.generator, description());

        const std::vector<std::vector<double>> simulated = simulate(4);
        expect(simulated[0] == std::vector<double>(lengths.begin(), lengths.begin() + episodes),
               "the simulation to do what the loop did");
        for (std::size_t k = 0; k < simulated.size(); ++k) {
            std::printf("simulation %zu: %.0f periods in all\n", k, mean(simulated[k], 0, episodes) * episodes);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tanks: %s\n", error.what());
        return 1;
    }
    return 0;
}
