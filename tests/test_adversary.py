"""The lower bound: the adversary as the paper writes it, and that nobody beats it and OCP meets it."""

import copy
import ctypes
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from reference import optimal_q

import ocpfast as ocp

SIZES = [(1, 1), (1, 4), (2, 1), (3, 2), (4, 7), (7, 3), (12, 12)]
BOUNDS = [1.0, 0.1, 2.5e-7, 1e6 / 3]


class PaperAdversary:
    """The construction of the paper's proof, in its own numbering: states 1..2K, actions 1 and 2."""

    def __init__(self, k, horizon, bound):
        self.k, self.horizon, self.bound = k, horizon, bound
        self.reward = {}

    def start(self, j):
        return (j % self.k) * 2 + 1

    def act(self, j, t, x, a):
        if j < self.k and t == 0:
            assert x == 2 * j + 1
            first = -self.bound if a == 1 else self.bound
            self.reward[0, 2 * j + 1, 1] = self.reward[0, 2 * j + 2, 1] = first
            self.reward[0, 2 * j + 1, 2] = self.reward[0, 2 * j + 2, 2] = -first
            for later in range(1, self.horizon):
                self.reward[later, 2 * j + 1, 1] = self.reward[later, 2 * j + 1, 2] = first
                self.reward[later, 2 * j + 2, 1] = self.reward[later, 2 * j + 2, 2] = -first
        return self.follow(t, x, a), self.reward[t, x, a]

    @staticmethod
    def follow(t, x, a):
        k = (x + 1) // 2
        return (2 * k - 1 if a == 1 else 2 * k) if t == 0 else x

    def features(self, x, a, t):
        k = (x + 1) // 2
        e = np.zeros(self.k)
        e[k - 1] = 1
        if t >= 1:
            return (self.horizon - t) * e if x == 2 * k - 1 else -(self.horizon - t) * e
        return self.horizon * e if a == 1 else -self.horizon * e


def play(system, policy, episodes):
    """Total rewards of episodes stepped in Python; policy(episode, period, state) -> action."""
    totals = []
    for episode in range(episodes):
        state, rewards = system.reset(episode=episode), []
        for period in range(system.horizon):
            state, reward, terminated = system.step(state, policy(episode, period, state), period)
            rewards.append(reward)
            assert not terminated
        totals.append(math.fsum(rewards))
    return np.array([totals])


class TestConstruction:
    @pytest.mark.parametrize("seed", range(100))
    def test_is_the_paper_s(self, seed):
        rng = np.random.default_rng(seed)
        k, horizon, bound = int(rng.integers(1, 6)), int(rng.integers(1, 6)), float(rng.choice([0.0, 0.1, 1.0]))
        paper, system = PaperAdversary(k, horizon, bound), ocp.Adversary(k, horizon, bound)
        for j in range(3 * k):
            x, state = paper.start(j), system.reset(episode=j)
            for t in range(horizon):
                assert state == x - 1
                a = int(rng.integers(1, 3))
                x, reward = paper.act(j, t, x, a)
                state, paid, terminated = system.step(state, a - 1, t)
                assert (paid, terminated) == (reward, False)

    @pytest.mark.parametrize("k, horizon", SIZES)
    def test_features_are_the_paper_s(self, k, horizon):
        paper, hypothesis = PaperAdversary(k, horizon, 1.0), ocp.Adversary(k, horizon).hypothesis()
        assert hypothesis.phi.shape == (horizon, 2 * k, 2, k)
        for t, x, a in np.ndindex(horizon, 2 * k, 2):
            assert hypothesis.phi[t, x, a].tolist() == paper.features(x + 1, a + 1, t).tolist()
        assert hypothesis == ocp.LinearFeatures(hypothesis.phi, shared=True)
        assert (hypothesis.horizon, hypothesis.n_states, hypothesis.n_actions) == (horizon, 2 * k, 2)
        assert hypothesis.eluder_dimension() == k

    @pytest.mark.parametrize("seed", range(30))
    def test_what_it_ends_up_with_is_in_the_class_and_worth_what_it_says(self, seed):
        """Q* of the finished system, by dynamic programming in rationals."""
        rng = np.random.default_rng(seed)
        k, horizon, bound = int(rng.integers(1, 5)), int(rng.integers(1, 6)), 0.1
        system = ocp.Adversary(k, horizon, bound)
        before = [system.optimal_value(x) for x in range(2 * k)]
        play(system, lambda *_: int(rng.integers(2)), k)
        next_state = np.empty((horizon, 2 * k, 2), dtype=int)
        reward = np.empty(next_state.shape, dtype=object)
        for t, x, a in np.ndindex(next_state.shape):
            next_state[t, x, a], paid, _ = system.step(x, a, t)
            reward[t, x, a] = Fraction(paid)
        q = np.array(optimal_q(next_state.tolist(), reward.tolist(), horizon), dtype=object)
        theta = np.array([Fraction(system.step(2 * pair, 0, 0)[1]) for pair in range(k)])
        phi = np.vectorize(Fraction, otypes=[object])(system.hypothesis().phi)
        assert np.array_equal(phi @ theta, q)
        for x in range(2 * k):
            assert before[x] == system.optimal_value(x) == float(max(q[0, x]))

    def test_says_what_it_is(self):
        system = ocp.Adversary(3, 4, 0.5)
        assert (system.n_states, system.n_actions, system.horizon) == (6, 2, 4)
        assert system.reward_range == (-0.5, 0.5)
        assert system.adaptive and system.deterministic_steps and not system.stochastic and not system.homogeneous
        assert repr(system) == "Adversary(n_features=3, horizon=4, reward_bound=0.5)"

    def test_acting_first_in_a_later_period_is_punished_too(self):
        for side in (0, 1):
            system = ocp.Adversary(2, 5)
            assert system.step(2 + side, 0, 3) == (2 + side, -1.0, False)
            assert system.step(2, side, 0) == (2 + side, -1.0, False)
            assert system.step(2, 1 - side, 0) == (3 - side, 1.0, False)


class TestNobodyDoesBetter:
    @pytest.mark.parametrize("k, horizon, episodes", [(1, 1, 5), (1, 3, 3), (2, 1, 6), (2, 2, 5), (3, 1, 6), (3, 2, 4)])
    def test_of_all_that_can_be_done(self, k, horizon, episodes):
        """Every sequence of actions; the bound is met by some, so that it cannot be raised either."""
        fewest, least = math.inf, math.inf
        for plan in itertools.product((0, 1), repeat=horizon * episodes):
            system = ocp.Adversary(k, horizon, 1.0)
            rewards = play(system, lambda j, t, _, plan=plan: plan[j * horizon + t], episodes)
            lost = horizon - rewards
            fewest, least = min(fewest, np.count_nonzero(lost)), min(least, lost.sum())
        assert (fewest, least) == (k, 2.0 * horizon * k)

    @pytest.mark.parametrize("bound", BOUNDS)
    @pytest.mark.parametrize("k, horizon", SIZES)
    def test_a_random_policy(self, k, horizon, bound):
        rng = np.random.default_rng(0)
        system = ocp.Adversary(k, horizon, bound)
        rewards = play(system, lambda *_: int(rng.integers(2)), 4 * k)
        result = ocp.Result(rewards, np.full(rewards.shape, system.optimal_value(0)))
        assert result.suboptimal(1e-9 * bound)[0] >= k
        assert result.regret()[0, k - 1] == pytest.approx(2 * bound * horizon * k, rel=1e-14)

    @pytest.mark.parametrize("options", [{}, {"ties": "random"}, {"ties": "directed", "replay": True}])
    @pytest.mark.parametrize("k, horizon", SIZES)
    def test_tabula_rasa(self, k, horizon, options):
        agent = ocp.OCP(ocp.TabulaRasa(2 * k, 2, horizon), **options)
        result = ocp.run(agent, ocp.Adversary(k, horizon), 8 * k * horizon, 3, rng=0, progress=False)
        assert np.all(result.suboptimal() >= k)
        assert np.all(result.suboptimal() <= 4 * k * horizon)
        assert np.all(result.regret()[:, k - 1] == 2 * horizon * k)
        if horizon > 1 and not options:
            assert np.all(result.suboptimal() > k)  # it does not generalise from one period to the others


VARIANTS = [
    {"selection": selection, "ties": ties, "replay": replay, "update": update}
    for selection in ("all", "eluder")
    for ties in ("first", "random", "least_visited", "directed")
    for replay in (False, True)
    for update in ("episode", "period")
]


def check_met_with_equality(result, k, horizon, bound):
    # rewards of the same size add up to the optimal value without an error: no tolerance needed here
    assert np.array_equal(result.optimal, np.full(result.optimal.shape, bound * horizon))
    assert np.array_equal(result.rewards[:, :k], -result.optimal[:, :k])
    assert np.array_equal(result.rewards[:, k:], result.optimal[:, k:])
    assert np.all(result.suboptimal(epsilon=0) == (k if bound else 0))
    regret = result.regret()
    assert np.all(regret[:, k - 1 :] == regret[:, -1:])
    np.testing.assert_allclose(regret[:, -1], 2 * bound * horizon * k, rtol=1e-14)


class TestOcpMeetsIt:
    @pytest.mark.parametrize("options", VARIANTS, ids=lambda options: "-".join(map(str, options.values())))
    @pytest.mark.parametrize("k, horizon", SIZES)
    def test_in_every_variant(self, k, horizon, options):
        for bound in BOUNDS:
            system = ocp.Adversary(k, horizon, bound)
            agent = ocp.OCP(system.hypothesis(), **options)
            result = ocp.run(agent, system, episodes=4 * k + 3, simulations=2, rng=1, progress=False, keep_agents=True)
            check_met_with_equality(result, k, horizon, bound)
            for learned in result.agents:
                assert learned.statistics()["rejected"] == 0
                assert learned.statistics()["determined"] == k

    @pytest.mark.parametrize("k, horizon", SIZES)
    def test_with_a_window_that_reaches_back_to_every_pair(self, k, horizon):
        system = ocp.Adversary(k, horizon, 0.1)
        agent = ocp.OCP(system.hypothesis(), selection="window", window=k)
        check_met_with_equality(ocp.run(agent, system, 6 * k, progress=False), k, horizon, 0.1)

    def test_a_shorter_window_forgets_and_loses_more(self):
        system = ocp.Adversary(4, 3)
        agent = ocp.OCP(system.hypothesis(), selection="window", window=3)
        assert ocp.run(agent, system, episodes=40, progress=False).suboptimal() == [40]

    @pytest.mark.parametrize("reward_bound", [1.0, 7.0])
    def test_knowing_the_reward_bound_does_not_help(self, reward_bound):
        system = ocp.Adversary(4, 3)
        agent = ocp.OCP(system.hypothesis(), reward_bound=reward_bound)
        check_met_with_equality(ocp.run(agent, system, 40, progress=False), 4, 3, 1.0)

    @pytest.mark.parametrize("k, horizon", SIZES)
    def test_without_rewards_nothing_is_suboptimal(self, k, horizon):
        system = ocp.Adversary(k, horizon, 0.0)
        assert system.optimal_value(0) == 0.0
        result = ocp.run(ocp.OCP(system.hypothesis()), system, episodes=3 * k, progress=False)
        assert result.suboptimal(epsilon=0) == [0]
        assert np.array_equal(result.regret(), np.zeros((1, 3 * k)))
        assert not np.signbit(result.rewards).any()

    def test_large(self):
        """A long horizon, whose sums must still come out exactly."""
        system = ocp.Adversary(20, 5000, 0.1)
        agent = ocp.OCP(system.hypothesis(), selection="eluder")
        result = ocp.run(agent, system, episodes=60, progress=False)
        check_met_with_equality(result, 20, 5000, 0.1)


class TestMemory:
    def test_simulations_have_one_each(self):
        """Random ties: simulations decide differently, and each loses its own first K episodes, in any thread."""
        system = ocp.Adversary(6, 3)
        agent = ocp.OCP(system.hypothesis(), ties="random")
        results = [ocp.run(agent, system, 30, 40, rng=5, workers=n, progress=False) for n in (1, 4)]
        assert np.array_equal(results[0].rewards, results[1].rewards)
        for result in results:
            check_met_with_equality(result, 6, 3, 1.0)

    def test_runs_and_steps_do_not_see_each_other(self):
        system = ocp.Adversary(3, 2)
        assert np.all(play(system, lambda *_: 1, 3) == -2.0)
        agent = ocp.OCP(system.hypothesis())
        check_met_with_equality(ocp.run(agent, system, 9, progress=False), 3, 2, 1.0)  # it chose 0 first
        check_met_with_equality(ocp.run(agent, system, 9, progress=False), 3, 2, 1.0)
        assert np.all(play(system, lambda *_: 0, 3) == 2.0)

    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda system: pickle.loads(pickle.dumps(system))])
    def test_copies_start_anew(self, again):
        system = ocp.Adversary(3, 2, 0.5)
        play(system, lambda *_: 0, 3)
        twin = again(system)
        assert twin == system and hash(twin) == hash(system) and repr(twin) == repr(system)
        assert np.all(play(twin, lambda *_: 1, 3) == -1.0)
        assert np.all(play(system, lambda *_: 1, 3) == 1.0)

    def test_of_two_clones(self):
        contract, system = contract_of(ocp.Adversary(2, 2))
        one, two = contract.clone(contract.parameters), contract.clone(contract.parameters)
        try:
            assert step(contract, one, 0, 0) == (0, -1.0)
            assert step(contract, two, 0, 1) == (1, -1.0)
            assert [step(contract, one, 0, a)[1] for a in (0, 1)] == [-1.0, 1.0]
            assert [step(contract, two, 0, a)[1] for a in (0, 1)] == [1.0, -1.0]
        finally:
            contract.destroy(one)
            contract.destroy(two)
        assert system.adaptive  # alive until here

    def test_saved_and_loaded(self):
        contract, system = contract_of(ocp.Adversary(3, 2))
        one, two = contract.clone(contract.parameters), contract.clone(contract.parameters)
        try:
            step(contract, one, 0, 0)
            step(contract, one, 2, 1)
            size = contract.save(one, None)
            memory = ctypes.create_string_buffer(size)
            assert contract.save(one, memory) == size == 3
            step(contract, two, 4, 0)
            assert contract.load(two, memory, size) == 0
            assert [step(contract, two, x, 0)[1] for x in (0, 2, 4)] == [-1.0, 1.0, -1.0]
            assert contract.load(two, memory, size - 1) == 5
            assert contract.load(two, b"\x00\x07\x00", 3) == 5
            assert [step(contract, two, x, 0)[1] for x in (0, 2, 4)] == [-1.0, 1.0, -1.0]
        finally:
            contract.destroy(one)
            contract.destroy(two)
        assert system.adaptive


POINTER, INT64 = ctypes.c_void_p, ctypes.c_int64


class Contract(ctypes.Structure):
    """ocp_system."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("abi_version", "struct_size", "flags", "state_kind")),
        *((name, INT64) for name in ("state_size", "n_actions", "action_size", "horizon")),
        *((name, ctypes.c_double) for name in ("reward_min", "reward_max")),
        ("parameters", POINTER),
        ("clone", ctypes.CFUNCTYPE(POINTER, POINTER)),
        ("destroy", ctypes.CFUNCTYPE(None, POINTER)),
        ("reset", ctypes.CFUNCTYPE(ctypes.c_int, POINTER, INT64, POINTER, POINTER)),
        ("step", ctypes.CFUNCTYPE(ctypes.c_int, POINTER, INT64, POINTER, POINTER, POINTER, POINTER, POINTER)),
        ("step_many", POINTER),
        ("optimal_value", POINTER),
        ("save", ctypes.CFUNCTYPE(INT64, POINTER, POINTER)),
        ("load", ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, INT64)),
    ]


def contract_of(system):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = POINTER, (ctypes.py_object, ctypes.c_char_p)
    contract = Contract.from_address(get(system.capsule, b"ocpfast.system"))
    assert contract.struct_size == ctypes.sizeof(Contract)
    return contract, system


def step(contract, instance, state, action):
    """A step of period 0 at the C level."""
    x, a, reward, ending = INT64(state), INT64(action), ctypes.c_double(), ctypes.c_int()
    pointers = (ctypes.byref(value) for value in (x, a))
    assert contract.step(instance, 0, *pointers, None, ctypes.byref(reward), ctypes.byref(ending)) == 0
    return x.value, reward.value


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ((0, 1), ValueError, "n_features: expected an integer in 1..1048576, got 0"),
        ((2**20 + 1, 1), ValueError, "n_features: expected an integer in 1..1048576, got 1048577"),
        ((1.0, 1), TypeError, "n_features: expected an integer in 1..1048576, got 1.0; int() makes it one"),
        ((1, 0), ValueError, "horizon: expected an integer >= 1, got 0"),
        ((1, 2**63), ValueError, "horizon: expected an integer below 2**63, got 9223372036854775808"),
        ((1, 1, -0.5), ValueError, "reward_bound: expected a number >= 0, got -0.5"),
        ((1, 1, math.nan), ValueError, "reward_bound: expected finite numbers, got nan"),
        ((1, 1, math.inf), ValueError, "reward_bound: expected finite numbers, got inf"),
        ((1, 1, "1"), TypeError, "reward_bound: expected real numbers, got '1' (str)"),
        (
            (1, 100, 1e307),
            ValueError,
            "reward_bound: expected less for a horizon of 100, so that an episode's rewards add up to a finite number, "
            "got 1e+307",
        ),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error) as caught:
        ocp.Adversary(*arguments)
    assert str(caught.value) == message


def test_features_that_no_memory_holds():
    with pytest.raises(
        MemoryError, match=r"^hypothesis: no memory for features of shape \(\d+, 2097152, 2, 1048576\)$"
    ):
        ocp.Adversary(2**20, 2**40).hypothesis()
