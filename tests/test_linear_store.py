"""The compiled store of a linear class against the literal walk of Algorithm 1, after every operation.

All data are small integers, so that a gap is 0 or clearly not. A failing case names its seed: check(seed).
"""

import random

import numpy as np
import pytest
from reference import INFINITY, Constraint, priority_order, select
from reference_linear import (
    Span,
    feasible,
    implicit_equalities,
    infimum,
    infimum_of_maximum,
    polytope_nonempty,
    polytope_rows,
    supremum,
)

from ocpfast import _core, _highs

_highs.load()
BLOCKS, CASES = 10, 200
LARGE_BLOCKS, LARGE_CASES = 4, 75


class Mirror:
    """What the store should hold, with the methods of the store."""

    def __init__(self, features, prior_rows, window=0):
        self.features, self.prior_rows, self.window = features, prior_rows, window
        self.nonempty = polytope_nonempty(features, prior_rows)
        self.held = []  # the newest of identical ones
        self.episode = 0

    def droppable(self, constraint):
        says_nothing = constraint.lower == -INFINITY and constraint.upper == INFINITY
        return says_nothing or not self.nonempty([constraint])

    def insert(self, constraint):
        if not self.droppable(constraint):
            self.held = [c for c in self.held if not same(c, constraint)] + [constraint]

    def erase(self, sequence):
        self.held = [c for c in self.held if c.sequence != sequence]

    def end_episode(self):
        if self.window:
            self.held = [c for c in self.held if c.episode > self.episode - self.window]
        self.episode += 1

    def kept(self):
        return select(self.held, self.nonempty)

    def rejected(self):
        kept = self.kept()
        return [c for c in priority_order(self.held) if c not in kept]

    def rows(self):
        return polytope_rows(self.features, self.kept(), self.prior_rows)

    def upper(self, index):
        return supremum(self.features[index], self.rows())

    def lower(self, index):
        return infimum(self.features[index], self.rows())

    def infimum_of_maximum(self, indices):
        return infimum_of_maximum([self.features[index] for index in indices], self.rows())


def same(c, d):
    return (c.index, c.lower, c.upper) == (d.index, d.lower, d.upper)


def as_rows(constraints):
    return [(c.sequence, c.index, c.lower, c.upper) for c in constraints]


def equal(actual, expected):
    """Infinities exactly, other numbers within 1e-7."""
    if abs(expected) == INFINITY:
        return actual == expected
    return abs(actual - expected) <= 1e-7 * max(1, abs(expected))


# random data


def random_features(rng, dimension, n):
    """Integer vectors, among them zero, duplicate, parallel and dependent ones; sometimes of deficient rank."""
    rank = rng.choice([dimension, dimension, dimension, rng.randint(1, dimension)])
    features = []
    for _ in range(n):
        draw = rng.random()
        if draw < 0.05:
            feature = [0] * dimension
        elif draw < 0.15 and features:
            feature = rng.choice(features)
        elif draw < 0.25 and features:
            factor = rng.choice([-2, -1, 2, 3])
            feature = [factor * f for f in rng.choice(features)]
        elif draw < 0.4 and len(features) >= 2:
            feature = [f + g for f, g in zip(*rng.sample(features, 2), strict=True)]
        else:
            feature = [rng.randint(-2, 2) for _ in range(rank)] + [0] * (dimension - rank)
        features.append(tuple(feature))
    return features


def random_prior(rng, dimension):
    """Rows coefficients.theta <= bound that have a solution; usually none at all."""
    draw = rng.random()
    unit = [tuple(int(k == j) for j in range(dimension)) for k in range(dimension)]
    if draw < 0.6:
        rows = []
    elif draw < 0.7:  # a box
        rows = [row for e in unit for row in ((e, 3), (tuple(-c for c in e), 2))]
    elif draw < 0.8:  # a simplex: an equality in two halves
        ones = (1,) * dimension
        rows = [(ones, 4), (tuple(-c for c in ones), -4), *((tuple(-c for c in e), 0) for e in unit)]
    elif draw < 0.9:  # unbounded
        rows = [(rng.choice(unit), rng.randint(-1, 2))]
    else:
        theta = [rng.randint(-2, 2) for _ in range(dimension)]
        rows = []
        for _ in range(rng.randint(1, 2 * dimension)):
            a = tuple(rng.randint(-2, 2) for _ in range(dimension))
            rows.append((a, sum(c * x for c, x in zip(a, theta, strict=True)) + rng.randint(0, 3)))
    rows = [(a, -INFINITY, b) for a, b in rows]
    assert feasible(rows)
    return rows


def random_interval(rng, centre):
    """An interval round a value, or none in particular."""
    if centre is None:
        low, high = sorted(rng.randint(-5, 5) for _ in range(2))
    else:
        low, high = centre - rng.randint(0, 3), centre + rng.randint(0, 3)
    draw = rng.random()
    if draw < 0.04:
        return -INFINITY, INFINITY
    if draw < 0.25:
        return -INFINITY, high
    if draw < 0.35:
        return low, INFINITY
    if draw < 0.65:
        value = high if centre is None else centre
        return value, value
    return low, high


def make_store(features, prior_rows=(), **options):
    features, prior_rows = np.array(features, dtype=float), list(prior_rows)
    a = np.array([row[0] for row in prior_rows], dtype=float).reshape(-1, features.shape[1])
    b = np.array([row[2] for row in prior_rows], dtype=float)
    equalities = implicit_equalities(prior_rows)
    return _core.LinearStore(features, a, b, [row[0] in equalities for row in prior_rows], **options)


class Case:
    """One store and its mirror, and the random operations on both."""

    def __init__(self, seed, dimension, operations):
        self.rng = rng = random.Random(seed)
        self.dimension = rng.randint(1, dimension)
        self.operations = rng.randint(1, operations)
        self.features = random_features(rng, self.dimension, rng.randint(1, 3 * self.dimension + 2))
        self.prior_rows = random_prior(rng, self.dimension)
        self.theta = [rng.randint(-2, 2) for _ in range(self.dimension)]
        self.coherent = rng.choice([0.0, 0.5, 0.9, 1.0])  # how often a constraint is true of theta
        self.trace = [
            f"seed {seed}: features {self.features}",
            f"prior {[(row[0], row[2]) for row in self.prior_rows]}",
        ]

    def store(self, **options):
        self.trace.append(f"options {options}")
        return make_store(self.features, self.prior_rows, **options)

    def random_constraint(self):
        index = self.rng.randrange(len(self.features))
        centre = None
        if self.rng.random() < self.coherent:
            centre = sum(c * x for c, x in zip(self.features[index], self.theta, strict=True))
        return index, *random_interval(self.rng, centre)

    def message(self, what=""):
        return "\n  ".join([what, *self.trace])

    def compare(self, store, mirror, questions):
        def expect(what, actual, expected):
            ok = equal(actual, expected) if isinstance(actual, float) else actual == expected
            assert ok, self.message(f"{what}: compiled {actual}, literal {expected}")

        expect("kept", sorted(tuple(row) for row in store.kept()), sorted(as_rows(mirror.kept())))
        expect("rejected", sorted(tuple(row) for row in store.rejected()), sorted(as_rows(mirror.rejected())))
        indices = range(len(self.features))
        for index in self.rng.sample(indices, min(questions, len(indices))):
            expect(f"upper({index})", store.upper(index), mirror.upper(index))
            expect(f"lower({index})", store.lower(index), mirror.lower(index))
        several = self.rng.sample(indices, min(self.rng.randint(1, 4), len(indices)))
        expect(f"inf-max({several})", store.infimum_of_maximum(several), mirror.infimum_of_maximum(several))


def check(seed, dimension=4, operations=15, questions=2):
    case = Case(seed, dimension, operations)
    rng, window = case.rng, case.rng.choice([0, 0, 0, 1, 2])
    selection = _core.Selection.window if window else _core.Selection.all
    store, mirror = case.store(selection=selection, window=window), Mirror(case.features, case.prior_rows, window)
    erasing = rng.choice([0.0, 0.2])
    last = -1
    for _ in range(case.operations):
        draw = rng.random()
        if draw < erasing and mirror.held:
            sequence = rng.choice(mirror.held).sequence
            case.trace.append(f"erase({sequence})")
            assert store.erase(sequence), case.message("erase found nothing")
            mirror.erase(sequence)
        elif draw > 0.9:
            case.trace.append("end_episode()")
            store.end_episode()
            mirror.end_episode()
        else:
            index, low, high = case.random_constraint()
            sequence = store.insert(index, float(low), float(high))
            case.trace.append(f"insert({index}, {low}, {high}) -> {sequence}")
            constraint = Constraint(index, low, high, sequence, episode=mirror.episode)
            assert (sequence == -1) == mirror.droppable(constraint), case.message("dropped at the door or not")
            if sequence != -1:
                assert sequence > last, case.message("later ones have larger numbers")
                last = sequence
            mirror.insert(constraint)
        case.compare(store, mirror, questions)
    return case


@pytest.mark.parametrize("block", range(BLOCKS))
def test_store_is_a_fresh_walk_after_every_operation(block, compared):
    for number in range(CASES):
        check(block * CASES + number)
    compared("linear store = literal walk", CASES)


@pytest.mark.parametrize("block", range(LARGE_BLOCKS))
def test_large_stores(block, compared):
    for number in range(LARGE_CASES):
        check(1_000_000 + block * LARGE_CASES + number, dimension=6, operations=35)
    compared("linear store = literal walk", LARGE_CASES)


def check_eluder(seed, dimension=4, operations=12):
    """Kept: the equalities, in order of coming, that are independent of those before and of the prior's."""
    case = Case(seed, dimension, operations)
    store = case.store(selection=_core.Selection.eluder)
    mirror = Mirror(case.features, case.prior_rows)
    span = Span(implicit_equalities(case.prior_rows))
    contradictions = 0
    for _ in range(case.operations):
        index, low, high = case.random_constraint()
        phi, constraint = case.features[index], Constraint(index, low, high, -1)
        independent = low == high and not span.contains(phi)
        if independent and not feasible([*mirror.rows(), (phi, low, high)]) and not mirror.droppable(constraint):
            continue  # independent of what is kept, and yet excluded by the prior's inequalities: see test_linear.py
        sequence = store.insert(index, float(low), float(high))
        case.trace.append(f"insert({index}, {low}, {high}) -> {sequence}")
        if low == high:
            if mirror.droppable(constraint):
                contradictions += 1  # the prior alone excludes it
            elif independent:
                assert sequence != -1, case.message("an independent equality is kept")
                span.add(phi)
                mirror.insert(Constraint(index, low, high, sequence))
            else:
                contradictions += mirror.upper(index) != high
        kept = sorted(tuple(row) for row in store.kept())
        assert kept == sorted(as_rows(mirror.held)), case.message(f"kept {kept}")
        assert not store.rejected(), case.message("nothing is rejected")
        assert store.n_contradictions == contradictions, case.message(f"contradictions {store.n_contradictions}")
        case.compare(store, mirror, 1)


@pytest.mark.parametrize("block", range(2))
def test_eluder_keeps_a_basis(block, compared):
    for number in range(200):
        check_eluder(2_000_000 + block * 200 + number)
    compared("linear store = literal walk", 200)


# cases that a shortcut is likely to get wrong, as small as they can be


def sequences(rows):
    return [row[0] for row in rows]


def test_one_constraint_pushes_out_many_and_erasing_it_brings_them_back():
    store = make_store([(1, 0), (0, 1), (1, 1)])
    first, second = store.insert(0, 1.0, 1.0), store.insert(1, 2.0, 2.0)
    assert sequences(store.kept()) == [first, second]
    third = store.insert(2, -5.0, -5.0)  # conflicts with the two together, not with either alone
    assert sequences(store.kept()) == [third, first]
    assert sequences(store.rejected()) == [second]
    assert store.upper(1) == pytest.approx(-6)
    assert store.erase(third)
    assert sequences(store.kept()) == [first, second]
    assert store.upper(2) == pytest.approx(3)


def test_a_dominated_constraint_may_matter_again():
    store = make_store([(1,)])
    for low, high in [(3.0, 7.0), (5.0, 6.0), (-INFINITY, 4.0)]:
        store.insert(0, low, high)
    assert store.upper(0) == pytest.approx(4)
    assert store.lower(0) == pytest.approx(3)


def test_equal_upper_values_the_recent_first():
    store = make_store([(1, 0), (-1, 0)])
    store.insert(0, 1.0, 1.0)
    recent = store.insert(1, 1.0, 1.0)  # theta_0 is -1 as well
    assert sequences(store.kept()) == [recent]
    assert store.upper(0) == pytest.approx(-1)


def test_interval_rows_can_pin_a_value_without_an_equality():
    store = make_store([(1, 1), (1, -1), (1, 0), (0, 1)])
    store.insert(0, -INFINITY, 2.0)
    store.insert(1, -INFINITY, 0.0)
    assert (store.lower(2), store.upper(2)) == (-INFINITY, pytest.approx(1))
    store.insert(2, 1.0, INFINITY)
    assert (store.lower(3), store.upper(3)) == (pytest.approx(1), pytest.approx(1))


def test_inf_max_is_one_program():
    store = make_store([(1,), (-1,)])
    store.insert(0, -1.0, 1.0)
    assert store.infimum_of_maximum([0, 1]) == pytest.approx(0, abs=1e-9)
    assert store.infimum_of_maximum([0]) == pytest.approx(-1)


def test_inf_max_without_constraints():
    store = make_store([(1, 0), (-1, 0), (0, 1), (0, 0)])
    assert store.infimum_of_maximum([0]) == -INFINITY
    assert store.infimum_of_maximum([0, 2]) == -INFINITY  # independent: both go down together
    assert store.infimum_of_maximum([0, 1]) == pytest.approx(0, abs=1e-9)
    assert store.infimum_of_maximum([0, 3]) == pytest.approx(0, abs=1e-9)


def test_a_zero_feature_is_worth_zero():
    store = make_store([(0, 0), (1, 0)])
    assert (store.lower(0), store.upper(0)) == (0.0, 0.0)
    assert store.insert(0, 1.0, 2.0) == -1
    assert store.insert(0, -2.0, -1.0) == -1
    assert (store.lower(0), store.upper(0)) == (0.0, 0.0)


def test_what_the_prior_excludes_is_dropped():
    box = [((1,), -INFINITY, 1), ((-1,), -INFINITY, 1)]
    store = make_store([(1,), (2,)], box)
    assert store.insert(0, 2.0, 3.0) == -1
    assert store.insert(1, 2.0, 3.0) != -1  # touches the box in one point
    assert (store.lower(0), store.upper(0)) == (pytest.approx(1), pytest.approx(1))


# rows in independent directions make a box, which needs no linear program


def test_a_box_needs_no_program():
    store = make_store([(1, 0), (1, 2), (3, 4), (-2, 0), (0, 1)])
    store.insert(0, -1.0, 2.0)
    store.insert(1, 0.0, INFINITY)
    store.insert(3, -6.0, 1.0)  # a multiple of the first: theta_0 is in [-0.5, 2]
    assert (store.lower(0), store.upper(0)) == (pytest.approx(-0.5), pytest.approx(2))
    assert (store.lower(2), store.upper(2)) == (pytest.approx(-0.5), INFINITY)  # theta_0 + 2 (theta_0 + 2 theta_1)
    assert (store.lower(4), store.upper(4)) == (pytest.approx(-1), INFINITY)
    assert store.infimum_of_maximum([4, 3]) == pytest.approx(-1)  # theta = (2, -1) makes it -1 and -4
    assert store.lps == 0
    store.insert(4, -INFINITY, 5.0)  # a third row in two dimensions
    assert store.upper(2) == pytest.approx(26)
    assert store.lps > 0


def test_two_functions_of_a_box_need_no_program():
    store = make_store([(1, 0), (0, 1), (1, 1), (-1, 1), (-1, -1)])
    store.insert(0, 0.0, INFINITY)
    store.insert(1, 1.0, 3.0)
    assert store.infimum_of_maximum([2, 3]) == pytest.approx(1)  # theta = (0, 1)
    assert store.infimum_of_maximum([2, 4]) == pytest.approx(1)
    assert store.infimum_of_maximum([3, 4]) == -INFINITY
    assert store.lps == 0
    assert store.infimum_of_maximum([2, 3, 4]) == pytest.approx(1)
    assert store.lps == 1


@pytest.mark.parametrize("last", [1e-3, 1e-5, 1e-7, 1e-8])
def test_nearly_dependent_rows(last):
    """Directions closer and closer to each other; too close, and a row bounds nothing but its own feature."""
    store = make_store([(1, 0), (1, last), (0, last)])
    store.insert(0, 0.0, 1.0)
    store.insert(1, 2.0, 4.0)
    assert (store.lower(1), store.upper(1)) == (pytest.approx(2), pytest.approx(4))
    used = (pytest.approx(1), pytest.approx(4))
    assert (store.lower(2), store.upper(2)) == (used if last > 1e-6 else (-INFINITY, INFINITY))
    assert store.lps == 0


def test_a_box_that_loses_a_row_grows_again():
    store = make_store([(1, 0), (0, 1), (1, 1)])
    wide, narrow, other = store.insert(0, -4.0, 4.0), store.insert(0, -1.0, 1.0), store.insert(1, 0.0, 2.0)
    assert (store.lower(2), store.upper(2)) == (pytest.approx(-1), pytest.approx(3))
    assert store.erase(narrow)
    assert (store.lower(2), store.upper(2)) == (pytest.approx(-4), pytest.approx(6))
    assert store.erase(wide)
    assert (store.lower(2), store.upper(2)) == (-INFINITY, INFINITY)
    assert store.erase(other)
    assert store.lps == 0
