// The C API: checks what C cannot, and lets no exception out. ocpfast/c_api.h says what the functions do.
#include "ocpfast/c_api.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "ocpfast/archive.hpp"
#include "ocpfast/checkpoint.hpp"
#include "ocpfast/description.hpp"
#include "ocpfast/description_json.hpp"
#include "ocpfast/lp/highs_api.hpp"
#include "ocpfast/pcg64.hpp"
#if !defined(_WIN32)
#include "ocpfast/lp/highs_library.hpp"
#endif

#if !defined(OCPFAST_VERSION)
#error "OCPFAST_VERSION: CMake's target ocpfast::c defines it, as in -DOCPFAST_VERSION=\"0.1.0\""
#endif

namespace {

using Cells = ocp::Ocp<ocp::Cells>;
using Linear = ocp::Ocp<ocp::Linear>;

}  // namespace

struct ocp_agent {
    ocp::Description description;
    std::variant<Cells, Linear> core;
    ocp::Pcg64 generator;
};

namespace {

// ---- errors --------------------------------------------------------------------------------------------------------

struct ApiError : std::runtime_error {
    ApiError(int error_code, const std::string& message) : std::runtime_error(message), code(error_code) {}
    int code;
};

[[noreturn]] void fail(int code, const std::string& message) {
    throw ApiError(code, message);
}

// Of this thread. To say that there is no memory takes none: short strings have a place in the object.
thread_local std::string last_error;

int remember(int code, const char* message) noexcept {
    try {
        last_error = message;
    } catch (...) {
        last_error.clear();
    }
    return code;
}

// Does the work; whatever it throws becomes a code and a message.
template <class Work>
int guarded(Work&& work) noexcept {
    try {
        work();
        return OCP_OK;
    } catch (const ApiError& error) {
        return remember(error.code, error.what());
    } catch (const ocp::ArchiveError& error) {
        return remember(OCP_BAD_FILE, error.what());
    } catch (const std::system_error& error) {
        return remember(OCP_BAD_FILE, error.what());
    } catch (const std::invalid_argument& error) {
        return remember(OCP_BAD_ARGUMENT, error.what());
    } catch (const std::bad_alloc&) {
        return remember(OCP_NO_MEMORY, "no memory");
    } catch (const std::length_error&) {  // a vector longer than any memory
        return remember(OCP_NO_MEMORY, "no memory");
    } catch (const std::exception& error) {
        return remember(OCP_FAILED, error.what());
    } catch (...) {
        return remember(OCP_FAILED, "an unknown error");
    }
}

void need(const void* pointer, const char* name) {
    if (pointer == nullptr) fail(OCP_BAD_ARGUMENT, std::string(name) + ": expected a pointer, got NULL");
}

std::string in_range(const char* name, std::int64_t end, std::int64_t got) {
    return std::string(name) + ": expected an integer in 0.." + std::to_string(end - 1) + ", got " +
           std::to_string(got);
}

// ---- descriptions
// ----------------------------------------------------------------------------------------------------

template <class Enum>
Enum option(std::int32_t value, Enum last, const char* name) {
    if (value < 0 || value > static_cast<std::int32_t>(last)) {
        fail(OCP_BAD_ARGUMENT, in_range(name, static_cast<std::int64_t>(last) + 1, value));
    }
    return static_cast<Enum>(value);
}

bool flag(std::int32_t value, const char* name) {
    if (value != 0 && value != 1) fail(OCP_BAD_ARGUMENT, in_range(name, 2, value));
    return value == 1;
}

// How many numbers a caller's array must have; each size is checked before a product of them is trusted.
std::size_t length(std::initializer_list<std::pair<std::int64_t, const char*>> sizes) {
    std::int64_t product = 1;
    for (const auto& [size, name] : sizes) {
        constexpr std::int64_t most = INT64_MAX / static_cast<std::int64_t>(sizeof(double));
        if (size < 1) {
            fail(OCP_BAD_ARGUMENT, std::string(name) + ": expected an integer >= 1, got " + std::to_string(size));
        }
        if (product > most / size) fail(OCP_BAD_ARGUMENT, std::string(name) + ": expected less, got more than fits");
        product *= size;
    }
    return static_cast<std::size_t>(product);
}

// A description that is complete but for what Described checks.
ocp::Description description_of(const ocp_description* pointer) {
    need(pointer, "description");
    const ocp_description& given = *pointer;
    if (given.struct_size != sizeof(ocp_description)) {
        fail(OCP_BAD_ARGUMENT, "description: expected struct_size " + std::to_string(sizeof(ocp_description)) +
                                   ", got " + std::to_string(given.struct_size) +
                                   "; call ocp_describe first, and compile with the header of this library");
    }
    ocp::Description d;
    using Hypothesis = ocp::Description::Hypothesis;
    d.hypothesis = option(given.hypothesis, Hypothesis::linear_features, "hypothesis");
    d.n_states = given.n_states;
    d.n_actions = given.n_actions;
    d.horizon = given.horizon;
    d.track_lower = flag(given.track_lower, "track_lower");
    if (d.hypothesis == Hypothesis::state_aggregation) {
        if (given.n_dimensions < 0) length({{given.n_dimensions, "n_dimensions"}});
        if (given.n_dimensions > 0) {
            need(given.n_edges, "n_edges");
            const double* next = given.edges;
            for (std::int64_t i = 0; i < given.n_dimensions; ++i) {
                if (given.n_edges[i] != 0) {
                    const std::size_t n = length({{given.n_edges[i], "n_edges"}});
                    need(given.edges, "edges");
                    d.edges.emplace_back(next, next + n);
                    next += n;
                } else {
                    d.edges.emplace_back();
                }
            }
            d.extra = given.extra;
        } else {
            need(given.labels, "labels");
            d.label_axes = given.label_axes;
            if (d.label_axes < 1 || d.label_axes > 3) {
                fail(OCP_BAD_ARGUMENT, "label_axes: expected 1, 2 or 3, got " + std::to_string(d.label_axes));
            }
            const std::size_t n = length({{given.n_states, "n_states"},
                                          {d.label_axes > 1 ? given.n_actions : 1, "n_actions"},
                                          {d.label_axes > 2 ? given.horizon : 1, "horizon"}});
            d.labels.assign(given.labels, given.labels + n);
        }
    }
    if (d.hypothesis == Hypothesis::linear_features) {
        d.n_features = given.n_features;
        d.by_period = flag(given.by_period, "by_period");
        d.shared = flag(given.shared, "shared");
        d.function = given.function;
        if (d.function != nullptr) {
            d.user_data = std::shared_ptr<void>(given.user_data, [](void*) {});  // the caller's
            d.state_size = given.state_size;
            d.scale = given.scale;
        } else {
            need(reinterpret_cast<const void*>(given.phi), "phi");
            const std::size_t n = length({{given.n_states, "n_states"},
                                          {given.n_actions, "n_actions"},
                                          {given.n_features, "n_features"},
                                          {d.by_period ? given.horizon : 1, "horizon"}});
            d.phi.assign(given.phi, given.phi + n);
        }
    }
    d.selection = option(given.selection, ocp::Selection::window, "selection");
    d.window = given.window;
    d.options.ties = option(given.ties, ocp::Ties::directed, "ties");
    d.options.replay = option(given.replay, ocp::ReplayMode::stationary, "replay");
    d.options.immediate = flag(given.update, "update");
    d.options.discount = given.discount;
    // infinite ones stand for none
    if (!(given.lower_bound == -ocp::infinity && given.upper_bound == ocp::infinity)) {
        d.bounds = {given.lower_bound, given.upper_bound};
    }
    if (!std::isnan(given.reward_bound)) d.reward_bound = given.reward_bound;
    d.options.replay_sweeps = given.replay_sweeps;
    d.options.replay_capacity = given.replay_capacity;
    return d;
}

// ---- agents
// ----------------------------------------------------------------------------------------------------------

std::optional<ocp::HighsApi> highs;

std::unique_ptr<ocp_agent> made(ocp::Description given, const ocp::Pcg64& generator) {
    const ocp::Described described(std::move(given));
    const ocp::Description& d = described.description();
    if (!described.linear()) {
        return std::unique_ptr<ocp_agent>(new ocp_agent{d, described.aggregation_agent(), generator});
    }
    if (!highs && d.selection != ocp::Selection::eluder) {
        fail(OCP_BAD_ARGUMENT, "selection: expected OCP_SELECT_ELUDER for linear features without HiGHS, got " +
                                   std::to_string(static_cast<int>(d.selection)) + "; ocp_load_highs loads it");
    }
    return std::unique_ptr<ocp_agent>(new ocp_agent{d, described.linear_agent(highs ? &*highs : nullptr), generator});
}

template <class Agent>
std::int64_t checked_layer(const Agent& core, std::int64_t period) {
    const ocp::Partition& partition = core.known().partition();
    const std::int64_t end = partition.homogeneous() ? INT64_MAX : partition.horizon();
    if (period < 0 || period >= end) fail(OCP_BAD_PERIOD, in_range("period", end, period));
    return partition.layer(period);
}

template <class Agent>
std::int64_t checked_point(Agent& core, const ocp_state& state, std::int64_t layer, const char* name) {
    const ocp::Partition& partition = core.known().partition();
    const std::int64_t size = partition.vector_size();
    if (size == 0) {
        if (state.vector != nullptr) {
            fail(OCP_BAD_STATE, std::string(name) + ": expected an index (ocp_index), got a vector");
        }
        if (state.number < 0 || state.number >= partition.n_states()) {
            fail(OCP_BAD_STATE, in_range(name, partition.n_states(), state.number));
        }
        return partition.point_of_state(state.number);
    }
    const std::string expected =
        std::string(name) + ": expected " + std::to_string(size) + " numbers (ocp_vector), got ";
    if (state.vector == nullptr) fail(OCP_BAD_STATE, expected + "an index, or NULL");
    if (state.number != size) fail(OCP_BAD_STATE, expected + std::to_string(state.number));
    const std::int64_t point = core.locate(state.vector, layer);
    if (point == ocp::Partition::nowhere) {
        fail(OCP_BAD_STATE, std::string(name) + ": expected numbers, got NaN among them" +
                                (partition.open() ? "" : "; a grid with extra >= 1 has a label for it"));
    }
    return point;
}

template <class Agent>
std::int64_t checked_cell(Agent& core, const ocp_state& state, std::int64_t action, std::int64_t period) {
    const std::int64_t layer = checked_layer(core, period);
    const ocp::Partition& partition = core.known().partition();
    if (action < 0 || action >= partition.n_actions()) {
        fail(OCP_BAD_ACTION, in_range("action", partition.n_actions(), action));
    }
    return partition.cell(layer, checked_point(core, state, layer, "state"), action);
}

// Does something with the agent, whatever its class is.
template <class Agent, class Work>
int with(Agent* agent, Work&& work) noexcept {
    return guarded([&] {
        need(agent, "agent");
        std::visit(work, agent->core);
    });
}
template <class Agent, class Out, class Work>
int with(Agent* agent, Out* out, const char* name, Work&& work) noexcept {
    return guarded([&] {
        need(agent, "agent");
        need(out, name);
        *out = static_cast<Out>(std::visit(work, agent->core));
    });
}

}  // namespace

// ---- the functions of ocpfast/c_api.h
// ----------------------------------------------------------------------------------

void ocp_describe(ocp_description* description) {
    if (description == nullptr) return;
    const ocp::OcpOptions defaults;
    *description = ocp_description();
    description->struct_size = sizeof(ocp_description);
    description->label_axes = 1;
    description->scale = 1;
    description->discount = defaults.discount;
    description->lower_bound = -ocp::infinity;
    description->upper_bound = ocp::infinity;
    description->reward_bound = std::nan("");
    description->replay_sweeps = defaults.replay_sweeps;
    description->replay_capacity = defaults.replay_capacity;
}

int ocp_agent_create(const ocp_description* description, ocp_agent** agent) {
    return guarded([&] {
        need(agent, "agent");
        ocp::Description d = description_of(description);
        *agent = made(std::move(d), ocp::Pcg64(description->seed)).release();
    });
}

void ocp_agent_destroy(ocp_agent* agent) {
    delete agent;
}

int ocp_agent_act(ocp_agent* agent, ocp_state state, int64_t* action) {
    return with(agent, action, "action", [&](auto& core) {
        if (core.waiting()) {
            fail(OCP_BAD_ORDER, "act: called twice in period " + std::to_string(core.period()) + " without observe");
        }
        const std::int64_t layer = core.known().partition().layer(core.period());
        const std::int64_t point = checked_point(core, state, layer, "state");
        ocp_bitgen bitgen = agent->generator.bitgen();
        return core.act(point, &bitgen);
    });
}

int ocp_agent_observe(ocp_agent* agent, ocp_state next_state, double reward, int ending, int* ended) {
    return with(agent, [&](auto& core) {
        if (!core.waiting()) fail(OCP_BAD_ORDER, "observe: there is no action to observe; call ocp_agent_act first");
        if (ending < OCP_CONTINUES || ending > OCP_TRUNCATED) {
            fail(OCP_BAD_ARGUMENT, in_range("ending", OCP_TRUNCATED + 1, ending));
        }
        if (!core.accepts(reward, ending)) {
            std::ostringstream text;
            text << "reward: expected " << core.expected_reward(reward) << ", got " << reward;
            fail(OCP_BAD_REWARD, text.str());
        }
        const std::int64_t next_layer = core.known().partition().layer(core.period() + 1);
        const std::int64_t point =
            ending == OCP_TERMINATED ? 0 : checked_point(core, next_state, next_layer, "next_state");
        const bool closed = core.observe(point, reward, ending);
        if (ended != nullptr) *ended = closed ? 1 : 0;
    });
}

int ocp_agent_begin_episode(ocp_agent* agent) {
    return with(agent, [](auto& core) { core.begin_episode(); });
}

int ocp_agent_greedy(ocp_agent* agent, ocp_state state, int64_t period, int64_t* action) {
    return with(agent, action, "action", [&](auto& core) {
        const std::int64_t layer = checked_layer(core, period);
        return core.greedy(checked_point(core, state, layer, "state"), layer);
    });
}

int ocp_agent_upper(ocp_agent* agent, ocp_state state, int64_t action, int64_t period, double* value) {
    return with(agent, value, "value",
                [&](auto& core) { return core.known().upper(checked_cell(core, state, action, period)); });
}

int ocp_agent_lower(ocp_agent* agent, ocp_state state, int64_t action, int64_t period, double* value) {
    return with(agent, value, "value", [&](auto& core) {
        if (!core.known().knows_lower()) {
            fail(OCP_BAD_ARGUMENT, "lower: not tracked; set track_lower in the description");
        }
        return core.known().lower(checked_cell(core, state, action, period));
    });
}

int ocp_agent_determined(ocp_agent* agent, ocp_state state, int64_t action, int64_t period, int* determined) {
    return with(agent, determined, "determined",
                [&](auto& core) { return core.known().determined(checked_cell(core, state, action, period)); });
}

int ocp_agent_n_constraints(const ocp_agent* agent, int64_t* n) {
    return with(agent, n, "n", [](const auto& core) { return core.known().n_constraints(); });
}

int ocp_agent_period(const ocp_agent* agent, int64_t* period) {
    return with(agent, period, "period", [](const auto& core) { return core.period(); });
}

int ocp_agent_n_episodes(const ocp_agent* agent, int64_t* n) {
    return with(agent, n, "n", [](const auto& core) { return core.n_episodes(); });
}

int ocp_agent_save(const ocp_agent* agent, const char* path) {
    return with(agent, [&](const auto& core) {
        need(path, "path");
        ocp::save_agent(path, core, agent->generator, agent->description);
    });
}

int ocp_agent_load(const char* path, const ocp_description* hypothesis, ocp_agent** agent) {
    return guarded([&] {
        need(path, "path");
        need(agent, "agent");
        const ocp::Checkpoint checkpoint = ocp::Checkpoint::read(path);
        std::optional<ocp::Description> given;
        if (hypothesis != nullptr) given = description_of(hypothesis);
        std::unique_ptr<ocp_agent> loaded =
            made(ocp::DescriptionInFile::read(checkpoint, given ? &*given : nullptr), checkpoint.generator());
        std::visit([&](auto& core) { checkpoint.restore(core); }, loaded->core);
        *agent = loaded.release();
    });
}

int ocp_load_highs(const char* path) {
    return guarded([&] {
        need(path, "path");
        if (highs) fail(OCP_BAD_ORDER, "HiGHS: it is loaded already");  // agents may be using it
#if defined(_WIN32)
        fail(OCP_FAILED, "HiGHS: this platform has no dlopen");
#else
        highs = ocp::load_highs(path);
#endif
    });
}

const char* ocp_last_error(void) {
    return last_error.c_str();
}

const char* ocp_version(void) {
    return OCPFAST_VERSION;
}
