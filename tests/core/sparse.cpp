// Sparse linear classes: all supports gone through, and mixed-integer programs where HiGHS is there.
#include "ocpfast/hypothesis/sparse.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "check.hpp"
#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/hypothesis/sparse_program.hpp"
#include "ocpfast/hypothesis/sparse_program_block.hpp"
#include "ocpfast/system/contract.hpp"
#include "play.hpp"
#include "random.hpp"

namespace {

using core::Draw;
using ocp::ReplayMode;
using ocp::Ties;

// Plays with a class that made(features) gives, in which Q* is a sum of two of the features.
template <class Known, class Made>
void learn(Draw& draw, int n, std::int64_t n_features, const Made& made) {
    for (int i = 0; i < n; ++i) {
        core::TableOptions table_options;
        table_options.n_states = draw.between(1, 4);
        table_options.n_actions = 2;
        table_options.horizon = draw.between(1, 3);
        ocp::OcpOptions options;
        options.ties = draw.one_of({Ties::first, Ties::random, Ties::directed});
        options.replay = draw.one_of({ReplayMode::off, ReplayMode::on, ReplayMode::stationary});
        options.immediate = draw.chance(0.3);
        table_options.homogeneous = options.replay == ReplayMode::stationary;
        core::RandomTable table(table_options, draw);
        const ocp_system system = ocp::contract_of(&table);
        const core::Optimum optimum(system);

        std::vector<double> phi;
        for (const double q : optimum.q) {
            const double part = draw.uniform(-1, 1);
            phi.push_back(q - part);
            phi.push_back(part);
            for (std::int64_t k = 2; k < n_features; ++k) phi.push_back(draw.uniform(-1, 1));
        }
        auto domain =
            std::make_shared<ocp::Partition>(table_options.n_states, table_options.n_actions, table_options.horizon);
        auto rows = std::make_shared<ocp::DenseRows>(std::move(phi), static_cast<std::size_t>(n_features));
        auto features = std::make_shared<ocp::Features>(domain, std::move(rows), n_features, draw.chance(0.3),
                                                        std::vector<ocp::PriorRow>());
        using Agent = ocp::Ocp<Known>;
        const Agent fresh{made(std::make_shared<ocp::SparseFeatures>(std::move(features), 2)), options};
        Agent agent = fresh;
        core::Streams streams(static_cast<std::uint64_t>(draw.below(1'000)));
        core::play_and_restore(agent, fresh, system, 24, streams);
        core::check_optimism(agent.known(), optimum.q, 1e-5);
        CHECK(agent.known().n_contradictions() == 0);
    }
}

}  // namespace

TEST(sparse_by_their_supports) {
    Draw draw(1);
    using Known = ocp::Sparse<ocp::EnumeratedBlock>;
    for (const std::int64_t n_features : {2, 3, 8}) {
        learn<Known>(draw, core::cases(60), n_features, [](std::shared_ptr<const ocp::SparseFeatures> features) {
            auto supports = std::make_shared<ocp::Supports>(features->n_features(), features->sparsity());
            return Known(features, {features, std::move(supports)}, {}, {});
        });
    }
}

TEST(sparse_by_programs) {
    if (core::settings().highs == nullptr) return;
    Draw draw(2);
    using Known = ocp::Sparse<ocp::ProgramBlock>;
    learn<Known>(draw, core::cases(3), 4, [](std::shared_ptr<const ocp::SparseFeatures> features) {
        std::vector<double> bounds;
        for (std::size_t k = 0; k < features->n_features(); ++k) bounds.push_back(10 / features->scale(k));
        auto program =
            std::make_shared<ocp::SparseProgram>(core::settings().highs, std::move(bounds), features->sparsity(), 100);
        return Known(features, {features, std::move(program)}, {}, {});
    });
}

namespace {

// HiGHS with some of its functions out of order.
bool refuses = false;
int failing_runs = 0;
const ocp::HighsApi* sound = nullptr;

ocp::HighsApi faulty() {
    sound = core::settings().highs;
    ocp::HighsApi api = *sound;
    api.change_integrality = [](void* highs, ocp::HighsInt first, ocp::HighsInt last, const ocp::HighsInt* kinds) {
        return refuses ? -1 : sound->change_integrality(highs, first, last, kinds);
    };
    api.run = [](void* highs) { return failing_runs-- > 0 ? -1 : sound->run(highs); };
    return api;
}

}  // namespace

// One of three parameters may be other than nothing; each of three states shows one of them.
TEST(sparse_programs_that_contradict_or_fail) {
    if (core::settings().highs == nullptr) return;
    const ocp::HighsApi api = faulty();
    auto domain = std::make_shared<ocp::Partition>(3, 1, 1);
    auto rows = std::make_shared<ocp::DenseRows>(std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1}, 3);
    auto all = std::make_shared<ocp::Features>(domain, std::move(rows), 3, false, std::vector<ocp::PriorRow>());
    auto features = std::make_shared<ocp::SparseFeatures>(std::move(all), 1);
    auto program = std::make_shared<ocp::SparseProgram>(&api, std::vector<double>(3, 10.0), 1, 100);
    ocp::ProgramBlock block({features, std::move(program)}, 0, 3, {});

    refuses = true;
    CHECK_THROWS(ocp::SolverFailure, "HiGHS refused a mixed-integer program", block.join(0, 2));
    refuses = false;
    CHECK(block.join(0, 11) == ocp::Joined::contradiction);  // beyond the bounds
    CHECK(block.n_kept() == 0 && !block.ask(0).settled);

    failing_runs = 1;  // as after a user's own model with other threads: the second try goes through
    CHECK(block.join(0, 2) == ocp::Joined::kept);
    CHECK(failing_runs < 0);
    CHECK(block.ask(0).settled && block.ask(0).upper == 2);
    CHECK(block.join(0, 2) == ocp::Joined::redundant);
    CHECK(block.join(0, 3) == ocp::Joined::contradiction);
    CHECK(block.ask(1).settled && block.ask(1).upper == 0);
}
