"""Linear-quadratic control against exact rationals, SciPy, least squares over whole episodes and plain enumeration."""

import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import solve_discrete_are

import ocpfast as ocp


def random_matrices(rng, n, m, growth=1.0):
    half_q, half_r = rng.standard_normal((rng.integers(n + 1), n)), rng.standard_normal((m, m))
    return {
        "A": growth * rng.standard_normal((n, n)) / math.sqrt(n),
        "B": rng.standard_normal((n, m)),
        "state_cost": half_q.T @ half_q,
        "action_cost": half_r.T @ half_r + 0.1 * np.eye(m),
    }


def random_system(rng, n=None, m=None, horizon=None, **options):
    n, m = n or int(rng.integers(1, 5)), m or int(rng.integers(1, 4))
    matrices = random_matrices(rng, n, m, growth=rng.uniform(0.0, 1.5))
    return ocp.LinearQuadratic(
        **matrices, horizon=horizon or int(rng.integers(1, 9)), initial_state=rng.standard_normal(n), **options
    )


def mass(**changes):
    arguments = {
        "A": [[1.0, 0.5], [0.0, 1.0]], "B": [[0.0], [0.5]], "state_cost": [[1.0, 0.0], [0.0, 0.0]],
        "action_cost": [[0.1]], "horizon": 20, "initial_state": [1.0, 0.0],
    }  # fmt: skip
    return ocp.LinearQuadratic(**{**arguments, **changes})


def total(system, state, controls):
    """The sum of rewards, step by step in NumPy."""
    reward = 0.0
    for u in controls:
        reward -= state @ system.state_cost @ state + u @ system.action_cost @ u
        state = system.A @ state + system.B @ u
    return reward


def best_by_least_squares(system, start):
    """V*_0(start): the minimum over all controls of an episode at once, of a strictly convex quadratic."""
    (n, m), horizon = system.B.shape, system.horizon
    hessian, gradient, constant = np.zeros((m * horizon, m * horizon)), np.zeros(m * horizon), 0.0
    free, forced = np.asarray(start), np.zeros((n, m * horizon))  # x_t = free + forced @ controls
    for t in range(horizon):
        block = slice(t * m, (t + 1) * m)
        hessian += forced.T @ system.state_cost @ forced
        hessian[block, block] += system.action_cost
        gradient += forced.T @ system.state_cost @ free
        constant += free @ system.state_cost @ free
        free, forced = system.A @ free, system.A @ forced
        forced[:, block] += system.B
    return -(constant - gradient @ np.linalg.solve(hessian, gradient))


class TestSteps:
    @pytest.mark.parametrize("seed", range(20))
    def test_against_numpy(self, seed):
        rng = np.random.default_rng(seed)
        system = random_system(rng)
        listed = ocp.LinearQuadratic(
            system.A, system.B, system.state_cost, system.action_cost, system.horizon, np.zeros(len(system.A)),
            actions=rng.standard_normal((3, system.B.shape[1])),
        )  # fmt: skip
        for _ in range(10):
            x, u = rng.standard_normal(len(system.A)), rng.standard_normal(system.B.shape[1])
            given_x, given_u = x.copy(), u.copy()
            next_state, reward, terminated = system.step(x, u)
            np.testing.assert_allclose(next_state, system.A @ x + system.B @ u, rtol=1e-12, atol=1e-12)
            assert reward == pytest.approx(total(system, x, [u]), rel=1e-12)
            assert not terminated
            assert np.array_equal(x, given_x) and np.array_equal(u, given_u)
            for index, vector in enumerate(listed.actions):
                same = system.step(x, vector)
                assert np.array_equal(listed.step(x, index)[0], same[0])
                assert listed.step(x, index)[1:] == same[1:]

    def test_what_it_says_of_itself(self):
        free, listed = mass(), mass(actions=[[-1.0], [0.0], [1.0]])
        assert (free.n_actions, free.action_size, free.state_size, free.n_states) == (None, 1, 2, None)
        assert (listed.n_actions, listed.action_size) == (3, None)
        assert free.homogeneous and not free.stochastic and not free.adaptive and free.deterministic_steps
        assert free.reward_range == (-math.inf, 0.0)
        assert free.actions is None
        assert repr(free) == "<LinearQuadratic: 2 numbers a state, 1 to choose, H=20>"
        assert repr(listed) == "<LinearQuadratic: 2 numbers a state, 3 actions, H=20>"
        for array in (free.A, free.B, free.state_cost, free.action_cost, listed.actions):
            with pytest.raises(ValueError, match="read-only"):
                array[0, 0] = 1.0


class TestStarts:
    def test_in_turn(self):
        starts = np.arange(6.0).reshape(3, 2)
        system = mass(initial_state=starts)
        assert [system.reset(episode=j).tolist() for j in range(4)] == starts[[0, 1, 2, 0]].tolist()

    def test_draws_are_one_double_a_component(self):
        system = mass(initial_state=[[1.0, -1.0], [5.0, 5.0]], initial_scale=[0.5, 2.0])
        assert system.stochastic and system.deterministic_steps
        rng, twin = np.random.default_rng(7), np.random.default_rng(7)
        for episode in range(50):
            expected = [[1.0, -1.0], [5.0, 5.0]][episode % 2] + np.array([0.5, 2.0]) * (2 * twin.random(2) - 1)
            np.testing.assert_array_equal(system.reset(rng, episode), expected)

    def test_a_box_about_the_origin(self):
        system = mass(initial_state=None, initial_scale=3.0)
        rng = np.random.default_rng(0)
        draws = np.array([system.reset(rng) for _ in range(4000)])
        assert np.abs(draws).max() <= 3.0
        np.testing.assert_allclose(draws.mean(axis=0), 0.0, atol=0.15)
        np.testing.assert_allclose(draws.var(axis=0), 3.0, atol=0.2)

    def test_a_box_of_no_size_draws_nothing(self):
        system = mass(initial_scale=0.0)
        assert not system.stochastic
        assert system.reset().tolist() == [1.0, 0.0]


class TestOptimumOverVectors:
    @pytest.mark.parametrize("seed", range(300))
    def test_riccati_in_rationals(self, seed):
        """The textbook recursion on small integers, exactly, by elimination."""
        rng = np.random.default_rng(seed)
        n, m, horizon = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
        half_q, half_r = rng.integers(-2, 3, size=(n, n)), rng.integers(-2, 3, size=(m, m))
        a, b = rng.integers(-2, 3, size=(n, n)), rng.integers(-2, 3, size=(n, m))
        q, r = half_q.T @ half_q, half_r.T @ half_r + np.eye(m, dtype=int)
        system = ocp.LinearQuadratic(a, b, q, r, horizon, np.zeros(n))
        exact = [np.full((n, n), Fraction(0))]
        rational = [np.vectorize(Fraction, otypes=[object])(matrix) for matrix in (a, b, q, r)]
        for _ in range(horizon):
            values, p = action_values(*rational, exact[0])
            exact.insert(0, p)
        np.testing.assert_allclose(system.riccati(), np.array(exact, dtype=float), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(system.q(0), values.astype(float), rtol=1e-11, atol=1e-11)

    @pytest.mark.parametrize("seed", range(200))
    def test_against_least_squares_over_the_whole_episode(self, seed):
        rng = np.random.default_rng(seed)
        system = random_system(rng)
        for _ in range(3):
            start = rng.standard_normal(len(system.A))
            assert system.optimal_value(start) == pytest.approx(
                best_by_least_squares(system, start), rel=1e-9, abs=1e-12
            )

    @pytest.mark.parametrize("seed", range(50))
    def test_action_values_and_the_policy_that_follows_from_them(self, seed):
        rng = np.random.default_rng(seed)
        system = random_system(rng)
        n, matrices = len(system.A), system.riccati()
        assert matrices.shape == (system.horizon + 1, n, n)
        assert np.array_equal(matrices, matrices.transpose(0, 2, 1))
        start = state = rng.standard_normal(n)
        achieved = 0.0
        for t in range(system.horizon):
            values = system.q(t)
            x, u = rng.standard_normal(n), rng.standard_normal(system.B.shape[1])
            z = np.concatenate([x, u])
            following, reward, _ = system.step(x, u, t)
            assert -z @ values @ z == pytest.approx(reward - following @ matrices[t + 1] @ following, rel=1e-9)
            best = -np.linalg.solve(values[n:, n:], values[n:, :n] @ state)
            state, reward, _ = system.step(state, best, t)
            achieved += reward
        assert achieved == pytest.approx(system.optimal_value(start), rel=1e-9, abs=1e-12)

    @pytest.mark.parametrize("seed", range(30))
    def test_a_long_horizon_solves_the_algebraic_equation(self, seed):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(1, 7)), int(rng.integers(1, 4))
        matrices = random_matrices(rng, n, m, growth=1.2)
        matrices["state_cost"] = matrices["state_cost"] + 0.1 * np.eye(n)
        system = ocp.LinearQuadratic(**matrices, horizon=3000, initial_state=np.ones(n))
        expected = solve_discrete_are(*matrices.values())
        np.testing.assert_allclose(system.riccati()[0], expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())
        assert system.optimal_value(np.ones(n)) == pytest.approx(-expected.sum(), rel=1e-7)

    @pytest.mark.parametrize("seed", range(50))
    def test_an_action_cost_far_below_the_state_cost(self, seed):
        rng = np.random.default_rng(seed)
        a, b = rng.integers(-9, 10, size=(3, 3)) / 8, rng.integers(-9, 10, size=(3, 2)) / 8
        row = rng.integers(-3, 4, size=(1, 3)) / 1.0
        q, r = row.T @ row, 2.0**-40 * np.eye(2)
        exact = np.full((3, 3), Fraction(0))
        for _ in range(4):
            _, exact = action_values(
                *(np.vectorize(Fraction, otypes=[object])(matrix) for matrix in (a, b, q, r)), exact
            )
        computed = ocp.LinearQuadratic(a, b, q, r, 4, np.zeros(3)).riccati()[0]
        exact = exact.astype(float)
        np.testing.assert_allclose(computed, exact, rtol=0, atol=1e-12 * np.abs(exact).max())
        eigenvalues = np.linalg.eigvalsh(computed)
        assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]

    def test_too_long_to_be_known(self):
        assert mass(horizon=10**9).optimal_value([1.0, 0.0]) is None
        with pytest.raises(MemoryError, match=r"^riccati: no memory for \d+ matrices of shape \(2, 2\)$"):
            mass(horizon=2**62).riccati()


def action_values(a, b, q, r, p):
    """M and P_t from P_{t+1}, in whatever arithmetic the entries have."""
    n, m = b.shape
    values = np.block([[q + a.T @ p @ a, a.T @ p @ b], [b.T @ p @ a, r + b.T @ p @ b]])
    reduced = values.copy()
    for i in range(n, n + m):  # the Schur complement, by elimination
        for j in range(n + m):
            if j < n or j > i:
                reduced[j] = reduced[j] - reduced[j, i] / reduced[i, i] * reduced[i]
    return values, reduced[:n, :n]


class TestOptimumOverAList:
    @pytest.mark.parametrize("seed", range(300))
    def test_against_every_sequence(self, seed):
        rng = np.random.default_rng(seed)
        m, n_actions = int(rng.integers(1, 3)), int(rng.integers(1, 5))
        horizon = int(rng.integers(1, {1: 9, 2: 8, 3: 6, 4: 5}[n_actions]))
        actions = rng.integers(-2, 3, size=(n_actions, m)) * rng.uniform(0.1, 2.0)
        system = random_system(rng, m=m, horizon=horizon, actions=actions)
        for _ in range(2):
            start = rng.standard_normal(len(system.A)) * rng.choice([0.0, 0.1, 1.0, 10.0])
            plans = itertools.product(actions, repeat=horizon)
            best = max(total(system, start, plan) for plan in plans)
            assert system.optimal_value(start) == pytest.approx(best, rel=1e-12, abs=1e-15)

    @given(st.integers(0, 2**32))
    def test_at_most_what_all_vectors_reach(self, seed):
        rng = np.random.default_rng(seed)
        listed = random_system(rng, m=1, horizon=6, actions=[[-1.0], [-0.1], [0.0], [0.1], [1.0]])
        free = ocp.LinearQuadratic(
            listed.A, listed.B, listed.state_cost, listed.action_cost, 6, np.zeros(len(listed.A))
        )
        start = rng.standard_normal(len(listed.A))
        assert listed.optimal_value(start) <= free.optimal_value(start) * (1 - 1e-12) + 1e-12
        assert np.array_equal(listed.riccati(), free.riccati())
        assert np.array_equal(listed.q(2), free.q(2))

    @pytest.mark.parametrize("n_actions, longest", [(2, 20), (3, 12), (1024, 2), (2**20, 1)])
    def test_known_up_to_a_size(self, n_actions, longest):
        actions = np.linspace(-1.0, 1.0, n_actions)[:, np.newaxis]
        assert mass(actions=actions, horizon=longest).optimal_value([1.0, 0.0]) <= -1.0
        assert mass(actions=actions, horizon=longest + 1).optimal_value([1.0, 0.0]) is None

    def test_one_action_is_known_at_any_length(self):
        system = mass(actions=[[0.5]], horizon=10_000)
        expected = total(system, np.array([1.0, -2.0]), np.full((10_000, 1), 0.5))
        assert system.optimal_value([1.0, -2.0]) == pytest.approx(expected, rel=1e-12)

    def test_bounds_that_cannot_be_computed_only_cost_time(self):
        """The recursion fails for want of precision; the search then goes on without it."""
        system = ocp.LinearQuadratic(
            [[1.0]], [[1.0, 1.0]], [[1.0]], np.eye(2) * 1e-20, 5, [1.0], actions=[[1.0, 0.0], [-1.0, 0.5], [0.0, 0.0]]
        )
        with pytest.raises(ArithmeticError):
            system.riccati()
        best = max(total(system, np.ones(1), plan) for plan in itertools.product(system.actions, repeat=5))
        assert system.optimal_value([1.0]) == pytest.approx(best, rel=1e-12)


class TestRunning:
    def test_regret_of_a_run(self):
        """Aggregation of a coarse grid is agnostic here; what the run reports is still checked step by step."""
        system = mass(horizon=4, actions=[[-1.0], [0.0], [1.0]], initial_state=[[1.0, 0.0], [-1.0, 0.5]])
        grid = ocp.Grid([np.linspace(-2, 2, 9), np.linspace(-2, 2, 9)])
        agent = ocp.OCP(ocp.StateAggregation(grid, n_actions=3, horizon=4))
        result = ocp.run(agent, system, episodes=200, progress=False)
        expected = [system.optimal_value(system.reset(episode=j)) for j in range(2)]
        np.testing.assert_array_equal(result.optimal[0], expected * 100)
        assert np.all(result.rewards <= result.optimal + 1e-12)
        assert np.all(np.diff(result.regret()[0]) >= -1e-12)

    def test_random_starts_depend_on_the_seed_alone(self):
        system = mass(horizon=4, actions=[[-1.0], [0.0], [1.0]], initial_scale=0.5)
        grid = ocp.Grid([np.linspace(-2, 2, 9), np.linspace(-2, 2, 9)])
        agent = ocp.OCP(ocp.StateAggregation(grid, n_actions=3, horizon=4))
        one, two = (ocp.run(agent, system, 50, 4, rng=3, workers=workers, progress=False) for workers in (1, 2))
        np.testing.assert_array_equal(one.rewards, two.rewards)
        np.testing.assert_array_equal(one.optimal, two.optimal)
        assert len(np.unique(one.optimal)) == 200


class TestOverflow:
    def unstable(self, **changes):
        arguments = {"horizon": 2000, "initial_state": [0.0, 1.0]}
        return ocp.LinearQuadratic(
            [[0.5, 0.0], [0.0, 2.0]], [[1.0], [0.0]], np.eye(2), [[1.0]], **{**arguments, **changes}
        )

    def test_a_step_says_so(self):
        system, state = self.unstable(), np.array([0.0, 1.0])
        with pytest.raises(OverflowError) as caught:
            for period in range(2000):
                state, _, _ = system.step(state, [0.0], period)
        assert str(caught.value) == (
            "LinearQuadratic: the next state or the reward is beyond the range of doubles, "
            f"after action [0.0] in state {state}, period 512"
        )
        assert np.all(np.isfinite(state))

    def test_so_does_a_run(self):
        system = self.unstable(actions=[[0.0], [1.0]])
        agent = ocp.OCP(ocp.StateAggregation(ocp.Grid([[0.0], [0.0]]), n_actions=2, horizon=2000))
        with pytest.raises(RuntimeError) as caught:
            ocp.run(agent, system, episodes=1, progress=False)
        assert str(caught.value) == (
            "simulation 0, episode 0, period 133: the system paid a reward of -1.18571e+80, expected a number of at "
            "most 1e80 in size"
        )

    def test_the_optimum_is_then_unknown(self):
        system = self.unstable()
        assert system.optimal_value([0.0, 1.0]) is None
        assert self.unstable(actions=[[0.0]]).optimal_value([0.0, 1.0]) is None
        for method, arguments in ((system.riccati, ()), (system.q, (3,))):
            with pytest.raises(OverflowError, match=r"the optimal costs grow beyond the range of doubles"):
                method(*arguments)
        assert np.all(np.isfinite(system.q(1999)))

    def test_extreme_entries(self):
        system = ocp.LinearQuadratic([[1e200]], [[1e200]], [[1e200]], [[1e-200]], 3, [1.0])
        with pytest.raises(OverflowError):
            system.riccati()
        assert system.optimal_value([1.0]) is None
        with pytest.raises(OverflowError):
            system.step([1e200], [1e200])

    def test_an_action_cost_below_rounding(self):
        with pytest.raises(ArithmeticError) as caught:
            ocp.LinearQuadratic([[1.0]], [[1.0, 1.0]], [[1.0]], 1e-20 * np.eye(2), 5, [1.0]).riccati()
        assert str(caught.value).startswith("riccati: action_cost is too small beside the later costs of actions")


class TestCopies:
    @pytest.mark.parametrize(
        "changes",
        [{}, {"actions": [[0.0], [1.0]]}, {"initial_scale": [0.0, 1.0]}, {"initial_state": [[1.0, 1.0], [2.0, 2.0]]}],
    )
    def test_are_equal_and_work(self, changes):
        system = mass(**changes)
        for twin in (copy.copy(system), copy.deepcopy(system), pickle.loads(pickle.dumps(system))):
            assert twin == system and hash(twin) == hash(system) and repr(twin) == repr(system)
            assert np.array_equal(twin.reset(rng=1, episode=1), system.reset(rng=1, episode=1))
            assert np.array_equal(twin.riccati(), system.riccati())

    def test_others_differ(self):
        systems = [mass(), mass(horizon=3), mass(action_cost=[[1.0]]), mass(actions=[[0.0]]), mass(initial_scale=1.0)]
        assert all(a != b for a, b in itertools.combinations(systems, 2))

    def test_what_was_given_may_change_later(self):
        a = np.array([[1.0, 0.5], [0.0, 1.0]])
        system = mass(A=a)
        a[:] = 7.0
        assert system == mass()


NOT_DEFINITE = "expected a positive definite matrix, got one with eigenvalue"
BAD = [
    ({"A": [[1.0, 0.0]]}, ValueError, "A: expected shape (n, n), got (1, 2)"),
    ({"A": [1.0]}, ValueError, "A: expected shape (n, n), got (1,)"),
    ({"A": 1.0}, ValueError, "A: expected shape (n, n), got ()"),
    ({"A": np.zeros((0, 0))}, ValueError, "A: expected shape (n, n), got (0, 0)"),
    ({"A": np.eye(1025)}, ValueError, "A: expected at most 1024 rows, got 1025"),
    ({"A": [[1.0, math.nan], [0.0, 1.0]]}, ValueError, "A: expected finite numbers, got nan"),
    ({"A": [["a"]]}, TypeError, "A: expected real numbers, got [['a']] (list)"),
    ({"A": [[1.0], [1.0, 2.0]]}, TypeError, "A: expected real numbers, got [[1.0], [1.0, 2.0]] (list)"),
    ({"B": [[1.0]]}, ValueError, "B: expected shape (2, m), got (1, 1)"),
    ({"B": np.zeros((2, 0))}, ValueError, "B: expected shape (2, m), got (2, 0)"),
    ({"B": [[math.inf], [0.0]]}, ValueError, "B: expected finite numbers, got inf"),
    ({"state_cost": [[1.0]]}, ValueError, "state_cost: expected shape (2, 2), got (1, 1)"),
    (
        {"state_cost": [[1.0, 0.5], [0.0, 1.0]]},
        ValueError,
        "state_cost: expected a symmetric matrix, got 0.5 at (0, 1) and 0.0 at (1, 0)",
    ),
    (
        {"state_cost": [[1.0, 0.0], [0.0, -2.0]]},
        ValueError,
        "state_cost: expected a positive semidefinite matrix, got one with eigenvalue -2.0",
    ),
    ({"action_cost": [[0.0]]}, ValueError, f"action_cost: {NOT_DEFINITE} 0.0"),
    ({"action_cost": [[-1.0]]}, ValueError, f"action_cost: {NOT_DEFINITE} -1.0"),
    ({"action_cost": [[1.0, 0.0], [0.0, 1.0]]}, ValueError, "action_cost: expected shape (1, 1), got (2, 2)"),
    ({"horizon": 0}, ValueError, "horizon: expected an integer >= 1, got 0"),
    ({"horizon": 2.5}, TypeError, "horizon: expected an integer >= 1, got 2.5"),
    ({"initial_state": None}, TypeError, "initial_state: required without initial_scale, got None"),
    ({"initial_state": [1.0]}, ValueError, "initial_state: expected shape (2,) or (k, 2), got (1,)"),
    ({"initial_state": np.zeros((0, 2))}, ValueError, "initial_state: expected shape (2,) or (k, 2), got (0, 2)"),
    ({"initial_state": [math.nan, 0.0]}, ValueError, "initial_state: expected finite numbers, got nan"),
    (
        {"initial_state": [1e308, 0.0]},
        ValueError,
        "initial_state, initial_scale: expected initial states within 1e300 of the origin",
    ),
    ({"initial_scale": -1.0}, ValueError, "initial_scale: expected numbers >= 0, got -1.0"),
    ({"initial_scale": [1.0]}, ValueError, "initial_scale: expected a number or shape (2,), got shape (1,)"),
    ({"actions": [[1.0, 2.0]]}, ValueError, "actions: expected shape (k, 1), got (1, 2)"),
    ({"actions": np.zeros((0, 1))}, ValueError, "actions: expected shape (k, 1), got (0, 1)"),
    ({"actions": [[math.nan]]}, ValueError, "actions: expected finite numbers, got nan"),
]  # fmt: skip


@pytest.mark.parametrize("changes, error, message", BAD)
def test_bad_arguments(changes, error, message):
    with pytest.raises(error) as caught:
        mass(**changes)
    assert str(caught.value) == message


def test_semidefinite_up_to_rounding_is_accepted():
    rng = np.random.default_rng(0)
    for _ in range(200):
        half = rng.standard_normal((2, 6)) * 10.0 ** rng.integers(-8, 9)
        cost = half.T @ half
        ocp.LinearQuadratic(np.eye(6), np.ones((6, 1)), cost, [[1.0]], 3, np.ones(6))


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (([0.0, 0.0], [1.0, 2.0]), ValueError, "action: expected shape (1,), got (2,)"),
        (([0.0, 0.0], 0), ValueError, "action: expected shape (1,), got ()"),
        (([0.0, 0.0], [math.nan]), ValueError, "action: expected finite numbers, got nan"),
        (([0.0], [1.0]), ValueError, "state: expected shape (2,), got (1,)"),
        (([0.0, 0.0], [1.0], 20), ValueError, "period: expected an integer in 0..19, got 20"),
    ],
)
def test_bad_steps(arguments, error, message):
    with pytest.raises(error) as caught:
        mass().step(*arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("period", [-1, 20])
def test_bad_periods(period):
    with pytest.raises(ValueError) as caught:
        mass().q(period)
    assert str(caught.value) == f"period: expected an integer in 0..19, got {period}"


def test_run_refuses_an_agent_of_indices_where_actions_are_vectors():
    agent = ocp.OCP(ocp.StateAggregation(ocp.Grid([[0.0], [0.0]]), n_actions=2, horizon=20))
    with pytest.raises(
        ValueError, match=r"^agent: its class has 2 actions, but the system has vectors of 1 as actions$"
    ):
        ocp.run(agent, mass(), episodes=1, progress=False)
