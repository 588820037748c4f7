"""The linear-quadratic class: against the literal one, the theorem, and what it is documented to do."""

import itertools
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest
from reference_quadratic import INFINITY, LiteralQuadraticOCP

import ocpfast as ocp

METHODS = [
    {"replay": replay, "update": update}
    for replay, update in itertools.product((False, True, "stationary"), ("episode", "period"))
]


def random_system(rng, n, m, radius=(0.5, 1.1)):
    """A, B, state cost and action cost: controllable, the spectral radius of A within bounds."""
    while True:
        a, b = rng.standard_normal((n, n)), rng.standard_normal((n, m))
        a *= rng.uniform(*radius) / np.abs(np.linalg.eigvals(a)).max()
        if np.linalg.matrix_rank(np.hstack([np.linalg.matrix_power(a, k) @ b for k in range(n)]), tol=1e-3) == n:
            break
    q, r = rng.standard_normal((n, n)), rng.standard_normal((m, m))
    return a, b, q @ q.T / n, r @ r.T / m + 0.1 * np.eye(m)


def losses(result):
    """Of each episode, relative to the optimal value."""
    return ((result.optimal - result.rewards) / np.abs(result.optimal))[0]


def learn(system, hypothesis, episodes, seed=0, **options):
    agent = ocp.OCP(hypothesis, selection="eluder", **options)
    return ocp.run(agent, system, episodes, rng=seed, workers=1, progress=False, keep_agents=True)


# continuous actions, against the literal class


def integers(rng, shape, size):
    return np.array([rng.randint(-size, size) for _ in range(int(np.prod(shape)))]).reshape(shape)


class Pair:
    """The compiled agent and the literal one, in the same system of integers.

    As long as actions are tried they are exact in floating point. A best action is not: it is compared, and the episode
    ends there with a reward that says nothing new.
    """

    def __init__(self, rng, n, m, horizon, **options):
        self.n, self.m, self.horizon, self.options = n, m, horizon, options
        self.a, self.b = integers(rng, (n, n), 2), integers(rng, (n, m), 2)
        self.starts = [integers(rng, n, 2) for _ in range(rng.choice((1, 2, 20)))]
        square = integers(rng, (n, n), 1)
        self.q, self.r = square @ square.T, np.eye(m, dtype=int) * rng.randint(1, 2)
        self.agent = ocp.OCP(ocp.Quadratic(n, m, horizon), selection="eluder", **options)
        exact = {name: Fraction(options["discount"]) for name in ("discount",) if name in options}
        if "bounds" in options:
            exact["bounds"] = tuple(b if abs(b) == INFINITY else Fraction(b) for b in options["bounds"])
        self.literal = LiteralQuadraticOCP(n, m, horizon, options["replay"], options["update"], **exact)

    def __repr__(self):
        parts = {name: np.asarray(getattr(self, name)).tolist() for name in ("a", "b", "q", "r", "starts")}
        return f"n={self.n}, m={self.m}, horizon={self.horizon}, {self.options}, {parts}"

    def episode(self, number):
        x = [Fraction(int(part)) for part in self.starts[number % len(self.starts)]]
        ended = False
        while not ended:
            t = self.literal.period
            self.compare_values(t, x)
            action = self.agent.act([float(part) for part in x])
            determined, u, value = self.literal.act(x)
            assert determined is not None
            if determined:
                np.testing.assert_allclose(action, [float(part) for part in u], rtol=1e-7, atol=1e-7)
                if self.options["replay"] != "stationary":
                    assert self.agent.observe(x, float(value), terminated=True)
                    self.literal.join()
                self.agent.begin_episode()  # stationary: the end would be replayed in other periods, and it is made up
                self.literal.begin_episode()
                break
            assert action.tolist() == [float(part) for part in u]
            z = np.array(x, dtype=object), np.array(u, dtype=object)
            reward = -(z[0] @ self.q @ z[0] + z[1] @ self.r @ z[1])
            following = list(self.a @ z[0] + self.b @ z[1])
            ended = self.literal.observe(x, u, reward, following)
            assert self.agent.observe([float(part) for part in following], float(reward)) == ended
            x = following
        assert self.agent.statistics()["determined"] == self.literal.rank()

    def compare_values(self, t, x):
        for u in itertools.islice(self.literal.members(x), 4):
            value = self.literal.value(t, x, u)
            state, action = [float(part) for part in x], [float(part) for part in u]
            assert self.agent.determined(state, action, t) == (value is not None)
            least, most = self.literal.bounds
            lower, upper = (least, most) if value is None else [float(min(max(value, least), most))] * 2
            assert self.agent.upper(state, action, t) == pytest.approx(upper, rel=1e-7, abs=1e-7)
            assert self.agent.lower(state, action, t) == pytest.approx(lower, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize(
    "prior", [{}, {"bounds": (-INFINITY, 0.0)}, {"bounds": (-INFINITY, 0.0), "discount": 0.5}], ids=str
)
def test_agrees_with_the_literal_class(method, prior, compared):
    for case in range(25):
        rng = random.Random(f"{method} {prior} {case}")
        n, m = rng.choice([(1, 1), (2, 1), (1, 2)])
        pair = Pair(rng, n, m, rng.randint(1, 3), **method, **prior)
        for episode in range(rng.randint(5, 20)):
            try:
                pair.episode(episode)
            except AssertionError as failure:
                raise AssertionError(f"case {case}, episode {episode}: {pair!r}") from failure
        assert pair.agent.statistics()["contradictions"] == 0
    compared("quadratic = literal", 25)


# the theorem


@pytest.mark.parametrize(("n", "m", "horizon"), [(1, 1, 4), (2, 1, 5), (2, 2, 4), (3, 1, 8), (4, 2, 8)])
@pytest.mark.parametrize("start", ["random", "fixed"])
def test_suboptimal_episodes_are_at_most_the_eluder_dimension(n, m, horizon, start):
    hypothesis = ocp.Quadratic(n, m, horizon)
    bound, parameters = hypothesis.eluder_dimension(), hypothesis.n_features
    assert bound == (n + m) * (n + m + 1) * horizon // 2
    # measured: with replay as many as one period has parameters; stationary: as many as fit into so many periods
    at_most = {False: bound, True: parameters, "stationary": -(-parameters // horizon)}
    for seed in range(40):
        rng = np.random.default_rng([n, m, horizon, seed])
        where = {"initial_scale": 1.0} if start == "random" else {"initial_state": rng.standard_normal(n)}
        system = ocp.LinearQuadratic(*random_system(rng, n, m), horizon, **where)
        for replay, most in at_most.items():
            result = learn(system, hypothesis, bound + 40, seed, replay=replay)
            suboptimal = losses(result) > 1e-6
            statistics = result.agents[0].statistics()
            assert suboptimal.sum() <= most, (seed, replay)
            assert not suboptimal[statistics["determined"] :].any(), (seed, replay)
            assert statistics["contradictions"] == statistics["rejected"] == 0
            assert result.agents[0].certificate().remaining == bound - statistics["determined"]
            assert result.agents[0].certificate().last_episode_optimal


HARD = {
    "eigenvalues from 1.1 to 0.001": lambda a, b, q, r, rng: (spread(a, rng), b, q, r),
    "unstable": lambda a, b, q, r, rng: (2 * a / np.abs(np.linalg.eigvals(a)).max(), b, q, r),
    "cheap actions": lambda a, b, q, r, rng: (a, b, q, 1e-6 * r),
    "one state costs": lambda a, b, q, r, rng: (a, b, np.outer(q[0], q[0]), r),
    "nothing to control": lambda a, b, q, r, rng: (a, 0 * b, q, r),
}


def spread(a, rng):
    basis = rng.standard_normal(a.shape)
    sizes = np.append(1.1, 10 ** -rng.uniform(0, 3, len(a) - 1))
    return basis @ np.diag(sizes) @ np.linalg.inv(basis)


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
def test_badly_conditioned_systems(kind, scale):
    n, m, horizon = 3, 1, 8
    hypothesis = ocp.Quadratic(n, m, horizon)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        system = ocp.LinearQuadratic(*HARD[kind](*random_system(rng, n, m), rng), horizon, initial_scale=scale)
        for replay in (False, True, "stationary"):
            result = learn(system, hypothesis, hypothesis.eluder_dimension() + 20, seed, replay=replay)
            assert (losses(result) > 1e-6).sum() <= hypothesis.eluder_dimension(), (seed, replay)
            assert result.agents[0].statistics()["contradictions"] == 0


# lists of actions


def list_of(rng, m):
    return np.vstack([np.zeros(m), rng.standard_normal((3, m))])


COHERENT = {
    "actions do not move the state": lambda a, b, q, r: (a, 0 * b, q, r),
    "the state moves by actions alone": lambda a, b, q, r: (0 * a, b, q, r),
}
LISTED = [
    {"selection": "all"},
    {"selection": "eluder"},
    {"selection": "eluder", "replay": True, "ties": "directed", "update": "period"},
    {"selection": "all", "replay": True, "ties": "least_visited", "bounds": (-np.inf, 0.0)},
]


@pytest.mark.parametrize("options", LISTED, ids=str)
@pytest.mark.parametrize("kind", [*COHERENT, "one period", "one action"])
def test_lists_of_actions_whose_best_is_a_quadratic(kind, options):
    for seed, (n, m, horizon) in enumerate([(1, 1, 3), (2, 1, 3), (2, 2, 2), (1, 2, 4)]):
        rng = np.random.default_rng(seed)
        matrices = random_system(rng, n, m)
        actions = list_of(rng, m)
        if kind in COHERENT:
            matrices = COHERENT[kind](*matrices)
        elif kind == "one period":
            horizon = 1
        else:
            actions = actions[-1:]
        hypothesis = ocp.Quadratic(n, m, horizon, actions)
        system = ocp.LinearQuadratic(*matrices, horizon, initial_scale=1.0, actions=actions)
        result = ocp.run(ocp.OCP(hypothesis, **options), system, 50, rng=seed, progress=False, keep_agents=True)
        assert (losses(result) > 1e-6).sum() <= hypothesis.eluder_dimension()
        statistics = result.agents[0].statistics()
        assert statistics["rejected"] == statistics["contradictions"] == 0


def test_other_lists_of_actions_are_noticed():
    rng = np.random.default_rng(0)
    actions = np.linspace(-2, 2, 5)[:, np.newaxis]
    system = ocp.LinearQuadratic(*random_system(rng, 2, 1), 4, initial_scale=1.0, actions=actions)
    result = learn(system, ocp.Quadratic(2, 1, 4, actions), 100)
    assert result.agents[0].statistics()["contradictions"] > 0
    assert not result.agents[0].certificate().valid


def test_a_list_is_a_linear_class_of_monomials():
    rng = np.random.default_rng(0)
    actions = rng.standard_normal((3, 2))

    def phi(state, action):
        z = np.append(state, actions[action])
        return [z[i] * z[j] * (1 if i == j else np.sqrt(2)) for i in range(4) for j in range(i, 4)]

    function = ocp.FeatureFunction(
        phi, n_features=10, n_actions=3, state_size=2, scale=float(np.abs(actions).max()) ** 2
    )
    system = ocp.LinearQuadratic(*random_system(rng, 2, 2), 3, initial_scale=1.0, actions=actions)
    for options in LISTED:
        one, other = (
            ocp.run(ocp.OCP(hypothesis, **options), system, 30, rng=1, progress=False).rewards
            for hypothesis in (ocp.Quadratic(2, 2, 3, actions), ocp.LinearFeatures(function, horizon=3))
        )
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("actions", "parameters"),
    [([[0.0]], 3), ([[1.0]], 6), ([[-1.0], [1.0]], 6), ([[0.0], [1e-3]], 6), ([[1e100]], 6)],
)
def test_eluder_dimension_of_a_list(actions, parameters):
    """The rank of the features of many states."""
    hypothesis = ocp.Quadratic(2, 1, 5, actions)
    assert hypothesis.eluder_dimension() == 5 * parameters
    if np.abs(actions).max() < 10:
        states = np.random.default_rng(0).standard_normal((50, 2))
        kept = []
        for state, action in itertools.product(states, range(len(actions))):
            if ocp.theory.independent(hypothesis, (state, action, 2), kept):
                kept.append((state, action, 2))
        assert len(kept) == parameters


# what agents do


def test_by_hand_is_as_compiled():
    rng = np.random.default_rng(3)
    starts = rng.standard_normal((3, 2))
    system = ocp.LinearQuadratic(*random_system(rng, 2, 2), 4, initial_state=starts)
    for method in METHODS:
        agent = ocp.OCP(ocp.Quadratic(2, 2, 4), selection="eluder", **method)
        compiled = ocp.run(agent, system, 30, progress=False, keep_agents=True)
        totals = []
        for episode in range(30):
            state, ended, total = starts[episode % 3], False, 0.0
            while not ended:
                before = agent.statistics()
                greedy = agent.act(state, learn=False)
                assert agent.statistics() == before
                action = agent.act(state)
                assert action.dtype == np.float64 and action.shape == (2,)
                np.testing.assert_array_equal(action, greedy)
                state, reward, terminated = system.step(state, action, agent.period)
                ended = agent.observe(state, reward, terminated)
                total += reward
            totals.append(total)
        np.testing.assert_allclose(compiled.rewards[0], totals, rtol=1e-12)
        assert compiled.agents[0].statistics() == agent.statistics()


def test_learned_values_are_those_of_riccati():
    rng = np.random.default_rng(5)
    n, m, horizon = 2, 1, 5
    a, b, q, r = random_system(rng, n, m)
    system = ocp.LinearQuadratic(a, b, q, r, horizon, initial_scale=1.0)
    agent = learn(system, ocp.Quadratic(n, m, horizon), 60).agents[0]
    p = np.zeros((n, n))
    for t in reversed(range(horizon)):
        gain = np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
        x, u = rng.standard_normal(n), rng.standard_normal(m)
        following = a @ x + b @ u
        expected = -(x @ q @ x + u @ r @ u + following @ p @ following)
        assert agent.determined(x, u, t)
        assert agent.upper(x, u, t) == agent.lower(x, u, t) == pytest.approx(expected, rel=1e-10)
        np.testing.assert_allclose(agent.act(x, learn=False, period=t), -gain @ x, rtol=1e-9, atol=1e-12)
        p = q + a.T @ p @ (a - b @ gain)


def test_a_state_other_than_the_one_observed():
    """Someone's loop may restart in another state: what was looked up for the one observed is not used."""
    agent = ocp.OCP(ocp.Quadratic(1, 1, 2), selection="eluder")
    twin = agent.copy()
    for one, state in ((agent, [3.0]), (twin, [16.0])):
        one.act([1.0])
        one.observe(state, -1.0)
    np.testing.assert_array_equal(agent.act([16.0]), twin.act([16.0]))


def test_in_the_origin_a_prior_bound_says_it_all():
    system = ocp.LinearQuadratic([[1.0]], [[1.0]], [[1.0]], [[1.0]], 4, initial_state=[0.0])
    without = learn(system, ocp.Quadratic(1, 1, 4), 20)
    bounded = learn(system, ocp.Quadratic(1, 1, 4), 20, bounds=(-np.inf, 0.0))
    assert (without.rewards < 0).sum() > 0
    assert (bounded.rewards == 0).all()


def test_convex_values_contradict_the_class():
    agent = ocp.OCP(ocp.Quadratic(1, 1, 1), selection="eluder")
    for _ in range(4):
        u = agent.act([1.0])
        agent.observe([0.0], float(u[0] ** 2 - 1))
    assert agent.statistics()["contradictions"] == 1
    assert agent.act([1.0]).tolist() == [1.0]  # the best of those that were tried, the first where they are tied
    assert agent.certificate().reason.startswith("constraints contradict")


def test_noise_is_a_contradiction():
    agent = ocp.OCP(ocp.Quadratic(1, 1, 1), selection="eluder")
    for episode in range(5):
        u = agent.act([1.0])
        agent.observe([0.0], -1.0 - float(u[0] ** 2) - (1e-4 if episode == 4 else 0))
    assert agent.statistics()["contradictions"] == 1
    assert agent.upper([1.0], [2.0], 0) == pytest.approx(-5, rel=1e-12)


def test_values_outside_the_bounds_are_rejected():
    agent = ocp.OCP(ocp.Quadratic(1, 1, 1), selection="eluder", bounds=(-10, 0))
    assert agent.upper([1.0], [1.0], 0) == 0 and agent.lower([1.0], [1.0], 0) == -10
    agent.act([1.0])
    agent.observe([0.0], -11.0)
    assert agent.statistics()["rejected"] == 1 and agent.statistics()["determined"] == 0
    assert not agent.certificate().valid


@pytest.mark.parametrize("replay", [True, "stationary"])
def test_memory_is_bounded(replay):
    """Noise everywhere: successors are determined, but contradict; transitions are stored up to the capacity."""
    rng = np.random.default_rng(0)
    agent = ocp.OCP(ocp.Quadratic(3, 2, 6), selection="eluder", replay=replay, replay_capacity=20)
    for _ in range(100):
        agent.act(rng.standard_normal(3))
        agent.observe(rng.standard_normal(3), rng.standard_normal(), truncated=True)
        assert agent.statistics()["transitions"] <= 20
    assert agent.statistics()["transitions"] > 0


def test_once_learned_nothing_is_stored():
    rng = np.random.default_rng(1)
    system = ocp.LinearQuadratic(*random_system(rng, 3, 1), 5, initial_scale=1.0)
    for replay in (True, "stationary"):
        short, long = (
            learn(system, ocp.Quadratic(3, 1, 5), n, replay=replay).agents[0].statistics() for n in (100, 400)
        )
        for name in ("transitions", "recomputed", "determined"):
            assert short[name] == long[name]


def test_endings():
    """A terminated transition is worth its reward; a truncated one leads to what comes after it."""
    agent = ocp.OCP(ocp.Quadratic(1, 1, 2), selection="eluder")
    u = agent.act([1.0])
    assert agent.observe("whatever", -3.0, terminated=True)
    assert agent.upper([1.0], u, 0) == -3
    agent = ocp.OCP(ocp.Quadratic(1, 1, 2), selection="eluder")
    u = agent.act([1.0])
    assert agent.observe([1.0], -3.0, truncated=True)
    assert agent.upper([1.0], u, 0) == np.inf
    assert not agent.certificate().last_episode_optimal


def test_begin_episode_forgets_what_has_not_joined():
    agent = ocp.OCP(ocp.Quadratic(1, 1, 2), selection="eluder")
    agent.act([1.0])
    agent.observe([1.0], -1.0)
    agent.act([1.0])
    agent.begin_episode()
    assert agent.period == 0 and agent.statistics()["determined"] == 0
    agent.act([1.0])


def test_copies_share_nothing():
    agent = ocp.OCP(ocp.Quadratic(1, 1, 1), selection="eluder")
    twin = agent.copy()
    twin.act([1.0])
    twin.observe([0.0], -1.0)
    assert agent.statistics()["determined"] == 0 and twin.statistics()["determined"] == 1


# descriptions and errors


def test_descriptions():
    plain, listed = ocp.Quadratic(2, 1, 5), ocp.Quadratic(2, 1, 5, actions=[[0.0], [1.0]])
    assert (plain.n_states, plain.state_size, plain.n_actions, plain.action_size) == (None, 2, None, 1)
    assert (listed.n_states, listed.state_size, listed.n_actions, listed.action_size) == (None, 2, 2, None)
    assert plain.horizon == 5 and not plain.homogeneous and plain.n_features == 6
    for one in (plain, listed):
        twin = pickle.loads(pickle.dumps(one))
        assert twin == one and hash(twin) == hash(one) and repr(twin) == repr(one)
    assert plain != listed and listed != ocp.Quadratic(2, 1, 5, actions=[[0.0], [2.0]]) and plain != 3
    assert repr(plain) == "Quadratic(n_state=2, n_action=1, horizon=5)"
    assert repr(listed) == "Quadratic(n_state=2, n_action=1, horizon=5, actions=[[0.0], [1.0]])"
    with pytest.raises(ValueError, match="read-only"):
        listed.actions[0] = 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, 1), "n_state: expected an integer in 1..1024, got 0"),
        ((1, 2.0, 1), "n_action: expected an integer in 1..1024, got 2.0; int\\(\\) makes it one"),
        ((1, 1, 0), "horizon: expected an integer >= 1, got 0"),
        ((1024, 1024, 10**6), "n_state, n_action, horizon: 2098176000000 parameters, expected at most 1073741824"),
        ((1, 2, 3, [[1.0]]), r"actions: expected shape \(A, 2\) with A >= 1, got \(1, 1\)"),
        ((1, 2, 3, np.empty((0, 2))), r"actions: expected shape \(A, 2\) with A >= 1, got \(0, 2\)"),
        ((1, 1, 3, [[np.nan]]), "actions: expected numbers of at most 1e\\+100 in size, got nan"),
        ((1, 1, 3, [[-np.inf]]), "actions: expected numbers of at most 1e\\+100 in size, got -inf"),
        ((1, 1, 3, ["a"]), r"actions: expected numbers of shape \(A, 1\), got dtype <U1"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=f"^{message}$"):
        ocp.Quadratic(*arguments)


def test_bad_options():
    plain, listed = ocp.Quadratic(2, 1, 5), ocp.Quadratic(2, 1, 5, actions=[[0.0]])
    for selection in ("all", "first"):
        with pytest.raises(ValueError, match=f"selection: expected 'eluder' for Quadratic .*, got '{selection}'"):
            ocp.OCP(plain, selection=selection)
    for ties in ("random", "least_visited"):
        with pytest.raises(ValueError, match=f"ties: expected 'first' or 'directed' for Quadratic .*, got '{ties}'"):
            ocp.OCP(plain, selection="eluder", ties=ties)
    with pytest.raises(ValueError, match="selection: expected 'all', 'eluder' or 'window'"):
        ocp.OCP(listed, selection="first")
    with pytest.raises(ValueError, match="replay: expected False or True where states are vectors"):
        ocp.OCP(listed, selection="eluder", replay="stationary")


def test_bad_states_and_actions():
    agent = ocp.OCP(ocp.Quadratic(2, 1, 2), selection="eluder")
    large = "expected numbers of at most 1e100 in size, got"
    for state, message in (
        ([1.0], "state: expected 2 numbers, got"),
        ([1.0, np.nan], f"state: {large} nan among them"),
        ([1.0, -1e101], f"state: {large} -1e\\+101 among them"),
        (0, "state: expected 2 numbers, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            agent.act(state)
    with pytest.raises(RuntimeError, match="call act"):
        agent.observe([1.0, 1.0], 0.0)
    agent.act([1.0, 1.0])
    with pytest.raises(RuntimeError, match="act: called twice in period 0"):
        agent.act([1.0, 1.0])
    with pytest.raises(ValueError, match=f"next_state: {large} inf among them"):
        agent.observe([1.0, np.inf], 0.0)
    with pytest.raises(ValueError, match="next_state: expected 2 numbers, got"):
        agent.observe(None, 0.0)
    with pytest.raises(ValueError, match="reward: expected a finite number, got inf"):
        agent.observe([1.0, 1.0], np.inf)
    assert not agent.observe([1.0, 1.0], 0.0)
    agent.act([1.0, 1.0])
    assert agent.observe([np.nan, np.inf], 0.0)  # after the last period states have no value
    for ask in (agent.upper, agent.lower, agent.determined):
        with pytest.raises(ValueError, match="action: expected 1 numbers, got 0"):
            ask([1.0, 1.0], 0, 0)
        with pytest.raises(ValueError, match=r"period: expected an integer in 0..1, got 2"):
            ask([1.0, 1.0], [0.0], 2)


def test_systems_that_do_not_fit():
    identity = np.eye(2)
    continuous = ocp.LinearQuadratic(identity, identity, identity, identity, 3, initial_scale=1.0)
    listed = ocp.LinearQuadratic(identity, identity, identity, identity, 3, initial_scale=1.0, actions=[[0.0, 0.0]])
    for hypothesis, system, message in (
        (ocp.Quadratic(2, 2, 3), listed, "its class has vectors of 2 as actions, but the system has 1 actions"),
        (ocp.Quadratic(2, 1, 3), continuous, "its class has vectors of 1 as actions, but the system has vectors of 2"),
        (ocp.Quadratic(2, 2, 3, [[0.0, 0.0]]), continuous, "its class has 1 actions, but the system has vectors of 2"),
        (ocp.Quadratic(3, 2, 3), continuous, "its class has states of 3 numbers, but the system's have 2"),
        (ocp.Quadratic(2, 2, 4), continuous, "its class has horizon 4, but the system has 3"),
    ):
        with pytest.raises(ValueError, match=message):
            ocp.run(ocp.OCP(hypothesis, selection="eluder"), system, 3, progress=False)


def test_states_that_leave_all_bounds():
    system = ocp.LinearQuadratic([[1e80]], [[1.0]], [[1e-200]], [[1.0]], 5, initial_state=[1.0])
    with pytest.raises(RuntimeError, match="a state that the hypothesis class has no place for"):
        ocp.run(ocp.OCP(ocp.Quadratic(1, 1, 5), selection="eluder"), system, 3, progress=False)


def test_lists_of_actions_are_compared_and_ranked():
    same, other = (ocp.Quadratic(1, 1, 2, actions=[[a] for a in actions]) for actions in ((0, 1), (0, 2)))
    again = ocp.Quadratic(1, 1, 2, actions=[[0], [1]])
    assert same == again and hash(same) == hash(again) and same != other
    # of (x, u): xx, xu and uu, which two actions tell apart
    assert same.eluder_dimension() == 6
    visited = [(1.0, 0, 0), (1.0, 1, 0), (2.0, 1, 0)]
    assert not ocp.theory.independent(same, ([3.0], 1, 0), [([x], a, t) for x, a, t in visited])


def test_an_early_end_is_stored_for_every_period():
    """Stationary replay: what ended an episode in its first period would have ended it in any."""
    agent = ocp.OCP(ocp.Quadratic(1, 1, horizon=3), selection="eluder", replay="stationary")
    for i in range(6):
        state = np.array([1.0 + i])
        action = agent.act(state)
        assert agent.observe(np.zeros(1), -float(state @ state + action @ action), terminated=True)
        assert all(agent.determined(state, action, period=period) for period in range(3))  # at once, from the first
    for period in range(3):
        assert agent.determined([0.5], [2.0], period=period)
        assert agent.upper([0.5], [2.0], period=period) == pytest.approx(-4.25)
