"""learn(): the same episodes as run() where both can, endings, spaces of all kinds, errors, Ctrl-C."""

import os
import pickle
import re
import signal
from collections import deque

import numpy as np
import pytest
from commands import ROOT
from dm_walk import walk

import ocpfast as ocp

gymnasium = pytest.importorskip("gymnasium", minversion="1.3", reason="no Gymnasium 1.3: pip install '.[gym]'")
from gymnasium import spaces  # noqa: E402

from ocpfast.gym import SystemEnv, table_system  # noqa: E402

DIRECTED = {"replay": True, "ties": "directed"}
STATIONARY = {"replay": "stationary", "update": "period", "ties": "directed"}


class Script(gymnasium.Env):
    """Gives what a list says: (observation, reward, terminated, truncated), episode by episode; records actions."""

    def __init__(self, episodes, observation_space=None, action_space=None, first=0):
        self.observation_space = spaces.Discrete(5) if observation_space is None else observation_space
        self.action_space = spaces.Discrete(2) if action_space is None else action_space
        self.episodes, self.first = deque(episodes), first
        self.actions, self.resets, self.script = [], [], deque()

    def reset(self, *, seed=None, options=None):
        self.resets.append(seed)
        self.script = deque(self.episodes.popleft())
        return self.first, {}

    def step(self, action):
        self.actions.append(action)
        return *self.script.popleft(), {}


def on(observation, reward=0.0, terminated=False, truncated=False):
    return observation, reward, terminated, truncated


@pytest.mark.parametrize("options", [{}, DIRECTED, STATIONARY], ids=["OCP", "directed", "stationary"])
@pytest.mark.parametrize("system", [ocp.Chain(8), ocp.DeepSea(5, mapping_seed=2)], ids=repr)
def test_the_same_episodes_as_run(system, options):
    agent = ocp.OCP(ocp.TabulaRasa(system.n_states, 2, horizon=system.horizon), **options)
    ran = ocp.run(agent, system, 60, progress=False, keep_agents=True)
    result = ocp.learn(agent, SystemEnv(system), 60, progress=False)
    assert np.array_equal(result.rewards, ran.rewards)
    assert np.array_equal(result.optimal, ran.optimal)
    assert agent.statistics() == ran.agents[0].statistics()
    assert agent.certificate() == ran.agents[0].certificate()
    assert agent.certificate().valid


@pytest.mark.parametrize("options", [{}, DIRECTED, STATIONARY], ids=["OCP", "directed", "stationary"])
@pytest.mark.parametrize(
    ("name", "keywords"), [("CliffWalking-v1", {}), ("FrozenLake-v1", {"is_slippery": False})], ids=["cliff", "lake"]
)
def test_a_toy_text_is_its_table(name, keywords, options):
    """What the README's table rests on: compiled episodes in the table are those in the environment."""
    env = gymnasium.make(name, **keywords)
    system = table_system(env, horizon=30)
    agent = ocp.OCP(ocp.TabulaRasa(system.n_states, 4, horizon=30), **options)
    ran = ocp.run(agent, system, 80, rng=0, progress=False)
    assert np.array_equal(ocp.learn(agent, env, 80, progress=False).rewards, ran.rewards)


def test_taxi_takes_tens_of_episodes():
    taxi = gymnasium.make("Taxi-v4")
    v = ocp.solve(table_system(taxi)).v[0]
    starts = []

    class Starts(gymnasium.Wrapper):
        def reset(self, **keywords):
            observation, info = self.env.reset(**keywords)
            starts.append(observation)
            return observation, info

    agent = ocp.OCP(ocp.TabulaRasa(500, 6, horizon=200), **STATIONARY)
    result = ocp.learn(agent, Starts(taxi), 300, seed=0, progress=False)
    suboptimal = np.flatnonzero(result.rewards[0] < v[starts] - 1e-9)
    assert len(suboptimal) < 30
    assert suboptimal[-1] < 60
    assert result.suboptimal(optimal_value=v[starts]) == len(suboptimal)


def test_the_readme_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _, example = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    names = {}
    exec(example, names)  # the README's own text
    assert "[" in capsys.readouterr().out
    assert ocp.load_agent("taxi.ocp").statistics()["episodes"] == names["result"].rewards.size == 100


def test_a_box_through_a_grid():
    """The pendulum, whose horizon truncates: the same as run() with the same generator."""
    system = ocp.InvertedPendulum(disturbance=2.5, horizon=100)
    agent = ocp.OCP(ocp.StateAggregation(system.partition(), n_actions=3), replay=True)
    generator = gymnasium.utils.seeding.np_random(4)[0]
    rewards = []
    twin = agent.copy()
    for _ in range(30):
        state, ended, total, steps = system.reset(generator), False, 0.0, 0
        while not ended:
            state, reward, terminated = system.step(state, twin.act(state), rng=generator)
            steps += 1
            total += reward
            ended = twin.observe(state, reward, terminated, steps == 100)
        rewards.append(total)
    result = ocp.learn(agent, SystemEnv(system), 30, seed=4, progress=False)
    assert np.array_equal(result.rewards, [rewards])
    assert agent.statistics() == twin.statistics()
    cart = gymnasium.make("CartPole-v1")  # of 32-bit floats
    grid = ocp.Grid([[0.0]] * 4)
    learner = ocp.OCP(ocp.StateAggregation(grid, n_actions=2))
    assert (ocp.learn(learner, cart, 5, seed=0, progress=False).rewards >= 8).all()


def test_observations_and_actions_that_do_not_start_at_zero():
    env = Script(
        [[on(12, 1.0), on(14, 2.0, terminated=True)]], spaces.Discrete(5, start=10), spaces.Discrete(2, start=-1), 11
    )
    agent = ocp.OCP(ocp.TabulaRasa(5, 2, horizon=4))
    assert ocp.learn(agent, env, 1, progress=False).rewards[0, 0] == 3.0
    assert env.actions == [-1, -1]
    assert agent.upper(state=2, action=0, period=1) == 2.0


def test_a_last_observation_need_not_be_one():
    env = Script([[on(None, 1.0, terminated=True)]])
    assert ocp.learn(ocp.OCP(ocp.TabulaRasa(5, 2, horizon=4)), env, 1, progress=False).rewards[0, 0] == 1.0


def test_the_agents_horizon_ends_episodes_of_an_environment_that_goes_on():
    env = Script([[on(1, 1.0)] * 9] * 2)
    agent = ocp.OCP(ocp.TabulaRasa(5, 2, horizon=3))
    assert np.array_equal(ocp.learn(agent, env, 2, progress=False).rewards, [[3.0, 3.0]])
    assert env.resets == [None, None]
    assert agent.upper(state=1, action=0, period=2) == 1.0  # nothing comes after


def test_truncation_bootstraps_where_there_is_no_horizon():
    keywords = {"bounds": (0.0, 10.0), "discount": 0.5}
    for max_steps, truncated in ((None, True), (1, False)):
        env = Script([[on(1, 1.0, truncated=truncated)]])
        agent = ocp.OCP(ocp.TabulaRasa(5, 2, horizon=None), **keywords)
        ocp.learn(agent, env, 1, max_steps, progress=False)
        assert agent.upper(state=0, action=0) == 1.0 + 0.5 * 10.0
    agent = ocp.OCP(ocp.TabulaRasa(5, 2, horizon=None), **keywords)
    ocp.learn(agent, Script([[on(1, 1.0, terminated=True)]]), 1, progress=False)
    assert agent.upper(state=0, action=0) == 1.0


def test_a_horizon_behind_the_time_limit():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    for options in ({}, STATIONARY):  # the latter can learn what comes later, but plans for it would be cut
        with pytest.raises(ValueError, match=r"horizon 150, but .* cut after 100 steps.*give the class horizon=100"):
            ocp.learn(ocp.OCP(ocp.TabulaRasa(16, 4, horizon=150), **options), lake, 1, progress=False)
    with pytest.raises(ValueError, match=r"horizon 100, but .* cut after 20 steps"):
        ocp.learn(ocp.OCP(ocp.TabulaRasa(16, 4, horizon=100)), lake, 1, max_steps=20, progress=False)
    with pytest.raises(ValueError, match=r"horizon 6, but .* cut after 5 steps"):
        ocp.learn(ocp.QLearning(5, 2, horizon=6), SystemEnv(ocp.Chain(5)), 1, progress=False)
    unregistered = gymnasium.wrappers.TimeLimit(Script([]), 2)
    with pytest.raises(ValueError, match=r"horizon 3, but .* cut after 2 steps"):
        ocp.learn(ocp.OCP(ocp.TabulaRasa(5, 2, horizon=3)), unregistered, 1, progress=False)
    longer = gymnasium.make("FrozenLake-v1", is_slippery=False, max_episode_steps=150)
    agent = ocp.OCP(ocp.TabulaRasa(16, 4, horizon=150), **STATIONARY)
    assert ocp.learn(agent, longer, 60, progress=False).rewards[0, -20:].min() == 1.0


def test_all_agents_learn():
    chain = SystemEnv(ocp.Chain(4))
    table = ocp.TabulaRasa(4, 2, horizon=4)
    for agent in (
        ocp.OCP(table), ocp.LSVI(table, rng=0), ocp.QLearning(4, 2, horizon=4), ocp.RandomPolicy(2, rng=0),
        ocp.OCP(ocp.LinearFeatures(np.eye(8).reshape(4, 2, 8), horizon=4)),
    ):  # fmt: skip
        result = ocp.learn(agent, chain, 50, progress=False)
        assert result.rewards.max() == 1.0, agent
        assert agent.statistics()["episodes"] == 50


def test_an_unfinished_episode_is_dropped_first():
    agent = ocp.OCP(ocp.TabulaRasa(4, 2, horizon=4))
    agent.act(0)
    ocp.learn(agent, SystemEnv(ocp.Chain(4)), 2, progress=False)
    assert agent.statistics()["episodes"] == 2


def test_learning_goes_on_where_it_stopped():
    system = ocp.Chain(8)
    parts, whole = (ocp.OCP(ocp.TabulaRasa(8, 2, horizon=8)) for _ in range(2))
    rewards = [ocp.learn(parts, SystemEnv(system), n, progress=False).rewards for n in (17, 23)]
    assert np.array_equal(np.hstack(rewards), ocp.learn(whole, SystemEnv(system), 40, progress=False).rewards)


def test_seeds():
    agent = ocp.RandomPolicy(2)
    env = Script([[on(1, terminated=True)]] * 4)
    ocp.learn(agent, env, 2, seed=5, progress=False)
    ocp.learn(agent, env, 2, progress=False)
    assert env.resets == [5, None, None, None]


@pytest.mark.parametrize(
    ("env", "deterministic"),
    [
        (lambda: gymnasium.make("FrozenLake-v1"), False),
        (lambda: gymnasium.make("FrozenLake-v1", is_slippery=False), True),
        (lambda: SystemEnv(ocp.Chain(5)), True),
    ],
)
def test_certificates_know_of_randomness_that_shows(env, deterministic):
    made = env()
    agent = ocp.OCP(ocp.TabulaRasa(int(made.observation_space.n), int(made.action_space.n), horizon=5))
    ocp.learn(agent, made, 1, progress=False)
    assert agent.certificate().valid is deterministic


def test_the_progress_bar_counts_episodes(capsys):
    agent = ocp.OCP(ocp.TabulaRasa(4, 2, horizon=4))
    ocp.learn(agent, SystemEnv(ocp.Chain(4)), 7)
    assert "7/7" in capsys.readouterr().err
    ocp.learn(agent, SystemEnv(ocp.Chain(4)), 7, progress=False)
    assert capsys.readouterr().err == ""


def test_ctrl_c_loses_nothing():
    class Interrupting(SystemEnv):
        def step(self, action):
            if self._episode == 6 and self._period == 2:
                os.kill(os.getpid(), signal.SIGINT)
            return super().step(action)

    agent, twin = (ocp.OCP(ocp.TabulaRasa(8, 2, horizon=8)) for _ in range(2))
    with pytest.raises(ocp.Interrupted, match="interrupted after 5 complete episodes") as caught:
        ocp.learn(agent, Interrupting(ocp.Chain(8)), 40, progress=False)
    expected = ocp.learn(twin, SystemEnv(ocp.Chain(8)), 40, progress=False)
    assert np.array_equal(caught.value.result.rewards, expected.rewards[:, :5])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    # and goes on from there, without the unfinished episode
    rest = ocp.learn(agent, SystemEnv(ocp.Chain(8)), 35, progress=False)
    assert np.array_equal(rest.rewards, expected.rewards[:, 5:])


@pytest.mark.parametrize(
    ("step", "error", "message"),
    [
        (on(7), ValueError, r"observation: expected an integer in 0\.\.4, got 7"),
        (on(1.5), TypeError, r"observation: expected an integer in 0\.\.4, got 1\.5"),
        (on(1, np.nan), ValueError, "reward: expected a finite number, got nan"),
        (on(1, np.inf), ValueError, "reward: .*inf"),
        (on(1, "much"), TypeError, "reward: expected a finite number, got 'much'"),
        (on(1, 0.0, "no"), TypeError, "terminated: expected True or False, got 'no'"),
    ],
)
def test_what_an_environment_must_not_give(step, error, message):
    agent = ocp.OCP(ocp.TabulaRasa(5, 2, horizon=3))
    with pytest.raises(error, match=message):
        ocp.learn(agent, Script([[on(1), step]]), 1, progress=False)
    assert agent.period == 0
    assert agent.statistics()["constraints"] == 0
    ocp.learn(agent, Script([[on(1)] * 3]), 1, progress=False)  # nothing is left half done


def test_vectors_that_are_none():
    box = spaces.Box(-1, 1, (2,))
    agent = ocp.OCP(ocp.StateAggregation(ocp.Grid([[0.0], [0.0]]), n_actions=2))
    for bad, message in ((np.zeros(3), r"observation: expected 2 numbers, got shape \(3,\)"), ([0, np.nan], "(?i)nan")):
        with pytest.raises(ValueError, match=message):
            ocp.learn(agent, Script([[on(bad, 1.0)]], box, first=np.zeros(2)), 1, progress=False)


TABLE = ocp.TabulaRasa(5, 2, horizon=3)


@pytest.mark.parametrize(
    ("env", "error", "message"),
    [
        ("Taxi-v4", TypeError, r"env: expected a Gymnasium environment.*got 'Taxi-v4'; gymnasium.make\('Taxi-v4'\)"),
        (ocp.Chain(5), TypeError, r"got Chain\(n_states=5\); ocpfast.run runs agents in systems"),
        (None, TypeError, "got None"),
        (
            Script([], action_space=spaces.Box(-1, 1, (1,))),
            TypeError,
            "expected Discrete actions, got Box.*TransformAct",
        ),
        (
            Script([], action_space=spaces.MultiDiscrete([2, 2])),
            TypeError,
            "got MultiDiscrete.*number the combinations",
        ),
        (Script([], action_space=spaces.MultiBinary(2)), TypeError, r"expected Discrete actions, got MultiBinary\(2\)"),
        (Script([], spaces.Box(0, 1, (2, 2))), TypeError, r"got Box.*FlattenObservation .*state_of="),
        (Script([], spaces.Tuple([spaces.Discrete(2)])), TypeError, r"got Tuple.*state_of="),
        (Script([], spaces.Dict({"a": spaces.Discrete(2)})), TypeError, r"got Dict.*state_of="),
        (Script([], spaces.MultiDiscrete([2, 2])), TypeError, r"got MultiDiscrete.*state_of="),
        (
            Script([], spaces.Discrete(6)),
            ValueError,
            "its class is over 5 states, but the environment is over 6 states",
        ),
        (Script([], spaces.Box(0, 1, (2,))), ValueError, "over 5 states, but .* over vectors of 2; StateAggregation"),
        (Script([], action_space=spaces.Discrete(3)), ValueError, "has 2 actions, but the environment has 3 actions"),
    ],
)
def test_what_cannot_work(env, error, message):
    with pytest.raises(error, match=message):
        ocp.learn(ocp.OCP(TABLE), env, 1, progress=False)


def test_what_else_cannot_work():
    vector = gymnasium.make_vec("CartPole-v1", num_envs=3)
    with pytest.raises(TypeError, match="env: expected one environment, got 3 of them in a vector"):
        ocp.learn(ocp.RandomPolicy(2), vector, 1)
    vector.close()
    env = Script([])
    with pytest.raises(TypeError, match="agent: expected an agent such as OCP, got 3"):
        ocp.learn(3, env, 1)
    with pytest.raises(ValueError, match="agent: its class has vectors of 1 as actions, but the environment has 2"):
        ocp.learn(ocp.OCP(ocp.Quadratic(1, 1, horizon=3), selection="eluder"), env, 1)
    for name, value in (("episodes", 0), ("max_steps", 0), ("seed", -1)):
        with pytest.raises(ValueError, match=f"{name}: expected an integer >= "):
            ocp.learn(ocp.OCP(TABLE), env, **{"episodes": 1, name: value})
    with pytest.raises(TypeError, match="state_of: expected a function"):
        ocp.learn(ocp.OCP(TABLE), env, 1, state_of=3)
    with pytest.raises(TypeError, match="progress: expected True or False"):
        ocp.learn(ocp.OCP(TABLE), env, 1, progress=3)


def test_observations_of_any_kind_by_a_function():
    space = spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)])
    env = Script([[on((1, 1)), on((0, 2), 1.0, terminated=True)]], space, first=(0, 0))
    agent = ocp.OCP(ocp.TabulaRasa(6, 2, horizon=3))
    ocp.learn(agent, env, 1, state_of=lambda pair: 3 * pair[0] + pair[1], progress=False)
    assert agent.upper(state=4, action=0, period=1) == 1.0


def test_environments_of_dm_env():
    agent = ocp.OCP(ocp.TabulaRasa(4, 2, horizon=5), **DIRECTED)
    result = ocp.learn(agent, walk(), 40, progress=False)
    assert result.rewards[0, -10:].min() == 1.0
    bounded = ocp.OCP(ocp.TabulaRasa(4, 2, horizon=None), bounds=(0.0, 9.0), discount=0.5)
    ocp.learn(bounded, walk(), 1, progress=False)
    assert bounded.upper(state=0, action=0) == 4.5  # truncated: what comes after counts
    with pytest.raises(ValueError, match="seed: expected None with an environment of dm_env"):
        ocp.learn(agent, walk(), 1, seed=3)
    with pytest.raises(ValueError, match=re.escape("env: expected a discount of 1, or 0 at the end, got 0.9")):
        ocp.learn(agent, walk(discount=0.9), 1, progress=False)
    with pytest.raises(ValueError, match="its class has 3 actions, but the environment has 2"):
        ocp.learn(ocp.OCP(ocp.TabulaRasa(4, 3, horizon=5)), walk(), 1)


def test_vectors_of_dm_env():
    env = walk()
    step, reset = env.step, env.reset
    env.observation_spec = lambda: env.specs.Array((2,), np.float64)
    env.reset = lambda: reset()._replace(observation=np.zeros(2))
    env.step = lambda action: step(action)._replace(observation=np.array([env.place, 0.0]))
    agent = ocp.OCP(ocp.StateAggregation(ocp.Grid([[0.5, 1.5, 2.5], []]), n_actions=2, horizon=5), **DIRECTED)
    assert ocp.learn(agent, env, 40, progress=False).rewards[0, -10:].min() == 1.0
    env.observation_spec = lambda: env.specs.Array((2, 2), np.float64)
    with pytest.raises(TypeError, match="env: expected one integer or one dimension of numbers"):
        ocp.learn(agent, env, 1)
    for spec in (env.specs.BoundedArray((2,), np.int32, 0, 1), env.specs.Array((), np.int32)):
        env.action_spec = lambda spec=spec: spec
        with pytest.raises(TypeError, match="env: expected one action of finitely many"):
            ocp.learn(agent, env, 1)


def test_what_registration_calls_random_is():
    env = Script([[on(1, 1.0, terminated=True)]] * 2)
    agent = ocp.OCP(ocp.TabulaRasa(5, 2, horizon=2))
    ocp.learn(agent, env, 1, progress=False)
    assert agent.certificate().valid
    env.spec = gymnasium.envs.registration.EnvSpec("Script-v0", nondeterministic=True)
    ocp.learn(agent, env, 1, progress=False)
    assert not agent.certificate().valid


@pytest.mark.filterwarnings("ignore:Environment is in debug mode")
def test_bsuites_deep_sea_is_ours():
    deep_sea = pytest.importorskip("bsuite.environments.deep_sea", reason="no bsuite: pip install '.[bsuite]'")
    for options in ({}, DIRECTED, STATIONARY):
        agent = ocp.OCP(ocp.TabulaRasa(36, 2, horizon=6), **options)
        ran = ocp.run(agent, ocp.DeepSea(6), 60, progress=False)
        env = deep_sea.DeepSea(6, randomize_actions=False)
        result = ocp.learn(agent, env, 60, state_of=np.argmax, progress=False)
        np.testing.assert_allclose(result.rewards, ran.rewards, rtol=0, atol=1e-12)
    with pytest.raises(TypeError, match=r"env: expected one integer or one dimension of numbers, got Array.*state_of="):
        ocp.learn(agent, env, 1)
