"""Agents of every class, with options at random, and worlds in which they act: to be saved and loaded."""

import copy
import json
import struct
import warnings
import zlib

import numpy as np
import pytest
from scipy import sparse

import ocpfast as ocp

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


def small_agent():
    agent = ocp.OCP(ocp.StateAggregation([0, 0, 1], 2, horizon=2, lower="exact"), replay=True, ties="directed")
    for _ in range(5):
        agent.act(0)
        agent.observe(2, 0.5)
    return agent


@pytest.fixture
def small(tmp_path):
    """The file of a small agent."""
    path = tmp_path / "agent.ocp"
    small_agent().save(path)
    return path


# ---- files that somebody made up -------------------------------------------------------------------------------------


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
