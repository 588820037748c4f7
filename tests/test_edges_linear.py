"""Nearly dependent features: bounds against exact rationals, up to where linear classes say that they are right.

A failing case names its seed: check_equalities(seed, condition, selection), check_rows(seed, condition, window).
"""

from fractions import Fraction

import numpy as np
import pytest
from reference import INFINITY
from reference_linear import supremum

import ocpfast as ocp
from ocpfast import _core, _highs

_highs.load()
EQUALITIES, PROGRAMS = 1e-8, 1e-6  # how wrong values may be, relative to the larger of 1 and themselves
CONDITIONS = [1e0, 1e3, 1e6, 1e8, 1e9, 1e10]
LARGEST = 1e11  # condition number that is not refused


# features of a condition number


def decaying(rng, n, k, condition):
    u = np.linalg.qr(rng.standard_normal((n, n)))[0][:, :k]
    v = np.linalg.qr(rng.standard_normal((k, k)))[0]
    return u * np.geomspace(1, 1 / condition, k) @ v


def nearly_equal(rng, n, k, condition):
    base = rng.standard_normal((max(1, k // 2), k))
    apart = 10 ** rng.uniform(-1, 1, (n, 1)) / condition * (rng.random((n, 1)) < 0.9)
    return base[rng.integers(len(base), size=n)] + apart * rng.standard_normal((n, k))


def vandermonde(rng, n, k, condition):
    return np.vander(1 + condition ** (-1 / (k - 1)) * rng.uniform(-1, 1, n), k)


def hilbert(rng, n, k, condition):
    return 1 / (rng.permutation(n)[:, None] + np.arange(k) + 1.0)


def scaled_columns(rng, n, k, condition):
    return rng.standard_normal((n, k)) * condition ** rng.uniform(-0.5, 0.5, k)


KINDS = [decaying, nearly_equal, vandermonde, hilbert, scaled_columns]


def case(seed, condition, largest):
    """Features, and Q*: parameters of 1 or so, integers, or as large as values of 1 or so need.

    None where the features came out as ones that are refused.
    """
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, largest + 1))
    phi = KINDS[seed % len(KINDS)](rng, 2 * k + 3, k, condition)
    phi /= np.exp2(np.round(np.log2(np.abs(phi).max())))
    draw = rng.integers(3)
    if draw == 0:
        theta = rng.standard_normal(k)
    elif draw == 1:
        theta = rng.integers(-3, 4, k).astype(float)
    else:
        theta = np.linalg.lstsq(phi[rng.permutation(len(phi))[:k]], rng.standard_normal(k), rcond=None)[0]
    sizes = np.linalg.svd(phi, compute_uv=False)
    if sizes[0] > LARGEST * sizes[-1]:
        return None
    features = [[Fraction(float(number)) for number in row] for row in phi]
    q = [sum(a * Fraction(float(b)) for a, b in zip(row, theta, strict=True)) for row in features]
    return rng, phi, features, q


def make_store(phi, selection, window=0):
    prior = np.empty((0, phi.shape[1])), np.empty(0)
    return _core.LinearStore(phi, *prior, selection=selection, window=window)


def beyond(value, bound):
    """How far a value is above a bound, in units of the larger of 1 and the bound."""
    if value == -INFINITY or bound == INFINITY:
        return 0.0
    if value == INFINITY or bound == -INFINITY:
        return INFINITY
    return float((Fraction(value) - Fraction(bound)) / max(1, abs(Fraction(bound))))


def check_equalities(seed, condition, selection):
    """Q* stays within the bounds while its values are observed, and what was observed is known.

    Returns whether it was a case.
    """
    drawn = case(seed, condition, largest=8)
    if drawn is None:
        return False
    rng, phi, _, q = drawn
    store = make_store(phi, selection)
    n = len(phi)
    for i in [*rng.permutation(n), *rng.permutation(n), *rng.permutation(n)]:
        store.insert(int(i), float(q[i]), float(q[i]))
        for j in (int(i), *rng.integers(n, size=4)):
            wrong = max(beyond(q[j], store.upper(j)), beyond(store.lower(j), q[j]))
            assert wrong <= EQUALITIES, f"seed {seed}: {wrong}"
        assert store.upper(int(i)) < INFINITY, f"seed {seed}: what was observed is known"
    assert not store.rejected() and store.n_contradictions == 0, f"seed {seed}"
    return True


@pytest.mark.parametrize("selection", [_core.Selection.all, _core.Selection.eluder])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_equalities(condition, selection, compared):
    n = sum(check_equalities(seed, condition, selection) for seed in range(200))
    assert n >= 150
    compared("nearly dependent equalities = rationals", n)


def check_rows(seed, condition, window=0):
    """No upper value is below what an exact linear program finds, no lower value above Q*.

    With a window, each constraint is an episode. Returns whether it was a case.
    """
    drawn = case(seed, condition, largest=4)
    if drawn is None:
        return False
    rng, phi, features, q = drawn
    selection = _core.Selection.window if window else _core.Selection.all
    store, rows, n = make_store(phi, selection, window), [], len(phi)
    for i in rng.permutation(n)[: phi.shape[1] + 3]:
        value = float(q[i])
        size = max(1.0, abs(value))
        low = value - size * rng.choice([0, 1e-3, 0.1, 1, INFINITY])
        high = value + size * rng.choice([1e-3, 0.1, 1, INFINITY])
        if rng.random() < 0.3:
            low = high = value
        store.insert(int(i), low, high)
        # as rows of rationals, moved by the rounding of Q* so that it satisfies them
        if low == high:
            rows.append((features[i], q[i], q[i]))
        else:
            low = min(Fraction(low), q[i]) if low > -INFINITY else low
            rows.append((features[i], low, max(Fraction(high), q[i]) if high < INFINITY else high))
        if window:
            store.end_episode()
            rows = rows[-window:]
        known = [row for row in rows if row[1:] != (-INFINITY, INFINITY)]
        for j in range(n):
            largest = supremum(features[j], known) if known else INFINITY
            assert beyond(largest, store.upper(j)) <= PROGRAMS, f"seed {seed}: an upper value is too low"
            assert beyond(store.lower(j), q[j]) <= PROGRAMS, f"seed {seed}: a lower value is too high"
        several = [int(j) for j in rng.permutation(n)[:3]]
        least = store.infimum_of_maximum(several)
        assert beyond(least, max(q[j] for j in several)) <= PROGRAMS, f"seed {seed}: inf max is too high"
    assert not store.rejected(), f"seed {seed}"
    return True


@pytest.mark.parametrize("window, seeds", [(0, range(100)), (2, range(100, 140)), (4, range(140, 180))])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_intervals(condition, window, seeds, compared):
    n = sum(check_rows(seed, condition, window) for seed in seeds)
    assert n >= 0.7 * len(seeds)
    compared("nearly dependent intervals = rational programs", n)


@pytest.mark.parametrize(
    "seed, condition",
    [(1005, 1e8), (2085, 1e8), (2360, 1e8), (2481, 1e6), (2532, 1e6), (2605, 1e9), (2739, 1e9), (3922, 1e9)],
)
def test_bounds_that_were_wrong(seed, condition):
    """Before programs were proved in the features themselves; the last, when equalities were not yet exact."""
    assert check_rows(seed, condition)


@pytest.mark.parametrize("make", [decaying, nearly_equal])
def test_features_beyond_the_limit_are_refused(make):
    rng = np.random.default_rng(0)
    phi = make(rng, 12, 4, 3e11)
    sizes = np.linalg.svd(phi, compute_uv=False)
    assert LARGEST < sizes[0] / sizes[-1] < 1e14
    hypothesis = ocp.LinearFeatures(np.stack([np.eye(*phi.shape), phi])[:, :, None])
    with pytest.raises(ValueError, match=r"^phi: expected .* at most 1e\+11, got [\d.]+e\+1\d in period 1; make them"):
        ocp.OCP(hypothesis)
    shared = ocp.Polytope(phi[:, None], np.eye(phi.shape[1]), np.ones(phi.shape[1]))
    with pytest.raises(ValueError, match=r"^phi: expected .* at most 1e\+11, got [\d.]+e\+1\d; make them"):
        ocp.OCP(shared)


def test_large_tables_beyond_the_limit_are_refused():
    """The limit does not depend on how many rows there are."""
    rng = np.random.default_rng(2)
    phi = rng.standard_normal((30_000, 1, 2))
    phi[:, :, 1] = phi[:, :, 0] + 4e-12 * phi[:, :, 1]
    with pytest.raises(ValueError, match=r"^phi: expected .* at most 1e\+11, got [\d.]+e\+11"):
        ocp.OCP(ocp.LinearFeatures(phi, horizon=2))


def test_dependent_features_are_not_refused():
    """Columns that are sums of others, to rounding, are as if they were not there."""
    rng = np.random.default_rng(1)
    for scale in (1e-200, 1.0, 1e200):
        phi = scale * rng.standard_normal((40, 3)) @ rng.standard_normal((3, 8))
        assert ocp.OCP(ocp.LinearFeatures(phi[:, None], horizon=2)).upper(0, 0) == INFINITY


# features that others nearly tell


NEARLY = np.array([[1.0, 0.0], [1.0, 1e-7], [0.0, 1.0]])  # of a condition number of 1.4; theta_2 = 3 to eight digits


def test_an_interval_of_an_uncertain_feature_bounds_it():
    store = make_store(NEARLY, _core.Selection.all)
    store.insert(0, 2.0, 2.0)
    store.insert(1, 2.0000003, 2.0000003)
    assert store.upper(2) == INFINITY and store.lower(2) == -INFINITY
    store.insert(2, 1.0, 5.0)
    assert (store.lower(2), store.upper(2)) == (1.0, 5.0)
    store.insert(2, 3.0, 3.0)
    assert store.lower(2) == store.upper(2) == 3.0


@pytest.mark.parametrize("interval", [(7.0, 7.0), (10.0, 20.0), (10.0, INFINITY)])
def test_what_no_error_explains_contradicts(interval):
    """Whatever the selection; all come after the equalities in priority."""
    for selection in (_core.Selection.all, _core.Selection.eluder):
        store = make_store(NEARLY, selection)
        store.insert(0, 2.0, 2.0)
        store.insert(1, 2.0000003, 2.0000003)
        before = [(store.lower(i), store.upper(i)) for i in range(3)]
        store.insert(2, *interval)
        assert [(store.lower(i), store.upper(i)) for i in range(3)] == before


# what it takes to learn


@pytest.mark.parametrize("selection", ["eluder", "all"])
@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["below", "above"])
def test_a_reward_that_misses_a_bound_by_rounding_is_that_bound(sign, selection):
    bound = sign * (0.1 + 0.2)  # more than 0.3 in doubles
    bounds = tuple(sorted([bound, sign]))
    agent, other = (ocp.OCP(ocp.LinearFeatures(np.ones((1, 1, 1, 1))), selection, bounds=bounds) for _ in range(2))
    agent.act(0)
    assert agent.observe(0, sign * 0.3)
    assert agent.statistics()["rejected"] == 0 and agent.certificate().valid
    assert agent.determined(0, 0)
    assert agent.upper(0, 0) == pytest.approx(bound, rel=1e-11)
    other.act(0)
    other.observe(0, sign * 0.2999)
    assert other.statistics()["rejected"] == 1 and not other.certificate().valid


@pytest.mark.parametrize("reward", [0.2, 1.2])
def test_what_the_class_alone_excludes_contradicts_it(reward):
    agent = ocp.OCP(ocp.Polytope(np.ones((1, 1, 1, 1)), [[-1.0], [1.0]], [-0.3, 1.0]), selection="eluder")
    for n in (1, 2):
        agent.act(0)
        agent.observe(0, reward)
        assert agent.statistics()["contradictions"] == n
    assert not agent.certificate().valid
    assert (agent.lower(0, 0), agent.upper(0, 0)) == pytest.approx((0.3, 1.0))


def test_condition_numbers_cost_few_observations_more():
    """Of 500 features of condition number 1e10, about as many are observed as there are dimensions: a direction that
    one observation leaves uncertain the next one tells."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        phi = decaying(rng, 500, 8, 1e10)
        phi /= np.abs(phi).max()
        q = phi @ rng.standard_normal(8)
        store = make_store(phi, _core.Selection.eluder)
        n_observed = 0
        for i in range(500):
            if store.upper(i) < INFINITY:
                assert abs(store.upper(i) - q[i]) <= EQUALITIES
            else:
                n_observed += 1
                store.insert(i, q[i], q[i])
        assert 2 <= n_observed <= 16


def test_a_feature_that_differs_by_little_is_another_one():
    """A residual of 1e-10, which a parameter of 1e10 makes as large as any value."""
    phi = np.array([[1.0, 0.0], [1.0, 1e-10], [1.0, 2e-10]])
    agent = ocp.OCP(ocp.LinearFeatures(phi[None, :, None]), selection="eluder")
    for state, value in enumerate((1.0, 5.0)):
        agent.act(state)
        agent.observe(0, value)
        assert agent.upper(state, 0) == pytest.approx(value, rel=1e-9)
    assert agent.upper(2, 0) == INFINITY or agent.upper(2, 0) == pytest.approx(9.0, rel=1e-8)
    assert agent.certificate().valid


def test_features_closer_than_the_limit_are_equal():
    """1e-15 of a feature's length is rounding: the documented limit."""
    phi = np.array([[1.0, 0.0], [1.0, 1e-15]])
    agent = ocp.OCP(ocp.LinearFeatures(phi[None, :, None]))
    agent.act(0)
    agent.observe(0, 1.0)
    assert agent.determined(1, 0) and agent.upper(1, 0) == 1.0


def values_of(system, phi):
    """What a class of these features learns of a system, and Q*."""
    agent = ocp.OCP(ocp.LinearFeatures(phi), selection="eluder")
    [agent] = ocp.run(agent, system, episodes=400, progress=False, keep_agents=True).agents
    return agent, ocp.solve(system).q


@pytest.mark.parametrize("condition", [1e2, 1e6, 1e9])
def test_learning_with_q_star_in_the_class(condition):
    """Features [Q*, Q* + noise / condition, ...] on a chain, period by period."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        system = ocp.Chain(6)
        q = ocp.solve(system).q
        noise = rng.standard_normal((*q.shape, 3)) / condition
        phi = np.concatenate([q[..., None], 1 + 0 * q[..., None], q[..., None] + noise], axis=-1)
        agent, q = values_of(system, phi)
        for t, x, a in np.ndindex(q.shape):
            assert beyond(q[t, x, a], agent.upper(x, a, t)) <= 1e-7, (seed, t, x, a)
            assert beyond(agent.lower(x, a, t), q[t, x, a]) <= 1e-7, (seed, t, x, a)
        assert agent.certificate().valid
