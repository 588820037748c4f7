// The systems through the C struct, as agents see them; dynamic programming in them.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "check.hpp"
#include "ocpfast/agent/random.hpp"
#include "ocpfast/limits.hpp"
#include "ocpfast/solve.hpp"
#include "ocpfast/system/adversary.hpp"
#include "ocpfast/system/chain.hpp"
#include "ocpfast/system/contract.hpp"
#include "ocpfast/system/deep_sea.hpp"
#include "ocpfast/system/linear_quadratic.hpp"
#include "ocpfast/system/pendulum.hpp"
#include "play.hpp"
#include "random.hpp"

namespace {

using core::Draw;

// Steps at random: states stay in range, rewards within their bounds; returns all of them.
std::vector<double> wander(const ocp_system& system, std::int64_t episodes) {
    CHECK(system.abi_version == OCP_SYSTEM_ABI && system.struct_size == sizeof(ocp_system));
    const ocp::Instance instance(system);
    CHECK(!instance.failed());
    core::Streams streams(1);
    ocp_bitgen bitgen = streams.of_system.bitgen();
    std::vector<double> rewards;
    std::vector<double> state(system.state_kind == OCP_STATE_VECTOR ? static_cast<std::size_t>(system.state_size) : 1);
    for (std::int64_t episode = 0; episode < episodes; ++episode) {
        CHECK(system.reset(instance.get(), episode, &bitgen, state.data()) == OCP_OK);
        int ending = OCP_CONTINUES;
        for (std::int64_t period = 0; period < system.horizon && ending == OCP_CONTINUES; ++period) {
            const std::vector<double> vector(static_cast<std::size_t>(system.action_size),
                                             streams.of_agent.next_double() - 0.5);
            const auto index =
                static_cast<std::int64_t>(streams.of_agent.next_double() * static_cast<double>(system.n_actions));
            const void* action = system.action_size > 0 ? static_cast<const void*>(vector.data()) : &index;
            double reward = 0;
            CHECK(system.step(instance.get(), period, state.data(), action, &bitgen, &reward, &ending) == OCP_OK);
            CHECK(reward >= system.reward_min && reward <= system.reward_max);
            rewards.push_back(reward);
            if (system.state_kind == OCP_STATE_INDEX) {
                const std::int64_t x = *reinterpret_cast<const std::int64_t*>(state.data());
                CHECK(x >= 0 && x < system.state_size);
            }
        }
    }
    return rewards;
}

// V* of the system itself against dynamic programming, in all states.
void compare_optimum(const ocp_system& system) {
    const core::Optimum optimum(system);
    const ocp::Instance instance(system);
    for (std::int64_t x = 0; x < system.state_size; ++x) {
        double value = 0;
        CHECK(system.optimal_value(instance.get(), &x, &value) == OCP_OK);
        const double expected = optimum.v[static_cast<std::size_t>(x)];
        CHECK(std::abs(value - expected) <= 1e-9);
    }
}

// A system whose memory is used up, and one that does not know what it is asked for: neither throws through C.
template <class Error>
struct Throwing : ocp::Chain {
    Throwing() : ocp::Chain(3) {}
    Throwing(const Throwing& other) : ocp::Chain(other) { throw Error(); }
    Throwing& operator=(const Throwing&) = delete;
    int optimal_value(const std::int64_t*, double*) const { throw Error(); }
    std::int64_t save(void*) const noexcept { return 0; }  // it has memory: each simulation wants a copy
    int load(const void*, std::int64_t) noexcept { return OCP_OK; }
};

template <class Error>
int error_of_throwing() {
    Throwing<Error> system;
    const ocp_system contract = ocp::contract_of(&system);
    CHECK(contract.clone(contract.parameters) == nullptr);
    CHECK(ocp::Instance(contract).failed());
    const std::int64_t state = 0;
    double value = 0;
    return contract.optimal_value(contract.parameters, &state, &value);
}

}  // namespace

TEST(systems_that_throw) {
    CHECK(error_of_throwing<std::bad_alloc>() == OCP_NO_MEMORY);
    CHECK(error_of_throwing<std::exception>() == OCP_FAILED);
}

TEST(chain_and_deep_sea) {
    for (const std::int64_t n : {1, 2, 9}) {
        ocp::Chain chain(n);
        wander(ocp::contract_of(&chain), 20);
        compare_optimum(ocp::contract_of(&chain));
        for (const bool mixed : {false, true}) {
            std::vector<std::uint8_t> right;
            for (std::int64_t x = 0; mixed && x < n * n; ++x) right.push_back(x % 3 == 0);
            ocp::DeepSea sea(n, right);
            wander(ocp::contract_of(&sea), 20);
            // V* of a state in the row where the diver is in the first period
            const core::Optimum optimum(ocp::contract_of(&sea));
            double value = 0;
            const std::int64_t start = 0;
            CHECK(sea.optimal_value(&start, &value) == OCP_OK && std::abs(value - optimum.v[0]) < 1e-9);
        }
    }
}

TEST(tables) {
    Draw draw(1);
    for (int i = 0; i < core::cases(100); ++i) {
        core::TableOptions options;
        options.n_states = draw.between(1, 6);
        options.n_actions = draw.between(1, 4);
        options.horizon = draw.between(1, 6);
        options.homogeneous = draw.chance(0.5);
        options.random_start = draw.chance(0.5);
        options.ends = draw.one_of({0.0, 0.2, 1.0});
        core::RandomTable table(options, draw);
        wander(ocp::contract_of(&table), 10);
        compare_optimum(ocp::contract_of(&table));
    }
    // unknown where it would take long to find
    core::TableOptions endless;
    endless.n_states = endless.n_actions = 1;
    endless.horizon = 3'000'000'000;
    endless.homogeneous = true;
    const std::int64_t start = 0;
    double value = 0;
    CHECK(core::RandomTable(endless, draw).optimal_value(&start, &value) == OCP_OK && std::isnan(value));
}

// Clones decide for themselves; what one has decided can be saved and loaded.
TEST(adversary) {
    ocp::Adversary made(3, 4, 2);
    const ocp_system system = ocp::contract_of(&made);
    wander(system, 20);
    ocp::RandomPolicy agent(2);
    core::Streams streams(1);
    const core::Played played = core::play(agent, system, 3, streams);
    for (std::size_t i = 0; i < 3; ++i) CHECK(played.rewards[i] == -8 && played.optimal[i] == 8);

    const ocp::Instance first(system), second(system);
    std::vector<char> blank(static_cast<std::size_t>(system.save(first.get(), nullptr)));
    CHECK(system.save(first.get(), blank.data()) == 3);
    const auto side = [&](void* instance, std::int64_t action) {
        std::int64_t state = 0;
        double reward = 0;
        int ending = 0;
        CHECK(system.step(instance, 0, &state, &action, nullptr, &reward, &ending) == OCP_OK);
        return reward;
    };
    CHECK(side(first.get(), 1) == -2 && side(first.get(), 0) == 2 && side(second.get(), 0) == -2);
    std::vector<char> decided(3);
    system.save(first.get(), decided.data());
    CHECK(system.load(second.get(), decided.data(), 3) == OCP_OK);
    CHECK(side(second.get(), 0) == 2);
    CHECK(system.load(second.get(), blank.data(), 3) == OCP_OK && side(second.get(), 1) == -2);
    CHECK(system.load(second.get(), decided.data(), 2) == OCP_FAILED);
    decided[1] = 7;
    CHECK(system.load(second.get(), decided.data(), 3) == OCP_FAILED);
}

TEST(pendulum) {
    for (const bool runge_kutta : {false, true}) {
        for (const double disturbance : {0.0, 2.5}) {
            ocp::InvertedPendulum pendulum(disturbance, 300, runge_kutta, 2);
            const std::vector<double> rewards = wander(ocp::contract_of(&pendulum), 20);
            CHECK(rewards.size() > 100);
            CHECK(pendulum.max_velocity() > 1 && pendulum.max_velocity() < 10);
            double fallen[2] = {2, 0}, reward = 0;
            int ending = 0;
            CHECK(pendulum.step(0, fallen, 1, nullptr, &reward, &ending) == OCP_BAD_STATE);
        }
    }
}

// Over vectors the Riccati value is at least that of any list of actions, and a list's is the best of all sequences.
TEST(linear_quadratic) {
    ocp::LinearQuadraticArrays arrays;
    arrays.matrices = {2, 1, {1, 0.5, 0, 1}, {0, 1}, {1, 0, 0, 1}, {0.5}};
    arrays.horizon = 5;
    arrays.starts = {1, -1, 0.5, 2};
    ocp::LinearQuadratic<double> free(arrays);
    arrays.actions = {-1, 0, 1};
    ocp::LinearQuadratic<std::int64_t> listed(arrays);
    wander(ocp::contract_of(&free), 10);
    wander(ocp::contract_of(&listed), 10);
    double state[2] = {1, -1}, value = 0, of_list = 0;
    CHECK(free.optimal_value(state, &value) == OCP_OK && listed.optimal_value(state, &of_list) == OCP_OK);
    double best = -1e300;
    for (int sequence = 0; sequence < 243; ++sequence) {
        double x[2] = {1, -1}, total = 0;
        for (int period = 0, rest = sequence; period < 5; ++period, rest /= 3) {
            double reward = 0;
            int ending = 0;
            CHECK(listed.step(period, x, rest % 3, nullptr, &reward, &ending) == OCP_OK);
            total += reward;
        }
        best = std::fmax(best, total);
    }
    CHECK(std::abs(of_list - best) < 1e-9 && of_list <= value && value < 0);
    double far[2] = {1e308, 1e308}, reward = 0;
    int ending = 0;
    CHECK(listed.step(0, far, 0, nullptr, &reward, &ending) == OCP_OVERFLOW);
}

namespace {

// A chain of three states in which one step goes wrong.
struct Wrong {
    using Component = std::int64_t;
    using Action = std::int64_t;
    int error = OCP_OK;
    double reward = 0;
    std::int64_t next = 0;
    int ending = OCP_CONTINUES;

    void describe(ocp_system& contract) const noexcept {
        contract.state_size = 3;
        contract.n_actions = 1;
        contract.horizon = 2;
    }
    int reset(std::int64_t, ocp_bitgen*, std::int64_t* state) const noexcept {
        *state = 0;
        return OCP_OK;
    }
    int step(std::int64_t period, std::int64_t* state, std::int64_t, ocp_bitgen*, double* paid,
             int* ended) const noexcept {
        const bool here = period == 1 && *state == 1;
        *paid = here ? reward : 0;
        *ended = here ? ending : OCP_CONTINUES;
        *state = here ? next : 1;
        return here ? error : OCP_OK;
    }
};

ocp::Solved solve(Wrong wrong) {
    double q[6], v[6];
    return ocp::solve(ocp::contract_of(&wrong), q, v, [] { return true; });
}

}  // namespace

TEST(solving_says_what_went_wrong) {
    using Kind = ocp::Solved::Kind;
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(solve({}).kind == Kind::done);
    CHECK(solve({OCP_OVERFLOW, 0, 0, OCP_CONTINUES}).kind == Kind::system_error);
    CHECK(solve({OCP_OK, infinity, 0, OCP_CONTINUES}).kind == Kind::bad_reward);
    CHECK(solve({OCP_OK, 0, 3, OCP_CONTINUES}).kind == Kind::bad_state);
    CHECK(solve({OCP_OK, 0, -1, OCP_CONTINUES}).kind == Kind::bad_state);
    CHECK(solve({OCP_OK, 0, 0, OCP_TRUNCATED}).kind == Kind::truncated);
    const ocp::Solved failed = solve({100, 0, 0, OCP_CONTINUES});
    CHECK(failed.period == 1 && failed.state == 1 && failed.action == 0 && failed.error == 100);
    Wrong fine;
    double q[6], v[6];
    CHECK(ocp::solve(ocp::contract_of(&fine), q, v, [] { return false; }).kind == Kind::stopped);

    ocp_system forgetful = ocp::contract_of(&fine);
    forgetful.clone = [](const void*) -> void* { return nullptr; };
    CHECK(ocp::solve(forgetful, q, v, [] { return true; }).kind == Kind::no_memory);
}

// The same through a simulation, which says where it was.
TEST(simulating_says_what_went_wrong) {
    using Kind = ocp::Outcome::Kind;
    const double largest = ocp::largest_reward;
    const auto outcome = [](Wrong wrong) {
        const ocp_system system = ocp::contract_of(&wrong);
        ocp::RandomPolicy agent(1);
        core::Streams streams(1);
        return core::play(agent, system, 2, streams).outcome;
    };
    CHECK(outcome({}).kind == Kind::done);
    const ocp::Outcome failed = outcome({100, 0, 0, OCP_CONTINUES});
    CHECK(failed.kind == Kind::system_error && failed.error == 100 && failed.episode == 0 && failed.period == 1);
    CHECK(outcome({OCP_OK, std::nan(""), 0, OCP_CONTINUES}).kind == Kind::bad_reward);
    CHECK(std::string(outcome({OCP_OK, std::nan(""), 0, OCP_CONTINUES}).expected) == "a finite number");
    CHECK(outcome({OCP_OK, 0, 3, OCP_CONTINUES}).kind == Kind::bad_state);
    CHECK(outcome({OCP_OK, largest, 0, OCP_CONTINUES}).kind == Kind::done);
    CHECK(outcome({OCP_OK, 2 * largest, 0, OCP_CONTINUES}).kind == Kind::bad_reward);

    Wrong fine;
    ocp_system system = ocp::contract_of(&fine);
    ocp::RandomPolicy agent(1);
    core::Streams streams(1);
    system.clone = [](const void*) -> void* { return nullptr; };
    CHECK(core::play(agent, system, 2, streams).outcome.kind == Kind::no_memory);
    system = ocp::contract_of(&fine);
    system.reset = [](void*, std::int64_t episode, ocp_bitgen*, void* state) {
        *static_cast<std::int64_t*>(state) = 0;
        return episode == 1 ? 101 : 0;
    };
    const ocp::Outcome reset = core::play(agent, system, 2, streams).outcome;
    CHECK(reset.kind == Kind::system_error && reset.episode == 1 && reset.period == -1 && reset.error == 101);
}
