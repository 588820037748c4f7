"""Checkpoints and pickles: an agent that was saved and loaded goes on as the one that stayed, to the last bit."""

import copy
import hashlib
import json
import os
import pickle
import re
import signal
import struct
import subprocess
import sys
import textwrap
import time
import warnings
import zlib

import numpy as np
import pytest
from scipy import sparse

import ocpfast as ocp
from ocpfast import _core, saving

# ---- a world for every kind of agent ---------------------------------------------------------------------------------


class World:
    """A random system with finitely many states; with noise, rewards contradict each other now and then."""

    def __init__(self, rng, n_states=6, n_actions=3, noise=0.0, points=None, rewards=(0.0, 0.25, 1.0), endings=0.05):
        self.next_state = rng.integers(n_states, size=(n_states, n_actions, 2))
        self.reward = rng.choice(rewards, size=(n_states, n_actions))
        self.points = points  # where states are vectors: these
        self.noise, self.endings, self.n_states = noise, endings, n_states

    def begin(self, rng):
        return int(rng.integers(self.n_states))

    def seen(self, state):
        return state if self.points is None else self.points[state]

    def step(self, state, action, rng):
        reward = float(self.reward[state, action])
        if rng.random() < self.noise:
            reward += float(rng.choice([-0.5, 0.125, 0.5]))
        after = int(self.next_state[state, action, int(rng.random() < self.noise)])
        return after, reward, rng.random() < self.endings


class GradedWorld(World):
    """Rewards in [0, 1], at the end alone."""

    def __init__(self, rng, horizon, **arguments):
        super().__init__(rng, **arguments)
        self.horizon = horizon

    def step(self, state, action, rng):
        after, reward, _ = super().step(state, action, rng)
        return after, min(max(reward, 0.0), 1.0), False


class LinearWorld:
    """x' = A x + B u; actions are vectors, or indices into a list."""

    def __init__(self, rng, n_state=2, n_action=1, actions=None):
        self.a, self.b = rng.normal(size=(n_state, n_state)) / 2, rng.normal(size=(n_state, n_action))
        self.actions = actions

    def begin(self, rng):
        return rng.normal(size=len(self.a))

    def seen(self, state):
        return state

    def step(self, state, action, rng):
        u = action if self.actions is None else self.actions[action]
        return self.a @ state + self.b @ u, -float(state @ state + u @ u), False


class Loop:
    """Somebody's loop, half a step at a time: act, observe, act, ..."""

    def __init__(self, agent, world, seed):
        self.agent, self.world, self.rng = agent, world, np.random.default_rng(seed)
        self.state, self.action = world.begin(self.rng), None

    def half_step(self):
        agent, world = self.agent, self.world
        if self.action is None:
            if self.rng.random() < 0.01:
                agent.begin_episode()
            self.action = agent.act(world.seen(self.state))
            return self.action if isinstance(self.action, int) else self.action.tobytes()
        after, reward, terminated = world.step(self.state, self.action, self.rng)
        if isinstance(world, GradedWorld):
            terminated = agent.period == world.horizon - 1
            reward = reward if terminated else 0.0
        truncated = self.rng.random() < 0.02
        ended = agent.observe(world.seen(after), reward, terminated, truncated and not terminated)
        self.state, self.action = world.begin(self.rng) if ended else after, None
        return ended

    def with_agent(self, agent):
        twin = copy.copy(self)
        twin.agent, twin.rng = agent, copy.deepcopy(self.rng)
        return twin


# ---- agents of every class, with options at random -------------------------------------------------------------------


def options(rng, selections, homogeneous=False, ties=("first", "random", "least_visited", "directed")):
    chosen = {"selection": str(rng.choice(selections)), "ties": str(rng.choice(ties)), "rng": int(rng.integers(99))}
    if chosen["selection"] == "window":
        chosen["window"] = int(rng.integers(1, 4))
    else:
        chosen["replay"] = [False, True, "stationary"][rng.integers(3)]
    chosen["update"] = str(rng.choice(["episode", "period"]))
    chosen["replay_sweeps"] = 20
    kind = rng.integers(3)
    if kind == 1:
        chosen["bounds"] = (-3.0, float(rng.choice([4.0, 12.0])))
    elif kind == 2 and homogeneous:
        chosen.update(discount=0.75, reward_bound=2.0)
    elif kind == 2:
        chosen["reward_bound"] = 2.0
    return chosen


ALL = ("all", "eluder", "first", "window")
LINEAR = ("all", "eluder", "window")


def horizon_of(rng):
    return None if rng.random() < 0.4 else int(rng.integers(1, 6))


def tabula_rasa(rng):
    horizon = horizon_of(rng)
    cells = ocp.TabulaRasa(6, 3, horizon, lower=str(rng.choice(["off", "exact"])))
    return ocp.OCP(cells, **options(rng, ALL, horizon is None)), World(rng, noise=rng.choice([0, 0.3]))


def state_aggregation(rng):
    horizon, shape = horizon_of(rng), rng.integers(3)
    labels = rng.permutation([0, 0, 1, 1, 2, 2])
    if shape > 0:
        labels = rng.permutation(np.arange(18) % 7).reshape(6, 3)
    if shape == 2:
        horizon = 3
        labels = np.stack([rng.permutation(labels.ravel()).reshape(6, 3) for _ in range(horizon)])
    cells = ocp.StateAggregation(labels, 3, horizon, lower=str(rng.choice(["off", "exact"])))
    return ocp.OCP(cells, **options(rng, ALL, horizon is None)), World(rng, noise=rng.choice([0, 0.3]))


def points_of(rng, size=2):
    points = rng.normal(size=(6, size)).round(2)
    return [list(map(float, point)) for point in points]


def grid(rng):
    horizon = horizon_of(rng)
    cells = ocp.StateAggregation(ocp.Grid([[-0.5, 0.5], [0.0]], extra=1), 3, horizon)
    points = points_of(rng)
    points[0] = [float("nan"), 0.0]
    return ocp.OCP(cells, **options(rng, ALL, horizon is None)), World(rng, points=points)


def features_of(rng, horizon, k=4):
    shape = (6, 3, k) if horizon is None or rng.random() < 0.5 else (horizon, 6, 3, k)
    phi = rng.normal(size=shape) if rng.random() < 0.5 else rng.integers(-1, 2, size=shape).astype(float)
    shared = bool(rng.random() < 0.5) if len(shape) == 4 else False
    return phi, {"horizon": horizon, "shared": shared}


def linear_features(rng):
    horizon = horizon_of(rng)
    phi, arguments = features_of(rng, horizon)
    if phi.ndim == 3 and rng.random() < 0.4:
        phi, arguments["n_actions"] = sparse.csr_array(phi.reshape(18, -1)), 3
    known = ocp.LinearFeatures(phi, **arguments)
    return ocp.OCP(known, **options(rng, LINEAR, known.homogeneous)), World(rng, noise=rng.choice([0, 0.2]))


def polytope(rng):
    horizon = horizon_of(rng)
    phi, arguments = features_of(rng, horizon)
    arguments["shared"] = arguments["shared"] or horizon is None
    a, b = np.vstack([np.eye(4), -np.eye(4), rng.normal(size=(2, 4))]), np.full(10, 3.0)
    known = ocp.Polytope(phi, a, b, **arguments)
    return ocp.OCP(known, **options(rng, LINEAR, known.homogeneous)), World(rng, noise=rng.choice([0, 0.2]))


def phi_of_vectors(state, action):
    x, y = state
    return [1.0, x, y, x * y, float(action)]


def open_features(rng):
    horizon = horizon_of(rng)
    phi = ocp.FeatureFunction(phi_of_vectors, n_features=5, n_actions=3, state_size=2)
    known = ocp.LinearFeatures(phi, horizon, shared=horizon is None)
    chosen = options(rng, LINEAR, known.homogeneous)
    if chosen.get("replay") == "stationary":
        chosen["replay"] = True
    chosen["replay_capacity"] = int(rng.choice([5, 1000]))
    return ocp.OCP(known, **chosen), World(rng, points=points_of(rng))


def sigmoid(rng):
    horizon = int(rng.integers(1, 5))
    phi, arguments = features_of(rng, horizon)
    chosen = options(rng, LINEAR)
    chosen.pop("reward_bound", None)
    if "bounds" in chosen:
        chosen["bounds"] = (0.05, 0.95)
    known = ocp.Sigmoid(phi, **arguments)
    return ocp.OCP(known, **chosen), GradedWorld(rng, horizon, noise=rng.choice([0, 0.1]), rewards=(0.0, 0.3, 0.9))


def sparse_linear(rng):
    horizon = int(rng.integers(1, 5))
    phi, arguments = features_of(rng, horizon, k=5)
    known = ocp.SparseLinear(phi, sparsity=2, **arguments)
    return ocp.OCP(known, **options(rng, ["eluder"])), World(rng, noise=rng.choice([0, 0.2]))


def sparse_programs(rng):
    known = ocp.SparseLinear(rng.normal(size=(2, 6, 3, 4)), sparsity=2, theta_bound=9.0, enumerate_up_to=1)
    return ocp.OCP(known, **options(rng, ["eluder"])), World(rng, noise=rng.choice([0, 0.2]))


def finite_class(rng):
    dtype = rng.choice([np.float32, np.float64])
    tables = rng.choice([0.0, 0.25, 1.0, 1.25, 2.0], size=(int(rng.choice([7, 64, 200])), 3, 6, 3)).astype(dtype)
    return ocp.OCP(ocp.FiniteClass(tables), **options(rng, LINEAR)), World(rng, noise=rng.choice([0, 0.3]))


def quadratic(rng):
    chosen = options(rng, ["eluder"], ties=("first", "directed"))
    chosen.pop("reward_bound", None)
    if "bounds" in chosen:
        chosen["bounds"] = (-np.inf, 0.0)
    return ocp.OCP(ocp.Quadratic(2, 1, horizon=4), **chosen), LinearWorld(rng)


def quadratic_list(rng):
    actions = np.array([[-1.0], [0.0], [0.5]])
    chosen = options(rng, ["all", "eluder"])
    chosen.pop("reward_bound", None)
    chosen.pop("bounds", None)
    if chosen.get("replay") == "stationary":
        chosen["replay"] = True
    return ocp.OCP(ocp.Quadratic(2, 1, 3, actions=actions), **chosen), LinearWorld(rng, actions=actions)


def exploration(rng):
    return [ocp.EpsilonGreedy(0.3), ocp.Boltzmann(0.5), None][rng.integers(3)]


def lsvi(rng):
    horizon = horizon_of(rng)
    known = ocp.TabulaRasa(6, 3, horizon)
    if rng.random() < 0.5:
        phi, arguments = features_of(rng, horizon)
        known = ocp.LinearFeatures(phi, **arguments)
    ties = str(rng.choice(["first", "random"]))
    agent = ocp.LSVI(known, exploration(rng), rng=int(rng.integers(99)), ties=ties, sweeps=40)
    return agent, World(rng, noise=rng.choice([0, 0.3]))


def q_learning(rng):
    rate, start = float(rng.choice([1.0, 0.3])), float(rng.choice([np.inf, 2.0]))
    agent = ocp.QLearning(6, 3, horizon_of(rng), rate, start, exploration(rng), rng=int(rng.integers(99)))
    return agent, World(rng, noise=0.3)


def random_policy(rng):
    bits = [np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64, np.random.MT19937]
    return ocp.RandomPolicy(3, rng=bits[rng.integers(5)](7)), World(rng)


KINDS = [
    tabula_rasa, state_aggregation, grid, linear_features, polytope, open_features, sigmoid, sparse_linear,
    sparse_programs, finite_class, quadratic, quadratic_list, lsvi, q_learning, random_policy,
]  # fmt: skip
REPEATS = {"sparse_programs": 4, "polytope": 30}


def made(kind, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(np.random.default_rng([KINDS.index(kind), seed]))


def load(path, agent):
    """With the class given where it has a function in it."""
    needs_class = (
        isinstance(getattr(agent, "hypothesis", None), ocp.LinearFeatures) and agent.hypothesis.n_states is None
    )
    return ocp.load_agent(path, hypothesis=agent.hypothesis if needs_class else None)


def bits(value):
    return struct.pack("<d", value)


def known(loop):
    """Some of what the agent knows, as bits."""
    agent, state = loop.agent, loop.world.seen(loop.state)
    if isinstance(agent, ocp.OCP):
        action = 0 if loop.agent.hypothesis.n_actions else [0.5]
        promised = agent._core.coherent, agent._core.last_episode_determined
        return bits(agent.upper(state, action)), agent.determined(state, action), promised
    return bits(agent.value(state, 0)) if hasattr(agent, "value") else None


@pytest.mark.filterwarnings("ignore:a time-homogeneous class without bounds")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_loaded_agent_goes_on_to_the_last_bit(kind, tmp_path):
    path = tmp_path / "agent.ocp"
    n_midway = 0
    for seed in range(REPEATS.get(kind.__name__, 40)):
        agent, world = made(kind, seed)
        rng = np.random.default_rng(seed)
        loop = Loop(agent, world, seed)
        for _ in range(int(rng.integers(0, 200))):
            loop.half_step()
        n_midway += agent.period > 0
        agent.save(path)
        twins = [load(path, agent), pickle.loads(pickle.dumps(agent)), agent.copy()]
        assert all(type(twin) is type(agent) and repr(twin) == repr(agent) for twin in twins)
        assert all(twin.statistics() == agent.statistics() for twin in twins)
        assert all(twin._core.state() == agent._core.state() for twin in twins)
        loops = [loop, *(loop.with_agent(twin) for twin in twins)]
        for step in range(int(rng.integers(1, 120))):
            taken = [one.half_step() for one in loops]
            assert taken.count(taken[0]) == len(taken), (seed, step)
            if step % 7 == 0:
                values = [known(one) for one in loops]
                assert values.count(values[0]) == len(values), (seed, step)
        assert all(one.agent.statistics() == agent.statistics() for one in loops)
        assert all(one.agent._core.state() == agent._core.state() for one in loops), seed
    assert n_midway > 0 or kind is sparse_programs


@pytest.mark.filterwarnings("ignore:a time-homogeneous class without bounds")
def test_saving_changes_nothing(tmp_path):
    for seed in range(10):
        one, other = (Loop(*made(polytope, seed), seed) for _ in range(2))
        for step in range(150):
            assert one.half_step() == other.half_step()
            if step % 10 == 0:
                one.agent.save(tmp_path / "agent.ocp")
                pickle.dumps(one.agent)
        assert one.agent._core.state() == other.agent._core.state()


def test_programs_go_on_to_the_last_bit_through_many_questions(tmp_path):
    # past the 64 questions after which a program is passed anew, in many dimensions
    for seed in range(4):
        rng = np.random.default_rng(seed)
        phi = rng.normal(size=(4, 8, 3, 8))
        a = np.vstack([np.eye(8), -np.eye(8), rng.normal(size=(8, 8))])
        agent = ocp.OCP(ocp.Polytope(phi, a, np.full(24, 2.0)), ties="random", rng=seed)
        loop = Loop(agent, World(rng, n_states=8, noise=0.3), seed)
        loops = [loop]
        for step in range(240):
            if step % 60 == 59:
                loops.append(loop.with_agent(pickle.loads(pickle.dumps(agent))))
            taken = [one.half_step() for one in loops]
            assert taken.count(taken[0]) == len(taken)
        assert agent.statistics()["lps"] > 200
        assert all(one.agent._core.state() == agent._core.state() for one in loops)


def test_programs_through_python_go_on_as_well(tmp_path):
    path = tmp_path / "agent.ocp"
    script = f"""
        import hashlib, sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import ocpfast as ocp
        from test_saving import questions
        agent = ocp.load_agent({str(path)!r})
        questions(agent, seed=1)
        print(ocp._core.highs_in_use(), hashlib.sha256(agent._core.state()).hexdigest())
    """
    phi = np.random.default_rng(0).normal(size=(3, 8, 3, 4))
    agent = ocp.OCP(ocp.Polytope(phi, np.vstack([np.eye(4), -np.eye(4)]), np.full(8, 2.0)))
    questions(agent, seed=0)
    agent.save(path)
    before = agent.statistics()["lps"]
    questions(agent, seed=1)
    assert agent.statistics()["lps"] > before + 64
    ours = hashlib.sha256(agent._core.state()).hexdigest()
    for choice in ("python", "library"):
        said = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            env={**os.environ, "OCPFAST_HIGHS": choice},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        assert (said[0] == "highspy") == (choice == "python") and said[1] == ours


def questions(agent, seed):
    loop = Loop(agent, World(np.random.default_rng(5), n_states=8, noise=0.3), seed)
    for _ in range(60):
        loop.half_step()


def test_a_loaded_agent_runs_as_the_saved_one(tmp_path):
    chain = ocp.Chain(8)
    phi = np.random.default_rng(0).normal(size=(8, 8, 2, 3))
    phi[..., 0] = ocp.solve(chain).q
    for known_class in (ocp.TabulaRasa(8, 2, 8), ocp.LinearFeatures(phi)):
        [agent] = ocp.run(
            ocp.OCP(known_class, replay=True), chain, episodes=10, rng=0, progress=False, keep_agents=True
        ).agents
        agent.save(tmp_path / "agent.ocp")
        results = [
            ocp.run(one, chain, episodes=20, simulations=2, rng=1, progress=False).rewards
            for one in (agent, ocp.load_agent(tmp_path / "agent.ocp"), pickle.loads(pickle.dumps(agent)))
        ]
        assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


def test_what_an_agent_knows_beside_its_core(tmp_path):
    pendulum = ocp.InvertedPendulum(disturbance=2.5, horizon=9)
    agent = ocp.OCP(ocp.StateAggregation(pendulum.partition(), 3, horizon=9))
    [agent] = ocp.run(agent, pendulum, episodes=2, progress=False, keep_agents=True).agents
    assert agent.certificate().reason == "the system is stochastic"
    agent.save(tmp_path / "a")
    for twin in (ocp.load_agent(tmp_path / "a"), pickle.loads(pickle.dumps(agent))):
        assert twin.certificate() == agent.certificate()
        assert twin.hypothesis == agent.hypothesis


# ---- pickles ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_protocols(protocol):
    agent, world = made(tabula_rasa, 3)
    loop = Loop(agent, world, 0)
    for _ in range(31):
        loop.half_step()
    twin = loop.with_agent(pickle.loads(pickle.dumps(agent, protocol)))
    assert [loop.half_step() for _ in range(50)] == [twin.half_step() for _ in range(50)]


def test_generators_that_agents_share_stay_shared():
    rng = np.random.default_rng(5)
    first, second = pickle.loads(pickle.dumps([ocp.RandomPolicy(9, rng=rng), ocp.RandomPolicy(9, rng=rng)]))
    assert first._rng is second._rng
    hypothesis = ocp.TabulaRasa(3, 2, 4)
    first, second = pickle.loads(pickle.dumps([ocp.OCP(hypothesis), ocp.OCP(hypothesis)]))
    assert first.hypothesis is second.hypothesis


def test_sizes():
    # a new agent is little more than its description, whatever its class needs when it learns
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(20, 50, 2, 10))
    agents = [
        ocp.OCP(ocp.TabulaRasa(1000, 4, 100, lower="exact"), replay=True, ties="directed"),
        ocp.OCP(ocp.TabulaRasa(1000, 4, 100), selection="window", window=3),
        ocp.OCP(ocp.LinearFeatures(phi), ties="directed", replay=True),
        ocp.OCP(ocp.Polytope(phi, np.eye(10), np.ones(10))),
        ocp.OCP(ocp.SparseLinear(phi, 2), selection="eluder"),
        ocp.OCP(ocp.FiniteClass(rng.normal(size=(500, 4, 10, 2))), ties="directed"),
        ocp.LSVI(ocp.TabulaRasa(1000, 4, 100)),
        ocp.LSVI(ocp.LinearFeatures(phi)),
        ocp.QLearning(1000, 4, 100),
    ]
    for agent in agents:
        described = len(pickle.dumps(agent._domain))
        assert len(pickle.dumps(agent)) < described + 2_000 + 300 * agent._domain.horizon, agent
    # a learned one has no Python object for each constraint
    agent = ocp.OCP(ocp.TabulaRasa(50, 2, 50))
    [agent] = ocp.run(agent, ocp.Chain(50), episodes=3000, progress=False, keep_agents=True).agents
    assert agent.n_constraints > 2000
    assert len(pickle.dumps(agent)) < 16 * agent.n_constraints


# ---- files that are not what they should be --------------------------------------------------------------------------


def small_agent():
    agent = ocp.OCP(ocp.StateAggregation([0, 0, 1], 2, horizon=2, lower="exact"), replay=True, ties="directed")
    for _ in range(5):
        agent.act(0)
        agent.observe(2, 0.5)
    return agent


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "agent.ocp"
    small_agent().save(path)
    return path


def test_every_flipped_bit_is_noticed(small):
    content = small.read_bytes()
    for i in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[i] ^= 1 << bit
            with pytest.raises(ValueError, match=r"^path: "):  # as load_agent does, but for reading the file
                saving.checked(bytes(damaged), small)
        small.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"^path: "):
            ocp.load_agent(small)


def test_every_truncation_is_noticed(small):
    content = small.read_bytes()
    for n in range(len(content)):
        small.write_bytes(content[:n])
        with pytest.raises(ValueError, match=r"^path: "):
            ocp.load_agent(small)
    small.write_bytes(content + b"\0")
    with pytest.raises(ValueError, match=r"is damaged: expected .* bytes, got"):
        ocp.load_agent(small)


def sealed(content):
    """With the checksum made right again."""
    return content[:-4] + struct.pack("<I", zlib.crc32(content[:-4]))


def rewritten(content, change):
    """A file whose header is changed, all lengths and the checksum made right."""
    start = struct.Struct("<8sIQQ")
    magic, version, _, length = start.unpack_from(content)
    header = json.loads(content[start.size : start.size + length])
    change(header)
    text = json.dumps(header).encode()
    rest = content[start.size + length :]
    return sealed(start.pack(magic, version, start.size + len(text) + len(rest), len(text)) + text + rest)


def test_what_is_said_of_other_files(small, tmp_path):
    content = small.read_bytes()
    small.write_bytes(b"\x93NUMPY and so on")
    with pytest.raises(ValueError, match=rf"path: expected a checkpoint that Agent.save wrote, got .* in {small}"):
        ocp.load_agent(small)
    small.write_bytes(b"")
    with pytest.raises(ValueError, match="path: expected a checkpoint that Agent"):
        ocp.load_agent(small)
    small.write_bytes(sealed(content[:8] + struct.pack("<I", 2) + content[12:]))
    with pytest.raises(
        ValueError, match=r"path: expected an ocpfast checkpoint of version <= 1, got version 2 in .*upgrade"
    ):
        ocp.load_agent(small)
    small.write_bytes(content[:-5])
    with pytest.raises(ValueError, match=f"path: {small} is damaged: expected {len(content)} bytes"):
        ocp.load_agent(small)
    small.write_bytes(content[:-9] + b"x" + content[-8:])
    with pytest.raises(ValueError, match=f"path: {small} is damaged: its checksum is wrong"):
        ocp.load_agent(small)
    with pytest.raises(FileNotFoundError):
        ocp.load_agent(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        ocp.load_agent(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.update(agent="System"),
        lambda header: header.update(agent="Agent"),
        lambda header: header.pop("state"),
        lambda header: header.update(state=None),
        lambda header: header.update(blobs=[10**15]),
        lambda header: header.update(blobs=[]),
        lambda header: header.update(blobs=[-1] * 9),
        lambda header: header["arguments"].update(ties="no such"),
        lambda header: header["arguments"].update(hypothesis={"$class": ["eval", ["1"]]}),
        lambda header: header["arguments"].update(hypothesis={"$class": ["TabulaRasa", [3, 2, 9]]}),
        lambda header: header["arguments"].update(hypothesis={"$class": ["TabulaRasa", [10**40, 2, 9]]}),
        lambda header: header["arguments"].update(hypothesis={"$array": ["|O8", [1], 0]}),
        lambda header: header["arguments"].update(hypothesis={"$nothing": 0}),
        lambda header: header["arguments"].update(hypothesis={"$call__": 0}),
        lambda header: header["arguments"].update(replay=False),
        lambda header: header["arguments"].update(discount=0.5, bounds={"$tuple": [0.0, 1.0]}),
        lambda header: header["arguments"].pop("hypothesis"),
        lambda header: header.update(rng={"$dict": [["bit_generator", "Other"]]}),
        lambda header: header.update(rng=None),
        lambda header: header.update(memory={"$dict": []}),
    ],
)
def test_made_up_headers(small, change):
    small.write_bytes(rewritten(small.read_bytes(), change))
    with pytest.raises(ValueError, match=r"^path: .* is damaged"):
        ocp.load_agent(small)


def test_generators_are_not_led_out_of_their_arrays(tmp_path):
    for bit_generator in (np.random.MT19937(0), np.random.Philox(0)):
        ocp.RandomPolicy(3, rng=bit_generator).save(tmp_path / "a")

        def move(header):
            text = json.dumps(header["rng"])
            header["rng"] = json.loads(re.sub(r'("pos"|"buffer_pos"), \d+', r"\1, 9999", text))

        (tmp_path / "a").write_bytes(rewritten((tmp_path / "a").read_bytes(), move))
        with pytest.raises(ValueError, match="the position of a generator"):
            ocp.load_agent(tmp_path / "a")


@pytest.mark.filterwarnings("ignore:a time-homogeneous class without bounds")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_made_up_states_do_no_harm(kind):
    """Changed bytes under a right checksum: an error, or an agent that knows nonsense, but never a crash."""
    n_refused = n_taken = 0
    for seed in range(4 if kind is not sparse_programs else 1):
        agent, world = made(kind, seed)
        loop = Loop(agent, world, seed)
        for _ in range(60):
            loop.half_step()
        state = agent._core.state()
        rng = np.random.default_rng(seed)
        for _ in range(15 if kind in (linear_features, sparse_programs) else 60):  # nonsense can take long to solve
            changed = bytearray(state)
            for _ in range(int(rng.integers(1, 4))):
                changed[rng.integers(len(changed))] = rng.choice([0, 1, 2, 127, 128, 255, rng.integers(256)])
            if rng.random() < 0.2:
                cut = rng.integers(len(changed) - 4)
                del changed[cut : cut + int(rng.integers(1, 9))]
            twin, _ = made(kind, seed)
            try:
                twin._core.restore(sealed(bytes(changed)))
            except ValueError as error:
                assert "damaged" in str(error) or "made for" in str(error) or "expected" in str(error)
                n_refused += 1
                continue
            n_taken += 1
            try:  # what it knows may be nonsense, and what it is told then impossible
                twin_loop = loop.with_agent(twin)
                twin_loop.action = None
                twin.begin_episode()
                for _ in range(20):
                    twin_loop.half_step()
                known(twin_loop)
            except (RuntimeError, ValueError, IndexError, OverflowError):
                pass
    assert n_refused > 0 and n_taken > 0


def test_states_of_others(small):
    state = small_agent()._core.state()
    table = ocp.OCP(ocp.TabulaRasa(3, 2, 2))._core
    for core, text in (
        (ocp.QLearning(3, 2, 2)._core, "expected the state of Q-learning, got that of OCP on cells"),
        (table, "made for another ties"),
        (ocp.OCP(ocp.TabulaRasa(3, 2, 2), ties="directed", replay=True)._core, "made for another lower"),
        (
            ocp.OCP(ocp.TabulaRasa(3, 2, 2, lower="exact"), ties="directed", replay=True)._core,
            "made for a class of another size",
        ),
    ):
        with pytest.raises(ValueError, match=text):
            core.restore(state)
    with pytest.raises(ValueError, match="damaged: it ends too early"):
        table.restore(b"")
    newer = struct.pack("<I", 9) + state[4:]
    with pytest.raises(ValueError, match="expected version 1 of what agents keep, got 9"):
        table.restore(sealed(newer))


def test_functions_must_be_given_again(tmp_path):
    path = tmp_path / "agent.ocp"
    agent, _ = made(open_features, 1)
    agent.save(path)
    with pytest.raises(
        ValueError, match=r"hypothesis: expected the class .* LinearFeatures\(FeatureFunction.*hypothesis="
    ):
        ocp.load_agent(path)
    assert ocp.load_agent(path, hypothesis=agent.hypothesis)._core.state() == agent._core.state()
    with pytest.raises(ValueError, match=r"hypothesis: TabulaRasa.* is not what the agent in .* was saved with"):
        ocp.load_agent(path, hypothesis=ocp.TabulaRasa(3, 2, 4))
    # of finitely many states the features themselves are in the file
    phi = ocp.FeatureFunction(lambda x, a: [1, x, a], n_features=3, n_actions=2, n_states=5)
    ocp.OCP(ocp.LinearFeatures(phi, horizon=3)).save(path)
    assert ocp.load_agent(path).hypothesis.n_states == 5


def test_a_class_that_is_given_must_be_the_same(small):
    agent = small_agent()
    assert ocp.load_agent(small, hypothesis=agent.hypothesis).hypothesis == agent.hypothesis
    with pytest.raises(ValueError, match=r"hypothesis: TabulaRasa.* is not what the agent in .* was saved with"):
        ocp.load_agent(small, hypothesis=ocp.TabulaRasa(3, 2, 2))


class Mine(ocp.OCP):
    pass


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(TypeError, match="save: expected an agent of ocpfast itself, got a Mine; pickle it"):
        Mine(ocp.TabulaRasa(3, 2, 2)).save(tmp_path / "a")
    assert type(pickle.loads(pickle.dumps(Mine(ocp.TabulaRasa(3, 2, 2))))) is Mine

    class Other(np.random.PCG64):
        @property
        def state(self):
            return {"bit_generator": "Other"}

    with pytest.raises(TypeError, match="rng: expected one of NumPy's bit generators"):
        ocp.RandomPolicy(3, rng=Other(0)).save(tmp_path / "a")
    assert os.listdir(tmp_path) == []


# ---- writing ---------------------------------------------------------------------------------------------------------


def test_where_a_file_cannot_be(tmp_path):
    agent = small_agent()
    with pytest.raises(FileNotFoundError):
        agent.save(tmp_path / "none" / "a")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        agent.save(tmp_path / "file" / "a")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        agent.save(tmp_path / "folder")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
    if os.geteuid() != 0:  # to whom nothing is forbidden
        (tmp_path / "folder").chmod(0o500)
        with pytest.raises(PermissionError):
            agent.save(tmp_path / "folder" / "a")


def test_a_save_that_fails_leaves_the_old_file(small, monkeypatch):
    before = small.read_bytes()
    agent = small_agent()
    agent.act(0)

    def fail(*_args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        agent.save(small)
    assert small.read_bytes() == before and os.listdir(small.parent) == ["agent.ocp"]


def test_killed_while_saving(tmp_path):
    path = tmp_path / "agent.ocp"
    script = f"""
        import ocpfast as ocp
        agent = ocp.OCP(ocp.TabulaRasa(400, 10, 50), replay=True)
        for i in range(10**9):
            agent.act(i % 400)
            agent.observe((7 * i + 1) % 400, float(i % 7))
            if i % 1000 == 0:
                agent.save({str(path)!r})
                print(i, flush=True)
    """
    rng = np.random.default_rng(0)
    for _ in range(4):
        command = [sys.executable, "-c", textwrap.dedent(script)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path)
        for _ in range(3):
            assert process.stdout.readline()
        time.sleep(float(rng.uniform(0, 0.1)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert ocp.load_agent(path).statistics()["periods"] >= 2000


def test_the_checksum_is_zlibs():
    state = small_agent()._core.state()
    assert zlib.crc32(state[:-4]) == struct.unpack("<I", state[-4:])[0]
    assert state == sealed(state)
    assert _core.AggregationOcp.state is not None and saving.load_agent is ocp.load_agent
