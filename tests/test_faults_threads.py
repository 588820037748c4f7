"""Two threads on one agent: errors that say so, nothing corrupted, and snapshots of one moment."""

import copy
import itertools
import pickle
import random
import sys
import threading
import time

import numpy as np
import pytest
from test_highs import Case, through

import ocpfast as ocp

IN_USE = "the agent is in use, by another thread or by a call of its own that called this one"
CALLS = 1500  # that succeed


@pytest.fixture(autouse=True)
def restless():
    """Threads that change as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*functions):
    """Runs them in threads of their own, and raises what they raised."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if errors:  # first: who waits for one that failed may wait for ever
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads)


# ---- agents that let other threads in, in the middle of their calls ------------------------------------------------


def features(state, action):
    time.sleep(0)  # lets go of the GIL
    x, y = state
    return [1.0, x, y, x * y, float(action), action * x]


class Vectors:
    """Features that are a Python function of vector states."""

    actions, horizon = 3, 4

    def agent(self):
        function = ocp.FeatureFunction(features, n_features=6, n_actions=3, state_size=2)
        return ocp.OCP(ocp.LinearFeatures(function, horizon=4, shared=False), replay=True, ties="random", rng=1)

    def place(self, number):
        return np.array([number % 5, number % 3], dtype=float)

    def as_given(self, number, note):
        return Noted(self.place(number), note)


class Noted:
    """A vector that notes when it is looked at: inside the call, where nobody else is."""

    def __init__(self, vector, note):
        self.vector, self.note = vector, note

    def __array__(self, dtype=None, copy=None):
        self.note()
        time.sleep(0)
        return np.array(self.vector)


class Indices:
    """States that are objects with an __index__ in Python."""

    actions, horizon = 2, 5

    def agent(self):
        return ocp.OCP(ocp.TabulaRasa(15, 2, horizon=5), replay="stationary", ties="random", rng=1)

    def place(self, number):
        return number % 15

    def as_given(self, number, note):
        return NotedIndex(self.place(number), note)


class NotedIndex:
    def __init__(self, index, note):
        self.index, self.note = index, note

    def __index__(self):
        self.note()
        time.sleep(0)
        return self.index


class Programs(Indices):
    """Linear programs by way of highspy's Python API."""

    def __init__(self):
        self.case = Case(14)
        self.n_states, self.actions, self.horizon = self.case.shape

    def agent(self):
        with through("python"):
            return self.case.agent(rng=1)

    def place(self, number):
        return number % self.n_states


KINDS = {"vectors": Vectors, "indices": Indices, "programs": Programs}


def perform(agent, call, state):
    name, number, action, period = call
    if name == "act":
        return agent.act(state)
    if name == "greedy":
        return agent.act(state, learn=False, period=period)
    if name == "observe":
        return agent.observe(state, number % 7 / 4)
    return getattr(agent, name)(state, action, period)


@pytest.mark.parametrize("kind", KINDS)
def test_what_succeeded_is_what_a_serial_replay_gives(kind):
    """1,500 calls by two threads; whatever came in between was refused and changed nothing."""
    made = KINDS[kind]()
    agent = made.agent()
    order, answers, refused = [], {}, []

    def caller(seed):
        rng = random.Random(seed)
        for i in itertools.count():
            if len(answers) >= CALLS:
                break
            name = rng.choice(["act", "observe", "act", "observe", "upper", "determined", "greedy"])
            call = name, rng.randrange(60), rng.randrange(made.actions), rng.randrange(made.horizon)
            key = (seed, i, call)
            try:
                answers[key] = perform(agent, call, made.as_given(call[1], lambda key=key: order.append(key)))
            except RuntimeError as error:
                refused.append(str(error))
                time.sleep(0)

    together(lambda: caller(1), lambda: caller(2))
    assert sorted(order) == sorted(answers)  # whoever was let in came to an end
    kinds = [sum(text.startswith(start) for text in refused) for start in (IN_USE, "act: called", "observe: there is")]
    assert sum(kinds) == len(refused)
    print(f"{kind}: {len(answers)} calls went through, {kinds[0]} were refused")
    assert kinds[0] > 20

    serial = made.agent()
    for key in order:
        assert perform(serial, key[2], made.place(key[2][1])) == answers[key], key
    assert serial.statistics() == agent.statistics()
    assert serial._core.state() == agent._core.state()
    assert serial._rng.bit_generator.state == agent._rng.bit_generator.state


# ---- calls from inside ---------------------------------------------------------------------------------------------


def test_calls_from_inside_a_feature_function_are_refused(tmp_path):
    made = Vectors()
    place = made.place(1)
    inner = {
        "act": lambda: agent.act(place),
        "act without learning": lambda: agent.act(place, learn=False),
        "observe": lambda: agent.observe(place, 1.0),
        "begin_episode": lambda: agent.begin_episode(),
        "upper": lambda: agent.upper(place, 0),
        "determined": lambda: agent.determined(place, 0),
        "period": lambda: agent.period,
        "n_constraints": lambda: agent.n_constraints,
        "statistics": lambda: agent.statistics(),
        "certificate": lambda: agent.certificate(),
        "copy": lambda: agent.copy(),
        "deepcopy": lambda: copy.deepcopy(agent),
        "pickle": lambda: pickle.dumps(agent),
        "save": lambda: agent.save(tmp_path / "agent.ocp"),
        "run": lambda: ocp.run(agent, ocp.InvertedPendulum(horizon=4), episodes=2, progress=False),
    }
    told, shown = {}, []

    def meddling(state, action):
        for name, call in inner.items():
            with pytest.raises(RuntimeError) as e:
                call()
            told[name] = str(e.value)
        shown.append(repr(agent))
        return features(state, action)

    def make(function):
        function = ocp.FeatureFunction(function, n_features=6, n_actions=3, state_size=2)
        return ocp.OCP(ocp.LinearFeatures(function, horizon=4, shared=False))

    agent, plain = make(meddling), make(features)
    for number in range(12):
        for one in (agent, plain):
            one.act(made.place(number))
            one.observe(made.place(number + 1), 0.5)
    assert set(told) == set(inner) and all(text.startswith(IN_USE) for text in told.values()), told
    assert shown and all(text.endswith(": in use>") for text in shown)
    assert agent._core.state() == plain._core.state()
    assert not list(tmp_path.iterdir())


def test_a_feature_function_that_raises_leaves_the_agent_free():
    def failing(state, action):
        if state[0] == 3:
            raise LookupError("no such place")
        return features(state, action)

    function = ocp.FeatureFunction(failing, n_features=6, n_actions=3, state_size=2)
    agent = ocp.OCP(ocp.LinearFeatures(function, horizon=4, shared=False))
    for _ in range(3):
        with pytest.raises(LookupError):
            agent.act([3.0, 0.0])
        assert agent.act([2.0, 0.0]) == 0 and agent.observe([1.0, 0.0], 0.0) is False


# ---- snapshots -----------------------------------------------------------------------------------------------------

SNAPSHOTS = {"copy": 60, "pickle": 60, "save": 20}


def steps(agent):
    """Acts and observes for ever; where it is refused it tries again."""

    def patiently(call, *arguments):
        while True:
            try:
                return call(*arguments)
            except RuntimeError as error:
                assert str(error).startswith(IN_USE)
                time.sleep(0)

    for i in itertools.count():
        patiently(agent.act, i * i % 4)
        yield
        patiently(agent.observe, (i + 1) ** 2 % 4, i % 3)
        yield


class PCG64(np.random.PCG64):
    """One that lets other threads go on while it says where it stands; files know it by its name."""

    @property
    def state(self):
        time.sleep(1e-4)
        state = super().state
        time.sleep(1e-4)
        return state

    @state.setter
    def state(self, state):
        np.random.PCG64.state.__set__(self, state)


def moment(agent):
    state = np.random.PCG64.state.__get__(agent._rng.bit_generator)["state"]
    return agent._core.state(), state["state"], state["inc"]


def saved(agent, path):
    agent.save(path)
    return ocp.load_agent(path)


@pytest.mark.parametrize("way", SNAPSHOTS)
def test_a_snapshot_is_of_one_moment(way, tmp_path):
    """What is known and where the generator stands belong together, while another thread goes on."""

    def made():  # draws each time that it acts
        return ocp.QLearning(4, 3, horizon=3, exploration=ocp.EpsilonGreedy(0.5), rng=PCG64(5))

    agent, serial = made(), made()
    snapshot = {
        "copy": copy.copy,
        "pickle": lambda one: pickle.loads(pickle.dumps(one)),
        "save": lambda one: saved(one, tmp_path / "agent.ocp"),
    }[way]
    taken, n_steps, done = set(), 0, threading.Event()

    def take():
        try:
            while len(taken) < SNAPSHOTS[way]:
                try:
                    taken.add(moment(snapshot(agent)))
                except RuntimeError as error:
                    assert str(error).startswith(IN_USE)
                time.sleep(1e-4)  # else it is the other who finds no gap
        finally:
            done.set()

    def learn():
        nonlocal n_steps
        for _ in steps(agent):
            n_steps += 1
            if done.is_set():
                break

    together(learn, take)
    moments = {moment(serial)} | {moment(serial) for _ in itertools.islice(steps(serial), n_steps)}
    print(f"{way}: {len(taken)} snapshots of different moments, in {n_steps} steps")
    assert taken <= moments
    assert moment(agent) == moment(serial)


def test_all_simulations_of_a_run_begin_at_one_moment():
    agent, done = ocp.OCP(ocp.TabulaRasa(20, 2, horizon=20), ties="random"), threading.Event()
    chain = ocp.Chain(20)

    def learn():
        for _ in steps(agent):
            if done.is_set():
                break

    def run():
        began = set()
        try:
            while len(began) < 10:
                result = ocp.run(agent, chain, episodes=3, simulations=40, workers=2, progress=False, keep_agents=True)
                periods = {one.statistics()["periods"] for one in result.agents}
                assert len(periods) == 1, periods
                began |= periods
        finally:
            done.set()

    together(learn, run)


def test_readers_do_not_keep_each_other_out():
    agent = ocp.OCP(ocp.TabulaRasa(9, 2, horizon=9), replay=True)
    [agent] = ocp.run(agent, ocp.Chain(9), episodes=30, progress=False, keep_agents=True).agents
    expected = agent._core.state(), repr(agent), agent.certificate(), agent.statistics()

    def read():
        for _ in range(200):
            assert (agent.copy()._core.state(), repr(agent), agent.certificate(), agent.statistics()) == expected
            assert pickle.loads(pickle.dumps(agent))._core.state() == expected[0]

    together(read, read, read)
