// Linear classes: OCP with features in which Q* is linear, of tables and of functions of vector states; sigmoids. What
// needs linear programs runs where HiGHS is there.
#include "ocpfast/hypothesis/linear.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/hypothesis/sigmoid.hpp"
#include "ocpfast/system/contract.hpp"
#include "play.hpp"
#include "random.hpp"

namespace {

using core::Draw;
using ocp::ReplayMode;
using ocp::Selection;
using ocp::Ties;
using Agent = ocp::Ocp<ocp::Linear>;

constexpr std::int64_t n_features = 4;

// [Q*, 1, noise, ...] of every triple, dense or with their zeros left out.
std::shared_ptr<const ocp::FeatureRows> rows_with(const std::vector<double>& q, Draw& draw, bool dense) {
    std::vector<double> table, values;
    std::vector<std::int64_t> start{0};
    std::vector<std::int32_t> columns;
    for (const double one : q) {
        const double row[n_features] = {one, 1, draw.uniform(-1, 1), static_cast<double>(draw.between(-1, 1))};
        for (std::int64_t k = 0; k < n_features; ++k) {
            table.push_back(row[k]);
            if (row[k] == 0) continue;
            columns.push_back(static_cast<std::int32_t>(k));
            values.push_back(row[k]);
        }
        start.push_back(static_cast<std::int64_t>(values.size()));
    }
    if (dense) return std::make_shared<ocp::DenseRows>(std::move(table), n_features);
    return std::make_shared<ocp::SparseRows>(std::move(start), std::move(columns), std::move(values), n_features);
}

void learn_tables(Selection selection, const ocp::PriorBounds& bounds, Draw& draw, int n) {
    for (int i = 0; i < n; ++i) {
        core::TableOptions table_options;
        table_options.n_states = draw.between(1, 4);
        table_options.n_actions = draw.between(1, 3);
        table_options.horizon = draw.between(1, 4);
        ocp::OcpOptions options;
        options.ties = draw.one_of({Ties::first, Ties::random, Ties::least_visited, Ties::directed});
        options.replay = draw.one_of({ReplayMode::off, ReplayMode::on, ReplayMode::stationary});
        if (selection == Selection::window) options.replay = ReplayMode::off;
        options.immediate = draw.chance(0.3);
        table_options.homogeneous = options.replay == ReplayMode::stationary || draw.chance(0.3);
        core::RandomTable table(table_options, draw);
        const ocp_system system = ocp::contract_of(&table);
        const core::Optimum optimum(system);

        auto domain =
            std::make_shared<ocp::Partition>(table_options.n_states, table_options.n_actions, table_options.horizon);
        auto rows = rows_with(optimum.q, draw, draw.chance(0.5));
        std::vector<ocp::PriorRow> prior;
        // the first parameter is 1 where Q* is, and the others are 0
        if (core::settings().highs != nullptr && draw.chance(0.3)) prior.push_back({{1, 0, 0, 0}, 2, false});
        const bool shared = draw.chance(0.3);
        auto features = std::make_shared<ocp::Features>(domain, std::move(rows), n_features, shared, std::move(prior));
        const std::int64_t window = selection == Selection::window ? 4 : 0;
        const Agent fresh{ocp::Linear(features, selection, window, bounds, core::settings().highs, {}), options};
        Agent agent = fresh;
        core::Streams streams(static_cast<std::uint64_t>(draw.below(1'000)));
        const core::Played played = core::play_and_restore(agent, fresh, system, 30, streams);
        core::check_optimism(agent.known(), optimum.q, 1e-5);
        CHECK(agent.known().n_contradictions() == 0);
        if (selection == Selection::eluder) {
            CHECK(played.n_suboptimal(1e-6) <= (shared ? 1 : table_options.horizon) * n_features);
        }
    }
}

}  // namespace

// Equalities alone: no program is solved, and the library is not needed.
TEST(linear_from_equalities) {
    Draw draw(1);
    const ocp::HighsApi* const highs = core::settings().highs;
    core::settings().highs = nullptr;
    learn_tables(Selection::eluder, {}, draw, core::cases(200));
    core::settings().highs = highs;
}

TEST(linear_without_a_solver_says_so) {
    Draw draw(2);
    auto domain = std::make_shared<ocp::Partition>(3, 2, 2);
    auto rows = rows_with(std::vector<double>(12, 1.0), draw, true);
    auto features =
        std::make_shared<ocp::Features>(domain, std::move(rows), n_features, false, std::vector<ocp::PriorRow>());
    ocp::Linear known(features, Selection::all, 0, {}, nullptr, {});
    const auto join = [&] {
        for (std::int64_t index = 0; index < 12; ++index) known.join(index, {-1, 1.5, false});
        double sum = 0;
        for (std::int64_t index = 0; index < 12; ++index) sum += known.upper(index);
        return sum;
    };
    CHECK_THROWS(ocp::SolverFailure, "HiGHS is not loaded", join());
}

// What was kept fits; a solver that always says otherwise is wrong, however far apart the rows are moved.
TEST(linear_with_a_solver_that_finds_nothing_feasible) {
    if (core::settings().highs == nullptr) return;
    static ocp::HighsApi blind;
    blind = *core::settings().highs;
    blind.model_status = [](const void*) -> ocp::HighsInt { return ocp::HighsModel::infeasible; };
    auto domain = std::make_shared<ocp::Partition>(3, 1, 1);
    auto rows = std::make_shared<ocp::DenseRows>(std::vector<double>{1, 0, 0, 1, 0.5, 0.5}, 2);
    auto features = std::make_shared<ocp::Features>(domain, std::move(rows), 2, false, std::vector<ocp::PriorRow>());
    ocp::Linear known(features, Selection::all, 0, {}, &blind, {});
    for (std::int64_t index = 0; index < 2; ++index) known.join(index, {-1, 1.5, false});
    CHECK(known.upper(2) == 1.5);  // the rows make a box: nothing is asked of the solver
    CHECK_THROWS(ocp::SolverFailure, "block 0: HiGHS found that kept constraints exclude each other",
                 (known.join(2, {-1, 1, false}), known.upper(0)));
}

// What a window forgets may let in what was rejected; where the solver cannot tell, the episode ends all the same.
TEST(linear_with_a_solver_that_fails_as_the_window_forgets) {
    if (core::settings().highs == nullptr) return;
    static ocp::HighsApi moody;
    static bool fails;
    moody = *core::settings().highs;
    moody.model_status = [](const void* highs) -> ocp::HighsInt {
        return fails ? ocp::HighsModel::infeasible : core::settings().highs->model_status(highs);
    };
    auto domain = std::make_shared<ocp::Partition>(5, 1, 1);
    auto rows = std::make_shared<ocp::DenseRows>(std::vector<double>{1, -1, 1, 0, 0, 1, 0.6, 0.8, 0.5, 0.5}, 2);
    auto features = std::make_shared<ocp::Features>(domain, std::move(rows), 2, false, std::vector<ocp::PriorRow>());
    ocp::Linear known(features, Selection::window, 1, {}, &moody, {});
    const auto nothing = [](std::int64_t) {};
    fails = false;
    for (std::int64_t index = 0; index < 4; ++index) known.join(index, {-1, 1.5, false});
    known.join(4, {3, 3.5, false});  // half of 1.5 and 1.5 is less
    CHECK(known.n_rejected() == 1);
    known.end_episode(nothing);
    known.join(1, {-1, 1, false});
    fails = true;
    CHECK_THROWS(ocp::SolverFailure, "block 0: HiGHS", known.end_episode(nothing));
    fails = false;
    known.end_episode(nothing);
    CHECK(known.n_constraints() == 0 && known.upper(1) == ocp::infinity);
}

TEST(linear_with_programs) {
    if (core::settings().highs == nullptr) return;
    Draw draw(3);
    for (const Selection selection : {Selection::all, Selection::first, Selection::eluder, Selection::window}) {
        learn_tables(selection, {}, draw, core::cases(40));
        learn_tables(selection, {{-20}, {20}}, draw, core::cases(40));
    }
}

namespace {

// A point on a line that actions move; reward is linear in it, so that Q* is linear in (x, 1) and the action.
struct Line {
    using Component = double;
    using Action = std::int64_t;
    static constexpr std::int64_t horizon = 4;

    void describe(ocp_system& contract) const noexcept {
        contract.flags = OCP_HOMOGENEOUS;
        contract.state_size = 1;
        contract.n_actions = 3;
        contract.horizon = horizon;
    }
    int reset(std::int64_t episode, ocp_bitgen*, double* state) const noexcept {
        *state = 0.25 * static_cast<double>(episode % 9);
        return OCP_OK;
    }
    int step(std::int64_t, double* state, std::int64_t action, ocp_bitgen*, double* reward,
             int* ending) const noexcept {
        *reward = *state;
        *state = 0.5 * *state + static_cast<double>(action - 1);
        *ending = OCP_CONTINUES;
        return OCP_OK;
    }
};

// (x, 1, u); counts how often it is asked, and fails beyond a wall.
int features_of_line(std::int64_t, const void* state, std::int64_t action, double* features, void* user_data) {
    const double x = *static_cast<const double*>(state);
    ++*static_cast<std::int64_t*>(user_data);
    features[0] = x;
    features[1] = 1;
    features[2] = static_cast<double>(action - 1);
    return std::abs(x) > 1'000 ? 7 : 0;
}

Agent on_the_line(const std::shared_ptr<std::int64_t>& n_asked, Selection selection, const ocp::OcpOptions& options,
                  double unit = 1) {
    auto domain = std::make_shared<ocp::Partition>(0, 3, Line::horizon);
    domain->set_open(1);
    ocp::FeatureSource source{features_of_line, n_asked, unit};
    auto features =
        std::make_shared<ocp::Features>(std::move(domain), std::move(source), 3, false, std::vector<ocp::PriorRow>());
    const std::int64_t window = selection == Selection::window ? 4 : 0;
    return {ocp::Linear(std::move(features), selection, window, {}, core::settings().highs, {}), options};
}

}  // namespace

TEST(linear_in_functions_of_vectors) {
    Line line;
    const ocp_system system = ocp::contract_of(&line);
    std::vector<Selection> selections{Selection::eluder};
    if (core::settings().highs != nullptr) selections = {Selection::eluder, Selection::all, Selection::window};
    for (const Selection selection : selections) {
        for (const ReplayMode replay : {ReplayMode::off, ReplayMode::on}) {
            if (selection == Selection::window && replay != ReplayMode::off) continue;
            for (const Ties ties : {Ties::first, Ties::random, Ties::directed}) {
                auto n_asked = std::make_shared<std::int64_t>(0);
                ocp::OcpOptions options;
                options.ties = ties;
                options.replay = replay;
                options.replay_capacity = 20;  // less than is seen: the oldest go
                const Agent fresh = on_the_line(n_asked, selection, options);
                Agent agent = fresh;
                core::Streams streams(1);
                core::Played played = core::play_and_restore(agent, fresh, system, core::cases(400), streams);
                CHECK(*n_asked > 0);
                if (selection == Selection::eluder && !core::settings().brief) {
                    const double start = 0.25 * static_cast<double>(199 % 9);  // each half begins with episode 0
                    // by then it goes up all the time: x0, x0/2 + 1, x0/4 + 1.5, x0/8 + 1.75
                    CHECK(std::abs(played.rewards.back() - (1.875 * start + 4.25)) < 1e-6);
                }
            }
        }
    }
}

TEST(linear_functions_that_fail) {
    auto n_asked = std::make_shared<std::int64_t>(0);
    Agent agent = on_the_line(n_asked, Selection::eluder, {});
    double state = 2'000;
    CHECK_THROWS(ocp::FeatureFailure, "phi: it returned error 7 for action 0 in period 0", agent.locate(&state));
    state = std::nan("");
    CHECK(agent.locate(&state) == ocp::Partition::nowhere);
    Agent finely = on_the_line(n_asked, Selection::eluder, {}, 0x1p-1000);
    state = 1;
    CHECK_THROWS(ocp::FeatureFailure, "phi: expected at most 1e100 times the scale, got 1 for action 0 in period 0",
                 finely.locate(&state));
    CHECK(agent.locate(&state) >= 0);
}

namespace {

// A binary tree whose leaves pay probabilities.
struct Walk {
    using Component = std::int64_t;
    using Action = std::int64_t;
    void describe(ocp_system& contract) const noexcept {
        contract.flags = OCP_HOMOGENEOUS;
        contract.state_size = 8;
        contract.n_actions = 2;
        contract.horizon = 3;
    }
    int reset(std::int64_t, ocp_bitgen*, std::int64_t* state) const noexcept {
        *state = 1;
        return OCP_OK;
    }
    int step(std::int64_t period, std::int64_t* state, std::int64_t action, ocp_bitgen*, double* reward,
             int* ending) const noexcept {
        const std::int64_t leaf = 2 * *state + action;  // of a binary tree, 8 to 15 in the end
        *reward = period == 2 ? static_cast<double>((leaf * 5) % 8) / 8 : 0;
        *ending = period == 2 ? OCP_TERMINATED : OCP_CONTINUES;
        *state = leaf % 8;
        return OCP_OK;
    }
};

}  // namespace

// Sigmoids learn as the linear class of their logits does.
TEST(sigmoids) {
    Walk walk;
    const ocp_system system = ocp::contract_of(&walk);
    using SigmoidAgent = ocp::Ocp<ocp::Sigmoid>;
    auto domain = std::make_shared<ocp::Partition>(8, 2, 3);
    std::vector<double> table(static_cast<std::size_t>(domain->n_cells() * 16),
                              0.0);  // one parameter a state and action
    for (std::size_t i = 0; i < table.size() / 16; ++i) table[i * 16 + i % 16] = 1;
    auto rows = std::make_shared<ocp::DenseRows>(std::move(table), 16);
    auto features = std::make_shared<ocp::Features>(domain, std::move(rows), 16, false, std::vector<ocp::PriorRow>());
    ocp::Linear logits(features, Selection::eluder, 0, {}, nullptr, {});
    const SigmoidAgent fresh{ocp::Sigmoid(std::move(logits), ocp::LogisticLink(1e-3)), {}};
    SigmoidAgent agent = fresh;
    core::Streams streams(1);
    const core::Played played = core::play_and_restore(agent, fresh, system, 60, streams);
    CHECK(played.rewards.back() == 0.875);
    CHECK(!agent.accepts(0.5, OCP_CONTINUES) && agent.accepts(0.5, OCP_TERMINATED));
}
