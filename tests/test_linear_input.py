"""Linear classes under odd input: bad arguments, degenerate and scaled features, odd priors, Q* out of reach."""

import random
import resource

import numpy as np
import pytest
from linear_cases import Description
from reference import optimal_q, random_table

import ocpfast as ocp

# odd input


def play(agent, system_seed=0, episodes=12, n_states=3, n_actions=2, horizon=2):
    """A few episodes of a random system; every upper and lower value after each of them."""
    rng = random.Random(system_seed)
    next_state, reward = random_table(rng, n_states, n_actions, horizon, number=float)
    values = []
    for _ in range(episodes):
        x = rng.randrange(n_states)
        for t in range(horizon):
            a = agent.act(x)
            x, r = next_state[t][x][a], reward[t][x][a]
            agent.observe(x, r)
        values.append([(agent.lower(y, b, t), agent.upper(y, b, t))
                       for t, y, b in np.ndindex(horizon, n_states, n_actions)])  # fmt: skip
    return np.array(values)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_features_must_be_finite(bad):
    phi = np.ones((2, 3, 2, 2))
    phi[1, 2, 0, 1] = bad
    with pytest.raises(ValueError, match="phi"):
        ocp.LinearFeatures(phi)
    with pytest.raises(ValueError, match="phi"):
        ocp.Polytope(phi, np.eye(2), np.ones(2))


@pytest.mark.parametrize("shape", [(), (3,), (3, 2), (1, 2, 3, 2, 2), (0, 3, 2, 2), (2, 0, 2, 2), (3, 2, 0), (3, 0, 2)])
def test_shape_of_the_features(shape):
    with pytest.raises(ValueError, match="phi"):
        ocp.LinearFeatures(np.ones(shape))


def test_ragged_features():
    with pytest.raises(ValueError, match="phi"):
        ocp.LinearFeatures([[[1.0, 2.0]], [[1.0]]])


def test_features_must_be_numbers():
    with pytest.raises((TypeError, ValueError), match="phi"):
        ocp.LinearFeatures([[["a", "b"]]])
    with pytest.raises((TypeError, ValueError), match="phi"):
        ocp.LinearFeatures(np.ones((3, 2, 2), dtype=complex))


def test_horizon_of_the_features():
    phi = np.ones((2, 3, 2, 2))
    with pytest.raises(ValueError, match="horizon"):
        ocp.LinearFeatures(phi, horizon=3)
    assert ocp.LinearFeatures(phi, horizon=2).horizon == 2
    assert ocp.LinearFeatures(phi).horizon == 2
    assert ocp.LinearFeatures(phi[0]).horizon is None
    assert ocp.LinearFeatures(phi[0], horizon=5).horizon == 5
    for horizon in (0, -1, 1.5):
        with pytest.raises((TypeError, ValueError), match="horizon"):
            ocp.LinearFeatures(phi[0], horizon=horizon)


def test_shared_features_without_periods_have_no_horizon():
    phi = np.ones((3, 2, 2))
    with pytest.raises(ValueError, match="horizon"):
        ocp.LinearFeatures(phi, horizon=5, shared=True)
    with pytest.raises(ValueError, match="horizon"):
        ocp.Polytope(phi, np.eye(2), np.ones(2), horizon=5)  # shared by default
    assert ocp.LinearFeatures(phi, shared=True).horizon is None
    assert ocp.Polytope(phi, np.eye(2), np.ones(2), horizon=5, shared=False).horizon == 5


def test_features_are_copied():
    phi = np.ones((3, 2, 2))
    hypothesis = ocp.LinearFeatures(phi, horizon=2)
    phi[:] = 0.0
    assert hypothesis.eluder_dimension() == 2


@pytest.mark.parametrize("make", ["linear", "polytope"])
def test_selection_first_is_refused(make):
    phi = np.ones((2, 3, 2, 2))
    hypothesis = ocp.LinearFeatures(phi) if make == "linear" else ocp.Polytope(phi, np.eye(2), np.ones(2))
    with pytest.raises(ValueError, match="selection"):
        ocp.OCP(hypothesis, selection="first")


def test_system_must_fit():
    agent = ocp.OCP(ocp.LinearFeatures(np.ones((5, 4, 2, 2))))
    with pytest.raises(ValueError):
        ocp.run(agent, ocp.Chain(5), episodes=1, progress=False)


@pytest.mark.parametrize("kind", ["zero", "duplicate", "deficient", "one zero column", "identical states"])
@pytest.mark.parametrize("selection", ["all", "eluder"])
def test_degenerate_features(kind, selection):
    rng = np.random.default_rng(0)
    phi = rng.integers(-2, 3, (2, 3, 2, 3)).astype(float)
    if kind == "zero":
        phi[:] = 0.0
    elif kind == "duplicate":
        phi[..., 1] = phi[..., 0]
    elif kind == "deficient":
        phi[..., 2] = phi[..., 0] + 2 * phi[..., 1]
    elif kind == "one zero column":
        phi[..., 1] = 0.0
    else:
        phi[:] = phi[:, :1]
    description = Description(phi, None, False, None)
    hypothesis = description.hypothesis()
    assert hypothesis.eluder_dimension() == description.eluder_dimension()
    values = play(ocp.OCP(hypothesis, selection=selection))
    assert not np.isnan(values).any()
    if kind == "zero":
        assert (values == 0).all()


# powers of two, so that rounding stays the same: these classes lack Q*, and there rounding decides between equal U
@pytest.mark.parametrize("scale", [2.0**40, 2.0**-40, -1.0, 2.0**332, 2.0**-332])
@pytest.mark.parametrize("selection", ["all", "eluder"])
@pytest.mark.parametrize("seed", range(5))
def test_scale_of_the_features_does_not_matter(seed, selection, scale):
    rng = np.random.default_rng(seed)
    phi = rng.integers(-2, 3, (2, 3, 2, 2)).astype(float)
    unit = play(ocp.OCP(ocp.LinearFeatures(phi), selection=selection), seed)
    scaled = play(ocp.OCP(ocp.LinearFeatures(scale * phi), selection=selection), seed)
    np.testing.assert_allclose(scaled, unit, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_scale_of_one_column_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    phi = rng.integers(-2, 3, (2, 3, 2, 3)).astype(float)
    unit = play(ocp.OCP(ocp.LinearFeatures(phi)), seed)
    scaled = play(ocp.OCP(ocp.LinearFeatures(phi * [1.0, 1e3, 1e-3])), seed)
    np.testing.assert_allclose(scaled, unit, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale", [1e9, 1e-9])
def test_scale_of_the_rewards_does_not_matter(scale):
    """The largest and smallest rewards that tolerances relative to the values have to bear."""
    q = 1.0 * np.array(optimal_q(*random_table(random.Random(0), 3, 2, 2, number=float), 2))
    phi = np.stack([q, np.random.default_rng(0).standard_normal(q.shape)], axis=-1)
    next_state, reward = random_table(random.Random(0), 3, 2, 2, number=float)
    agent = ocp.OCP(ocp.LinearFeatures(phi))
    for episode in range(20):
        x = episode % 3
        for t in range(2):
            a = agent.act(x)
            x, r = next_state[t][x][a], scale * reward[t][x][a]
            agent.observe(x, r)
        for t, y, b in np.ndindex(q.shape):
            slack = 1e-6 * scale
            assert agent.lower(y, b, t) - slack <= scale * q[t, y, b] <= agent.upper(y, b, t) + slack
    assert agent.statistics()["rejected"] == 0


# polytopes


def test_an_empty_prior_is_refused():
    phi = np.ones((2, 3, 2, 2))
    with pytest.raises(ValueError, match="a_ub"):
        ocp.Polytope(phi, [[1.0, 0.0], [-1.0, 0.0]], [0.0, -1.0])
    with pytest.raises(ValueError, match="a_ub"):
        ocp.Polytope(phi, [[0.0, 0.0]], [-1.0])


@pytest.mark.parametrize(
    "a_ub, b_ub",
    [
        (np.eye(3), np.ones(3)),  # of theta's size
        (np.eye(2), np.ones(3)),
        (np.eye(2), np.ones((2, 1))),
        (np.ones(2), np.ones(2)),
        (np.eye(2), 1.0),
        ([[np.nan, 0.0]], [1.0]),
        ([[1.0, 0.0]], [np.nan]),
        ([[np.inf, 0.0]], [1.0]),
    ],
)
def test_shape_of_the_prior(a_ub, b_ub):
    with pytest.raises(ValueError, match=r"[ab]_ub"):
        ocp.Polytope(np.ones((2, 3, 2, 2)), a_ub, b_ub)


def test_an_unbounded_prior_works():
    rng = np.random.default_rng(0)
    phi = rng.integers(-2, 3, (2, 3, 2, 2)).astype(float)
    hypothesis = ocp.Polytope(phi, [[1.0, 0.0]], [1.0], shared=False)
    agent = ocp.OCP(hypothesis)
    values = play(agent)
    assert not np.isnan(values).any()
    assert (values[..., 0] <= values[..., 1] + 1e-9).all()


def test_a_prior_without_rows_is_linear_features():
    rng = np.random.default_rng(1)
    phi = rng.integers(-2, 3, (2, 3, 2, 2)).astype(float)
    free = ocp.Polytope(phi, np.zeros((0, 2)), np.zeros(0), shared=False)
    assert free.eluder_dimension() == ocp.LinearFeatures(phi).eluder_dimension()
    np.testing.assert_allclose(play(ocp.OCP(free)), play(ocp.OCP(ocp.LinearFeatures(phi))), atol=1e-7)


def test_the_prior_is_known_from_the_start():
    """A box: each value between its extremes on the box before anything was seen."""
    phi = np.array([[[1.0, 0.0], [1.0, 1.0]], [[1.0, -1.0], [0.0, 2.0]]])
    agent = ocp.OCP(
        ocp.Polytope(phi, np.vstack([np.eye(2), -np.eye(2)]), [1.0, 2.0, 0.0, 0.0], horizon=3, shared=False)
    )
    assert [agent.upper(x, a, 2) for x in range(2) for a in range(2)] == pytest.approx([1, 3, 1, 4])
    assert [agent.lower(x, a, 2) for x in range(2) for a in range(2)] == pytest.approx([0, 0, -2, 0])
    assert not agent.determined(0, 0)


def test_a_prior_of_one_point_determines_everything():
    phi = np.array([[[1.0, 0.0], [1.0, 1.0]]])
    prior = np.vstack([np.eye(2), -np.eye(2)]), [1.0, 2.0, -1.0, -2.0]
    hypothesis = ocp.Polytope(phi, *prior)
    assert hypothesis.eluder_dimension() == 0
    agent = ocp.OCP(hypothesis)
    assert agent.determined(0, 0)
    assert agent.upper(0, 1) == pytest.approx(3)
    assert agent.lower(0, 1) == pytest.approx(3)


# agnostic


@pytest.mark.parametrize("hypothesis", ["per period", "shared", "polytope"])
def test_a_window_bounds_an_agnostic_class(hypothesis):
    """10,000 episodes, features that cannot represent Q*: many conflicts, no failure, and memory that stays bounded."""
    rng = np.random.default_rng(3)
    n_states, n_actions, horizon, n_features, window = 8, 3, 4, 3, 20
    phi = rng.standard_normal((horizon, n_states, n_actions, n_features))
    classes = {
        "per period": lambda: ocp.LinearFeatures(phi),
        "shared": lambda: ocp.LinearFeatures(phi, shared=True),
        "polytope": lambda: ocp.Polytope(phi, np.vstack([np.eye(3), -np.eye(3)]), np.full(6, 5.0)),
    }
    next_state = rng.integers(n_states, size=(horizon, n_states, n_actions))
    reward = rng.standard_normal((horizon, n_states, n_actions))
    system = ocp.TableSystem(next_state, reward, initial_state=list(range(n_states)))
    agent = ocp.OCP(classes[hypothesis](), selection="window", window=window)
    peaks = []
    for _ in range(4):
        result = ocp.run(agent, system, 2_500, rng=0, progress=False, keep_agents=True)
        [agent] = result.agents
        assert agent.n_constraints <= window * horizon
        assert not np.isnan(result.rewards).any()
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    assert agent.statistics()["rejected"] > 0  # there are conflicts
    assert agent.statistics()["episodes"] == 10_000
    assert peaks[-1] - peaks[0] < 5, peaks  # megabytes
    uppers = [agent.upper(x, a, t) for t, x, a in np.ndindex(horizon, n_states, n_actions)]
    assert not np.isnan(uppers).any()


@pytest.mark.parametrize("options", [{}, {"replay": True}, {"selection": "window", "window": 20}], ids=str)
def test_values_that_grow_without_end_are_no_failure(options):
    """One theta for all periods that cannot represent Q*, no bounds: each update may drive values further apart."""
    largest = 0.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        phi = rng.integers(-2, 3, size=(5, 6, 2, 4)).astype(float)
        system = ocp.TableSystem(
            rng.integers(0, 6, (6, 2)),
            rng.integers(-2, 3, (6, 2)) / 2,
            initial_state=rng.integers(0, 6, 3).tolist(),
            horizon=5,
        )
        agent = ocp.OCP(ocp.LinearFeatures(phi, shared=True), **options)
        result = ocp.run(agent, system, 200, progress=False, keep_agents=True)
        uppers = np.array([result.agents[0].upper(x, a, t) for t, x, a in np.ndindex(5, 6, 2)])
        assert not np.isnan(uppers).any()
        largest = max(largest, np.abs(uppers[np.isfinite(uppers)]).max(initial=0.0))
    assert largest > 1e9  # they do
