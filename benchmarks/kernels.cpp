// The hot kernels, each in a program without Python: `kernels NAME BEFORE EPISODES` learns for BEFORE episodes, then
// plays EPISODES more in a function called `measured`, and prints how many periods that took, how much was learned, and
// how often it allocated memory. benchmarks/instructions.py counts the instructions of `measured` with callgrind;
// tests/test_kernels.py asserts that a learned period allocates nothing.
//
// Everything goes through the public headers, as in a program of a user's.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/hypothesis/box.hpp"
#include "ocpfast/hypothesis/cells.hpp"
#include "ocpfast/hypothesis/finite.hpp"
#include "ocpfast/hypothesis/linear.hpp"
#include "ocpfast/run_lanes.hpp"
#include "ocpfast/store.hpp"
#include "ocpfast/system/chain.hpp"
#include "ocpfast/system/contract.hpp"
#include "ocpfast/system/pendulum.hpp"
#include "ocpfast/system/table.hpp"

// ---- allocations -----------------------------------------------------------------------------------------------

namespace {
std::int64_t n_allocations = 0;  // the program has one thread
}

// Not inlined: as elsewhere in a program, and GCC would compare the halves of a pair that it sees one of.
#define NOT_INLINED __attribute__((noinline))

NOT_INLINED void* operator new(std::size_t size) {
    ++n_allocations;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
NOT_INLINED void* operator new(std::size_t size, std::align_val_t alignment) {
    ++n_allocations;
    const auto unit = static_cast<std::size_t>(alignment);
    if (void* memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return memory;
    throw std::bad_alloc();
}
NOT_INLINED void operator delete(void* memory) noexcept {
    std::free(memory);
}
NOT_INLINED void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
NOT_INLINED void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
NOT_INLINED void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

namespace {

// ---- random numbers ----------------------------------------------------------------------------------------------

// splitmix64 behind NumPy's interface: the same numbers everywhere.
class Generator {
public:
    explicit Generator(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n)); }

    ocp_bitgen bitgen() {
        const auto raw = [](void* self) { return static_cast<Generator*>(self)->next(); };
        return {this, raw, [](void* self) { return static_cast<std::uint32_t>(static_cast<Generator*>(self)->next()); },
                [](void* self) { return static_cast<Generator*>(self)->uniform(); }, raw};
    }

private:
    std::uint64_t state_;
};

// ---- agents in systems ---------------------------------------------------------------------------------------------

struct Work {
    std::int64_t periods;  // or insertions
    double sum;            // of rewards; it must be the same whatever was done to make this faster
};

using Kernel = std::function<Work(std::int64_t episodes)>;

constexpr std::int64_t most_episodes = 100'000;

template <class Known, class System>
Kernel playing(const Known& known, const ocp::OcpOptions& options, std::unique_ptr<System> owned,
               std::size_t n_simulations = 1) {
    using Agent = ocp::Ocp<Known>;
    struct One {
        Agent agent;
        Generator of_system, of_agent;
        ocp_bitgen for_system = of_system.bitgen(), for_agent = of_agent.bitgen();
        std::vector<double> rewards = std::vector<double>(most_episodes);
        std::vector<double> optimal = std::vector<double>(most_episodes);

        One(const Known& known, const ocp::OcpOptions& options, std::uint64_t number)
            : agent(known, options), of_system(2 * number + 1), of_agent(2 * number + 2) {}
    };
    struct Play {
        std::vector<std::unique_ptr<One>> ones;
        std::unique_ptr<System> owned;
        ocp_system system;
        ocp::Control control;

        Work play(std::int64_t episodes) {
            std::vector<ocp::Simulation<Agent>> simulations;
            simulations.reserve(ones.size());
            Work work{};
            for (auto& one : ones) {
                work.periods -= one->agent.n_periods();
                simulations.emplace_back(one->agent, episodes, &one->for_system, &one->for_agent, one->rewards.data(),
                                         one->optimal.data());
            }
            ocp::simulate(simulations, system, control);
            for (std::size_t k = 0; k < ones.size(); ++k) {
                if (simulations[k].outcome().kind != ocp::Outcome::Kind::done) std::abort();
                work.periods += ones[k]->agent.n_periods();
                for (std::int64_t i = 0; i < episodes; ++i) work.sum += ones[k]->rewards[static_cast<std::size_t>(i)];
            }
            return work;
        }
    };
    auto play = std::make_shared<Play>();
    for (std::size_t k = 0; k < n_simulations; ++k) play->ones.push_back(std::make_unique<One>(known, options, k));
    play->system = ocp::contract_of(owned.get());
    play->system.optimal_value = nullptr;  // a dynamic program, not a kernel
    play->owned = std::move(owned);
    return [play](std::int64_t episodes) { return play->play(episodes); };
}

std::shared_ptr<ocp::Partition> tabula_rasa(std::int64_t n_states, std::int64_t n_actions, std::int64_t horizon) {
    return std::make_shared<ocp::Partition>(n_states, n_actions, horizon);
}

ocp::Cells cells(std::shared_ptr<const ocp::Partition> partition) {
    return {std::move(partition), ocp::Selection::all, 0, {}, false};
}

ocp::OcpOptions replaying() {
    ocp::OcpOptions options;
    options.replay = ocp::ReplayMode::on;
    return options;
}

ocp::OcpOptions everything_on() {
    ocp::OcpOptions options;
    options.ties = ocp::Ties::directed;
    options.replay = ocp::ReplayMode::stationary;
    options.immediate = true;
    return options;
}

// A random table, and its arrays with it.
struct Random {
    std::vector<std::int64_t> next_state, initial{0};
    std::vector<double> reward;
};
class RandomTable : private Random, public ocp::Table {
public:
    RandomTable(std::int64_t n_states, std::int64_t n_actions, std::int64_t horizon, std::uint64_t seed)
        : RandomTable(draw(n_states * n_actions, n_states, seed), n_states, n_actions, horizon) {}

private:
    static Random draw(std::int64_t n, std::int64_t n_states, std::uint64_t seed) {
        Generator generator(seed);
        Random random;
        for (std::int64_t i = 0; i < n; ++i) {
            random.next_state.push_back(generator.below(n_states));
            random.reward.push_back(static_cast<double>(generator.below(19) - 9));
        }
        return random;
    }
    RandomTable(Random random, std::int64_t n_states, std::int64_t n_actions, std::int64_t horizon)
        : Random(std::move(random)),
          Table({n_states, n_actions, horizon, true, Random::next_state.data(), Random::reward.data(),
                 Random::initial.data(), 1, nullptr}) {}
};

Kernel chain() {
    constexpr std::int64_t n = 30;
    return playing(cells(tabula_rasa(n, 2, n)), {}, std::make_unique<ocp::Chain>(n));
}

Kernel table(const ocp::OcpOptions& options) {
    constexpr std::int64_t n_states = 100, n_actions = 4, horizon = 50;
    return playing(cells(tabula_rasa(n_states, n_actions, horizon)), options,
                   std::make_unique<RandomTable>(n_states, n_actions, horizon, 0));
}

// Its 962 partitions are the paper's, as InvertedPendulum.partition() makes them.
Kernel pendulum(const ocp::OcpOptions& options, std::size_t n_simulations = 1) {
    setenv("OCPFAST_INSTRUCTIONS", "baseline", 1);  // else counts would depend on the processor
    auto system = std::make_unique<ocp::InvertedPendulum>(2.5, 2'000, true, 1);
    const double limit = system->max_velocity();
    std::vector<double> angles, velocities;
    for (int i = 1; i < 31; ++i) angles.push_back(ocp::InvertedPendulum::fallen_angle * (2.0 * i / 31 - 1));
    for (int i = 0; i < 30; ++i) velocities.push_back(limit * (2.0 * i / 29 - 1));
    ocp::Grid grid({ocp::Bins(angles), ocp::Bins(velocities)}, 1);
    auto partition = std::make_shared<ocp::Partition>(grid.n_labels(), 3, 0);
    partition->set_grid(std::move(grid));
    return playing(cells(std::move(partition)), options, std::move(system), n_simulations);
}

// The chain's Q*: 1 for each period that is left once the end is reached on the shortest way.
double optimal_of_chain(std::int64_t n, std::int64_t period, std::int64_t state, std::int64_t action) {
    const std::int64_t last = n - 1, left = n - period;
    if (state == last) return static_cast<double>(left);
    const std::int64_t next = action == 1 ? state + 1 : std::max<std::int64_t>(state - 1, 0);
    return static_cast<double>(std::max<std::int64_t>(left - 1 - (last - next), 0));
}

// Features [Q*, 1, noise...] of the chain, as in the paper; equalities alone.
Kernel linear() {
    constexpr std::int64_t n = 20, n_features = 8;
    Generator generator(3);
    std::vector<double> phi;
    for (std::int64_t i = 0; i < n * n * 2; ++i) {
        phi.push_back(optimal_of_chain(n, i / (2 * n), i / 2 % n, i % 2));
        phi.push_back(1);
        for (std::int64_t k = 2; k < n_features; ++k) phi.push_back(2 * generator.uniform() - 1);
    }
    auto rows = std::make_shared<ocp::DenseRows>(std::move(phi), static_cast<std::size_t>(n_features));
    auto features = std::make_shared<ocp::Features>(tabula_rasa(n, 2, n), std::move(rows), n_features, false,
                                                    std::vector<ocp::PriorRow>{});
    ocp::Linear known(std::move(features), ocp::Selection::eluder, 0, {}, nullptr, {});  // no HiGHS: it is not asked
    return playing(std::move(known), {}, std::make_unique<ocp::Chain>(n));
}

// 2,000 tables that differ from the chain's Q* in one value of twenty.
Kernel finite() {
    constexpr std::int64_t n = 10, n_hypotheses = 2'000;
    Generator generator(4);
    auto values = std::make_shared<std::vector<float>>();
    for (std::int64_t i = 0; i < n * n * 2; ++i) {
        const double q = optimal_of_chain(n, i / (2 * n), i / 2 % n, i % 2);
        for (std::int64_t k = 0; k < n_hypotheses; ++k) {
            const double wrong = k > 0 && generator.uniform() < 0.05 ? static_cast<double>(generator.below(3) - 1) : 0;
            values->push_back(static_cast<float>(q + wrong));
        }
    }
    auto tables = std::make_shared<ocp::FiniteTables<float>>(
        tabula_rasa(n, 2, n), std::shared_ptr<const float>(values, values->data()), n_hypotheses, 1e-6);
    ocp::Finite<float> known(std::move(tables), ocp::Selection::all, 0, {});
    return playing(std::move(known), {}, std::make_unique<ocp::Chain>(n));
}

// ---- the store -----------------------------------------------------------------------------------------------------

// An episode is an insertion: mostly compatible constraints on 20 parameters, with ties and some conflicts.
Kernel store() {
    auto box = std::make_shared<ocp::ConstraintStore<ocp::Box>>(
        ocp::Box(std::vector<double>(20, -100), std::vector<double>(20, 100)));
    auto generator = std::make_shared<Generator>(5);
    return [box, generator](std::int64_t insertions) {
        for (std::int64_t i = 0; i < insertions; ++i) {
            const double centre = std::round(20 * generator->uniform() - 10) / 10;
            const double width = std::round(100 * generator->uniform()) / 10;
            box->insert(generator->below(20), centre - width, centre + width);
        }
        double sum = 0;
        for (std::int64_t i = 0; i < 20; ++i) sum += box->hypotheses().upper(i);
        return Work{insertions, sum};
    };
}

const std::map<std::string, std::function<Kernel()>> kernels{
    {"chain", chain},
    {"table", [] { return table(everything_on()); }},
    {"replay", [] { return table(replaying()); }},
    {"pendulum", [] { return pendulum({}); }},
    {"pendulum-replay", [] { return pendulum(replaying()); }},
    {"pendulum-lanes", [] { return pendulum({}, 7); }},
    {"linear", linear},
    {"finite", finite},
    {"store", store},
};

}  // namespace

// What is counted; a function of its own, with a name that callgrind can be told.
extern "C" NOT_INLINED void measured(const Kernel& kernel, std::int64_t episodes, Work& work) {
    work = kernel(episodes);
}

int main(int count, char** arguments) {
    const auto found = count == 4 ? kernels.find(arguments[1]) : kernels.end();
    const std::int64_t before = count == 4 ? std::atoll(arguments[2]) : -1;
    const std::int64_t episodes = count == 4 ? std::atoll(arguments[3]) : -1;
    if (found == kernels.end() || before < 0 || episodes < 1 || std::max(before, episodes) > most_episodes) {
        std::fprintf(stderr, "usage: %s NAME BEFORE EPISODES, at most %lld of them; NAME is one of", arguments[0],
                     static_cast<long long>(most_episodes));
        for (const auto& [name, make] : kernels) std::fprintf(stderr, " %s", name.c_str());
        std::fprintf(stderr, "\n");
        return 2;
    }
    const Kernel kernel = found->second();
    if (before > 0) kernel(before);
    n_allocations = 0;
    Work work{};
    measured(kernel, episodes, work);
    const std::int64_t allocated = n_allocations;
    std::printf("{\"periods\": %lld, \"sum\": %.17g, \"allocations\": %lld}\n", static_cast<long long>(work.periods),
                work.sum, static_cast<long long>(allocated));
    return 0;
}
