"""solve(): Q* and V* of systems with finitely many states, against the dynamic programme of reference.py."""

import ctypes
import os
import pickle
import random
import signal

import numpy as np
import pytest
from reference import optimal_q, random_table

import ocpfast as ocp
from ocpfast import _core, solving


def literal(next_state, reward, horizon):
    q = np.array(optimal_q(next_state, reward, horizon))
    return q, q.max(axis=-1)


def same(solution, q, v):
    assert np.array_equal(solution.q, q) and np.array_equal(solution.v, v)


@pytest.mark.parametrize("stationary", [False, True])
def test_random_tables(stationary):
    """Rewards are dyadic, so that sums are exact in any order."""
    for seed in range(400):
        rng = random.Random(seed)
        n_states, n_actions, horizon = rng.randint(1, 7), rng.randint(1, 4), rng.randint(1, 6)
        next_state, reward = random_table(
            rng, n_states, n_actions, horizon, stationary, integer_rewards=seed % 2 == 0, termination=0.1, number=float
        )
        expected = literal(next_state, reward, horizon)
        same(ocp.solve(ocp.TableSystem(next_state, reward)), *expected)
        if stationary:
            start = [rng.randrange(n_states), np.full(n_states, 1 / n_states)][seed % 2]
            same(ocp.solve(ocp.TableSystem(next_state[0], reward[0], start, horizon)), *expected)


@pytest.mark.parametrize("system", [ocp.Chain(2), ocp.Chain(30), ocp.DeepSea(12), ocp.DeepSea(12, mapping_seed=4)])
def test_what_the_systems_know_themselves(system):
    values = ocp.solve(system).v[0]
    starts = range(system.n_states) if isinstance(system, ocp.Chain) else [0]
    for x in starts:
        assert values[x] == pytest.approx(system.optimal_value(x), abs=1e-12)


def test_deep_sea_against_its_own_steps():
    """Values by recursion over the public step(), which knows nothing of solve()."""
    sea = ocp.DeepSea(6, mapping_seed=1)
    value = np.zeros(sea.n_states)
    solution = ocp.solve(sea)
    for t in reversed(range(sea.horizon)):
        steps = [[sea.step(x, a, period=t) for a in range(2)] for x in range(sea.n_states)]
        q = np.array([[r + (0 if terminated else value[y]) for y, r, terminated in row] for row in steps])
        assert np.array_equal(solution.q[t], q)
        value = q.max(axis=1)


def test_rewards_that_round():
    rng = np.random.default_rng(0)
    system = ocp.TableSystem(rng.integers(-1, 40, (40, 3)), rng.standard_normal((40, 3)), horizon=25)
    solution = ocp.solve(system)
    q, v = literal(system.next_state.tolist(), system.reward.tolist(), 25)
    assert np.array_equal(solution.q, q)  # the same sums in the same order
    assert np.array_equal(solution.v, v)
    assert solution.v[0, 7] == system.optimal_value(7)


def test_the_solution_is_read_only_and_pickles():
    solution = ocp.solve(ocp.Chain(3))
    assert repr(solution) == "<Solution: H=3, 3 states, 2 actions>"
    for one in (solution, pickle.loads(pickle.dumps(solution))):
        same(one, solution.q, solution.v)
        with pytest.raises(ValueError, match="read-only"):
            one.q[0, 0, 0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            one.v[0, 0] = 1.0
        with pytest.raises(AttributeError):
            one.q = solution.q


class Slow(ocp.TableSystem):
    def step(self, *arguments):
        return super().step(*arguments)


class Dice(ocp.Chain):
    deterministic_steps = False


class Steered(ocp.Chain):
    n_actions = None


@pytest.mark.parametrize(
    "system, error, message",
    [
        (3, TypeError, "system: expected a System such as Chain, got 3"),
        (Slow([[0]], [[0.0]], horizon=1), TypeError, "system: Slow.step is Python, which solve() cannot call; a "),
        (Dice(3), ValueError, "system: expected deterministic steps, got a system that draws random numbers in them"),
        (Steered(3), ValueError, "system: expected finitely many actions, got vectors"),
        (ocp.Adversary(2, horizon=3), ValueError, "system: expected one with fixed rewards, got one that adapts them"),
        (ocp.InvertedPendulum(), ValueError, "system: expected finitely many states, got vectors of 2 numbers"),
        (
            ocp.TableSystem([[0]], [[0.0]], horizon=2**40),
            MemoryError,
            "system: Q* of 1099511627776 periods x 1 states x 1 actions is more than fits into memory",
        ),
    ],
)
def test_what_cannot_be_solved_is_said(system, error, message):
    with pytest.raises(error) as raised:
        ocp.solve(system)
    assert str(raised.value).startswith(message)


def test_memory_is_not_promised_beyond_what_there_is(monkeypatch):
    system = ocp.Chain(100)
    ocp.solve(system)
    monkeypatch.setattr(solving, "_physical_memory", lambda: 2**16)
    with pytest.raises(MemoryError, match=r"Q\* of 100 periods x 100 states x 2 actions is more"):
        ocp.solve(system)


def test_an_operating_system_that_does_not_say_how_much_memory_there_is(monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    assert ocp.solve(ocp.Chain(5)).v[0, 0] == 1.0


# A system of one's own: the struct of ocpfast/system.h, filled in here

RESET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
STEP = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64),
    ctypes.c_void_p, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int),
)  # fmt: skip
CONTINUES, TERMINATED, TRUNCATED = range(3)
ADAPTIVE, HOMOGENEOUS, NEEDS_GIL = 2, 4, 8


class Struct(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("abi_version", "struct_size", "flags", "state_kind")),
        *((name, ctypes.c_int64) for name in ("state_size", "n_actions", "action_size", "horizon")),
        ("reward_min", ctypes.c_double),
        ("reward_max", ctypes.c_double),
        *((name, ctypes.c_void_p) for name in ("parameters", "clone", "destroy")),
        ("reset", RESET),
        ("step", STEP),
        *((name, ctypes.c_void_p) for name in ("step_many", "optimal_value", "save", "load")),
    )


class Own:
    """outcome(period, state, action) -> (next state, reward, ending[, error]); counts its calls."""

    def __init__(self, outcome, flags=0, n_states=3, n_actions=2, horizon=4):
        self.calls = []
        self.bit_generator = np.random.PCG64(0)

        def step(instance, period, state, action, bitgen, reward, ending):
            self.calls.append((period, state[0], action[0]))
            state[0], reward[0], ending[0], *error = outcome(*self.calls[-1])
            return error[0] if error else 0

        self.struct = Struct(1, ctypes.sizeof(Struct), flags, 0, n_states, n_actions, 0, horizon, step=STEP(step))
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.capsule = make(ctypes.addressof(self.struct), b"ocpfast.system", None)
        self.q, self.v = np.full((horizon, n_states, n_actions), np.nan), np.full((horizon, n_states), np.nan)

    def solve(self):
        _core.solve(self.capsule, self.bit_generator.capsule, self.q, self.v)
        return self


def test_a_system_of_ones_own_is_stepped_once_for_each_triple():
    own = Own(lambda t, x, a: ((x + a) % 3, float(t * x - a), TERMINATED if x == 2 and a else CONTINUES)).solve()
    assert sorted(own.calls) == list(np.ndindex(4, 3, 2))
    next_state = [[[-1 if x == 2 and a else (x + a) % 3 for a in range(2)] for x in range(3)]] * 4
    reward = [[[float(t * x - a) for a in range(2)] for x in range(3)] for t in range(4)]
    same(own, *literal(next_state, reward, 4))


def test_a_homogeneous_one_once_for_each_pair():
    own = Own(lambda t, x, a: ((x + a) % 3, float(x - a), CONTINUES), flags=HOMOGENEOUS, horizon=50).solve()
    assert [(x, a) for _, x, a in own.calls] == list(np.ndindex(3, 2))
    next_state, reward = [[(x + a) % 3 for a in range(2)] for x in range(3)], [[x, x - 1.0] for x in range(3)]
    same(own, *literal(next_state, reward, 50))


@pytest.mark.parametrize(
    "outcome, flags, error, message",
    [
        ((0, 0.0, CONTINUES, 4243), 0, RuntimeError, "the system returned error 4243"),
        ((0, np.nan, CONTINUES), 0, RuntimeError, "the system paid a reward of nan, expected a finite number"),
        ((0, -np.inf, TERMINATED), 0, RuntimeError, "the system paid a reward of -inf, expected a finite number"),
        ((3, 0.0, CONTINUES), 0, RuntimeError, "the system went to state 3, which it does not have"),
        ((-1, 0.0, CONTINUES), HOMOGENEOUS, RuntimeError, "the system went to state -1, which it does not have"),
        ((0, 0.0, TRUNCATED), 0, RuntimeError, "the system truncated the episode, which leaves the value after it "),
        ((0, 1e308, CONTINUES), 0, RuntimeError, "the rewards from here on add up to more than a double can hold"),
        ((0, 0.0, CONTINUES), ADAPTIVE, ValueError, "system: expected one with fixed rewards, got one that adapts"),
        ((0, np.nan, CONTINUES), NEEDS_GIL, RuntimeError, "the system paid a reward of nan, expected a finite number"),
    ],
)
def test_what_a_system_does_wrong_is_said_with_its_place(outcome, flags, error, message):
    usual = 0, 0.0, CONTINUES
    wrong = Own(lambda t, x, a: outcome if (x, a) == (0, 1) else usual, flags)
    with pytest.raises(error) as raised:
        wrong.solve()
    text = str(raised.value)
    if error is RuntimeError:
        period = 2 if outcome[1] == 1e308 else 3
        start = f"period {period}, state 0, action 1: "
        assert text.startswith(start)
        text = text[len(start) :]
    assert text.startswith(message)


def test_a_terminated_transition_may_leave_any_state_behind():
    own = Own(lambda t, x, a: (-77, 1.0, TERMINATED)).solve()
    assert (own.q == 1.0).all()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_a_signal_ends_it():
    """As Ctrl-C does: its handler raises between two of the periods, of which there are some tenths of a second."""

    class RangError(Exception):
        pass

    def ring(*_):
        raise RangError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(RangError):
            ocp.solve(ocp.TableSystem([[0]], [[1.0]], horizon=2**23))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
