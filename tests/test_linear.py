"""Linear features and polytopes: against the literal algorithm, the theorems, the paper's chain, and odd input.

A failing random case is run again with check(configuration, case), both of which are in the message.
"""

import itertools
import random
import warnings
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from reference import INFINITY, optimal_q, random_table
from reference_linear import LiteralLinearOCP, eluder_dimension, feasible

import ocpfast as ocp

METHODS = [
    (selection, replay, update)
    for selection, replay, update in itertools.product(
        ("all", "eluder", "window"), (False, True, "stationary"), ("episode", "period")
    )
    if not (selection == "window" and replay)
]
# the shape of the features, and whether periods share their parameters
CLASSES = ("(H,S,A,K)", "(H,S,A,K) shared", "(S,A,K)", "(S,A,K) homogeneous")
PRIORS = ("none", "polytope")
CASES = 5  # of each configuration


class Configuration(NamedTuple):
    selection: str
    replay: object
    update: str
    features: str
    prior: str


# random classes


def random_prior(rng, n_features):
    """a_ub, b_ub of a polytope that is not empty: a box, a simplex, something unbounded, or anything."""
    unit = np.eye(n_features, dtype=int)
    draw = rng.randrange(4)
    if draw == 0:
        return np.vstack([unit, -unit]), np.full(2 * n_features, rng.randint(1, 3))
    if draw == 1:  # an equality in two halves
        ones = np.ones((1, n_features), dtype=int)
        return np.vstack([ones, -ones, -unit]), np.array([2, -2] + [0] * n_features)
    if draw == 2:
        return unit[:1], np.array([rng.randint(-1, 2)])
    a = np.array([[rng.randint(-2, 2) for _ in range(n_features)] for _ in range(rng.randint(1, 5))])
    theta = np.array([rng.randint(-1, 1) for _ in range(n_features)])
    return a, a @ theta + np.array([rng.randint(0, 2) for _ in range(len(a))])


def exact(number):
    return number if abs(number) == INFINITY else Fraction(float(number))


def as_rows(a_ub, b_ub):
    return [(tuple(exact(c) for c in a), -INFINITY, exact(b)) for a, b in zip(a_ub, b_ub, strict=True)]


class Description(NamedTuple):
    """A class as arrays: what both the compiled and the literal one are made from."""

    phi: np.ndarray  # (H,S,A,K) or (S,A,K)
    horizon: object  # None: as the features say
    shared: bool
    prior: object  # None, or (a_ub, b_ub)

    def hypothesis(self):
        if self.prior is None:
            return ocp.LinearFeatures(self.phi, horizon=self.horizon, shared=self.shared)
        a_ub, b_ub = self.prior
        return ocp.Polytope(self.phi, a_ub, b_ub, horizon=self.horizon, shared=self.shared)

    @property
    def periods(self):
        """None: time-homogeneous."""
        return len(self.phi) if self.phi.ndim == 4 else self.horizon

    def feature(self, t, x, a):
        phi = self.phi[t, x, a] if self.phi.ndim == 4 else self.phi[x, a]
        return tuple(exact(v) for v in phi)

    def literal(self, **options):
        return LiteralLinearOCP(
            self.feature,
            self.phi.shape[-2],
            self.periods,
            block=(lambda t: 0) if self.shared else (lambda t: t),
            prior_rows=() if self.prior is None else as_rows(*self.prior),
            **options,
        )

    def eluder_dimension(self):
        periods = range(self.periods or 1)
        features = [[self.feature(t, x, a) for x, a in np.ndindex(self.phi.shape[-3:-1])] for t in periods]
        blocks = [list(itertools.chain(*features))] if self.shared else features
        return eluder_dimension(blocks, () if self.prior is None else as_rows(*self.prior))


# against the literal algorithm


def near(actual, expected):
    """Infinities exactly, other numbers within 1e-7."""
    if abs(expected) == INFINITY or abs(actual) == INFINITY:
        return actual == expected
    return abs(actual - expected) <= 1e-7 * max(1, abs(expected))


class Pair:
    """The compiled agent and the literal one, driven by the same transitions."""

    def __init__(self, description, **options):
        self.n_states, self.n_actions = description.phi.shape[-3:-1]
        self.horizon = description.periods
        prior = None if description.prior is None else [np.asarray(p).tolist() for p in description.prior]
        self.trace = [
            f"phi {description.phi.tolist()}, horizon {description.horizon}, shared {description.shared}",
            f"prior {prior}, options {options}",
        ]
        self.agent = ocp.OCP(description.hypothesis(), **options)
        discount = options["discount"] = exact(options.get("discount", 1))
        reward_bound = options.pop("reward_bound", None)
        if reward_bound is not None:
            reward_bound = exact(reward_bound)

            def bounds(t):
                most = reward_bound / (1 - discount) if discount < 1 else reward_bound * (self.horizon - t)
                return -most, most

            options["bounds"] = bounds
        elif options.get("bounds") is not None:
            options["bounds"] = tuple(exact(b) for b in options["bounds"])
        self.literal = description.literal(**options)

    def expect(self, what, actual, expected):
        ok = near(actual, expected) if isinstance(actual, float) else actual == expected
        assert ok, f"{what}: compiled {actual}, literal {expected}"

    def act(self, x):
        """The compiled agent's action; where values are not nearly tied it must be the literal one's."""
        action = self.agent.act(x)
        self.trace.append(f"act({x}) -> {action}")
        uppers = self.literal.uppers(self.literal.t, x)
        assert near(float(uppers[action]), max(uppers)), f"act: compiled {action}, literal values {uppers}"
        return self.literal.act(x, action)

    def observe(self, x_next, r, terminated=False, truncated=False):
        self.trace.append(f"observe({x_next}, {r}, terminated={terminated}, truncated={truncated})")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a homogeneous class without bounds deserves its warning
            ended = self.agent.observe(x_next, r, terminated=terminated, truncated=truncated)
        self.expect("observe", ended, self.literal.observe(x_next, exact(r), terminated, truncated))
        return ended

    def begin_episode(self):
        self.trace.append("begin_episode()")
        self.agent.begin_episode()
        self.literal.begin_episode()

    def compare(self):
        agent, literal = self.agent, self.literal
        for t, x, a in np.ndindex(self.horizon or 1, self.n_states, self.n_actions):
            place = f"(state {x}, action {a}, period {t})"
            self.expect("upper" + place, agent.upper(x, a, t), literal.upper(t, x, a))
            self.expect("lower" + place, agent.lower(x, a, t), literal.lower(t, x, a))
            # an interval that a discount has made shorter than any rounding is a point to the compiled class
            point = literal.upper(t, x, a) - literal.lower(t, x, a) <= 1e-6
            self.expect(
                "determined" + place, agent.determined(x, a, t) and not point, literal.determined(t, x, a) and not point
            )
        if literal.selection == "eluder":
            contradictions = agent.statistics()["contradictions"]
            if not literal.replay:
                self.expect("contradictions", contradictions, literal.contradictions)
            else:
                self.expect("any contradictions", contradictions > 0, literal.contradictions > 0)


class Case:
    """A random system, a random class that may or may not contain Q*, random options and transitions."""

    def __init__(self, configuration, case):
        self.configuration = configuration
        self.rng = rng = random.Random(f"{configuration} {case}")  # a string seeds the same everywhere
        self.n_states, self.n_actions = rng.randint(1, 4), rng.randint(1, 3)
        self.horizon, self.n_features = rng.randint(1, 3), rng.randint(1, 3)
        self.homogeneous = "homogeneous" in configuration.features
        stationary = rng.random() < 0.5 or configuration.replay == "stationary"
        self.next_state, self.reward = random_table(
            rng, self.n_states, self.n_actions, self.horizon, stationary,
            integer_rewards=rng.random() < 0.5, number=float,
        )  # fmt: skip
        self.coherent = rng.random() < 0.5 and configuration.features.startswith("(H")
        self.noise = 0.0 if self.coherent else rng.choice([0.0, 0.3])  # how often a transition is another one
        self.termination = 0.0 if self.coherent else rng.choice([0.0, 0.2])
        self.truncation = 0.0 if self.coherent else rng.choice([0.0, 0.1])
        self.desertion = rng.choice([0.0, 0.0, 0.1])  # how often an episode is dropped
        self.pair = Pair(self.random_description(), **self.random_options())

    def random_description(self):
        rng, kind = self.rng, self.configuration.features
        shape = (self.n_states, self.n_actions, self.n_features)
        if kind.startswith("(H"):
            shape = (self.horizon, *shape)
        most = rng.choice([1, 2])
        phi = np.array([rng.randint(-most, most) for _ in range(int(np.prod(shape)))], dtype=float).reshape(shape)
        if self.coherent:
            phi[..., 0] = optimal_q(self.next_state, self.reward, self.horizon)
        return Description(
            phi,
            self.horizon if kind == "(S,A,K)" else None,
            kind.endswith(("shared", "homogeneous")),
            None if self.configuration.prior == "none" else random_prior(rng, self.n_features),
        )

    def random_options(self):
        rng, c = self.rng, self.configuration
        options = {"selection": c.selection, "replay": c.replay, "update": c.update}
        if c.selection == "window":
            options["window"] = rng.randint(1, 3)
        if rng.random() < 0.3:
            options["discount"] = 0.5
            if rng.random() < 0.5:
                options["reward_bound"] = 2.0
            else:
                options["bounds"] = rng.choice([(-4.0, 4.0), (-1.0, 1.0), (0.0, 2.0)])
        elif rng.random() < 0.1 and not self.homogeneous:
            options["reward_bound"] = 1.0  # too small for some of the rewards
        else:
            options["bounds"] = rng.choice(
                [None, None, None, (-3.0, 3.0), (-1.0, 0.5), (-8.0, 8.0), (-INFINITY, 1.0), (-1.0, INFINITY)]
            )
        options["replay_sweeps"] = rng.choice([1, 2, 4])
        return options

    def transition(self, t, x, a):
        if self.rng.random() < self.noise:
            return self.rng.randrange(self.n_states), self.rng.randint(-8, 8) / 4
        return self.next_state[t][x][a], self.reward[t][x][a]

    def episode(self):
        rng, pair = self.rng, self.pair
        x = rng.randrange(self.n_states)
        for t in itertools.count():
            a = pair.act(x)
            x_next, r = self.transition(min(t, self.horizon - 1), x, a)
            terminated = rng.random() < self.termination
            truncated = rng.random() < self.truncation or (self.homogeneous and t == self.horizon)
            if pair.observe(x_next, r, terminated, truncated):
                return None
            if self.configuration.update == "period":
                pair.compare()
            x = x_next
            if rng.random() < self.desertion:
                return pair.begin_episode()

    def run(self):
        self.pair.compare()
        for _ in range(6):
            self.episode()
            self.pair.compare()


def check(configuration, case):
    """Run one case; None, or what went wrong and how to get there again."""
    trace = []
    try:
        trial = Case(configuration, case)
        trace = trial.pair.trace
        trial.run()
    except Exception as error:  # also what the library itself raises
        return "\n  ".join([f"{error!r}\ncheck({configuration}, {case})", *trace])
    return None


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("selection, replay, update", METHODS)
def test_compiled_is_literal(selection, replay, update, prior):
    configurations = [Configuration(selection, replay, update, features, prior) for features in CLASSES]
    results = [check(configuration, case) for configuration in configurations for case in range(CASES)]
    failures = [result for result in results if result is not None]
    shortest = min(failures, key=len, default="")
    assert not failures, f"{len(failures)} of {len(results)} random cases differ; the shortest:\n{shortest}"


def test_there_are_enough_cases():
    assert len(METHODS) * len(PRIORS) * len(CLASSES) * CASES >= 300


@pytest.mark.parametrize("seed", range(60))
def test_eluder_dimension_is_a_rank(seed):
    rng = random.Random(seed)
    n_states, n_actions, n_features, horizon = (rng.randint(1, 3) for _ in range(4))
    periods = rng.random() < 0.5
    shape = ((horizon,) if periods else ()) + (n_states, n_actions, n_features)
    phi = np.array([rng.randint(-1, 1) for _ in range(int(np.prod(shape)))], dtype=float).reshape(shape)
    shared = periods and rng.random() < 0.5
    homogeneous = not periods and rng.random() < 0.5
    prior = random_prior(rng, n_features) if rng.random() < 0.5 else None
    description = Description(phi, None if periods or homogeneous else horizon, shared or homogeneous, prior)
    assert description.hypothesis().eluder_dimension() == description.eluder_dimension()


class BoundedEluderCase:
    """Eluder selection under an upper bound that the inf-max of undetermined actions can reach."""

    def __init__(self, seed, n_actions):
        self.rng = rng = random.Random(seed)
        self.n_states, self.horizon = rng.randint(1, 3), rng.randint(2, 3)
        shape = (self.n_states, n_actions, rng.randint(1, 3))
        phi = np.array([rng.randint(-1, 1) for _ in range(int(np.prod(shape)))], dtype=float).reshape(shape)
        phi[:, -1] = -phi[:, :-1].sum(axis=1)  # some action is worth 0 or more, whatever theta is
        bounds = rng.choice([(-INFINITY, 0.0), (-1.0, 0.0), (-2.0, 0.5)])
        self.pair = Pair(Description(phi, self.horizon, False, None), selection="eluder", bounds=bounds)
        self.next_state, self.reward = random_table(rng, self.n_states, n_actions, self.horizon, number=float)

    def run(self):
        for _ in range(6):
            x = self.rng.randrange(self.n_states)
            for t in range(self.horizon):
                a = self.pair.act(x)
                r = self.rng.choice([0.0, self.reward[t][x][a]])
                x = self.next_state[t][x][a]
                self.pair.observe(x, r)
            self.pair.compare()


@pytest.mark.parametrize("n_actions", [2, 3])
def test_eluder_selection_under_an_upper_bound(n_actions):
    for seed in range(40):
        case = BoundedEluderCase(seed, n_actions)
        try:
            case.run()
        except AssertionError as error:
            raise AssertionError("\n  ".join([f"seed {seed}: {error}", *case.pair.trace])) from error


# the theorems


def coherent_features(rng, q, n_features):
    """[Q*, gaussian...], columns in a random order."""
    phi = rng.standard_normal((*np.shape(q), n_features))
    phi[..., 0] = q
    return phi[..., rng.permutation(n_features)]


@pytest.mark.parametrize("block", range(10))
def test_theorem_1(block):
    for number in range(50):
        seed = 50 * block + number
        rng, coin = np.random.default_rng(seed), random.Random(seed)
        n_states, n_actions, horizon = coin.randint(1, 5), coin.randint(1, 3), coin.randint(1, 4)
        stationary = coin.random() < 0.5
        next_state, reward = random_table(
            coin, n_states, n_actions, horizon, stationary, integer_rewards=False, number=float
        )
        q = np.array(optimal_q(next_state, reward, horizon))
        hypothesis = ocp.LinearFeatures(coherent_features(rng, q, coin.randint(1, 4)), shared=coin.random() < 0.3)
        options = {
            "selection": coin.choice(["all", "eluder"]),
            "replay": coin.choice([False, False, True, *(["stationary"] if stationary else [])]),
            "update": coin.choice(["episode", "episode", "period"]),
            "ties": coin.choice(["first", "random", "least_visited", "directed"]),
        }
        agent = ocp.OCP(hypothesis, rng=seed, **options)
        message = f"seed {seed}: {options}"
        suboptimal = 0
        for _ in range(20):
            start = x = coin.randrange(n_states)
            total = 0.0
            for t in range(horizon):
                a = agent.act(x)
                x, r = next_state[t][x][a], reward[t][x][a]
                total += r
                agent.observe(x, r)
            suboptimal += total < q[0, start].max() - 1e-9
            for t, y, b in np.ndindex(q.shape):
                low, high = agent.lower(y, b, t), agent.upper(y, b, t)
                assert low - 1e-6 <= q[t, y, b] <= high + 1e-6, (low, q[t, y, b], high, message)
        assert suboptimal <= hypothesis.eluder_dimension(), message
        statistics = agent.statistics()
        assert statistics["rejected"] == 0, message
        assert statistics["contradictions"] == 0, message


# the paper's chain

N_STATES = 50


def chain_q(n_states):
    following = [[max(x - 1, 0), min(x + 1, n_states - 1)] for x in range(n_states)]
    following[-1] = [n_states - 1] * 2
    reward = [[float(x == n_states - 1)] * 2 for x in range(n_states)]
    return np.array(optimal_q(following, reward, n_states))


def chain_features(rng, n_features):
    """[Q*, 1, gaussian...]."""
    phi = rng.standard_normal((N_STATES, N_STATES, 2, n_features))
    phi[..., 0] = chain_q(N_STATES)
    phi[..., 1] = 1.0
    return phi


def chain_regret(n_features, simulations, episodes=1_500, **options):
    def make(rng):
        return ocp.OCP(ocp.LinearFeatures(chain_features(np.random.default_rng(rng), n_features)), **options)

    result = ocp.run(
        make, ocp.Chain(N_STATES), episodes=episodes, simulations=simulations, rng=n_features, progress=False
    )
    return result.regret()[:, -1]


@pytest.mark.parametrize("selection", ["all", "eluder"])
@pytest.mark.parametrize("n_features", range(2, 21, 2))
def test_regret_on_the_chain(n_features, selection):
    regret = chain_regret(n_features, 2, selection=selection)
    assert (regret <= N_STATES * n_features).all(), regret


def test_regret_on_the_chain_is_linear_in_the_number_of_features():
    """About 45 for each feature: K = 20 takes about 900 episodes in the paper."""
    assert 600 <= chain_regret(20, 2, selection="eluder").mean() <= 1_000


@pytest.mark.parametrize("selection", ["all", "eluder"])
def test_the_chain_needs_no_linear_program(selection):
    """Its rows never outnumber their directions, and two actions are few enough."""
    hypothesis = ocp.LinearFeatures(chain_features(np.random.default_rng(0), 20))
    agent = ocp.OCP(hypothesis, selection=selection)
    result = ocp.run(agent, ocp.Chain(N_STATES), episodes=1_500, progress=False, keep_agents=True)
    assert result.agents[0].statistics()["lps"] == 0


def test_regret_on_the_chain_with_replay_and_directed_exploration():
    regret = chain_regret(20, 3, episodes=200, selection="eluder", replay=True, ties="directed")
    assert (regret <= 25).all(), regret


# aggregation is a linear class


@pytest.mark.parametrize("replay", [False, True, "stationary"])
@pytest.mark.parametrize("update", ["episode", "period"])
@pytest.mark.parametrize("homogeneous", [False, True])
def test_indicator_features_are_aggregation(homogeneous, update, replay):
    for seed in range(10):
        rng = random.Random(seed)
        n_states, n_actions, horizon = rng.randint(1, 5), rng.randint(1, 3), rng.randint(1, 4)
        n_labels = rng.randint(1, n_states * n_actions)
        labels = [rng.randrange(n_labels) for _ in range(n_states * n_actions)]
        labels = np.unique(labels, return_inverse=True)[1].reshape(n_states, n_actions)
        phi = np.eye(labels.max() + 1)[labels]
        next_state, reward = random_table(rng, n_states, n_actions, horizon, replay == "stationary", number=float)
        options = {"replay": replay, "update": update, "bounds": (-8.0, 8.0)}
        if homogeneous:  # a discount, so that replay comes to rest: where it is cut short depends on the class
            options["discount"] = 0.5
        periods = None if homogeneous else horizon
        cells = ocp.OCP(ocp.StateAggregation(labels, n_actions, horizon=periods, lower="exact"), **options)
        linear = ocp.OCP(ocp.LinearFeatures(phi, horizon=periods), **options)
        assert linear.hypothesis.eluder_dimension() == cells.hypothesis.eluder_dimension()
        for _ in range(10):
            x = rng.randrange(n_states)
            for t in range(horizon):
                a = cells.act(x)
                assert linear.act(x) == a
                x, r = next_state[t][x][a], reward[t][x][a]
                ending = {"truncated": t == horizon - 1}
                assert cells.observe(x, r, **ending) == linear.observe(x, r, **ending)
            for t, y, b in np.ndindex(periods or 1, n_states, n_actions):
                assert linear.upper(y, b, t) == pytest.approx(cells.upper(y, b, t), abs=1e-7), f"seed {seed}"


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
    rows = as_rows([[1.0, 0.0]], [1.0])
    assert feasible(rows)
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
    """Features that cannot represent Q*: many conflicts, no failure, and memory that stays bounded."""
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
    result = ocp.run(agent, system, episodes=2_000, simulations=1, rng=0, progress=False, keep_agents=True)
    assert result.agents[0].n_constraints <= window * horizon
    assert not np.isnan(result.rewards).any()
    uppers = [result.agents[0].upper(x, a, t) for t, x, a in np.ndindex(horizon, n_states, n_actions)]
    assert not np.isnan(uppers).any()
