// Files as agents: what is loaded acts, observes, is saved and loaded again; all else is one of the documented errors.
//
// Inputs are files. checkpoint_mutator.cpp changes them so that their lengths and checksums stay right.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "input.hpp"
#include "ocpfast/archive.hpp"
#include "ocpfast/checkpoint.hpp"
#include "ocpfast/description.hpp"
#include "ocpfast/description_json.hpp"
#include "ocpfast/lp/program.hpp"
#include "ocpfast/pcg64.hpp"

namespace {

using fuzz::check;
using ocp::Description;

// For files that have no hypothesis class, because it is a function: of states of two numbers.
int features_of(std::int64_t period, const void* state, std::int64_t action, double* features, void*) {
    const auto* const numbers = static_cast<const double*>(state);
    features[0] = 1;
    features[1] = numbers[0] + static_cast<double>(action);
    features[2] = numbers[1] * static_cast<double>(period + 1);
    return 0;
}

Description function_class() {
    Description d;
    d.hypothesis = Description::Hypothesis::linear_features;
    d.n_actions = 2;
    d.horizon = 3;
    d.n_features = 3;
    d.function = features_of;
    d.state_size = 2;
    return d;
}

// A file of a hundred bytes may describe an agent of 2^30 parameters, which takes that much memory and time. Here it is
// the reader that is looked at, so that what is large is left out.
bool small(const Description& d) {
    constexpr std::int64_t most = 1 << 12;
    std::int64_t product = 1;
    const auto multiply = [&](std::int64_t size) { product *= std::max<std::int64_t>(std::min(size, most + 1), 1); };
    multiply(d.n_actions);
    multiply(d.horizon);
    multiply(d.n_states);
    multiply(d.extra);
    for (std::size_t i = 0; i < d.edges.size() && product <= most; ++i) {
        multiply(static_cast<std::int64_t>(d.edges[i].size()) + 1);
    }
    return product <= most && d.n_features <= 64;
}

std::string saved(const Description& description, const ocp::Pcg64& generator, std::string state, const char* kind) {
    ocp::Checkpoint checkpoint(kind);
    ocp::DescriptionInFile::write(description, checkpoint);
    checkpoint.set_state(std::move(state));
    checkpoint.set_generator(generator);
    return checkpoint.bytes();
}

// An agent, its generator, and what happens to it.
template <class Agent>
struct Player {
    const Description& description;
    Agent agent;
    ocp::Pcg64 generator;
    ocp::Pcg64 world{7};

    std::string bytes() const {
        return saved(description, generator, ocp::sealed(agent, Agent::kind()), Agent::kind().c_str());
    }
    void load(const ocp::Checkpoint& checkpoint) {
        checkpoint.restore(agent);
        generator = checkpoint.generator();
    }

    std::int64_t point() {
        const std::int64_t size = agent.known().partition().vector_size();
        if (size == 0) return agent.known().partition().point_of_state(draw(agent.known().partition().n_states()));
        std::vector<double> state;
        for (std::int64_t i = 0; i < size; ++i) state.push_back(static_cast<double>(draw(9) - 4) / 2);
        return agent.locate(state.data());
    }
    std::int64_t draw(std::int64_t n) {
        return static_cast<std::int64_t>(world.next_uint64() % static_cast<std::uint64_t>(n));
    }

    // A number for all that was done.
    std::uint64_t play(int steps) {
        std::uint64_t code = 0;
        ocp_bitgen bitgen = generator.bitgen();
        for (int i = 0; i < steps; ++i) {
            if (!agent.waiting()) {
                const std::int64_t here = point();
                const std::int64_t layer = agent.known().partition().layer(agent.period());
                const std::int64_t greedy = agent.greedy(here, layer);
                const std::int64_t action = agent.act(here, &bitgen);
                const std::int64_t n_actions = agent.known().partition().n_actions();
                check(greedy >= 0 && greedy < n_actions && action >= 0 && action < n_actions, "an action");
                const std::int64_t index = agent.known().index(layer, here, action);
                agent.known().upper(index);
                agent.known().lower(index);
                code = 31 * code + static_cast<std::uint64_t>(2 * action + agent.known().determined(index));
            }
            const std::int64_t next = point();
            agent.observe(next, static_cast<double>(draw(5) - 2), draw(8) == 0 ? 1 + static_cast<int>(draw(2)) : 0);
        }
        agent.known().n_constraints();
        return code;
    }
};

template <class Agent>
void use(const ocp::Checkpoint& file, const Description& description, Agent made) {
    Player<Agent> player{description, made, ocp::Pcg64()};
    player.load(file);
    Player<Agent> twin{description, std::move(made), ocp::Pcg64()};
    const std::string bytes = player.bytes();
    twin.load(ocp::Checkpoint::parse(bytes));
    check(twin.bytes() == bytes, "saved, loaded and saved again");
    constexpr int steps = 16;
    try {
        const std::uint64_t code = player.play(steps);
        check(twin.play(steps) == code, "the loaded agent does something else");
        check(twin.bytes() == player.bytes(), "the loaded agent knows something else");
    } catch (const ocp::SolverFailure&) {  // of linear classes: HiGHS, where it is needed, is not here
        player.agent.begin_episode();
        player.bytes();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    static const Description given = function_class();
    try {
        const ocp::Checkpoint file = ocp::Checkpoint::parse(bytes);
        Description description = ocp::DescriptionInFile::read(file, &given);
        if (!small(description)) return 0;
        // not in the file's state, and 10 million recomputed constraints a step take their time
        description.options.replay_sweeps = std::min<std::int64_t>(description.options.replay_sweeps, 20);
        const ocp::Described described(description);
        if (described.linear()) {
            use(file, description, described.linear_agent(nullptr));
        } else {
            use(file, description, described.aggregation_agent());
        }
    } catch (const ocp::ArchiveError&) {
    } catch (const std::invalid_argument&) {  // of Described
    } catch (const ocp::SolverFailure&) {     // replay with bounds asks as soon as it is made; HiGHS is not here
    }
    return 0;
}
