"""The bounds of ocpfast.theory: their formulas, and what agents really do under them.

tests/test_theorems.py checks single episodes and values of agents that are stepped by hand; here whole runs are.
"""

import functools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
import reference
from linear_cases import Description, as_rows, random_prior
from reference_linear import Span, supremum

import ocpfast as ocp
from ocpfast import theory

# Formulas


def test_suboptimal_bound():
    table = ocp.TabulaRasa(6, 2, horizon=4)
    assert theory.suboptimal_bound(table) == (48, 0.0)
    assert theory.suboptimal_bound(48) == theory.suboptimal_bound(table, horizon=4) == (48, 0.0)
    assert theory.suboptimal_bound(table, 0.25) == theory.suboptimal_bound(48, 0.25, 4) == (48, 2 * 0.25 * 4 * 5)
    assert theory.suboptimal_bound(ocp.LinearFeatures(np.ones((4, 3, 2, 5)))).episodes == 4
    assert theory.suboptimal_bound(0) == (0, 0.0)


def test_regret_bound():
    """2 R K H + 2 rho (H + 1) T with T = H J: the K episodes lose 2 R H each, the others 2 rho H (H + 1)."""
    table = ocp.TabulaRasa(6, 2, horizon=4)
    assert theory.regret_bound(table, None, 3.0) == theory.regret_bound(48, 4, 3.0, episodes=10**6) == 2 * 3.0 * 48 * 4
    for rho, episodes in ((0.5, 0), (0.125, 1000)):
        lossy = theory.suboptimal_bound(table, rho)
        expected = lossy.episodes * 2 * 3.0 * 4 + episodes * lossy.loss
        assert theory.regret_bound(table, 4, 3.0, rho=rho, episodes=episodes) == expected


def test_aggregation_bounds():
    assert theory.aggregation_loss_bound(0.5, 7) == 6 * 0.5 * 7
    assert theory.aggregation_value_bound(0.5, 3).tolist() == [3.0, 2.0, 1.0]
    assert theory.aggregation_value_bound(0, 1).tolist() == [0.0]


@pytest.mark.parametrize("n_states", [2, 3, 5, 20])
@pytest.mark.parametrize("episodes", [0, 1, 2, 10, 1000])
def test_exploration_lower_bound_is_the_papers_formula(n_states, episodes):
    until = 2 ** (n_states - 1)
    regret = (until - 1) * (1 - (1 - Fraction(1, until)) ** episodes)
    bound = theory.exploration_lower_bound(n_states, episodes)
    assert bound.episodes == until
    assert bound.regret == pytest.approx(float(regret), rel=1e-14)
    # the expected number of episodes that failed before the first success, among so many
    assert regret == sum((1 - Fraction(1, until)) ** j for j in range(1, episodes + 1))


def test_exploration_lower_bound_of_long_chains():
    assert theory.exploration_lower_bound(50) == (2.0**49, 2.0**49 - 1)
    assert theory.exploration_lower_bound(50, 1500).regret == pytest.approx(1500, rel=1e-11)
    for n_states in (900, 1024, 1025, 1026, 10**9, 10**30):
        bound = theory.exploration_lower_bound(n_states, 10**6)
        assert bound.regret == 10**6
        assert bound.episodes == (2.0 ** (n_states - 1) if n_states <= 1024 else math.inf)
    assert theory.exploration_lower_bound(2000).regret == math.inf
    assert theory.exploration_lower_bound(30, 2**63 - 1).regret == 2.0**29 - 1


# The distance to a state aggregation


def random_partition(rng, shape, most):
    """Labels without gaps."""
    return np.unique([rng.randrange(most) for _ in range(math.prod(shape))], return_inverse=True)[1].reshape(shape)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_aggregation_error_is_half_the_largest_range(axes):
    for seed in range(200):
        rng = random.Random(seed)
        shape = horizon, n_states, n_actions = rng.randint(1, 4), rng.randint(1, 6), rng.randint(1, 3)
        q = np.array([rng.randint(-40, 40) / 8 for _ in range(math.prod(shape))]).reshape(shape)
        labelled = {1: (n_states,), 2: (n_states, n_actions), 3: shape}[axes]
        if axes == 3:
            labels = np.stack([random_partition(rng, shape[1:], rng.randint(1, 6)) for _ in range(horizon)])
        else:
            labels = random_partition(rng, labelled, rng.randint(1, 6))
        expected = reference.aggregation_error(q.tolist(), labels.tolist())
        assert theory.aggregation_error(labels, q) == expected
        hypothesis = ocp.StateAggregation(labels, n_actions, horizon)
        assert theory.aggregation_error(hypothesis, q) == expected
        assert nearest(hypothesis, q) == expected
        if axes < 3:
            shared = ocp.StateAggregation(labels, n_actions)
            assert theory.aggregation_error(shared, q) == nearest(shared, q) >= expected


def nearest(hypothesis, q):
    """The distance of the function that is halfway between the extremes of each cell."""
    cells = {}
    for t, x, a in np.ndindex(q.shape):
        cells.setdefault(hypothesis._cell((x, a, t)), []).append(q[t, x, a])
    return max(abs(value - (min(values) + max(values)) / 2) for values in cells.values() for value in values)


def test_aggregation_error_of_tables():
    q = ocp.solve(ocp.Chain(5)).q
    assert theory.aggregation_error(ocp.TabulaRasa(5, 2, horizon=5), q) == 0.0
    assert theory.aggregation_error(ocp.TabulaRasa(5, 2, horizon=None), q) == 2.0  # the last state: 5, 4, 3, 2, 1
    assert theory.aggregation_error([0], [[[1.5e308]], [[-1.5e308]]]) == 0.0
    assert theory.aggregation_error(ocp.TabulaRasa(1, 1, None), [[[1.5e308]], [[-1.5e308]]]) == 1.5e308


# The number of partitions


def test_best_partition_count_is_the_first_of_the_smallest():
    """Dyadic numbers, many of them equal, so that ties are exact."""
    for seed in range(500):
        rng = random.Random(seed)
        horizon, episodes, reward_bound = rng.randint(1, 5), rng.randint(0, 20), rng.randint(0, 4) / 4
        least = horizon + rng.randint(0, 3)
        errors = [rng.randint(0, 6) / 8 for _ in range(rng.randint(1, 30))]
        most = least + len(errors) - 1

        def regret(k, errors=errors, least=least, horizon=horizon, reward_bound=reward_bound, episodes=episodes):
            return 2 * reward_bound * k * horizon + 2 * errors[k - least] * (horizon + 1) * horizon * episodes

        best = min(range(least, most + 1), key=regret)  # the first of several
        expected = best, regret(best)
        given = {"horizon": horizon, "reward_bound": reward_bound, "episodes": episodes, "least": least}
        assert theory.best_partition_count(errors, **given) == expected
        assert theory.best_partition_count(np.array(errors), **given, most=most) == expected
        assert theory.best_partition_count(lambda k: errors[k - least], **given, most=most) == expected  # noqa: B023
        falling = sorted(errors, reverse=True)
        assert theory.best_partition_count(
            lambda k: falling[k - least],  # noqa: B023
            **given,
            most=most,
        ) == theory.best_partition_count(falling, **given)


def test_best_partition_count_of_convex_errors():
    """Slopes that rise from -1/4 to 0: plateaus and ties included."""
    for seed in range(500):
        rng = random.Random(seed)
        steps = sorted((rng.randint(0, 8) / 32 for _ in range(rng.randint(1, 40))), reverse=True)
        errors = [sum(steps[i:]) for i in range(len(steps) + 1)]
        given = {"horizon": rng.randint(1, 4), "reward_bound": rng.randint(1, 4) / 4, "episodes": rng.randint(0, 5)}
        least = given["horizon"] + rng.randint(0, 2)
        most = least + len(errors) - 1
        calls = []

        def error(k, errors=errors, least=least, calls=calls):
            calls.append(k)
            return errors[k - least]

        found = theory.best_partition_count(error, **given, least=least, most=most, convex=True)
        assert found == theory.best_partition_count(errors, **given, least=least)
        assert len(calls) <= 2 * math.ceil(math.log2(len(errors))) + 2


@pytest.mark.parametrize("exponent", [0.5, 1, 2])
def test_best_partition_count_without_an_end(exponent):
    """Counts are tried until partitions alone cost more than the best bound."""
    largest = 0

    def error(k):
        nonlocal largest
        largest = max(largest, k)
        return 3.0 * k**-exponent

    given = {"horizon": 3, "reward_bound": 0.5, "episodes": 200}
    found = theory.best_partition_count(error, **given)
    assert largest <= 1 + found.bound / (2 * 0.5 * 3)
    errors = [error(k) for k in range(3, 5000)]
    assert found == theory.best_partition_count(errors, **given)
    convex = theory.best_partition_count(error, **given, convex=True)
    assert convex.bound == pytest.approx(found.bound, rel=1e-15)
    # where the derivative of the bound is 0
    by_hand = (2 * 3.0 * exponent * 4 * 3 * 200 / (2 * 0.5 * 3)) ** (1 / (exponent + 1))
    assert abs(found.partitions - by_hand) <= 1


def test_best_partition_count_over_a_huge_range():
    found = theory.best_partition_count(
        lambda k: 1 / k, horizon=1, reward_bound=1e-6, episodes=10**12, most=10**17, convex=True
    )
    assert found.partitions == pytest.approx(math.sqrt(2 * 10**18), rel=1e-6)


# Independence and the eluder dimension, against their definitions


span = functools.cache(Span)


@functools.cache
def literal_dependent(prior_rows, feature, others):
    """Whether Q = Q~ on `others` makes Q = Q~ at `feature`, for all Q and Q~ in a polytope: a linear program."""
    zeros = (0,) * len(feature)
    rows = [(a + zeros, lower, upper) for a, lower, upper in prior_rows]
    rows += [(zeros + a, lower, upper) for a, lower, upper in prior_rows]
    rows += [(other + tuple(-c for c in other), 0, 0) for other in others]
    return supremum(feature + tuple(-c for c in feature), rows) == 0


def random_class(rng, kind):
    """A small class, and a function that says by the definition whether a triple depends on others."""
    n_states, n_actions, horizon = rng.choice([(2, 1, 2), (3, 1, 2), (2, 2, 1), (1, 2, 3), (5, 1, 1), (2, 1, 3)])
    if kind in ("labels", "pairs", "triples", "homogeneous"):
        if kind == "triples":
            shape = horizon, n_states, n_actions
            labels = np.stack([random_partition(rng, shape[1:], 3) for _ in range(horizon)])
        else:
            shape = (n_states, n_actions) if kind == "pairs" else (n_states,)
            labels = random_partition(rng, shape, 3)
        periods = None if kind == "homogeneous" else horizon
        hypothesis = ocp.StateAggregation(labels, n_actions, periods)
        cells, _ = reference.aggregation(labels.tolist(), periods)
        triples = [(x, a, t) for t, x, a in np.ndindex(periods or 2, n_states, n_actions)]
        return hypothesis, triples, lambda z, s: cells(z[2], *z[:2]) in {cells(t, x, a) for x, a, t in s}
    if kind == "table":
        triples = [(x, a, t) for t, x, a in np.ndindex(horizon, n_states, n_actions)]
        return ocp.TabulaRasa(n_states, n_actions, horizon), triples, lambda z, s: z in s
    n_features = rng.randint(1, 3)
    by_period = rng.random() < 0.5
    shape = (*((horizon,) if by_period else ()), n_states, n_actions, n_features)
    phi = np.array([rng.randint(-2, 2) for _ in range(math.prod(shape))]).reshape(shape)
    shared = rng.random() < 0.5
    prior = random_prior(rng, n_features) if kind == "polytope" else None
    case = Description(phi, None if by_period or shared else horizon, shared, prior)
    triples = [(x, a, t) for t, x, a in np.ndindex(case.periods or 2, n_states, n_actions)]

    def dependent(z, s):
        feature = case.feature(z[2], *z[:2])
        others = frozenset(case.feature(t, x, a) for x, a, t in s if shared or t == z[2])
        if prior is None:
            return span(others).contains(feature)
        return literal_dependent(tuple(as_rows(*prior)), feature, others)

    if kind == "sigmoid":  # functions of the same sums, which are equal only where the sums are
        return ocp.Sigmoid(phi, case.horizon, shared), triples, dependent
    return case.hypothesis(), triples, dependent


def longest_independent_sequence(triples, dependent):
    """The definition of the eluder dimension, tried out: what may follow is decided by the set of what went before."""

    @functools.cache
    def longest(before):
        return max((1 + longest(before | {z}) for z in triples if not dependent(z, before)), default=0)

    return longest(frozenset())


@pytest.mark.parametrize(
    "kind", ["table", "labels", "pairs", "triples", "homogeneous", "linear", "sigmoid", "polytope"]
)
def test_independence_and_the_eluder_dimension_are_as_defined(kind):
    for seed in range(200):
        rng = random.Random(seed)
        hypothesis, triples, dependent = random_class(rng, kind)
        for _ in range(15):
            before = rng.sample(triples, rng.randrange(len(triples)))
            triple = rng.choice(triples)
            assert theory.independent(hypothesis, triple, before) is not dependent(triple, frozenset(before)), seed
        few = triples[:6]  # all there are, or at least a whole period of a time-homogeneous class
        assert longest_independent_sequence(few, dependent) == hypothesis.eluder_dimension(), seed


def test_independence_of_nearly_dependent_features():
    def independent(*rows, **options):
        phi = np.array(rows, dtype=float)[:, np.newaxis]
        hypothesis = ocp.LinearFeatures(phi, horizon=1, **options)
        return theory.independent(hypothesis, (0, 0, 0), [(x, 0, 0) for x in range(1, len(rows))])

    assert independent([1, 1e-8], [1, 0]) and not independent([1, 1e-10], [1, 0])
    assert independent([0, 1], [1, 0]) and not independent([0, 1], [1, 0], [1, 1e-7])
    assert independent([0, 1], [1, 0], [1, 1e-11])  # which does not say where Q goes across
    assert not independent([0, 0]) and not independent([0, 0], [1, 0]) and independent([0, 5e-324])
    assert independent([1e300, 0], [0, 1e300]) and not independent([1e300, 1e300], [1e-300, 1e-300])
    assert independent([0, 1], [0, 0])
    many = [[1, 1e-7 * (i == 3)] for i in range(10_000)]  # one of them says more than the others
    assert not independent([0, 1], *many)


def test_independence_over_vector_states():
    grid = ocp.StateAggregation(ocp.Grid([[0.0]], extra=1), n_actions=2, horizon=3)
    assert not theory.independent(grid, ([0.5], 1, 2), [([7.0], 1, 2)])
    assert theory.independent(grid, ([0.5], 1, 2), [([-1.0], 1, 2), ([7.0], 0, 2), ([7.0], 1, 1), ([math.nan], 1, 2)])
    line = ocp.FeatureFunction(lambda x, a: [1.0, x[0] + a], n_features=2, n_actions=2, state_size=1)
    for hypothesis, period in ((ocp.LinearFeatures(line, horizon=3), 1), (ocp.LinearFeatures(line), 7)):
        assert theory.independent(hypothesis, ([0.3], 1, period), [([0.2], 1, period)])
        assert not theory.independent(hypothesis, ([0.3], 1, period), [([1.3], 0, period)])
        assert not theory.independent(hypothesis, ([0.3], 1, period), [([0.2], 1, period), ([0.0], 0, period)])
    homogeneous = ocp.LinearFeatures(line)
    assert not theory.independent(homogeneous, ([0.3], 1, 0), [([0.3], 1, 999)])


def test_independence_of_sparse_rows():
    sparse = pytest.importorskip("scipy.sparse")
    rows = np.array([[1, 0, 0], [0, 2, 0], [1, 1, 0], [0, 0, 3]])  # (x, a) = 00, 01, 10, 11
    for hypothesis in (
        ocp.LinearFeatures(sparse.csr_matrix(rows), horizon=2, n_actions=2),
        ocp.LinearFeatures([sparse.csr_array(rows)] * 2, n_actions=2),
    ):
        assert not theory.independent(hypothesis, (1, 0, 1), [(0, 0, 1), (0, 1, 1)])
        assert theory.independent(hypothesis, (1, 0, 1), [(0, 0, 1), (0, 1, 0)])
        assert theory.independent(hypothesis, (1, 1, 0), [(0, 0, 0), (0, 1, 0), (1, 0, 0)])


# What agents do


class Aggregated:
    """A random table with random starts, a random partition of it, and how far that is from Q*."""

    def __init__(self, seed):
        rng = random.Random(seed)
        n_states, n_actions, horizon = rng.randint(2, 8), rng.randint(1, 3), rng.randint(1, 6)
        next_state, reward = reference.random_table(
            rng, n_states, n_actions, horizon, seed % 3 == 0, integer_rewards=False, termination=0.05, number=float
        )
        self.system = ocp.TableSystem(next_state, reward, np.full(n_states, 1 / n_states))
        self.reward_bound = float(np.abs(self.system.reward).max())
        q = ocp.solve(self.system).q
        kind = seed % 4
        if kind == 3:  # triples of similar value: rho is small and so are the bounds
            width = rng.choice([0.25, 0.5, 1.0, 2.0])
            labels = [np.unique(np.floor(q_t / width), return_inverse=True)[1].reshape(q_t.shape) for q_t in q]
        elif kind == 2:
            labels = [random_partition(rng, q.shape[1:], rng.randint(1, 12)) for _ in range(horizon)]
        else:
            labels = random_partition(rng, q.shape[1 : 2 + kind], rng.randint(1, 8))
        self.hypothesis = ocp.StateAggregation(np.array(labels), n_actions, horizon)
        self.rho = theory.aggregation_error(self.hypothesis, q)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ties": "random"},
        {"ties": "least_visited"},
        {"replay": True},
        {"replay": True, "ties": "directed", "update": "period"},
    ],
    ids=str,
)
def test_runs_in_a_state_aggregation_are_within_the_bounds(options):
    """Rewards are dyadic, so that sums are exact and the bounds are checked without a tolerance."""
    missed = 0
    for seed in range(400):
        case = Aggregated(seed)
        suboptimal = theory.suboptimal_bound(case.hypothesis, case.rho)
        episodes = suboptimal.episodes + 100
        agent = ocp.OCP(case.hypothesis, **options)
        result = ocp.run(agent, case.system, episodes, simulations=2, rng=seed, workers=1, progress=False)
        assert (result.suboptimal(suboptimal.loss) <= suboptimal.episodes).all(), seed
        bounds = [
            theory.regret_bound(case.hypothesis, None, case.reward_bound, case.rho, j + 1) for j in range(episodes)
        ]
        assert (result.regret() <= bounds).all(), seed
        missed += (result.suboptimal(0.0) > suboptimal.episodes).any()
    assert missed >= 100  # so often more than K episodes lost something


def test_runs_in_a_table_are_within_the_bounds_of_a_coherent_class():
    for seed in range(200):
        case = Aggregated(seed)
        table = ocp.TabulaRasa(case.system.n_states, case.system.n_actions, case.system.horizon)
        result = ocp.run(ocp.OCP(table), case.system, table.eluder_dimension() + 50, rng=seed, progress=False)
        assert result.suboptimal(0.0)[0] <= theory.suboptimal_bound(table).episodes
        assert result.regret()[0].max() <= theory.regret_bound(table, None, case.reward_bound)


def test_the_adversary_meets_the_bounds_of_a_coherent_class():
    """Theorem 2: they are sharp."""
    for n_features, horizon, reward_bound in ((1, 1, 1.0), (5, 10, 0.5), (12, 3, 2.0)):
        adversary = ocp.Adversary(n_features, horizon, reward_bound)
        hypothesis = adversary.hypothesis()
        result = ocp.run(ocp.OCP(hypothesis), adversary, 4 * n_features, progress=False)
        assert result.suboptimal()[0] == theory.suboptimal_bound(hypothesis).episodes
        assert result.regret()[0, -1] == theory.regret_bound(hypothesis, None, reward_bound)


def test_random_exploration_of_the_chain():
    """Uniform actions until the first reward, the optimal ones ever after: what the bound is about, at its best."""
    rng = np.random.default_rng(0)
    simulations = 20_000
    for n_states, episodes in ((2, 3), (3, 10), (4, 5), (5, 100), (6, 40)):
        chain = ocp.Chain(n_states)
        # the last action of an episode makes no difference
        actions = rng.integers(0, 2, (simulations, episodes, n_states - 1))
        rewarded = np.array([[total_reward(chain, a) == 1.0 for a in each] for each in actions[:200]])
        assert np.array_equal(rewarded, actions[:200].all(axis=-1))  # only N - 1 times action 1 is rewarded
        reached = actions.all(axis=-1)
        failed = np.where(reached.any(axis=1), reached.argmax(axis=1), episodes)
        error = failed.std() / math.sqrt(simulations)
        bound = theory.exploration_lower_bound(n_states, episodes)
        assert abs(failed.mean() - bound.regret) < 4 * error  # a learner could not do better,
        assert episodes - reached.sum(axis=1).mean() > bound.regret - 4 * error  # one that goes on at random does worse
        if n_states <= 5 and episodes == 100:
            found = 1 + failed[failed < episodes]
            assert abs(found.mean() - bound.episodes) < 0.5


def total_reward(chain, actions):
    state, total = chain.reset(), 0.0
    for period, action in enumerate([*actions, 0]):
        state, reward, _ = chain.step(state, int(action), period)
        total += reward
    return total


# Arguments


GRID = ocp.StateAggregation(ocp.Grid([[0.0]]), n_actions=2, horizon=3)
HOMOGENEOUS = ocp.TabulaRasa(3, 2, None)
TABLE = ocp.TabulaRasa(3, 2, horizon=2)
LINEAR = ocp.LinearFeatures(np.ones((2, 3, 2, 1)))
Q = np.zeros((2, 3, 2))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: theory.suboptimal_bound("5"), TypeError, "hypothesis: expected a hypothesis class or its eluder dim"),
        (lambda: theory.suboptimal_bound(True), TypeError, "hypothesis: expected an integer >= 0, got True"),
        (lambda: theory.suboptimal_bound(-1), ValueError, "hypothesis: expected an integer >= 0, got -1"),
        (lambda: theory.suboptimal_bound(HOMOGENEOUS), ValueError, "hypothesis: expected a class with a horizon, got"),
        (lambda: theory.suboptimal_bound(TABLE, -0.5), ValueError, "rho: expected a finite number >= 0, got -0.5"),
        (lambda: theory.suboptimal_bound(TABLE, math.inf), ValueError, "rho: expected a finite number >= 0, got inf"),
        (lambda: theory.suboptimal_bound(TABLE, math.nan), ValueError, "rho: expected a finite number >= 0, got nan"),
        (lambda: theory.suboptimal_bound(TABLE, "1"), TypeError, "rho: expected a finite number >= 0, got '1'"),
        (lambda: theory.suboptimal_bound(TABLE, horizon=3), ValueError, "horizon: expected 2 as the class has it, or"),
        (lambda: theory.suboptimal_bound(5, horizon=0), ValueError, "horizon: expected an integer >= 1, got 0"),
        (lambda: theory.suboptimal_bound(5, 0.5), ValueError, "horizon: expected an integer, as rho > 0 and hypothes"),
        (lambda: theory.suboptimal_bound(LINEAR, 0.5), ValueError, "rho: expected 0, as only state aggregation has a "),
        (lambda: theory.regret_bound(5, None, 1.0), ValueError, "horizon: expected an integer, as hypothesis is only "),
        (lambda: theory.regret_bound(5, 2, -1.0), ValueError, "reward_bound: expected a finite number >= 0, got -1.0"),
        (lambda: theory.regret_bound(5, 2, None), TypeError, "reward_bound: expected a finite number >= 0, got None"),
        (lambda: theory.regret_bound(5, 2, 1.0, 0.5), ValueError, "episodes: expected an integer, as regret may grow "),
        (lambda: theory.regret_bound(5, 2, 1.0, episodes=-1), ValueError, "episodes: expected an integer >= 0, got -1"),
        (lambda: theory.aggregation_loss_bound(1, 0), ValueError, "horizon: expected an integer >= 1, got 0"),
        (lambda: theory.aggregation_value_bound(-1, 2), ValueError, "rho: expected a finite number >= 0, got -1"),
        (lambda: theory.aggregation_error(LINEAR, Q), TypeError, "partition: expected a state aggregation, a table or"),
        (lambda: theory.aggregation_error(GRID, Q), ValueError, "partition: expected a class over 3 states, got one o"),
        (lambda: theory.aggregation_error([0, 2, 0], Q), ValueError, "partition: expected every label of 0..2 to be u"),
        (lambda: theory.aggregation_error([0, 1], Q), ValueError, "q: expected shape (2, 2, 2) as the class has it, g"),
        (lambda: theory.aggregation_error(TABLE, Q[:1]), ValueError, "q: expected shape (2, 3, 2) as the class has "),
        (lambda: theory.aggregation_error(TABLE, Q[0]), ValueError, "q: expected shape (H, S, A), none of them 0, got"),
        (lambda: theory.aggregation_error(TABLE, Q + math.inf), ValueError, "q: expected finite numbers, got inf"),
        (lambda: theory.aggregation_error(TABLE, "q"), TypeError, "q: expected numbers of shape (H, S, A), got dtype"),
        (lambda: theory.exploration_lower_bound(1), ValueError, "n_states: expected an integer >= 2, got 1"),
        (lambda: theory.exploration_lower_bound(5, -1), ValueError, "episodes: expected an integer in 0.."),
        (lambda: theory.independent(3, (0, 0, 0), []), TypeError, "hypothesis: expected a hypothesis class, got 3"),
        (lambda: theory.independent(TABLE, (0, 0), []), TypeError, "triple: expected (state, action, period), got (0"),
        (lambda: theory.independent(TABLE, 7, []), TypeError, "triple: expected (state, action, period), got 7"),
        (lambda: theory.independent(TABLE, (0, 0, 2), []), ValueError, "triple[2]: expected an integer in 0..1, got 2"),
        (lambda: theory.independent(TABLE, (0, 2, 0), []), ValueError, "triple[1]: expected an integer in 0..1, got 2"),
        (lambda: theory.independent(TABLE, (0, 0, 0), 5), TypeError, "triples: expected an iterable of (state, actio"),
        (
            lambda: theory.independent(TABLE, (0, 0, 0), [(0, 0, 0), (3, 0, 0)]),
            ValueError,
            "triples[1][0]: expected an integer in 0..2, got 3",
        ),
        (lambda: theory.independent(GRID, ([0, 1], 0, 0), []), ValueError, "triple[0]: expected 1 numbers, got shape"),
        (lambda: theory.independent(GRID, ("x", 0, 0), []), TypeError, "triple[0]: expected 1 numbers, got dtype"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    "changed, error, message",
    [
        ({"rho": [0.1, math.nan]}, ValueError, "rho: expected finite numbers >= 0"),
        ({"rho": [0.1, -1]}, ValueError, "rho: expected finite numbers >= 0"),
        ({"rho": []}, ValueError, "rho: expected at least one number, got shape (0,)"),
        ({"rho": [0.1], "most": 9}, ValueError, "rho: expected 8 numbers, for 2..9, got shape (1,)"),
        ({"rho": "abc"}, TypeError, "rho: expected a function or numbers, one for each count, got dtype"),
        ({"rho": lambda k: -k}, ValueError, "rho(2): expected a finite number >= 0, got -2"),
        ({"rho": lambda k: None}, TypeError, "rho(2): expected a finite number >= 0, got None"),
        ({"rho": lambda k: 1.0, "reward_bound": 0}, ValueError, "most: expected an integer, as reward_bound=0.0 hardl"),
        ({"least": 1}, ValueError, "least: expected an integer >= 2, got 1"),
        ({"least": 5, "most": 4}, ValueError, "most: expected an integer >= 5, got 4"),
        ({"horizon": 0}, ValueError, "horizon: expected an integer >= 1, got 0"),
        ({"episodes": 1.5}, TypeError, "episodes: expected an integer >= 0, got 1.5"),
        ({"reward_bound": math.inf}, ValueError, "reward_bound: expected a finite number >= 0, got inf"),
        ({"convex": 1}, TypeError, "convex: expected True or False, got 1"),
    ],
)
def test_wrong_arguments_of_best_partition_count(changed, error, message):
    with pytest.raises(error) as raised:
        theory.best_partition_count(**{"rho": [0.5, 0.25], "horizon": 2, "reward_bound": 1.0, "episodes": 10} | changed)
    assert str(raised.value).startswith(message)
