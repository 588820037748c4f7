// The C API, driven by bytes: any call in any order with any argument that the header allows.
//
// Every code is a documented one and has a message; a call that fails changes nothing; an agent that was saved and
// loaded goes on as the first one.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "../../csrc/c_api/c_api.cpp"  // with it, what an agent knows can be looked at
#include "input.hpp"

namespace {

using fuzz::check;
using fuzz::Input;

// Fails for some states, as a user's function may.
int features_of(std::int64_t period, const void* state, std::int64_t action, double* features, void* user_data) {
    const auto* const numbers = static_cast<const double*>(state);
    if (numbers[0] == 3) return 5;
    features[0] = numbers[0] == 2 ? std::nan("") : 1;
    features[1] = static_cast<double>(action + *static_cast<std::int64_t*>(user_data));
    features[2] = numbers[0] - static_cast<double>(period);
    return 0;
}

// In memory where there is such a place: saving waits for the disk.
std::string folder() {
    std::error_code error;
    const std::filesystem::path memory("/dev/shm");
    return (std::filesystem::is_directory(memory, error) ? memory : std::filesystem::temp_directory_path()).string();
}
std::string path_of(const char* name) {
    static const std::string stem = folder() + "/ocpfast-fuzz-" + std::to_string(getpid()) + "-";
    return stem + name;
}

// A description and what it points to.
struct Given {
    ocp_description d;
    std::vector<std::int64_t> labels, n_edges;
    std::vector<double> edges, phi;
    std::int64_t user_data = 1;
};

// Sizes that fit into memory, or are refused.
std::int64_t size_from(Input& input) {
    const std::uint8_t choice = input.byte();
    if (choice < 230) return 1 + choice % 4;
    constexpr std::int64_t odd[] = {0, -1, INT64_MIN, INT64_MAX, std::int64_t{1} << 31, std::int64_t{1} << 40, 5};
    return odd[choice % 7];
}
// Of an enumeration, now and then beyond it.
std::int32_t option_from(Input& input, std::int32_t n) {
    const std::uint8_t choice = input.byte();
    return choice < 240 ? choice % n : choice % 2 == 0 ? n : -1;
}
double real_from(Input& input) {
    return input.below(32) == 0 ? std::nan("") : input.real();
}

void describe(Input& input, Given& given) {
    ocp_describe(&given.d);
    ocp_description& d = given.d;
    d.hypothesis = option_from(input, 3);
    d.n_states = size_from(input);
    d.n_actions = size_from(input);
    d.horizon = input.flag() ? 0 : size_from(input);
    d.track_lower = option_from(input, 2);
    const std::uint8_t more = input.byte();
    if (d.hypothesis == OCP_STATE_AGGREGATION) {
        if (input.flag()) {
            given.n_edges = {input.below(4), input.below(3)};
            d.n_dimensions = 1 + input.below(2);
            for (std::int64_t i = 0; i < 5; ++i) given.edges.push_back(real_from(input));
            if (input.flag()) std::sort(given.edges.begin(), given.edges.end(), std::less<>());
            d.n_edges = input.below(16) == 0 ? nullptr : given.n_edges.data();
            d.edges = input.below(16) == 0 ? nullptr : given.edges.data();
            d.extra = input.below(3) - (input.below(16) == 0);
        } else {
            d.label_axes = 1 + option_from(input, 3);
            for (int i = 0; i < 6 * 6 * 6; ++i) given.labels.push_back(input.empty() ? i % 3 : input.below(4));
            d.labels = input.below(16) == 0 ? nullptr : given.labels.data();
        }
    } else if (d.hypothesis == OCP_LINEAR_FEATURES) {
        d.n_features = d.function != nullptr ? 3 : size_from(input);
        d.by_period = option_from(input, 2);
        d.shared = option_from(input, 2);
        if (input.flag()) {
            d.function = features_of;
            d.user_data = &given.user_data;
            d.n_features = 3;
            d.state_size = size_from(input);
            d.scale = input.flag() ? real_from(input) : 1;
        } else {
            for (int i = 0; i < 6 * 6 * 6 * 6; ++i) {
                given.phi.push_back(input.empty() ? static_cast<double>(i * i % 5 - 2)
                                                  : static_cast<double>(input.below(4) - 1));
            }
            if (input.below(16) == 0) given.phi[1] = real_from(input);
            d.phi = input.below(16) == 0 ? nullptr : given.phi.data();
        }
        d.selection = OCP_SELECT_ELUDER;
    }
    // arrays are as large as these say
    const auto too_large = [](std::int64_t n) { return n > 6; };
    if ((d.labels != nullptr || d.phi != nullptr) &&
        (too_large(d.n_states) || too_large(d.n_actions) || too_large(d.horizon) || too_large(d.n_features))) {
        d.labels = nullptr;
        d.phi = nullptr;
    }
    if (more % 2 == 0) d.selection = d.hypothesis == OCP_LINEAR_FEATURES && more % 8 != 0 ? 1 : option_from(input, 4);
    if (d.selection == OCP_SELECT_WINDOW) d.window = size_from(input);
    if (more % 4 < 2) d.ties = option_from(input, 4);
    if (more % 8 < 4) d.replay = option_from(input, 3);
    if (more % 16 < 8) d.update = option_from(input, 2);
    if (more % 32 < 8) d.discount = input.flag() ? 0.5 : real_from(input);
    if (more % 64 < 32) {
        d.lower_bound = real_from(input);
        d.upper_bound = real_from(input);
    } else if (more % 128 < 64) {
        d.reward_bound = real_from(input);
    }
    d.replay_sweeps = input.below(16) == 0 ? size_from(input) : 20;
    if (d.replay_sweeps > 20) d.replay_sweeps = 20;  // it only takes longer
    if (input.below(4) == 0) d.replay_capacity = size_from(input);
    if (input.below(64) == 0) d.struct_size -= 8;
    d.seed = input.byte();
}

// Tables of a gigabyte are allowed, and would only be slow.
bool affordable(const ocp_description& d) {
    double cells = 1;
    for (const std::int64_t size : {d.n_states, d.n_actions, d.horizon})
        cells *= static_cast<double>(std::max<std::int64_t>(size, 1));
    return cells < 1e5 || cells > 0x1p30;
}

int documented(int code) {
    check((code >= OCP_OK && code <= OCP_FAILED) || (code >= OCP_BAD_ARGUMENT && code <= OCP_BAD_FILE),
          "an undocumented code");
    check(code == OCP_OK || *ocp_last_error() != 0, "a code without a message");
    return code;
}

std::string known_by(const ocp_agent* agent) {
    return std::visit([](const auto& core) { return ocp::sealed(core, std::decay_t<decltype(core)>::kind()); },
                      agent->core);
}

class Handle {
public:
    Handle() = default;
    Handle(const Handle&) = delete;
    ~Handle() { ocp_agent_destroy(agent); }
    ocp_agent* agent = nullptr;
};

// A state with the numbers that it points to.
struct State {
    std::vector<double> numbers;
    std::int64_t number = 0;
    bool vector = false;
    ocp_state in_c() const { return vector ? ocp_vector(numbers.data(), number) : ocp_index(number); }
};
State state_from(Input& input, const ocp_agent* agent) {
    State state;
    const std::int64_t size = agent == nullptr ? 0 : agent->description.vector_size();
    const std::uint8_t choice = input.byte();
    state.vector = (size > 0) != (choice >= 250);
    if (state.vector) {
        for (int i = 0; i < 6; ++i)
            state.numbers.push_back(input.flag() ? real_from(input) : static_cast<double>(i % 2));
        state.number = choice % 32 == 0 || size > 6 ? choice % 7 : std::max<std::int64_t>(size, 1);
        state.numbers.resize(static_cast<std::size_t>(state.number));  // so that reading one too many is seen
    } else {
        state.number = choice < 240 ? choice % 4 : choice % 2 == 0 ? -1 : INT64_MAX;
    }
    return state;
}

// One call on the agent and, if there is one, its twin: both must do the same.
class Calls {
public:
    Calls(Input& input, Handle& first, Handle& twin) : input_(input), first_(first), twin_(twin) {}

    void call() {
        const std::int64_t kind = input_.below(16);
        const State state = state_from(input_, first_.agent);
        const bool null = input_.below(64) == 0;
        look_ = input_.below(4) == 0;
        const std::int64_t action = input_.below(5) - (input_.below(16) == 0);
        const std::int64_t period = input_.below(8) == 0 ? (input_.flag() ? -1 : INT64_MAX) : input_.below(4);
        switch (kind) {
            case 0:
            case 1:
            case 2:
            case 3:
            case 4:
                return both<std::int64_t>([&](ocp_agent* a, std::int64_t* out) {
                    return ocp_agent_act(a, state.in_c(), null ? nullptr : out);
                });
            case 5:
            case 6:
            case 7:
            case 8:
            case 9: {
                const double reward = input_.flag() ? static_cast<double>(input_.below(5) - 2) : real_from(input_);
                const std::int64_t choice = input_.below(32);
                const int ending = choice < 24 ? OCP_CONTINUES : choice < 31 ? static_cast<int>(choice % 3) : 3;
                return both<int>([&](ocp_agent* a, int* out) {
                    return ocp_agent_observe(a, state.in_c(), reward, ending, null ? nullptr : out);
                });
            }
            case 10:
                return both<std::int64_t>([&](ocp_agent* a, std::int64_t* out) {
                    return ocp_agent_greedy(a, state.in_c(), period, null ? nullptr : out);
                });
            case 11:
                return both<double>([&](ocp_agent* a, double* out) {
                    return ocp_agent_upper(a, state.in_c(), action, period, null ? nullptr : out);
                });
            case 12:
                return both<double>([&](ocp_agent* a, double* out) {
                    return ocp_agent_lower(a, state.in_c(), action, period, null ? nullptr : out);
                });
            case 13:
                return both<int>([&](ocp_agent* a, int* out) {
                    return ocp_agent_determined(a, state.in_c(), action, period, null ? nullptr : out);
                });
            case 14:
                both<std::int64_t>(
                    [&](ocp_agent* a, std::int64_t* out) { return ocp_agent_n_constraints(a, null ? nullptr : out); });
                both<std::int64_t>([&](ocp_agent* a, std::int64_t* out) { return ocp_agent_n_episodes(a, out); });
                return both<std::int64_t>([&](ocp_agent* a, std::int64_t* out) { return ocp_agent_period(a, out); });
            default:
                return both<int>([&](ocp_agent* a, int*) { return ocp_agent_begin_episode(a); });
        }
    }

private:
    template <class Out, class Work>
    void both(const Work& work) {
        const auto [code, out] = one<Out>(first_.agent, work);
        if (twin_.agent == nullptr) return;
        const auto [code_of_twin, out_of_twin] = one<Out>(twin_.agent, work);
        check(code == code_of_twin, "the loaded agent returns another code");
        check(out == out_of_twin || (out != out && out_of_twin != out_of_twin), "the loaded agent answers otherwise");
    }
    template <class Out, class Work>
    std::pair<int, Out> one(ocp_agent* agent, const Work& work) {
        constexpr Out untouched = static_cast<Out>(77);
        Out out = untouched;
        std::string before;
        if (agent != nullptr && look_) before = known_by(agent);
        const int code = documented(work(agent, &out));
        if (code == OCP_OK) return {code, out};
        check(out == untouched, "a call that failed has written something");
        // where HiGHS or a feature function fails the episode may be lost
        if (!before.empty() && code != OCP_FAILED)
            check(known_by(agent) == before, "a call that failed has changed something");
        return {code, out};
    }

    Input& input_;
    Handle &first_, &twin_;
    bool look_ = false;  // whether what is known before the call is kept: it takes longer than the call
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    Given given;
    describe(input, given);
    if (!affordable(given.d)) return 0;
    Handle first, twin;
    const bool null = input.below(64) == 0;
    const int code =
        documented(ocp_agent_create(input.below(64) == 0 ? nullptr : &given.d, null ? nullptr : &first.agent));
    check((code == OCP_OK) == (first.agent != nullptr), "an agent without success, or success without one");
    Calls calls(input, first, twin);
    const std::string path = path_of("agent"), missing = path_of("missing");
    for (int n = 0; n < 60 && !input.empty(); ++n) {
        const std::uint8_t kind = input.byte();
        if (kind < 240) {
            calls.call();
        } else if (kind < 250) {  // from here on a loaded agent goes beside it
            if (documented(ocp_agent_save(first.agent, path.c_str())) != OCP_OK) continue;
            ocp_agent* loaded = nullptr;
            const bool open = given.d.function != nullptr && given.d.hypothesis == OCP_LINEAR_FEATURES;
            check(ocp_agent_load(path.c_str(), open ? &given.d : nullptr, &loaded) == OCP_OK, ocp_last_error());
            ocp_agent_destroy(twin.agent);
            twin.agent = loaded;
            check(known_by(loaded) == known_by(first.agent), "saved and loaded");
        } else {
            ocp_agent* loaded = nullptr;
            check(documented(ocp_agent_load(missing.c_str(), nullptr, &loaded)) == OCP_BAD_FILE,
                  "a file that is not there");
            check(documented(ocp_agent_load(nullptr, nullptr, &loaded)) == OCP_BAD_ARGUMENT, "NULL for a path");
            check(documented(ocp_agent_save(first.agent, nullptr)) == OCP_BAD_ARGUMENT, "NULL for a path");
            check(loaded == nullptr, "an agent of nothing");
        }
    }
    if (twin.agent != nullptr)
        check(known_by(twin.agent) == known_by(first.agent), "the loaded agent knows something else");
    std::remove(path.c_str());
    return 0;
}
