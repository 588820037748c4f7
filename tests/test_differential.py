"""What must be the same, found in different ways: classes that contain each other, stepping and `run`, three solvers.

Each class against the literal algorithm is in its own test file; scalar against SIMD in test_lanes.py. The table at the
end of the output of pytest counts the random cases of all of them.
"""

import itertools
import random

import numpy as np
import pytest
import saving_cases
import test_linear_store
import test_store
from reference import INFINITY, random_table
from scipy.optimize import linprog
from test_linear import near
from test_ocp_reference import dense
from test_running import by_hand
from test_stateful import everything

import ocpfast as ocp
from ocpfast import _core, _highs

_highs.load()


# one interval a cell: a box, indicator features, and a polytope whose other rows say nothing new


def box_rows(low, high):
    """a_ub, b_ub of a box, and of sums of two coordinates, which follow from it but make it no box to look at."""
    unit = np.eye(len(low))
    a, b = [*unit, *-unit], [*high, *(-bound for bound in low)]
    for i, j in itertools.combinations(range(len(low)), 2):
        a.append(unit[i] + unit[j])
        b.append(high[i] + high[j])
    return np.array(a), np.array(b)


class Stores:
    """The same constraints in stores of each kind, one interval a cell, prior bounds that are finite or none."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.n = n = rng.randint(1, 3)
        bounded = rng.random() < 0.5
        low, high = (np.full(n, -2.0), np.full(n, 1.5)) if bounded else (np.full(n, -INFINITY), np.full(n, INFINITY))
        window = rng.choice([0, 0, 2])
        options = {"selection": _core.Selection.window if window else _core.Selection.all, "window": window}
        rows = box_rows(low, high) if bounded else (np.empty((0, n)), np.empty(0))
        self.box = _core.BoxStore(low, high, **options)
        self.others = [_core.LinearStore(np.eye(n), *rows, **options)]
        if bounded:
            self.others.append(_core.LinearStore(np.eye(n), *(part[: 2 * n] for part in rows), **options))

    def step(self):
        draw, held = self.rng.random(), [*self.box.kept(), *self.box.rejected()]
        if draw < 0.2 and held:
            sequence = self.rng.choice(held)[0]
            assert all(store.erase(sequence) for store in (self.box, *self.others))
        elif draw < 0.3:
            for store in (self.box, *self.others):
                store.end_episode()
        else:
            constraint = self.rng.randrange(self.n), *test_store.random_interval(self.rng)
            sequence = self.box.insert(*constraint)
            assert all(store.insert(*constraint) == sequence for store in self.others)

    def compare(self):
        lowers = []
        for k in range(self.n):
            low, high = self.box.interval(k)
            lowers.append(low)
            for store in self.others:
                assert near(store.lower(k), low) and near(store.upper(k), high)
        for store in self.others:
            assert sorted(store.kept()) == sorted(self.box.kept())
            assert sorted(store.rejected()) == sorted(self.box.rejected())
            assert near(store.infimum_of_maximum(list(range(self.n))), max(lowers))


def test_stores_of_a_box(compared):
    for seed in range(1_500):
        stores = Stores(seed)
        for _ in range(15):
            stores.step()
            stores.compare()
    compared("box store = linear store = polytope store", 1_500)


class Classes:
    """Agents over the same cells: state aggregation, indicator features, and a polytope of them, in a random system.

    identity: every state and action is a cell, and the system does what it did before; else observations contradict
    each other and the class. bounds: of the values; the polytope has them as rows, too.
    """

    def __init__(self, seed, homogeneous, identity, bounds, **options):
        self.rng = rng = random.Random(seed)
        self.n_states, self.n_actions, self.horizon = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3)
        stationary = options["replay"] == "stationary" or homogeneous
        self.next_state, self.reward = random_table(
            rng, self.n_states, self.n_actions, self.horizon, stationary, number=float
        )
        self.noise, n_cells = rng.choice([0.0, 0.3]), self.n_states * self.n_actions
        labels = [rng.randrange(rng.randint(1, n_cells)) for _ in range(n_cells)]
        if identity:
            self.noise, labels = 0.0, range(n_cells)
        labels = dense(np.reshape(labels, (self.n_states, self.n_actions)))
        phi = np.eye(labels.max() + 1)[labels]
        self.periods = periods = None if homogeneous else self.horizon
        classes = [
            ocp.StateAggregation(labels, self.n_actions, horizon=periods, lower="exact"),
            ocp.LinearFeatures(phi, horizon=periods),
        ]
        if bounds is not None and not (homogeneous and options["replay"]):  # whose sweeps ask thousands of programs
            rows = box_rows(*(np.full(phi.shape[-1], bound) for bound in bounds))
            classes.append(ocp.Polytope(phi, *rows, horizon=periods, shared=homogeneous))
        assert len({hypothesis.eluder_dimension() for hypothesis in classes}) == 1
        self.cells, *self.others = (ocp.OCP(hypothesis, bounds=bounds, **options) for hypothesis in classes)

    def outcome(self, t, x, a):
        if self.rng.random() < self.noise:
            return self.rng.randrange(self.n_states), self.rng.randint(-4, 4) / 2
        return self.next_state[t][x][a], self.reward[t][x][a]

    def episode(self):
        x = self.rng.randrange(self.n_states)
        for t in range(self.horizon):
            a = self.cells.act(x)
            assert [agent.act(x) for agent in self.others] == [a] * len(self.others)
            x, r = self.outcome(t, x, a)
            ending = {"terminated": self.noise > 0 and self.rng.random() < 0.1, "truncated": t == self.horizon - 1}
            ended = self.cells.observe(x, r, **ending)
            assert all(agent.observe(x, r, **ending) == ended for agent in self.others)
            if ended:
                break

    def compare(self, questions):
        for t, x, a in np.ndindex(self.periods or 1, self.n_states, self.n_actions):
            for name, agent in itertools.product(questions, self.others):
                expected = getattr(self.cells, name)(x, a, t)
                assert near(getattr(agent, name)(x, a, t), expected), (name, x, a, t, agent)


METHODS = [
    (selection, replay, update)
    for selection, replay, update in itertools.product(
        ("all", "eluder", "window"), (False, True, "stationary"), ("episode", "period")
    )
    if not (selection == "window" and replay)
]


@pytest.mark.parametrize("homogeneous", [False, True], ids=["periods", "homogeneous"])
@pytest.mark.parametrize("selection, replay, update", METHODS)
def test_indicator_features_are_aggregation(selection, replay, update, homogeneous, compared):
    """Actions and values, also where observations contradict each other and the class."""
    cases = 0
    for ties, case in itertools.product(("first", "directed", "least_visited"), range(4)):
        options = {"selection": selection, "replay": replay, "update": update, "ties": ties}
        if selection == "window":
            options["window"] = 1 + case % 3
        # Far off, but what they alone say is not determined to aggregation. A discount, so that replay comes to rest.
        bounds = None
        if homogeneous:
            bounds, options["discount"] = (-16.0, 16.0), 0.5
        elif case % 2 and selection != "eluder" and ties != "directed":
            bounds = (-64.0, 64.0)
        # Aggregation counts visits to cells, replays the least reward between two cells, and with selection="eluder"
        # so learns another of several values that contradict each other.
        identity = ties == "least_visited" or (selection == "eluder" and bool(replay))
        classes = Classes(f"{options} {homogeneous} {case}", homogeneous, identity, bounds, **options)
        questions = ["upper"]
        if identity or not replay:
            questions.append("lower")
        if bounds is None:
            questions.append("determined")
        for _ in range(6):
            classes.episode()
            classes.compare(questions)
        cases += 1
    compared("aggregation = indicator features = polytope", cases)


# one parameter for each triple


class Tables:
    """A table, cells that are its triples, and a list of all tables of integers within bounds."""

    most = 2

    def __init__(self, seed, **options):
        self.rng = rng = random.Random(seed)
        self.shape = rng.choice([(1, 1, 2), (1, 2, 2), (2, 1, 2), (2, 2, 1), (1, 2, 1), (3, 1, 1), (2, 1, 1)])
        horizon, n_states, n_actions = self.shape
        stationary = options["replay"] == "stationary"
        self.next_state, reward = random_table(rng, n_states, n_actions, horizon, stationary, number=float)
        self.reward = (np.array(reward) / 2).round().tolist()
        self.noise = 0.0 if options["replay"] else 0.3
        values = range(-self.most, self.most + 1)
        tables = np.array(list(itertools.product(values, repeat=int(np.prod(self.shape))))).reshape(-1, *self.shape)
        bounds = (-float(self.most), float(self.most))
        labels = np.arange(n_states * n_actions).reshape(n_states, n_actions)
        self.table = ocp.OCP(ocp.TabulaRasa(n_states, n_actions, horizon, lower="exact"), bounds=bounds, **options)
        cells = ocp.StateAggregation(labels, n_actions, horizon, lower="exact")
        self.others = [ocp.OCP(cells, bounds=bounds, **options), ocp.OCP(ocp.FiniteClass(tables), **options)]

    def episode(self):
        horizon, n_states, _ = self.shape
        x = self.rng.randrange(n_states)
        for t in range(horizon):
            a = self.table.act(x)
            assert [agent.act(x) for agent in self.others] == [a, a]
            x, r = self.next_state[t][x][a], self.reward[t][x][a]
            if self.rng.random() < self.noise:
                x, r = self.rng.randrange(n_states), float(self.rng.randint(-3, 3))
            ended = [agent.observe(x, r) for agent in (self.table, *self.others)]
            assert ended == [t == horizon - 1] * 3

    def compare(self):
        cells, finite = self.others
        for t, x, a in np.ndindex(self.shape):
            low, high = self.table.lower(x, a, t), self.table.upper(x, a, t)
            for agent in self.others:
                assert (agent.lower(x, a, t), agent.upper(x, a, t)) == (low, high)
            assert cells.determined(x, a, t) == self.table.determined(x, a, t)
            assert finite.determined(x, a, t) == (low == high)


@pytest.mark.parametrize("ties", ["first", "least_visited"])
@pytest.mark.parametrize(
    "options",
    [
        {"replay": False},
        {"replay": False, "selection": "window", "window": 2},
        {"replay": True},
        {"replay": True, "update": "period"},
        {"replay": "stationary"},
    ],
    ids=str,
)
def test_all_tables_are_a_table(options, ties, compared):
    cases = 150
    for case in range(cases):
        tables = Tables(f"{options} {ties} {case}", ties=ties, **options)
        for _ in range(8):
            tables.episode()
            tables.compare()
    compared("tabula rasa = aggregation = finite class", cases)


# stepping and run


def system_for(kind, agent, rng):
    """A system in which an agent of saving_cases.py can act."""
    horizon = 5 if isinstance(agent, ocp.RandomPolicy) else agent._domain.horizon or 5
    if kind in (saving_cases.grid, saving_cases.open_features):
        return ocp.InvertedPendulum(disturbance=2.5, horizon=horizon)
    if kind in (saving_cases.quadratic, saving_cases.quadratic_list):
        listed = getattr(agent.hypothesis, "actions", None)
        world = saving_cases.LinearWorld(rng)
        return ocp.LinearQuadratic(world.a, world.b, np.eye(2), np.eye(1), horizon, initial_scale=1.0, actions=listed)
    shape = (horizon, 6, 3)
    following = np.where(rng.random(shape) < 0.1, -1, rng.integers(0, 6, shape))
    reward = rng.choice([0.0, 0.25, 1.0], shape)
    if kind is saving_cases.sigmoid:
        reward *= (following < 0) | (np.arange(horizon) == horizon - 1)[:, None, None]
    return ocp.TableSystem(following, reward, initial_state=np.full(6, 1 / 6))


@pytest.mark.filterwarnings("ignore:a time-homogeneous class without bounds")
@pytest.mark.parametrize("kind", saving_cases.KINDS, ids=lambda kind: kind.__name__)
def test_run_is_stepping_to_the_last_bit(kind, compared):
    """In agents of every class, options at random: what they know afterwards, and where their generators are."""
    cases = {"sparse_programs": 1, "open_features": 6, "polytope": 20}.get(kind.__name__, 40)
    for seed in range(cases):
        agent, _ = saving_cases.made(kind, 1_000 + seed)
        system = system_for(kind, agent, np.random.default_rng(seed))
        result = ocp.run(agent, system, 6, 2, rng=seed, workers=1, progress=False, keep_agents=True)
        for i, (system_rng, agent_rng) in enumerate(ocp.simulation_streams(seed, 2)):
            mine = agent.copy(agent_rng)
            assert by_hand(mine, system, 6, system_rng) == pytest.approx(result.rewards[i], rel=1e-12, abs=1e-12)
            assert everything(mine)[:2] == everything(result.agents[i])[:2], seed
    compared("stepping = run", 2 * cases)


# three solvers: ours from the last basis, ours from scratch, scipy's


def by_scipy(objective, rows):
    """The largest objective.theta; None if no theta satisfies the rows (coefficients, lower, upper)."""
    a, b = [], []
    for coefficients, lower, upper in rows:
        if upper < INFINITY:
            a.append(coefficients)
            b.append(upper)
        if lower > -INFINITY:
            a.append([-c for c in coefficients])
            b.append(-lower)
    # presolve calls some unbounded programs infeasible
    answer = linprog(
        -np.array(objective, dtype=float), A_ub=np.array(a, dtype=float).reshape(len(a), len(objective)), b_ub=b,
        bounds=(None, None), method="highs-ds", options={"presolve": False},
    )  # fmt: skip
    assert answer.status in (0, 2, 3), answer.message
    return {0: lambda: -answer.fun, 2: lambda: None, 3: lambda: INFINITY}[answer.status]()


class Programs(test_linear_store.Case):
    """A store that is asked again and again, and new ones that are asked once; of integers, or of Gaussian features."""

    def __init__(self, seed):
        super().__init__(seed, dimension=4, operations=14)
        if self.rng.random() < 0.4:
            factors = np.random.default_rng(seed).standard_normal((len(self.features), self.dimension))
            self.features = [tuple(row) for row in (np.array(self.features) * factors).tolist()]
        while not self.prior_rows and self.rng.random() < 0.8:  # without rows few questions need a program
            self.prior_rows = test_linear_store.random_prior(self.rng, self.dimension)
        self.warm = self.store()
        self.solved = 0  # programs
        self.kinds = set()

    def ask(self):
        """One question, or whether what was rejected is indeed infeasible."""
        rng, kept = self.rng, sorted(self.warm.kept(), key=lambda row: (row[3], -row[0]))
        rows = [*self.prior_rows, *((self.features[i], low, high) for _, i, low, high in kept)]
        cold = test_linear_store.make_store(self.features, self.prior_rows)
        for _, *constraint in sorted(kept):
            cold.insert(*constraint)
        before = self.warm.lps
        i = rng.randrange(len(self.features))
        phi = np.array(self.features[i])
        several = rng.sample(range(len(self.features)), min(3, len(self.features)))
        epigraph = [([*c, 0.0], low, high) for c, low, high in rows]
        epigraph += [([*self.features[k], -1.0], -INFINITY, 0.0) for k in several]
        below = by_scipy(-phi, rows)
        least = by_scipy([0.0] * self.dimension + [-1.0], epigraph)
        for store in (self.warm, cold):
            self.expect("upper", store.upper(i), by_scipy(phi, rows))
            self.expect("lower", store.lower(i), -below)
            self.expect("inf-max", store.infimum_of_maximum(several), -least)
        self.solved += self.warm.lps > before
        for sequence, index, low, high in self.warm.rejected():
            earlier = [row for row in kept if (row[3], -row[0]) < (high, -sequence)]
            rows = [*self.prior_rows, *((self.features[k], low, high) for _, k, low, high in earlier)]
            found = by_scipy(np.zeros(self.dimension), [*rows, (self.features[index], low, high)])
            assert found is None, self.message(f"{sequence} was rejected")
            self.kinds.add("infeasible")

    def expect(self, what, actual, expected):
        self.kinds.add("unbounded" if abs(expected) == INFINITY else "bounded")
        assert near(actual, expected), self.message(f"{what}: compiled {actual}, scipy {expected}")


@pytest.mark.parametrize("block", range(3))
def test_warm_is_cold_is_scipy(block, compared):
    cases, kinds, solved = 40, set(), 0
    for number in range(cases):
        programs = Programs(3_000_000 + cases * block + number)
        for _ in range(programs.operations):
            index, low, high = programs.random_constraint()
            programs.trace.append(f"insert({index}, {low}, {high})")
            programs.warm.insert(index, float(low), float(high))
            if programs.rng.random() < 0.5:
                programs.ask()
        kinds |= programs.kinds
        solved += programs.solved
    assert kinds == {"bounded", "unbounded", "infeasible"} and solved > cases / 2
    compared("programs: HiGHS warm = cold = scipy", cases)
