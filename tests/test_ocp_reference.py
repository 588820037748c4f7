"""Compiled OCP against the literal algorithm, on random systems, consistent and inconsistent ones.

Rewards are dyadic, so sums are exact and everything is compared with ==. A failing case is replayed with
check(configuration, case), both of which are in the message.
"""

import itertools
import random
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from reference import (
    INFINITY,
    LiteralOCP,
    aggregation,
    optimal_q,
    q_learning,
    random_table,
    table_cells,
)

import ocpfast as ocp

SELECTIONS = ("all", "first", "eluder", "window")
REPLAYS = (False, True, "stationary")
UPDATES = ("episode", "period")
TIES = ("first", "least_visited", "directed", "random")
# the shape of the partition, and whether parameters are separate for each period
CLASSES = ("table", "(S,)", "(S,A)", "(H,S,A)", "(S,) homogeneous", "(S,A) homogeneous")
LOWERS = ("off", "exact")

CASES = 8  # of each configuration
# a window forgets what replay would keep, so the two exclude each other
METHODS = [
    (selection, replay, update)
    for selection, replay, update in itertools.product(SELECTIONS, REPLAYS, UPDATES)
    if not (selection == "window" and replay)
]


class Configuration(NamedTuple):
    selection: str
    replay: object
    update: str
    ties: str
    hypothesis: str
    lower: str


class Size(NamedTuple):
    states: int
    actions: int
    horizon: int
    episodes: int


SMALL, LARGE = Size(4, 3, 4, 6), Size(8, 3, 6, 20)


def dense(labels):
    """The same partition with labels 0..K-1 without gaps."""
    return np.unique(labels, return_inverse=True)[1].reshape(np.shape(labels))


class Pair:
    """The compiled agent and the literal one, driven by the same transitions.

    partition None is a table; `aggregation` tells what the axes of a partition mean.
    """

    def __init__(self, n_states, n_actions, horizon, partition=None, lower="exact", **options):
        self.n_states, self.n_actions, self.horizon = n_states, n_actions, horizon  # None: time-homogeneous
        self.exact = lower == "exact" or options.get("selection") in ("first", "eluder")
        self.trace = [
            f"S={n_states} A={n_actions} H={horizon} lower={lower!r}, options {options}",
            f"partition {None if partition is None else np.asarray(partition).tolist()}",
        ]
        if partition is None:
            hypothesis = ocp.TabulaRasa(n_states, n_actions, horizon, lower=lower)
            cells, row = table_cells, int
        else:
            hypothesis = ocp.StateAggregation(np.asarray(partition), n_actions, horizon=horizon, lower=lower)
            cells, row = aggregation(partition, horizon)
        self.agent = ocp.OCP(hypothesis, rng=0, **options)
        reward_bound, discount = options.pop("reward_bound", None), options.get("discount", 1.0)
        if reward_bound is not None and discount < 1:
            options["bounds"] = -reward_bound / (1 - discount), reward_bound / (1 - discount)
        elif reward_bound is not None:  # undiscounted: that much in each of the periods left

            def bounds(cell):
                return -reward_bound * (horizon - cell[0]), reward_bound * (horizon - cell[0])

            options["bounds"] = bounds
        self.literal = LiteralOCP(cells, row, n_actions, horizon, chooser=self.follow_the_agent, **options)

    def follow_the_agent(self, tied):
        assert self.action in tied, f"random: {self.action} is not one of the tied actions {tied}"
        return self.action

    def expect(self, what, actual, expected):
        assert actual == expected, f"{what}: compiled {actual}, literal {expected}"

    def act(self, x):
        self.action = self.agent.act(x)
        self.trace.append(f"act({x}) -> {self.action}")
        self.expect("act", self.action, self.literal.act(x))
        return self.action

    def look(self, x):
        self.expect("act(learn=False)", self.agent.act(x, learn=False), self.literal.act(x, learn=False))

    def observe(self, x_next, r, terminated=False, truncated=False):
        self.trace.append(f"observe({x_next}, {r}, terminated={terminated}, truncated={truncated})")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a homogeneous class without bounds deserves its warning
            ended = self.agent.observe(x_next, r, terminated=terminated, truncated=truncated)
        self.expect("observe", ended, self.literal.observe(x_next, r, terminated, truncated))
        return ended

    def begin_episode(self):
        self.trace.append("begin_episode()")
        self.agent.begin_episode()
        self.literal.begin_episode()

    def compare(self):
        agent, literal = self.agent, self.literal
        for t in range(1 if self.horizon is None else self.horizon):
            for x in range(self.n_states):
                for a in range(self.n_actions):
                    place = f"(state {x}, action {a}, period {t})"
                    self.expect("upper" + place, agent.upper(x, a, t), literal.upper(t, x, a))
                    self.expect("determined" + place, agent.determined(x, a, t), literal.determined(t, x, a))
                    if self.exact:
                        self.expect("lower" + place, agent.lower(x, a, t), literal.lower(t, x, a))
        if literal.selection == "eluder":
            contradictions = agent.statistics()["contradictions"]
            if not literal.replay:
                self.expect("contradictions", contradictions, literal.contradictions)
            else:
                self.expect("any contradictions", contradictions > 0, literal.contradictions > 0)


class Case:
    """One random system, random options, and random transitions for a pair of agents."""

    def __init__(self, configuration, case, size=SMALL):
        self.configuration, self.size = configuration, size
        self.rng = rng = random.Random(f"{configuration} {case} {size}")  # a string seeds the same everywhere
        self.n_states = rng.randint(1, size.states)
        self.n_actions = rng.randint(1, size.actions)
        self.horizon = rng.randint(1, size.horizon)
        self.homogeneous = "homogeneous" in configuration.hypothesis
        self.next_state, self.reward = random_table(
            rng, self.n_states, self.n_actions, self.horizon, stationary=rng.random() < 0.5,
            integer_rewards=rng.random() < 0.5, number=float,
        )  # fmt: skip
        self.noise = rng.choice([0.0, 0.0, 0.3])  # how often a transition is another one: inconsistency
        self.termination = rng.choice([0.0, 0.1, 0.3])
        self.truncation = rng.choice([0.0, 0.1])
        self.desertion = rng.choice([0.0, 0.0, 0.1])  # how often an episode is dropped
        self.pair = Pair(
            self.n_states,
            self.n_actions,
            None if self.homogeneous else self.horizon,
            None if configuration.hypothesis == "table" else self.random_partition(),
            configuration.lower,
            **self.random_options(),
        )

    def random_options(self):
        rng, c = self.rng, self.configuration
        options = {"selection": c.selection, "replay": c.replay, "update": c.update, "ties": c.ties}
        if c.selection == "window":
            options["window"] = rng.randint(1, 3)
        if rng.random() < 0.35:
            options["discount"] = 0.5
            if rng.random() < 0.5:
                options["reward_bound"] = 2.0
            else:
                options["bounds"] = rng.choice([(-4.0, 4.0), (-1.0, 1.0), (0.0, 2.0)])
        elif rng.random() < 0.1 and not self.homogeneous:
            options["reward_bound"] = 1.0  # too small for some of the rewards
        else:
            options["bounds"] = rng.choice(
                [None, None, (-3.0, 3.0), (-1.0, 0.5), (-8.0, 8.0), (-INFINITY, 1.0), (-1.0, INFINITY)]
            )
        options["replay_sweeps"] = rng.choice([1, 2, 8])  # few, so that the cap matters as well
        return options

    def random_partition(self):
        rng = self.rng
        shape = {"(S,)": (self.n_states,), "(S,A)": (self.n_states, self.n_actions)}.get(
            self.configuration.hypothesis.split()[0], (self.horizon, self.n_states, self.n_actions)
        )
        n_labels = rng.randint(1, int(np.prod(shape[-2:])))
        labels = np.array([rng.randrange(n_labels) for _ in range(int(np.prod(shape)))]).reshape(shape)
        if len(shape) == 3:
            return np.stack([dense(period) for period in labels])
        return dense(labels)

    def transition(self, t, x, a):
        if self.rng.random() < self.noise:
            return self.rng.randrange(self.n_states), self.rng.randint(-8, 8) / 4
        return self.next_state[t][x][a], self.reward[t][x][a]

    def episode(self):
        rng, pair = self.rng, self.pair
        x = rng.randrange(self.n_states)
        for t in itertools.count():
            if rng.random() < 0.1:
                pair.look(x)
            a = pair.act(x)
            if rng.random() < self.desertion / 2:
                return pair.begin_episode()
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
        for _ in range(self.size.episodes):
            self.episode()
            self.pair.compare()


def check(configuration, case, size=SMALL):
    """Run one case; None, or what went wrong and how to get there again."""
    trace = []
    try:
        trial = Case(configuration, case, size)
        trace = trial.pair.trace
        trial.run()
    except Exception as error:  # also what the library itself raises
        return "\n  ".join([f"{error!r}\ncheck({configuration}, {case}, {size})", *trace])
    return None


def check_all(configurations, cases, size):
    n, failures = 0, []
    for configuration in configurations:
        for case in range(cases):
            n += 1
            failure = check(configuration, case, size)
            if failure is not None:
                failures.append(failure)
    shortest = min(failures, key=len, default="")
    assert not failures, f"{len(failures)} of {n} random cases differ; the shortest:\n{shortest}"
    return n


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("selection, replay, update", METHODS)
def test_compiled_is_literal(selection, replay, update, ties, compared):
    configurations = [
        Configuration(selection, replay, update, ties, hypothesis, lower)
        for hypothesis, lower in itertools.product(CLASSES, LOWERS)
    ]
    compared("tables, aggregation = literal", check_all(configurations, CASES, SMALL))


@pytest.mark.parametrize("selection, replay, update", METHODS)
def test_compiled_is_literal_on_larger_systems(selection, replay, update, compared):
    """Long enough that what propagates through several periods and keys is seen."""
    configurations = [
        Configuration(selection, replay, update, ties, hypothesis, "exact")
        for ties, hypothesis in itertools.product(TIES, CLASSES)
    ]
    compared("tables, aggregation = literal", check_all(configurations, 1, LARGE))


def test_every_configuration_is_run():
    assert len(METHODS) * len(TIES) * len(CLASSES) * len(LOWERS) * CASES >= 5_000


# cases that a shortcut is likely to get wrong, as small as they can be


def play_script(pair, *steps):
    """Each step: a state, and what observe gets; None instead: the episode is dropped."""
    for x, outcome in steps:
        pair.act(x)
        if outcome is None:
            pair.begin_episode()
        else:
            pair.observe(*outcome)
        pair.compare()


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("replay", [True, "stationary"])
def test_transitions_of_a_dropped_episode_are_replayed(replay, update):
    pair = Pair(2, 1, 2, replay=replay, update=update, bounds=(-8.0, 8.0))
    play_script(pair, (0, (1, -1.0)), (1, None), (1, (0, 2.0, True)))
    assert pair.literal.upper(0, 0, 0) == (7.0 if replay is True else 1.0)  # at period 0 only, or at both


def test_a_smaller_reward_of_a_dropped_episode_is_replayed():
    pair = Pair(2, 1, 2, replay=True, bounds=(-8.0, 8.0))
    play_script(pair, (0, (1, -1.0, False, True)), (0, (1, -2.0)), (1, None), (1, (0, 2.0, True)))
    assert pair.literal.upper(0, 0, 0) == 6.0


def test_a_smaller_reward_that_says_nothing_new_yet_is_replayed():
    """What leads from 0 to 1 pays less the second time, which matters once 1 is worth less than 2."""
    pair = Pair(3, 1, None, [0, 1, 2], lower="off", replay=True)
    to_one = (1, (0, 10.0, True))
    play_script(
        pair, to_one, (0, (2, 1.0)), (2, (0, 0.0, True)), (0, (1, 5.0)), to_one, (0, (1, 3.0)), to_one,
        (1, (0, -20.0, True)),
    )  # fmt: skip
    assert pair.literal.upper(0, 0, 0) == -17.0


def test_a_value_stays_determined_while_it_stays_the_same():
    """Also when the action behind U changes from a determined one to one that only the prior bounds."""
    pair = Pair(1, 3, 2, replay="stationary", ties="least_visited", bounds=(-1.0, 1.0), discount=0.5)
    ended, going_on = True, False
    play_script(
        pair, (0, (0, 1.0, ended)), (0, (0, 1.0, going_on)), (0, (0, -1.0)), (0, (0, -2.0, going_on)), (0, (0, 0.0))
    )
    assert pair.literal.determined(0, 0, 0)


def test_an_immediate_update_sweeps_once_also_when_the_episode_ends():
    """Seen only where the number of sweeps is capped."""
    pair = Pair(1, 1, None, [0], replay=True, update="period", discount=0.5, reward_bound=2.0, replay_sweeps=2)
    play_script(pair, (0, (0, -2.0)), (0, (0, -2.0, False, True)))
    assert pair.literal.upper(0, 0, 0) == -3.875


def test_a_new_constraint_is_replayed_even_if_its_successor_returned_to_what_it_was():
    pair = Pair(1, 1, None, [0], replay=True, update="period", bounds=(-1.0, INFINITY), replay_sweeps=1)
    play_script(pair, (0, (0, 1.5)), (0, (0, -1.5)))
    assert pair.literal.lower(0, 0, 0) == -1.0


def test_stationary_visits_reach_cells_that_only_other_periods_share():
    """A visit to an old cell of this period is a visit to a new cell of another."""
    partition = [[[0, 0], [0, 0]], [[0, 1], [2, 2]]]
    pair = Pair(2, 2, 2, partition, replay="stationary", ties="directed")
    play_script(pair, (1, (0, 0.0, False, True)), (0, (0, 0.0)), (0, (0, 0.0)))
    assert pair.action == 1  # (1, 0, 0) is not new: (0, 0, 0) was visited


@pytest.mark.parametrize("replay", REPLAYS)
def test_lower_values_that_are_not_kept_are_refused(replay):
    agent = ocp.OCP(ocp.TabulaRasa(2, 2, 2, lower="off"), replay=replay)
    with pytest.raises(ValueError, match="lower"):
        agent.lower(0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_tabula_rasa_is_q_learning(seed, compared):
    rng = random.Random(seed)
    n_states, n_actions, horizon = rng.randint(2, 6), rng.randint(2, 4), rng.randint(2, 6)
    next_state, reward = random_table(rng, n_states, n_actions, horizon, seed % 2 == 0, number=float)
    starts = [rng.randrange(n_states) for _ in range(n_states * n_actions * horizon + 50)]
    actions, q = q_learning(next_state, reward, horizon, starts)
    agent = ocp.OCP(ocp.TabulaRasa(n_states, n_actions, horizon))
    optimal = optimal_q(next_state, reward, horizon)
    suboptimal = 0
    for x, expected in zip(starts, actions, strict=True):
        best, total, taken = max(optimal[0][x]), 0.0, []
        for t in range(horizon):
            a = agent.act(x)
            taken.append(a)
            total += reward[t][x][a]
            x, r = next_state[t][x][a], reward[t][x][a]
            ended = agent.observe(x, r)
            assert ended == (t == horizon - 1)
        assert taken == expected
        suboptimal += total < best
    assert suboptimal <= n_states * n_actions * horizon
    for t, x, a in itertools.product(range(horizon), range(n_states), range(n_actions)):
        assert agent.upper(x, a, t) == q[t][x][a]
        assert agent.upper(x, a, t) >= optimal[t][x][a]
    compared("tabula rasa = Q-learning", 1)


@pytest.mark.parametrize("seed", range(20))
def test_discounted_replay_converges_to_the_same_floats(seed, compared):
    """Rounding decides when sweeps of a discounted cycle stop: both sides must stop at the same number."""
    rng = random.Random(seed)
    n_states, n_actions = rng.randint(1, 4), 2
    next_state, reward = random_table(rng, n_states, n_actions, 1, integer_rewards=False, number=float)
    partition = np.arange(n_states)
    options = {"replay": True, "discount": 0.5, "ties": "directed", "bounds": (-4.0, 4.0)}
    agent = ocp.OCP(ocp.StateAggregation(partition, n_actions, lower="exact"), **options)
    literal = LiteralOCP(*aggregation(partition), n_actions, None, **options)
    for _ in range(8):
        x = rng.randrange(n_states)
        for step in range(5):
            a = agent.act(x)
            assert a == literal.act(x)
            x, r = next_state[0][x][a], reward[0][x][a]
            ended = agent.observe(x, r, truncated=step == 4)
            assert ended == literal.observe(x, r, truncated=step == 4)
        for y, b in itertools.product(range(n_states), range(n_actions)):
            assert agent.upper(y, b) == literal.upper(0, y, b)
            assert agent.lower(y, b) == literal.lower(0, y, b)
            assert agent.determined(y, b) == literal.determined(0, y, b)
    compared("tables, aggregation = literal", 1)
