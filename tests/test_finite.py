"""Finite classes: against the literal algorithm, the theorem, and odd input.

A failing random case is run again with check(configuration, case), both of which are in the message.
"""

import copy
import functools
import itertools
import pickle
import random
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
import reference_finite
import test_ocp_reference
from reference import INFINITY, optimal_q, random_table
from reference_finite import LiteralFiniteOCP

import ocpfast as ocp
from ocpfast.finite import longest_independent_sequence

METHODS = [
    (selection, replay, update)
    for selection, replay, update in itertools.product(
        ("all", "eluder", "window"), (False, True, "stationary"), ("episode", "period")
    )
    if not (selection == "window" and replay)
]
TIES = ("first", "least_visited", "directed", "random")
DTYPES = (np.float32, np.float64)
CASES = 14  # of each configuration


# against the literal algorithm


def exact(number):
    return number if abs(number) == INFINITY else Fraction(float(number))


def as_mapping(table):
    return {place: Fraction(float(value)) for place, value in np.ndenumerate(table)}


class Configuration(NamedTuple):
    selection: str
    replay: object
    update: str
    ties: str
    dtype: type


class Pair(test_ocp_reference.Pair):
    """The compiled agent and the literal one, driven by the same transitions."""

    exact = True

    def __init__(self, tables, **options):
        _, self.horizon, self.n_states, self.n_actions = tables.shape
        self.trace = [f"tables {tables.tolist()}, options {options}"]
        self.agent = ocp.OCP(ocp.FiniteClass(tables), rng=0, **options)
        discount = options["discount"] = exact(options.get("discount", 1))
        reward_bound = options.pop("reward_bound", None)
        if reward_bound is not None:
            size = exact(reward_bound)

            def bounds(cell):
                most = size / (1 - discount) if discount < 1 else size * (self.horizon - cell[0])
                return -most, most

            options["bounds"] = bounds
        elif options.get("bounds") is not None:
            options["bounds"] = tuple(exact(b) for b in options["bounds"])
        self.literal = LiteralFiniteOCP(
            [as_mapping(table) for table in tables],
            self.n_actions,
            self.horizon,
            chooser=self.follow_the_agent,
            **options,
        )

    def observe(self, x_next, r, terminated=False, truncated=False):
        self.trace.append(f"observe({x_next}, {r}, terminated={terminated}, truncated={truncated})")
        ended = self.agent.observe(x_next, r, terminated, truncated)
        self.expect("observe", ended, self.literal.observe(x_next, exact(r), terminated, truncated))
        return ended

    def compare(self):
        super().compare()
        statistics, left = self.agent.statistics(), self.literal.left()
        self.expect("survivors", statistics["survivors"], len(left))
        self.expect("distinct", statistics["distinct_survivors"], len({tuple(q.values()) for q in left}))


class Case(test_ocp_reference.Case):
    """A random system, tables among which Q* may or may not be, random options and transitions."""

    def __init__(self, configuration, case):
        self.configuration, self.size = configuration, test_ocp_reference.SMALL
        self.rng = rng = random.Random(f"{configuration} {case}")
        self.n_states, self.n_actions, self.horizon = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 4)
        self.homogeneous = False
        stationary = rng.random() < 0.5 or configuration.replay == "stationary"
        self.next_state, self.reward = random_table(
            rng, self.n_states, self.n_actions, self.horizon, stationary,
            integer_rewards=rng.random() < 0.5, number=float,
        )  # fmt: skip
        self.coherent = rng.random() < 0.4
        self.noise = 0.0 if self.coherent else rng.choice([0.0, 0.3])
        self.termination = 0.0 if self.coherent else rng.choice([0.0, 0.2])
        self.truncation = 0.0 if self.coherent else rng.choice([0.0, 0.1])
        self.desertion = rng.choice([0.0, 0.0, 0.1])
        self.pair = Pair(self.random_tables(), **self.random_options())

    def random_tables(self):
        """Q*, neighbours of it that differ in a few places, anything, and some of them twice."""
        rng = self.rng
        q = np.array(optimal_q(self.next_state, self.reward, self.horizon))
        tables = [q] if self.coherent else []
        n, most = rng.choice([1, 3, 8, 20]), rng.choice([1, 3])
        while len(tables) < n:
            kind = rng.random()
            if kind < 0.5:
                table = q + self.noise_like(q, most) * (self.noise_like(q, 1) != 0)
            elif kind < 0.8 or not tables:
                table = self.noise_like(q, most + 2)
            else:
                table = rng.choice(tables)
            tables.append(table)
        rng.shuffle(tables)
        return np.array(tables, dtype=self.configuration.dtype)

    def noise_like(self, q, most):
        return np.array([self.rng.randint(-most, most) / 2 for _ in range(q.size)]).reshape(q.shape)


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


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("selection, replay, update", METHODS)
def test_compiled_is_literal(selection, replay, update, ties, compared):
    configurations = [Configuration(selection, replay, update, ties, dtype) for dtype in DTYPES]
    results = [check(configuration, case) for configuration in configurations for case in range(CASES)]
    failures = [result for result in results if result is not None]
    shortest = min(failures, key=len, default="")
    assert not failures, f"{len(failures)} of {len(results)} random cases differ; the shortest:\n{shortest}"
    compared("finite class = literal", len(results))


def test_there_are_enough_cases():
    assert len(METHODS) * len(TIES) * len(DTYPES) * CASES >= 1_500


# removals at a size where words are full, sparse and cut off


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("options", [{}, {"replay": True}, {"selection": "window", "window": 2}], ids=str)
def test_many_hypotheses_by_arrays(options, n, dtype, compared):
    """Upper, lower and survivors against NumPy on what the literal store keeps: Q* is not in the class."""
    rng = np.random.default_rng(n)
    shape = (3, 4, 2)
    tables = rng.integers(-3, 4, (n, *shape)).astype(dtype)
    next_state, reward = rng.integers(4, size=shape), rng.integers(-1, 2, shape).astype(float)
    pair = Pair(tables, **options)
    for episode in range(15):
        x = episode % 4
        for t in range(3):
            a = pair.act(x)
            y, r = int(next_state[t, x, a]), float(reward[t, x, a])
            pair.observe(y, r)
            x = y
        if episode % 5 == 0:
            pair.compare()
    if n >= 63:
        assert pair.agent.statistics()["rejected"] > 0
    compared("finite class = literal", 1)


# the theorem


def neighbour(rng, next_state, reward):
    """The same system but for one reward, often a treasure, or one transition."""
    next_state, reward = copy.deepcopy(next_state), copy.deepcopy(reward)
    t, x, a = rng.randrange(len(reward)), rng.randrange(len(reward[0])), rng.randrange(len(reward[0][0]))
    if rng.random() < 0.8:
        reward[t][x][a] += rng.choice([-0.3, 0.1, 0.5, 1.0, 2.0])
    else:
        next_state[t][x][a] = rng.randrange(len(reward[0]))
    return next_state, reward


class Coherent:
    """A random system whose rewards are multiples of 0.1, which do not add exactly, and a class that contains Q*."""

    def __init__(self, seed, dtype):
        rng = self.rng = random.Random(seed)
        n_states, n_actions, self.horizon = rng.randint(2, 5), rng.randint(2, 3), rng.randint(1, 5)
        next_state, reward = random_table(rng, n_states, n_actions, self.horizon, number=float)
        reward = [[[0.1 * r for r in row] for row in period] for period in reward]
        self.system = ocp.TableSystem(
            np.array(next_state), np.array(reward), initial_state=[rng.randrange(n_states) for _ in range(3)]
        )
        self.q = np.array(optimal_q(next_state, reward, self.horizon))
        tables = [self.q]
        for _ in range(rng.choice([1, 4, 12, 30])):
            kind = rng.random()
            if kind < 0.6:
                tables.append(np.array(optimal_q(*neighbour(rng, next_state, reward), self.horizon)))
            elif kind < 0.8:  # above Q* in places: tempting
                places = np.random.default_rng(rng.randrange(2**32)).random(self.q.shape) < rng.choice([0.03, 0.1, 0.3])
                tables.append(self.q + 0.1 * rng.randint(1, 3) * places)
            elif kind < 0.9:
                tables.append(self.q + 0.1 * np.random.default_rng(rng.randrange(2**32)).integers(-2, 3, self.q.shape))
            else:
                tables.append(rng.choice(tables))
        rng.shuffle(tables)
        self.hypothesis = ocp.FiniteClass(np.array(tables, dtype=dtype))


VARIANTS = [
    {},
    {"selection": "eluder"},
    {"replay": True, "ties": "directed"},
    {"update": "period"},
    {"replay": True, "ties": "directed", "update": "period"},
    {"replay": True, "selection": "eluder", "update": "period", "ties": "least_visited"},
]


@functools.cache
def coherent(seed, dtype):
    """A case and its eluder dimension, which takes longest: the same for all variants."""
    case = Coherent(seed, dtype)
    return case, case.hypothesis.eluder_dimension()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_theorem_1(options, dtype):
    """Suboptimal episodes <= dim_E <= |Q| - 1, Q* is never eliminated, and what remains is what was promised."""
    explored = attained = 0
    for seed in range(50):
        case, dimension = coherent(seed, dtype)
        assert dimension <= case.hypothesis.n_hypotheses - 1
        agent, promises, total = ocp.OCP(case.hypothesis, **options), [], 0
        for episodes in (1, 1, 1, 2, 5, 40):
            promised = case.hypothesis._remaining(agent.statistics())
            assert 0 <= promised <= dimension
            promises.append((total, promised))
            result = ocp.run(agent, case.system, episodes, rng=0, progress=False, keep_agents=True)
            [agent] = result.agents
            total += int(result.suboptimal(1e-4)[0])
            slack = 1e-5
            for (t, x, a), value in np.ndenumerate(case.q):
                assert agent.lower(x, a, t) - slack <= value <= agent.upper(x, a, t) + slack, seed
            statistics = agent.statistics()
            assert statistics["rejected"] == statistics["contradictions"] == 0, seed
            assert statistics["survivors"] >= statistics["distinct_survivors"] >= 1
        assert total <= dimension, seed
        assert all(total - before <= promised for before, promised in promises), seed
        explored += total
        attained += total == dimension > 0
    # there was something to learn, and there were classes that cannot be learned faster
    assert explored > 50
    assert attained > 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_comparison_would_eliminate_the_truth(dtype):
    """So the tolerance is needed; and that of each dtype is enough for tables that are rounded once or summed in it."""
    lost = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        horizon = int(rng.integers(2, 40))
        next_state, tenths = rng.integers(4, size=(4, 2)), rng.integers(-5, 6, (4, 2))
        reward = 0.1 * tenths
        if seed % 2:
            exact_rewards = [[Fraction(int(k), 10) for k in row] for row in tenths]
            q = np.array(optimal_q(next_state.tolist(), exact_rewards, horizon)).astype(dtype)
        else:
            q = np.zeros((horizon, 4, 2), dtype=dtype)
            for t in reversed(range(horizon)):
                following = q[t + 1].max(axis=1)[next_state] if t + 1 < horizon else 0
                q[t] = reward.astype(dtype) + following
        other = q + rng.integers(0, 2, q.shape).astype(dtype)
        system = ocp.TableSystem(next_state, reward, initial_state=[0, 1, 2, 3], horizon=horizon)
        for tolerance in (None, 0.0):
            agent = ocp.OCP(ocp.FiniteClass([q, other], tolerance), replay=True)
            result = ocp.run(agent, system, 40, progress=False, keep_agents=True)
            statistics = result.agents[0].statistics()
            incoherent = statistics["rejected"] > 0
            if tolerance is None:
                assert not incoherent, seed
                assert all(
                    result.agents[0].lower(x, a, t) <= v <= result.agents[0].upper(x, a, t)
                    for (t, x, a), v in np.ndenumerate(q)
                )
            else:
                lost += incoherent
    assert lost > 20


# eluder dimension and independence


@pytest.mark.parametrize("seed", range(150))
def test_eluder_dimension_is_the_longest_sequence(seed, compared):
    rng = random.Random(seed)
    shape = rng.randint(1, 6), rng.randint(1, 2), rng.randint(1, 3), rng.randint(1, 2)
    most = rng.choice([1, 1, 2, 5])
    tables = np.array([rng.randint(0, most) for _ in range(int(np.prod(shape)))], dtype=float).reshape(shape)
    hypothesis = ocp.FiniteClass(tables)
    mappings = [as_mapping(table) for table in tables]
    places = list(np.ndindex(shape[1:]))
    dimension = reference_finite.eluder_dimension(mappings, places)
    assert hypothesis.eluder_dimension() == dimension
    distinct = {table.tobytes() for table in tables}
    assert dimension <= len(distinct) - 1
    assert len(hypothesis._distinct_tables()) == len(distinct)
    for _ in range(10):
        place, *others = (rng.choice(places) for _ in range(rng.randint(1, 4)))
        triple, *triples = ((x, a, t) for t, x, a in (place, *others))
        assert hypothesis._independent(triple, triples) == reference_finite.independent(mappings, place, others)
    compared("eluder dimension = definition", 1)


def test_eluder_dimension_of_known_classes():
    one_each = np.eye(40).reshape(40, 1, 40, 1)  # told apart one by one
    assert ocp.FiniteClass(one_each).eluder_dimension() == 39
    binary = np.array(list(itertools.product([0.0, 1.0], repeat=6))).reshape(64, 1, 6, 1)  # bit by bit
    assert ocp.FiniteClass(binary).eluder_dimension() == 6
    assert ocp.FiniteClass(np.zeros((5, 2, 3, 2))).eluder_dimension() == 0
    assert ocp.FiniteClass(np.repeat(one_each, 3, axis=0)).eluder_dimension() == 39


def test_eluder_dimension_of_large_classes_is_bounded():
    rng = np.random.default_rng(0)
    assert ocp.FiniteClass(rng.integers(0, 2, (3_000, 2, 5, 2))).eluder_dimension() == 20  # triples
    few = rng.integers(0, 2, (70, 10, 5, 2))
    assert ocp.FiniteClass(few).eluder_dimension() == 69  # tables
    hard = rng.integers(0, 2, (40, 100)).T
    assert longest_independent_sequence(hard, most=100) is None


def test_tables_closer_than_the_tolerance_are_one():
    tables = np.zeros((3, 1, 2, 1))
    tables[1] += 1e-12
    tables[2, 0, 1, 0] = 1.0
    assert ocp.FiniteClass(tables).eluder_dimension() == 1
    assert ocp.FiniteClass(tables, tolerance=0).eluder_dimension() == 2
    agent = ocp.OCP(ocp.FiniteClass(tables))
    assert agent.statistics()["distinct_survivors"] == 2
    assert agent.determined(0, 0)
    assert not agent.determined(1, 0)


# answers


def test_inf_of_max_is_not_max_of_inf():
    tables = np.zeros((2, 2, 1, 2))
    tables[0, 1, 0] = [0, 4]
    tables[1, 1, 0] = [3, 0]
    tables[:, 0] = 10.0
    tables[0, 0, 0, 0] = 5.0
    tables[1, 0, 0, 0] = 3.5
    agent = ocp.OCP(ocp.FiniteClass(tables, tolerance=0), update="period")
    agent.act(0)  # the second action is worth 10 under both
    agent.begin_episode()
    pair = Pair(tables)
    assert pair.literal.interval(0, 0, Fraction(1)) == (4, 5, False)  # 1 + [3, 4], not 1 + [0, 4]
    play = [(0, (0, 1.0)), (0, (0, 3.0))]
    test_ocp_reference.play_script(pair, *play)


def test_bounds_clip_answers():
    agent = ocp.OCP(ocp.FiniteClass(np.array([[[[5.0]]], [[[-5.0]]]])), bounds=(-1.0, 2.0))
    assert (agent.lower(0, 0), agent.upper(0, 0), agent.determined(0, 0)) == (-1.0, 2.0, False)
    agent.act(0)
    agent.observe(0, -5.0)  # below every possible value
    assert agent.statistics()["rejected"] == 1
    assert agent.statistics()["survivors"] == 2


def test_contradictions_are_counted():
    agent = ocp.OCP(ocp.FiniteClass(np.array([[[[5.0]]], [[[-5.0]]]])), selection="eluder")
    for n, (reward, survivors) in enumerate([(1.0, 2), (2.0, 2), (5.0, 1), (-5.0, 1)]):
        agent.act(0)
        agent.observe(0, reward)
        assert agent.statistics()["contradictions"] == min(n + 1, 2) + (n == 3)
        assert agent.statistics()["survivors"] == survivors
    assert agent.n_constraints == 1


def test_copies_share_the_tables_and_nothing_else():
    rng = np.random.default_rng(0)
    agent = ocp.OCP(ocp.FiniteClass(rng.integers(0, 3, (50, 2, 3, 2))))
    twin = agent.copy()
    for _ in range(3):
        x = 0
        for _ in range(2):
            twin.act(x)
            twin.observe(1, 1.0)
            x = 1
    assert twin.statistics()["survivors"] < agent.statistics()["survivors"] == 50


def test_runs_are_the_same_for_any_number_of_workers():
    rng = np.random.default_rng(1)
    case = Coherent(3, np.float32)
    agent = ocp.OCP(ocp.FiniteClass(case.hypothesis.tables + rng.normal(size=(1, 1, 1, 1))), ties="random")
    runs = [ocp.run(agent, case.system, 10, simulations=4, rng=0, workers=w, progress=False).rewards for w in (1, 3)]
    assert np.array_equal(*runs)


# odd input


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", DTYPES)
def test_tables_must_be_finite(bad, dtype):
    tables = np.ones((300, 4, 5, 2), dtype=dtype)
    tables[257, 1, 3, 0] = bad
    with pytest.raises(ValueError, match=r"tables\[257\]"):
        ocp.FiniteClass(tables)


@pytest.mark.parametrize(
    "shape", [(), (3,), (3, 2, 2), (1, 1, 2, 3, 2), (0, 2, 3, 2), (2, 0, 2, 2), (2, 3, 0, 1), (2, 3, 1, 0)]
)
def test_shape_of_the_tables(shape):
    with pytest.raises(ValueError, match="tables: expected shape"):
        ocp.FiniteClass(np.ones(shape))


def test_tables_must_be_numbers():
    for tables in ([[[["a"]]]], np.ones((1, 1, 1, 1), dtype=complex), np.ones((1, 1, 1, 1), dtype=bool), [[[[None]]]]):
        with pytest.raises(TypeError, match="tables"):
            ocp.FiniteClass(tables)
    with pytest.raises(ValueError, match="tables"):
        ocp.FiniteClass([[[[1.0, 2.0]]], [[[1.0]]]])


@pytest.mark.parametrize("tolerance", [-1e-9, 1.0, np.nan, np.inf, "1e-9", True])
def test_tolerance_must_be_small(tolerance):
    with pytest.raises((TypeError, ValueError), match="tolerance"):
        ocp.FiniteClass(np.ones((1, 1, 1, 1)), tolerance)


def test_dtype_is_kept_and_integers_become_float64():
    for given, kept in ((np.float32, np.float32), (">f4", np.float32), (np.float64, np.float64), (np.int8, np.float64),
                        (np.uint64, np.float64), (np.float16, np.float64)):  # fmt: skip
        tables = np.arange(24).reshape(2, 3, 2, 2).astype(given)
        hypothesis = ocp.FiniteClass(tables)
        assert hypothesis.tables.dtype == kept
        assert np.array_equal(hypothesis.tables, tables)
        assert hypothesis.tolerance == (4 * 2.0**-23 if kept is np.float32 else 1e-9)


def test_tables_are_copied_and_read_only():
    tables = np.zeros((2, 1, 1, 1))
    hypothesis = ocp.FiniteClass(tables)
    agent = ocp.OCP(hypothesis)
    tables[:] = 7.0
    assert agent.upper(0, 0) == 0.0
    with pytest.raises(ValueError, match="read-only"):
        hypothesis.tables[0] = 1.0
    del hypothesis, tables
    assert agent.upper(0, 0) == 0.0


def test_layout_of_the_tables_does_not_matter():
    tables = np.random.default_rng(0).normal(size=(3, 4, 2, 70))
    upside_down = np.moveaxis(tables, -1, 0)[::-1]
    agent = ocp.OCP(ocp.FiniteClass(upside_down))
    for t, x, a in np.ndindex(3, 4, 2):
        assert agent.upper(x, a, t) == tables[t, x, a].max()
        assert agent.lower(x, a, t) == tables[t, x, a].min()


def test_identity():
    tables = np.arange(8.0).reshape(2, 2, 1, 2)
    one, two = ocp.FiniteClass(tables), ocp.FiniteClass(tables.copy())
    assert one == two
    assert hash(one) == hash(two)
    assert one == pickle.loads(pickle.dumps(one)) == copy.deepcopy(one)
    for other in (ocp.FiniteClass(tables + 1), ocp.FiniteClass(tables, 1e-3), ocp.FiniteClass(tables.astype("f4")), 3):
        assert one != other
    assert (one.n_hypotheses, one.horizon, one.n_states, one.n_actions) == (2, 2, 1, 2)
    assert repr(one) == "FiniteClass(<2 tables of shape (2, 1, 2), float64>, tolerance=1e-09)"


def test_selection_first_is_refused():
    with pytest.raises(ValueError, match="selection: expected 'all', 'eluder' or 'window' for a finite class"):
        ocp.OCP(ocp.FiniteClass(np.ones((1, 1, 1, 1))), selection="first")


def test_independence_of_bad_triples():
    hypothesis = ocp.FiniteClass(np.ones((1, 2, 3, 4)))
    for triple, name in (((3, 0, 0), "state"), ((0, 4, 0), "action"), ((0, 0, 2), "period"), ((0, 0, -1), "period")):
        with pytest.raises(ValueError, match=name):
            hypothesis._independent(triple, [])
        with pytest.raises(ValueError, match=name):
            hypothesis._independent((0, 0, 0), [triple])


@pytest.mark.parametrize("value", [1e30, 3e38, 1e-30])
def test_values_at_the_ends_of_float32(value):
    """Intervals beyond what float32 holds admit what they should."""
    tables = np.array([value, -value], dtype=np.float32).reshape(2, 1, 1, 1)
    agent = ocp.OCP(ocp.FiniteClass(tables))
    for reward in (1e80, -1e80):  # nothing has it
        agent.act(0)
        agent.observe(0, reward)
    assert agent.statistics()["survivors"] == 2
    assert agent.statistics()["rejected"] == 2
    agent.act(0)
    agent.observe(0, float(np.float32(value)))
    assert agent.statistics()["survivors"] == (1 if value > 1 else 2)
