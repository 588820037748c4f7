"""The compiled constraint store against the literal walk of Algorithm 1, after every operation."""

import random

import numpy as np
import pytest
from reference import INFINITY, Constraint, box_interval, box_nonempty, priority_order, select

from ocpfast import _core

BLOCKS, SEQUENCES = 12, 500

PRIORS = [(-INFINITY, INFINITY), (-2.0, 2.0), (-INFINITY, 1.0), (0.0, INFINITY), (1.0, 1.0)]
ENDPOINTS = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]  # few, so that ties, duplicates and conflicts are common


class Mirror:
    """What the store should hold, kept as plain lists."""

    def __init__(self, priors, window):
        self.priors, self.window, self.episode = priors, window, 0
        self.held = []  # what may still matter: the newest of identical ones
        self.inserted = []  # all that was ever inserted and not erased, also what was dropped at the door
        self.bounds = priors.__getitem__

    def droppable(self, constraint):
        says_nothing = constraint.lower == -INFINITY and constraint.upper == INFINITY
        return says_nothing or not box_nonempty(self.bounds)([constraint])

    def insert(self, constraint):
        self.inserted.append(constraint)
        if not self.droppable(constraint):
            self.held = [c for c in self.held if not same(c, constraint)] + [constraint]

    def erase(self, constraint):
        # an older identical one was dropped for good, it does not come back
        self.held = [c for c in self.held if not same(c, constraint)]
        self.inserted = [c for c in self.inserted if not same(c, constraint)]

    def end_episode(self):
        if self.window:
            self.held = [c for c in self.held if c.episode > self.episode - self.window]
            self.inserted = [c for c in self.inserted if c.episode > self.episode - self.window]
        self.episode += 1


def same(c, d):
    return (c.index, c.lower, c.upper) == (d.index, d.lower, d.upper)


def rows(constraints):
    return [(c.sequence, c.index, c.lower, c.upper) for c in constraints]


def random_interval(rng):
    draw = rng.random()
    if draw < 0.05:
        return -INFINITY, INFINITY
    low, high = sorted(rng.choices(ENDPOINTS, k=2))
    if draw < 0.2:
        return -INFINITY, high
    if draw < 0.35:
        return low, INFINITY
    if draw < 0.5:
        return high, high
    return low, high


def check(seed):
    rng = random.Random(seed)
    n = rng.randint(1, 3)
    priors = [rng.choice(PRIORS) for _ in range(n)]
    window = rng.choice([0, 0, 1, 2])
    lower_bounds, upper_bounds = np.array(priors, dtype=float).T.copy()
    store = _core.BoxStore(lower_bounds, upper_bounds, window=window)
    mirror = Mirror(priors, window)
    trace = [f"seed {seed}: priors {priors}, window {window}"]
    last = -1
    for _ in range(rng.randint(1, 25)):
        draw = rng.random()
        if draw < 0.2 and mirror.held:
            victim = rng.choice(mirror.held)
            trace.append(f"erase({victim.sequence})")
            store.erase(victim.sequence)
            mirror.erase(victim)
        elif draw < 0.3:
            trace.append("end_episode()")
            store.end_episode()
            mirror.end_episode()
        else:
            index, (low, high) = rng.randrange(n), random_interval(rng)
            sequence = store.insert(index, low, high)
            trace.append(f"insert({index}, {low}, {high}) -> {sequence}")
            message = "\n".join(trace)
            dropped = mirror.droppable(Constraint(index, low, high, 0))
            assert (sequence == -1) == dropped, message
            if not dropped:
                assert sequence > last, message  # later ones have larger numbers
                last = sequence
            # where it is dropped any number will do: it is never kept
            mirror.insert(Constraint(index, low, high, sequence, episode=mirror.episode))
        message = "\n".join(trace)
        kept = select(mirror.held, box_nonempty(mirror.bounds))
        rejected = [c for c in priority_order(mirror.held) if c not in kept]
        assert [tuple(row) for row in store.kept()] == rows(kept), message
        assert [tuple(row) for row in store.rejected()] == rows(rejected), message
        for k in range(n):
            interval = tuple(store.interval(k))
            assert interval == box_interval(mirror.held, k, mirror.bounds), (k, message)
            # what was dropped for good made no difference
            assert interval == box_interval(mirror.inserted, k, mirror.bounds), (k, message)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_store_is_a_fresh_walk_after_every_operation(block, compared):
    for case in range(SEQUENCES):
        check(block * SEQUENCES + case)
    compared("box store = literal walk", SEQUENCES)


def test_one_constraint_pushes_out_many_and_deleting_it_brings_them_back():
    store = _core.BoxStore(np.full(2, -INFINITY), np.full(2, INFINITY), window=0)
    pushed_out = [store.insert(0, float(k), float(10 + k)) for k in range(5, 10)]
    elsewhere = store.insert(1, 7.0, 7.0)
    intruder = store.insert(0, -INFINITY, 4.0)
    assert [row[0] for row in store.kept()] == [intruder, elsewhere]
    assert sorted(row[0] for row in store.rejected()) == pushed_out
    assert tuple(store.interval(0)) == (-INFINITY, 4.0)
    store.erase(intruder)
    assert store.rejected() == []
    assert tuple(store.interval(0)) == (9.0, 15.0)


def test_a_dominated_constraint_is_not_forgotten():
    store = _core.BoxStore(np.array([-INFINITY]), np.array([INFINITY]), window=0)
    for low, high in [(3.0, 7.0), (5.0, 6.0), (-INFINITY, 4.0)]:
        store.insert(0, low, high)
    assert tuple(store.interval(0)) == (3.0, 4.0)


def test_rejected_constraints_return_one_after_another():
    store = _core.BoxStore(np.array([-INFINITY]), np.array([INFINITY]), window=0)
    sequences = [store.insert(0, float(k), float(k)) for k in (4, 3, 2, 1)]
    for k in (1, 2, 3, 4):  # only the smallest U is ever kept; each deletion lets exactly one come back
        assert tuple(store.interval(0)) == (float(k), float(k))
        assert len(store.rejected()) == 4 - k
        store.erase(sequences.pop())
    assert tuple(store.interval(0)) == (-INFINITY, INFINITY)


@pytest.mark.parametrize("selection", ["first", "eluder"])
def test_selections_keep_what_is_informative(selection, compared):
    """1,000 random sequences of equalities and intervals against the definition of each selection."""
    for seed in range(1000):
        rng = random.Random(seed)
        store = _core.BoxStore([-INFINITY] * 3, [INFINITY] * 3, selection=_core.Selection[selection])
        known, contradictions = {}, 0
        for _ in range(12):
            index, low = rng.randrange(3), float(rng.randint(-2, 2))
            high = rng.choice([low, low, low + 1, INFINITY])
            taken = store.insert(index, low, high) >= 0
            fits = index not in known or (low <= known[index][1] and known[index][0] <= high)
            if selection == "first":
                wanted = fits and high < INFINITY and index not in known
            else:
                wanted = low == high and index not in known
                contradictions += low == high and not fits
            assert taken == wanted, seed
            if wanted:
                known[index] = (low, high)
        assert store.n_contradictions == contradictions
        assert all(store.interval(index) == interval for index, interval in known.items())
        assert not store.rejected()
    compared("box store = literal walk", 1000)


def test_bounds_of_different_lengths():
    with pytest.raises(ValueError, match="lower, upper: expected the same length, got 2 and 1"):
        _core.BoxStore([0.0, 0.0], [1.0])


@pytest.mark.parametrize("interval", [(1.0, 0.0), (np.nan, 1.0), (0.0, np.nan), (np.inf, np.inf), (-np.inf, -np.inf)])
def test_an_empty_interval(interval):
    store = _core.BoxStore([0.0], [1.0])
    with pytest.raises(ValueError, match="lower, upper: expected a non-empty interval, got"):
        store.insert(0, *interval)
    assert not store.kept() + store.rejected()
