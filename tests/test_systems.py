"""Chain, Deep Sea and tables, and what all systems share."""

import copy
import ctypes
import doctest
import itertools
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ocpfast.systems
from ocpfast.systems import Chain, DeepSea, InvertedPendulum, System, TableSystem


def episode_return(system, state, actions):
    total = 0.0
    for period, action in enumerate(actions):
        state, reward, terminated = system.step(state, action, period)
        total += reward
        if terminated:
            break
    return total


def best_return(system, state):
    """V*_0(state) by trying every sequence of actions."""
    plans = itertools.product(range(system.n_actions), repeat=system.horizon)
    return max(episode_return(system, state, plan) for plan in plans)


def as_table(system):
    """The same system as arrays, found by stepping."""
    next_state = np.empty((system.n_states, system.n_actions), dtype=int)
    reward = np.empty(next_state.shape)
    for x, a in np.ndindex(next_state.shape):
        following, reward[x, a], terminated = system.step(x, a)
        next_state[x, a] = -1 if terminated else following
    return TableSystem(next_state, reward, system.reset(), system.horizon)


def rooms(**changes):
    """Two rooms: action 1 goes to the other one, action 0 in room 1 leaves with a prize."""
    arguments = {"next_state": [[0, 1], [-1, 0]], "reward": [[0.0, 0.5], [5.0, 0.0]], "horizon": 3}
    return TableSystem(**{**arguments, **changes})


TABLE = "shape (S, A) or (H, S, A)"
EMPTY = "expected a non-empty array, got shape"
NO_SEQUENCE = "expected a non-empty sequence, got shape"
NO_START = "expected an integer, a sequence of integers or probabilities"
NO_NUMBERS = "expected integers or probabilities"
NO_SUM = "expected probabilities that sum to 1"

SYSTEMS = [
    Chain(7),
    DeepSea(5),
    DeepSea(5, mapping_seed=3),
    rooms(),
    rooms(initial_state=[0, 1, 1]),
    rooms(initial_state=[0.25, 0.75]),
    TableSystem(np.zeros((3, 2, 1), dtype=int), np.ones((3, 2, 1))),
    InvertedPendulum(),
    InvertedPendulum(disturbance=2.5, horizon=10, integrator="euler", substeps=2),
]


class TestChain:
    def test_moves(self):
        chain = Chain(3)
        moves = {(x, a): chain.step(x, a) for x in range(3) for a in range(2)}
        assert moves == {
            (0, 0): (0, 0.0, False),
            (0, 1): (1, 0.0, False),
            (1, 0): (0, 0.0, False),
            (1, 1): (2, 0.0, False),
            (2, 0): (2, 1.0, False),
            (2, 1): (2, 1.0, False),
        }

    def test_what_it_says_of_itself(self):
        chain = Chain(50)
        assert (chain.n_states, chain.state_size, chain.n_actions, chain.horizon) == (50, None, 2, 50)
        assert chain.reward_range == (0.0, 1.0)
        assert chain.homogeneous
        assert not chain.stochastic
        assert chain.reset() == 0
        assert chain.optimal_value(0) == 1.0

    @pytest.mark.parametrize("n_states", [2, 3, 6])
    def test_optimal_values(self, n_states):
        chain = Chain(n_states)
        for state in range(n_states):
            assert chain.optimal_value(state) == best_return(chain, state) == as_table(chain).optimal_value(state)

    @pytest.mark.parametrize(
        "n_states, error, message",
        [
            (1, ValueError, "n_states: expected an integer >= 2, got 1"),
            (-3, ValueError, "n_states: expected an integer >= 2, got -3"),
            (2**63, ValueError, "n_states: expected an integer below 2**63, got 9223372036854775808"),
            (2.0, TypeError, "n_states: expected an integer >= 2, got 2.0; int() makes it one"),
            (True, TypeError, "n_states: expected an integer >= 2, got True; int() makes it one"),
            ("5", TypeError, "n_states: expected an integer >= 2, got '5'; int() makes it one"),
            (None, TypeError, "n_states: expected an integer >= 2, got None"),
        ],
    )
    def test_bad_sizes(self, n_states, error, message):
        with pytest.raises(error) as caught:
            Chain(n_states)
        assert str(caught.value) == message


class TestDeepSea:
    def test_moves(self):
        sea = DeepSea(3)
        cost = 0.01 / 3
        assert sea.step(0, 1) == (4, -cost, False)
        assert sea.step(0, 0) == (3, 0.0, False)
        assert sea.step(4, 0) == (6, 0.0, False)
        assert sea.step(4, 1) == (8, -cost, False)

    def test_the_last_row_ends_the_episode(self):
        sea = DeepSea(3)
        for state, action in itertools.product((6, 7, 8), (0, 1)):
            next_state, reward, terminated = sea.step(state, action)
            assert terminated
            assert 0 <= next_state < sea.n_states
            assert (reward > 0) == (state == 8 and action == 1)
        assert sea.step(8, 1)[1] == 1.0 - 0.01 / 3

    @pytest.mark.parametrize("mapping_seed", [None, 0, 1])
    @pytest.mark.parametrize("size", [1, 2, 5, 8])
    def test_optimal_values(self, size, mapping_seed):
        sea = DeepSea(size, mapping_seed)
        assert sea.optimal_value(0) == pytest.approx(0.99, abs=1e-15)
        assert best_return(sea, 0) == pytest.approx(0.99, abs=1e-15)
        table = as_table(sea)
        for state in range(sea.n_states):
            assert sea.optimal_value(state) == pytest.approx(table.optimal_value(state), abs=1e-14)

    def test_rewards_lie_in_the_range(self):
        for size in (1, 2, 6):
            rewards = as_table(DeepSea(size)).reward
            assert DeepSea(size).reward_range == (rewards.min(), rewards.max())

    def test_mapping_says_which_action_swims_right(self):
        sea = DeepSea(6, mapping_seed=11)
        assert sea.mapping.tolist() == np.random.default_rng(11).integers(2, size=(6, 6), dtype=np.uint8).tolist()
        for row, column in np.ndindex(5, 5):
            state = row * 6 + column
            assert sea.step(state, int(sea.mapping[row, column]))[0] == (row + 1) * 6 + column + 1

    def test_mapping_cannot_be_changed(self):
        for sea in (DeepSea(3), DeepSea(3, mapping_seed=0)):
            with pytest.raises(ValueError, match="read-only"):
                sea.mapping[0, 0] = 0

    @pytest.mark.parametrize(
        "arguments, error, message",
        [
            ((0,), ValueError, "size: expected an integer in 1..2147483647, got 0"),
            ((3, -1), ValueError, "mapping_seed: expected an integer >= 0, got -1"),
            ((3, 0.5), TypeError, "mapping_seed: expected an integer >= 0, got 0.5"),
        ],
    )
    def test_bad_arguments(self, arguments, error, message):
        with pytest.raises(error) as caught:
            DeepSea(*arguments)
        assert str(caught.value) == message


@st.composite
def small_tables(draw):
    n_states, n_actions, horizon = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 4))
    shape = (n_states, n_actions) if draw(st.booleans()) else (horizon, n_states, n_actions)
    next_state = draw(hnp.arrays(np.int64, shape, elements=st.integers(-1, n_states - 1)))
    reward = draw(hnp.arrays(np.float64, shape, elements=st.integers(-4, 4)))
    return TableSystem(next_state, reward, horizon=horizon)


class TestTable:
    @given(small_tables(), st.data())
    def test_step_reads_the_arrays(self, table, data):
        period = data.draw(st.integers(0, table.horizon - 1))
        state = data.draw(st.integers(0, table.n_states - 1))
        action = data.draw(st.integers(0, table.n_actions - 1))
        entry = (state, action) if table.homogeneous else (period, state, action)
        next_state, reward, terminated = table.step(state, action, period)
        assert reward == table.reward[entry]
        assert terminated == (table.next_state[entry] == -1)
        assert next_state == (state if terminated else table.next_state[entry])

    @given(small_tables())
    def test_optimal_value_is_the_best_return(self, table):
        for state in range(table.n_states):
            assert table.optimal_value(state) == best_return(table, state)

    def test_an_optimal_value_that_would_take_too_long_is_unknown(self):
        assert TableSystem([[0]], [[1.0]], horizon=2 * 10**9 + 1).optimal_value(0) is None

    def test_optimal_value_is_solved_once_for_all_threads(self):
        rng = np.random.default_rng(0)
        table = TableSystem(rng.integers(200, size=(200, 4)), rng.random((200, 4)), horizon=300)
        with ThreadPoolExecutor(8) as pool:
            values = set(pool.map(lambda _: table.optimal_value(0), range(64)))
        assert len(values) == 1

    def test_what_it_says_of_itself(self):
        table = rooms()
        assert (table.n_states, table.n_actions, table.horizon) == (2, 2, 3)
        assert table.reward_range == (0.0, 5.0)
        assert table.homogeneous
        assert not table.stochastic
        assert table.initial_state == 0

    def test_arrays_with_a_period_axis_state_the_horizon(self):
        table = TableSystem(np.zeros((4, 2, 1), dtype=int), np.zeros((4, 2, 1)))
        assert table.horizon == 4
        assert not table.homogeneous
        assert TableSystem(np.zeros((4, 2, 1), dtype=int), np.zeros((4, 2, 1)), horizon=4) == table
        assert rooms(horizon=3) != rooms(horizon=4)

    def test_one_state_and_one_action_are_allowed(self):
        table = TableSystem([[0]], [[2]], horizon=5)
        assert table.step(0, 0) == (0, 2.0, False)
        assert table.optimal_value(0) == 10.0

    def test_arrays_are_copied_and_cannot_be_changed(self):
        next_state, reward = np.array([[0, 1], [-1, 0]]), np.zeros((2, 2))
        table = TableSystem(next_state, reward, horizon=3)
        next_state[:], reward[:] = 0, 7.0
        assert table.step(0, 1) == (1, 0.0, False)
        for array in (table.next_state, table.reward):
            with pytest.raises(ValueError, match="read-only"):
                array[0, 0] = 0

    @pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint16])
    def test_other_integers_and_layouts(self, dtype):
        next_state = np.asfortranarray(np.array([[0, 1], [1, 0]], dtype=dtype))
        assert TableSystem(next_state, np.eye(2, dtype=int), horizon=1).next_state.tolist() == [
            [0, 1],
            [1, 0],
        ]

    def test_initial_states_in_turn(self):
        table = rooms(initial_state=(1, 0, 0))
        assert [table.reset(episode=j) for j in range(7)] == [1, 0, 0, 1, 0, 0, 1]
        assert table.initial_state.tolist() == [1, 0, 0]
        assert not table.stochastic

    def test_initial_probabilities(self):
        probabilities = [0.0, 0.5, 0.0, 0.3, 0.2, 0.0]
        table = TableSystem(np.zeros((6, 1), dtype=int), np.zeros((6, 1)), probabilities, horizon=1)
        assert table.stochastic and table.deterministic_steps
        rng = np.random.default_rng(0)
        draws = np.array([table.reset(rng) for _ in range(20_000)])
        frequencies = np.bincount(draws, minlength=6) / draws.size
        assert set(draws) == {1, 3, 4}
        np.testing.assert_allclose(frequencies, probabilities, atol=0.015)

    def test_initial_probabilities_use_one_double_each(self):
        uniform = np.random.default_rng(4).random(100)
        rng = np.random.default_rng(4)
        table = rooms(initial_state=[0.25, 0.75])
        assert [table.reset(rng) for _ in range(100)] == (uniform >= 0.25).astype(int).tolist()

    @given(hnp.arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 1)), st.integers(0, 2**32))
    def test_no_draw_falls_on_an_impossible_state(self, weights, seed):
        weights[0] += 1e-3
        table = TableSystem(
            np.zeros((len(weights), 1), dtype=int),
            np.zeros((len(weights), 1)),
            weights / weights.sum(),
            horizon=1,
        )
        assert table.initial_state[table.reset(seed)] > 0

    @pytest.mark.parametrize(
        "changes, error, message",
        [
            ({"horizon": None}, TypeError, "horizon: required where next_state has no period axis, got None"),
            ({"horizon": 0}, ValueError, "horizon: expected an integer >= 1, got 0"),
            ({"horizon": 2.0}, TypeError, "horizon: expected an integer >= 1, got 2.0; int() makes it one"),
            ({"next_state": [0, 1]}, ValueError, f"next_state: expected {TABLE}, got (2,)"),
            ({"next_state": [[0, 1], [0]]}, ValueError, f"next_state: expected {TABLE}, got ragged rows"),
            ({"next_state": np.zeros((0, 2), int)}, ValueError, f"next_state: {EMPTY} (0, 2)"),
            ({"next_state": np.zeros((2, 0), int)}, ValueError, f"next_state: {EMPTY} (2, 0)"),
            (
                {"next_state": np.zeros((2, 2))},
                TypeError,
                "next_state: expected integers, the states that actions lead to, got dtype float64; "
                "next_state.astype(int) where they are whole numbers",
            ),
            (
                {"next_state": [[True, False]]},
                TypeError,
                "next_state: expected integers, the states that actions lead to, got dtype bool; "
                "next_state.astype(int) where they are whole numbers",
            ),
            ({"next_state": [[0, -2], [0, 0]]}, ValueError, "next_state: expected integers in -1..1, got -2"),
            ({"next_state": [[0, 2], [0, 0]]}, ValueError, "next_state: expected integers in -1..1, got 2"),
            ({"reward": [[0.0, 1.0]]}, ValueError, "reward: expected shape (2, 2), got (1, 2)"),
            ({"reward": [[0.0, math.nan], [0, 0]]}, ValueError, "reward: expected finite numbers, got nan"),
            ({"reward": [[0.0, -math.inf], [0, 0]]}, ValueError, "reward: expected finite numbers, got -inf"),
            ({"reward": [["a"]]}, TypeError, "reward: expected real numbers, got [['a']] (list)"),
            ({"reward": [[1j]]}, TypeError, "reward: expected real numbers, got [[1j]] (list)"),
            ({"initial_state": 2}, ValueError, "initial_state: expected an integer in 0..1, got 2"),
            ({"initial_state": -1}, ValueError, "initial_state: expected an integer in 0..1, got -1"),
            ({"initial_state": [0, 2]}, ValueError, "initial_state: expected integers in 0..1, got 2"),
            ({"initial_state": []}, ValueError, f"initial_state: {NO_SEQUENCE} (0,)"),
            ({"initial_state": [[0, 1]]}, ValueError, f"initial_state: {NO_SEQUENCE} (1, 2)"),
            ({"initial_state": 0.5}, TypeError, f"initial_state: {NO_START}, got 0.5 (float)"),
            ({"initial_state": None}, TypeError, f"initial_state: {NO_START}, got None (NoneType)"),
            ({"initial_state": [True, False]}, TypeError, f"initial_state: {NO_NUMBERS}, got dtype bool"),
            ({"initial_state": [1.0]}, ValueError, "initial_state: expected shape (2,), got (1,)"),
            (
                {"initial_state": [[0], [0, 1]]},
                ValueError,
                "initial_state: expected a non-empty sequence, got ragged rows",
            ),
            ({"initial_state": [0.5, 0.6]}, ValueError, f"initial_state: {NO_SUM}, got 1.1"),
            (
                {"initial_state": [1.5, -0.5]},
                ValueError,
                "initial_state: expected probabilities >= 0, got -0.5",
            ),
            ({"initial_state": [math.nan, 1]}, ValueError, "initial_state: expected finite numbers, got nan"),
        ],
    )
    def test_bad_arguments(self, changes, error, message):
        with pytest.raises(error) as caught:
            rooms(**changes)
        assert str(caught.value) == message

    def test_a_horizon_that_contradicts_the_arrays(self):
        with pytest.raises(ValueError) as caught:
            TableSystem(np.zeros((4, 2, 1), dtype=int), np.zeros((4, 2, 1)), horizon=5)
        assert str(caught.value) == "horizon: expected 4 as in next_state's period axis, got 5"


class TestEverySystem:
    @pytest.mark.parametrize(
        "arguments, error, message",
        [
            ((0, 7), ValueError, "action: expected an integer in 0..1, got 7"),
            ((0, -1), ValueError, "action: expected an integer in 0..1, got -1"),
            ((0, 1.0), TypeError, "action: expected an integer in 0..1, got 1.0; int() makes it one"),
            ((0, True), TypeError, "action: expected an integer in 0..1, got True; int() makes it one"),
            ((5, 0), ValueError, "state: expected an integer in 0..4, got 5"),
            ((0.0, 0), TypeError, "state: expected an integer in 0..4, got 0.0; int() makes it one"),
            (([0], 0), TypeError, "state: expected an integer in 0..4, got [0]; pass its one element"),
            ((0, 0, 5), ValueError, "period: expected an integer in 0..4, got 5"),
            ((0, 0, -1), ValueError, "period: expected an integer in 0..4, got -1"),
            ((0, 0, None), TypeError, "period: expected an integer in 0..4, got None"),
        ],
    )
    def test_bad_steps(self, arguments, error, message):
        with pytest.raises(error) as caught:
            Chain(5).step(*arguments)
        assert str(caught.value) == message

    @pytest.mark.parametrize(
        "state, error, message",
        [
            ([0.0], ValueError, "state: expected shape (2,), got (1,)"),
            ([[0.0, 0.0]], ValueError, "state: expected shape (2,), got (1, 2)"),
            ([0.0, math.nan], ValueError, "state: expected finite numbers, got nan"),
            ([math.inf, 0.0], ValueError, "state: expected finite numbers, got inf"),
            (["0", "0"], TypeError, "state: expected real numbers, got ['0', '0'] (list)"),
            (None, TypeError, "state: expected real numbers, got None (NoneType)"),
        ],
    )
    def test_bad_state_vectors(self, state, error, message):
        with pytest.raises(error) as caught:
            InvertedPendulum().step(state, 0)
        assert str(caught.value) == message

    def test_bad_episodes(self):
        with pytest.raises(ValueError) as caught:
            Chain(5).reset(episode=-1)
        assert str(caught.value) == "episode: expected an integer >= 0, got -1"

    @pytest.mark.parametrize("system", [Chain(5), rooms(initial_state=[0.5, 0.5])])
    @pytest.mark.parametrize("rng", ["seed", 1.5, True, np.random.RandomState(0)])
    def test_bad_rng(self, system, rng):
        with pytest.raises(TypeError, match=r"^rng: expected .*, got "):
            system.reset(rng)

    def test_negative_seed(self):
        with pytest.raises(ValueError) as caught:
            Chain(5).step(0, 0, rng=-1)
        assert str(caught.value) == "rng: expected an integer >= 0, got -1"

    def test_numpy_integers_are_integers(self):
        assert Chain(np.int32(5)).step(np.int64(3), np.uint8(1), np.int16(0)) == (4, 0.0, False)

    def test_a_step_leaves_the_state_alone_and_returns_a_new_one(self):
        state = np.array([0.1, 0.2])
        next_state, _, _ = InvertedPendulum().step(state, 0)
        assert state.tolist() == [0.1, 0.2]
        assert next_state is not state
        assert next_state.shape == (2,)
        assert next_state.dtype == np.float64

    @pytest.mark.parametrize("system", SYSTEMS, ids=repr)
    def test_copies_are_equal_and_work(self, system):
        for twin in (copy.copy(system), copy.deepcopy(system), pickle.loads(pickle.dumps(system))):
            assert twin is not system
            assert twin == system
            assert hash(twin) == hash(system)
            assert repr(twin) == repr(system)
            start = system.reset(rng=0)
            assert np.array_equal(twin.reset(rng=0), start)
            outcome, same = twin.step(start, 0, rng=1), system.step(start, 0, rng=1)
            assert np.array_equal(outcome[0], same[0])
            assert outcome[1:] == same[1:]

    def test_different_systems_differ(self):
        assert all(a != b for a, b in itertools.combinations(SYSTEMS, 2))
        assert Chain(5) != 5

    def test_which_steps_are_deterministic(self):
        assert [system.deterministic_steps for system in SYSTEMS] == [True] * (len(SYSTEMS) - 1) + [False]
        assert not any(system.adaptive for system in SYSTEMS)

    def test_reprs(self):
        assert repr(Chain(5)) == "Chain(n_states=5)"
        assert repr(DeepSea(5)) == "DeepSea(size=5, mapping_seed=None)"
        assert repr(rooms()) == "<TableSystem: 2 states, 2 actions, H=3>"
        assert repr(InvertedPendulum(2.5)) == (
            "InvertedPendulum(disturbance=2.5, horizon=36000, integrator='rk4', substeps=1)"
        )

    def test_capsule_of_a_copy_points_to_the_copy_s_contract(self):
        chain = Chain(9)
        twin = copy.copy(chain)
        assert contract_head(twin) == contract_head(chain)
        assert pointer(twin) != pointer(chain)
        del chain
        abi_version, _, flags, state_kind, state_size, n_actions, action_size, horizon = contract_head(twin)
        assert (abi_version, flags, state_kind) == (1, 4, 0)
        assert (state_size, n_actions, action_size, horizon) == (9, 2, 0, 9)

    def test_a_system_without_functions_says_so(self):
        with pytest.raises(RuntimeError, match=r"^System.__init__ has not filled in the contract$"):
            System().reset()
        with pytest.raises(RuntimeError, match=r"^Chain.__init__ has not filled in the contract$"):
            _ = Chain.__new__(Chain).capsule
        with pytest.raises(TypeError, match=r"^cannot pickle or copy System: it does not state its arguments$"):
            copy.copy(System())

    def test_a_system_cannot_be_remade_under_its_users(self):
        table = rooms()
        with pytest.raises(RuntimeError, match=r"^TableSystem.__init__ was called a second time$"):
            table.__init__([[0]], [[0.0]], horizon=1)
        assert table == rooms()
        assert table.step(0, 1) == (1, 0.5, False)

    def test_python_subclasses_may_have_arguments_of_their_own(self):
        class Corridor(TableSystem):
            def __init__(self, length):
                forward = np.minimum(np.arange(length) + 1, length - 1)[:, np.newaxis]
                super().__init__(forward, np.zeros(forward.shape), horizon=length)

        assert Corridor(3).step(0, 0) == (1, 0.0, False)


def pointer(system):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return get(system.capsule, b"ocpfast.system")


def contract_head(system):
    class Head(ctypes.Structure):
        _fields_ = [
            *((name, ctypes.c_uint32) for name in ("abi_version", "struct_size", "flags", "state_kind")),
            *((name, ctypes.c_int64) for name in ("state_size", "n_actions", "action_size", "horizon")),
        ]

    head = Head.from_address(pointer(system))
    return tuple(getattr(head, name) for name, _ in Head._fields_)


def test_examples_in_the_documentation():
    outcome = doctest.testmod(ocpfast.systems)
    assert outcome.attempted > 30
    assert outcome.failed == 0
