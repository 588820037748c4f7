"""The exact linear programs and the literal linear algorithm against scipy and against hand-made cases."""

import random
from fractions import Fraction

import numpy as np
import pytest
from reference import INFINITY, Constraint, LiteralOCP, optimal_q, random_table, select, table_cells
from reference_linear import (
    LiteralLinearOCP,
    Span,
    eluder_dimension,
    feasible,
    implicit_equalities,
    infimum,
    infimum_of_maximum,
    polytope_nonempty,
    supremum,
)
from scipy.optimize import linprog


def random_rows(rng, dimension, n_rows):
    rows = []
    for _ in range(n_rows):
        coefficients = tuple(Fraction(rng.randint(-2, 2), rng.choice([1, 1, 3])) for _ in range(dimension))
        low, high = sorted(rng.randint(-3, 3) for _ in range(2))
        intervals = [(low, high), (low, low), (-INFINITY, high), (low, INFINITY), (-INFINITY, INFINITY)]
        rows.append((coefficients, *rng.choice(intervals)))
    return rows


def scipy_supremum(objective, rows):
    """(status, value) with HiGHS: 0 optimal, 2 infeasible, 3 unbounded."""
    a_ub, b_ub, a_eq, b_eq = [], [], [], []
    for coefficients, lower, upper in rows:
        coefficients = [float(c) for c in coefficients]
        if lower == upper:
            a_eq.append(coefficients)
            b_eq.append(float(upper))
            continue
        if upper < INFINITY:
            a_ub.append(coefficients)
            b_ub.append(float(upper))
        if lower > -INFINITY:
            a_ub.append([-c for c in coefficients])
            b_ub.append(-float(lower))
    solution = linprog(
        [-float(c) for c in objective], A_ub=a_ub or None, b_ub=b_ub or None, A_eq=a_eq or None, b_eq=b_eq or None,
        bounds=(None, None), options={"presolve": False},
    )  # fmt: skip
    return solution.status, -solution.fun if solution.status == 0 else INFINITY


@pytest.mark.parametrize("seed", range(300))
def test_exact_programs_agree_with_highs(seed):
    rng = random.Random(seed)
    dimension = rng.randint(1, 4)
    rows = random_rows(rng, dimension, rng.randint(1, 8))
    objective = [rng.randint(-2, 2) for _ in range(dimension)]
    status, value = scipy_supremum(objective, rows)
    assert feasible(rows) == (scipy_supremum([0] * dimension, rows)[0] != 2)
    if not feasible(rows):
        with pytest.raises(ValueError, match="no solution"):
            supremum(objective, rows)
        return
    assert status in (0, 3)
    assert float(supremum(objective, rows)) == pytest.approx(value, abs=1e-7)
    objectives = [tuple(rng.randint(-2, 2) for _ in range(dimension)) for _ in range(rng.randint(1, 3))]
    extended = [((*c, 0), low, high) for c, low, high in rows] + [((*o, -1), -INFINITY, 0) for o in objectives]
    _, value = scipy_supremum([0] * dimension + [-1], extended)
    assert float(infimum_of_maximum(objectives, rows)) == pytest.approx(-value, abs=1e-7)


def test_supremum_without_rows():
    assert supremum([0, 0], []) == 0
    assert supremum([1, 0], []) == INFINITY
    assert infimum([1, 0], []) == -INFINITY


def test_inf_max_is_not_max_inf():
    """theta in [-1, 1]: the larger of theta and -theta is never below 0, but either alone can be -1."""
    rows = [((1,), -1, 1)]
    assert infimum_of_maximum([(1,), (-1,)], rows) == 0
    assert max(infimum((1,), rows), infimum((-1,), rows)) == -1


def test_optimum_is_exact():
    rows = [((3, 1), -INFINITY, 1), ((-1, 3), -INFINITY, 1)]
    assert supremum((1, 2), rows) == Fraction(1)
    assert supremum((0, 1), rows) == Fraction(2, 5)
    assert supremum((-1, 0), rows) == INFINITY


@pytest.mark.parametrize("seed", range(20))
def test_span_is_numpy_rank(seed):
    rng = random.Random(seed)
    vectors = [[rng.randint(-1, 1) for _ in range(4)] for _ in range(rng.randint(1, 6))]
    span = Span(vectors[:-1])
    assert span.rank == np.linalg.matrix_rank(np.array(vectors[:-1]).reshape(-1, 4))
    assert span.contains(vectors[-1]) == (np.linalg.matrix_rank(vectors) == span.rank)


def test_implicit_equalities():
    simplex = [((1, 1), -INFINITY, 1), ((-1, -1), -INFINITY, -1), ((-1, 0), -INFINITY, 0), ((0, -1), -INFINITY, 0)]
    assert implicit_equalities(simplex) == [(1, 1), (-1, -1)]
    assert eluder_dimension([[(1, 0), (0, 1)]], simplex) == 1
    assert eluder_dimension([[(1, 0), (0, 1)], [(1, 1), (2, 2)]]) == 3
    point = [((1, 0), -INFINITY, 0), ((0, 1), -INFINITY, 0), ((-1, -1), -INFINITY, 0)]
    assert eluder_dimension([[(1, 0), (0, 1)]], point) == 0


def test_walk_of_a_polytope():
    """Two features and their sum: the sum contradicts the two only together."""
    features = [(1, 0), (0, 1), (1, 1)]
    constraints = [Constraint(0, 1, 1, 0), Constraint(1, 2, 2, 1), Constraint(2, 5, 5, 2), Constraint(2, 0, 0, 3)]
    kept = select(constraints, polytope_nonempty(features))
    assert [c.sequence for c in kept] == [3, 0]
    kept = select(constraints[:3], polytope_nonempty(features))
    assert [c.sequence for c in kept] == [0, 1]
    kept = select(constraints[:3], polytope_nonempty(features, [((1, 0), 2, INFINITY)]))
    assert [c.sequence for c in kept] == [1, 2]


@pytest.mark.parametrize("replay", [False, True, "stationary"])
@pytest.mark.parametrize("update", ["episode", "period"])
@pytest.mark.parametrize("seed", range(10))
def test_indicator_features_are_a_table(seed, update, replay):
    rng = random.Random(seed)
    n_states, n_actions, horizon = rng.randint(1, 3), 2, rng.randint(1, 3)
    next_state, reward = random_table(rng, n_states, n_actions, horizon, stationary=replay == "stationary")
    places = [(x, a) for x in range(n_states) for a in range(n_actions)]

    def indicator(t, x, a):
        return tuple(Fraction(place == (x, a)) for place in places)

    options = {"replay": replay, "update": update}
    table = LiteralOCP(table_cells, int, n_actions, horizon, **options)
    linear = LiteralLinearOCP(indicator, n_actions, horizon, **options)
    for _ in range(6):
        x = rng.randrange(n_states)
        for t in range(horizon):
            a = table.act(x)
            assert linear.act(x) == a
            y, r = next_state[t][x][a], reward[t][x][a]
            assert table.observe(y, r) == linear.observe(y, r)
            x = y
        for t in range(horizon):
            for x, a in places:
                assert table.upper(t, x, a) == linear.upper(t, x, a)
                assert table.lower(t, x, a) == linear.lower(t, x, a)
                assert (linear.lower(t, x, a) == linear.upper(t, x, a)) == linear.determined(t, x, a)


@pytest.mark.parametrize("selection", ["all", "eluder"])
@pytest.mark.parametrize("seed", range(20))
def test_theorem_1_exactly(seed, selection):
    rng = random.Random(seed)
    n_states, n_actions, horizon, n_features = 3, 2, 3, rng.randint(1, 3)
    next_state, reward = random_table(rng, n_states, n_actions, horizon)
    q = optimal_q(next_state, reward, horizon)
    noise = {}

    def phi(t, x, a):
        others = noise.setdefault((t, x, a), tuple(Fraction(rng.randint(-2, 2)) for _ in range(n_features - 1)))
        return q[t][x][a], *others

    places = [(t, x, a) for t in range(horizon) for x in range(n_states) for a in range(n_actions)]
    blocks = [[phi(t, x, a) for x in range(n_states) for a in range(n_actions)] for t in range(horizon)]
    agent = LiteralLinearOCP(phi, n_actions, horizon, selection=selection)
    suboptimal = 0
    for _ in range(25):
        start = x = rng.randrange(n_states)
        total = 0
        for t in range(horizon):
            a = agent.act(x)
            x, r = next_state[t][x][a], reward[t][x][a]
            total += r
            agent.observe(x, r)
        suboptimal += total < max(q[0][start])
        assert all(agent.lower(*place) <= q[place[0]][place[1]][place[2]] <= agent.upper(*place) for place in places)
        assert not agent.rejected()
    assert agent.contradictions == 0
    assert suboptimal <= eluder_dimension(blocks)
    if selection == "eluder":
        assert len(agent.constraints()) <= eluder_dimension(blocks)
