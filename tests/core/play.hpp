// Agents in systems: played, compared with the optimum, saved in the middle and gone on with.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "check.hpp"
#include "ocpfast/archive.hpp"
#include "ocpfast/pcg64.hpp"
#include "ocpfast/run_lanes.hpp"
#include "ocpfast/solve.hpp"
#include "ocpfast/system.h"

namespace core {

struct Played {
    std::vector<double> rewards, optimal;  // per episode
    ocp::Outcome outcome;

    std::int64_t n_suboptimal(double tolerance = 1e-9) const {
        std::int64_t n = 0;
        for (std::size_t i = 0; i < rewards.size(); ++i) {
            n += rewards[i] < optimal[i] - tolerance * std::fmax(1.0, std::abs(optimal[i]));
        }
        return n;
    }
    bool done() const { return outcome.kind == ocp::Outcome::Kind::done; }
};

// The generators of a simulation, which go on from call to call.
struct Streams {
    explicit Streams(std::uint64_t seed) : of_system(2 * seed), of_agent(2 * seed + 1) {}
    ocp::Pcg64 of_system, of_agent;
};

template <class Agent>
Played play(Agent& agent, const ocp_system& system, std::int64_t episodes, Streams& streams) {
    Played played{std::vector<double>(static_cast<std::size_t>(episodes)),
                  std::vector<double>(static_cast<std::size_t>(episodes)),
                  {}};
    ocp_bitgen of_system = streams.of_system.bitgen(), of_agent = streams.of_agent.bitgen();
    ocp::Simulation<Agent> simulation(agent, episodes, &of_system, &of_agent, played.rewards.data(),
                                      played.optimal.data());
    ocp::Control control;
    ocp::simulate(simulation, system, control);
    played.outcome = simulation.outcome();
    return played;
}

// Q* and V* of a deterministic system with finitely many states.
struct Optimum {
    explicit Optimum(const ocp_system& system)
        : q(static_cast<std::size_t>(system.horizon * system.state_size * system.n_actions)),
          v(static_cast<std::size_t>(system.horizon * system.state_size)) {
        const ocp::Solved solved = ocp::solve(system, q.data(), v.data(), [] { return true; });
        CHECK(solved.kind == ocp::Solved::Kind::done);
    }
    std::vector<double> q, v;
};

// Upper values are never below Q*, determined ones are Q*, and lower ones are never above it.
template <class Known>
void check_optimism(const Known& known, const std::vector<double>& q, double tolerance = 1e-9) {
    for (std::size_t i = 0; i < q.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        const double slack = tolerance * std::fmax(1.0, std::abs(q[i]));
        CHECK(known.upper(index) >= q[i] - slack);
        if (known.knows_lower()) CHECK(known.lower(index) <= q[i] + slack);
        if (known.determined(index)) CHECK(known.upper(index) <= q[i] + slack);
    }
}

// The same again from the bytes of another agent, in one that was made from the same description.
template <class Agent>
Agent restored(const Agent& agent, Agent fresh) {
    const std::string bytes = ocp::sealed(agent, Agent::kind());
    ocp::unseal(fresh, Agent::kind(), bytes);
    CHECK(ocp::sealed(fresh, Agent::kind()) == bytes);
    return fresh;
}

// Plays, saves in the middle of the episodes, and goes on with both.
template <class Agent>
Played play_and_restore(Agent& agent, const Agent& fresh, const ocp_system& system, std::int64_t episodes,
                        Streams& streams) {
    Played first = play(agent, system, episodes / 2, streams);
    CHECK(first.done());
    Agent twin = restored(agent, fresh);
    Streams twin_streams = streams;
    const Played rest = play(agent, system, episodes - episodes / 2, streams);
    const Played twin_rest = play(twin, system, episodes - episodes / 2, twin_streams);
    CHECK(rest.done() && twin_rest.done());
    CHECK(rest.rewards == twin_rest.rewards);
    CHECK(ocp::sealed(agent, Agent::kind()) == ocp::sealed(twin, Agent::kind()));
    first.rewards.insert(first.rewards.end(), rest.rewards.begin(), rest.rewards.end());
    first.optimal.insert(first.optimal.end(), rest.optimal.begin(), rest.optimal.end());
    return first;
}

}  // namespace core
