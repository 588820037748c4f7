"""Linear features and polytopes: against the literal algorithm, and the theorems.

A failing random case is run again with check(configuration, case), both of which are in the message.
"""

import itertools
import random
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from linear_cases import Description, exact, random_prior
from reference import INFINITY, optimal_q, random_table

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
            statistics = agent.statistics()
            contradictions = statistics["contradictions"]
            if not literal.replay:
                self.expect("contradictions", contradictions, literal.contradictions)
                self.expect("constraints", statistics["constraints"], len(literal.held))
            else:
                self.expect("any contradictions", contradictions > 0, literal.contradictions > 0)


class Case:
    """A random system, a random class that may or may not contain Q*, random options and transitions."""

    pair_class = Pair

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
        self.pair = self.pair_class(self.random_description(), **self.random_options())

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
def test_compiled_is_literal(selection, replay, update, prior, compared):
    configurations = [Configuration(selection, replay, update, features, prior) for features in CLASSES]
    results = [check(configuration, case) for configuration in configurations for case in range(CASES)]
    failures = [result for result in results if result is not None]
    shortest = min(failures, key=len, default="")
    assert not failures, f"{len(failures)} of {len(results)} random cases differ; the shortest:\n{shortest}"
    compared("linear features, polytopes = literal", len(results))


def test_there_are_enough_cases():
    assert len(METHODS) * len(PRIORS) * len(CLASSES) * CASES >= 300


@pytest.mark.parametrize("seed", range(60))
def test_eluder_dimension_is_a_rank(seed, compared):
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
    compared("eluder dimension = definition", 1)


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
def test_eluder_selection_under_an_upper_bound(n_actions, compared):
    for seed in range(40):
        case = BoundedEluderCase(seed, n_actions)
        try:
            case.run()
        except AssertionError as error:
            raise AssertionError("\n  ".join([f"seed {seed}: {error}", *case.pair.trace])) from error
    compared("linear features, polytopes = literal", 40)


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


# what rounding must not do


def table_with(q, rng):
    """A system of random transitions with this Q*."""
    following = rng.integers(0, q.shape[1], q.shape)
    reward = q.copy()
    for t in range(len(q) - 1):
        reward[t] -= q[t + 1].max(axis=1)[following[t]]
    return ocp.TableSystem(following, reward, initial_state=np.arange(q.shape[1]))


@pytest.mark.parametrize("seed", range(4))
def test_what_programs_find_equal_contradicts_nothing(seed):
    """As equalities such values were wrong by 1e-10, and ten of them rejected what is true."""
    rng = np.random.default_rng(seed)
    phi, theta = rng.standard_normal((20, 30, 4, 10)), rng.uniform(-1, 1, 10)
    box = np.vstack([np.eye(10), -np.eye(10)])
    agent = ocp.OCP(ocp.Polytope(phi, box, np.ones(20)), replay=True, ties="directed")
    result = ocp.run(agent, table_with(phi @ theta, rng), 60, progress=False, keep_agents=True)
    statistics = result.agents[0].statistics()
    assert statistics["rejected"] == 0
    assert statistics["determined"] == 10
    assert result.agents[0].certificate().valid


def test_rows_that_miss_each_other_by_rounding_are_no_failure():
    """Twenty periods of ten Gaussian features and logits of 20: HiGHS found the rows of a program infeasible."""
    rng = np.random.default_rng(0)
    reward = np.zeros((20, 30, 3))
    reward[-1] = rng.uniform(-0.1, 1.1, (30, 3)).clip(0, 1)
    system = ocp.TableSystem(rng.integers(0, 30, reward.shape), reward, initial_state=np.arange(30))
    phi = rng.standard_normal((*reward.shape, 10))
    phi[..., 0] = ocp.Sigmoid(np.ones((1, 1, 1)), horizon=1).logits(ocp.solve(system).q)
    phi[..., 1] = 1.0
    result = ocp.run(ocp.OCP(ocp.Sigmoid(phi)), system, 100, progress=False)
    assert result.suboptimal(1e-6)[0] <= 19
