// The linear-quadratic class: continuous actions, and a list of them as a linear class over vector states.
#include "ocpfast/hypothesis/quadratic.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "check.hpp"
#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/agent/quadratic_ocp.hpp"
#include "ocpfast/hypothesis/linear.hpp"
#include "ocpfast/hypothesis/quadratic_features.hpp"
#include "ocpfast/system/contract.hpp"
#include "ocpfast/system/linear_quadratic.hpp"
#include "play.hpp"
#include "random.hpp"

namespace {

using core::Draw;
using ocp::ReplayMode;

// x' = Ax + Bu with a stable A; costs that are positive definite.
ocp::LinearQuadraticArrays drawn(Draw& draw, std::size_t n, std::size_t m, std::int64_t horizon) {
    ocp::LinearQuadraticArrays arrays;
    ocp::LinearQuadraticMatrices& matrices = arrays.matrices;
    matrices.n = n;
    matrices.m = m;
    arrays.horizon = horizon;
    const auto fill = [&](std::vector<double>& numbers, std::size_t size, double largest) {
        for (std::size_t i = 0; i < size; ++i) numbers.push_back(draw.uniform(-largest, largest));
    };
    fill(matrices.a, n * n, 0.9 / static_cast<double>(n));
    fill(matrices.b, n * m, 1);
    for (auto [cost, size] : {std::pair(&matrices.q, n), std::pair(&matrices.r, m)}) {
        for (std::size_t i = 0; i < size * size; ++i) cost->push_back(i % (size + 1) == 0 ? draw.uniform(0.5, 2) : 0.1);
    }
    fill(arrays.starts, 3 * n, 1);
    arrays.scale.assign(n, 1);
    return arrays;
}

}  // namespace

TEST(quadratic_with_any_action) {
    Draw draw(1);
    for (int i = 0; i < core::cases(60); ++i) {
        const auto n = static_cast<std::size_t>(draw.between(1, 3)), m = static_cast<std::size_t>(draw.between(1, 2));
        const std::int64_t horizon = draw.between(1, 4);
        ocp::LinearQuadratic<double> made(drawn(draw, n, m, horizon));
        const ocp_system system = ocp::contract_of(&made);
        ocp::OcpOptions options;
        options.replay = draw.one_of({ReplayMode::off, ReplayMode::on, ReplayMode::stationary});
        options.immediate = draw.chance(0.3);
        options.replay_capacity = draw.chance(0.3) ? 10 : 10'000;
        const ocp::QuadraticOcp fresh(ocp::Quadratic(n, m, horizon, {}, {}), options);
        ocp::QuadraticOcp agent = fresh;
        core::Streams streams(static_cast<std::uint64_t>(draw.below(1'000)));
        // the theorem: at most as many suboptimal episodes as there are monomials in all periods
        const auto most = static_cast<std::int64_t>(ocp::n_monomials(n + m)) * horizon;
        const core::Played played = core::play_and_restore(agent, fresh, system, most + 6, streams);
        CHECK(played.n_suboptimal(1e-6) <= most);
        CHECK(agent.known().coherent());
        std::vector<double> action(m);
        const std::vector<double> state(n, 0.5);
        agent.begin_episode();
        agent.greedy(state.data(), 0, action.data());
        for (const double part : action) CHECK(std::isfinite(part));
        CHECK(agent.known().lower(0, state.data(), action.data()) <=
              agent.known().upper(0, state.data(), action.data()));
    }
}

TEST(quadratic_with_a_list_of_actions) {
    Draw draw(2);
    for (int i = 0; i < core::cases(20); ++i) {
        const std::int64_t horizon = draw.between(1, 2), n_actions = 3;
        ocp::LinearQuadraticArrays arrays = drawn(draw, 2, 1, horizon);
        arrays.actions = {-1, 0, 1};
        auto list = std::make_shared<ocp::QuadraticList>(2, 1, arrays.actions);
        ocp::LinearQuadratic<std::int64_t> made(std::move(arrays));
        const ocp_system system = ocp::contract_of(&made);
        auto domain = std::make_shared<ocp::Partition>(0, n_actions, horizon);
        domain->set_open(2);
        const auto n_features = static_cast<std::int64_t>(ocp::n_monomials(3));
        ocp::FeatureSource source{ocp::QuadraticList::features, list, 1};
        auto features =
            std::make_shared<ocp::Features>(domain, std::move(source), n_features, false, std::vector<ocp::PriorRow>());
        using Agent = ocp::Ocp<ocp::Linear>;
        const Agent fresh{ocp::Linear(features, ocp::Selection::eluder, 0, {}, nullptr, {}), {}};
        Agent agent = fresh;
        core::Streams streams(static_cast<std::uint64_t>(draw.below(1'000)));
        const core::Played played = core::play_and_restore(agent, fresh, system, 40, streams);
        for (const double optimal : played.optimal) CHECK(std::isfinite(optimal));
        // with one period left Q* is quadratic; before it, the best of three
        if (horizon == 1) CHECK(played.n_suboptimal(1e-6) <= n_features);
    }
}
