"""Our systems as Gymnasium environments: its checker, the vector version against single ones, tables of transitions."""

import contextlib
import importlib
import pickle
import re
import sys
import threading

import numpy as np
import pytest
from commands import call

import ocpfast as ocp

gymnasium = pytest.importorskip("gymnasium", minversion="1.3", reason="no Gymnasium 1.3: pip install '.[gym]'")
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

from ocpfast.gym import (  # noqa: E402
    ChainEnv,
    ChainVectorEnv,
    InvertedPendulumEnv,
    SystemEnv,
    SystemVectorEnv,
    table_system,
)
from ocpfast.systems.lanes import Lanes  # noqa: E402

LINEAR = {"A": [[0.9]], "B": [[1.0]], "state_cost": [[1.0]], "action_cost": [[1.0]], "horizon": 4}
SYSTEMS = {
    "chain": lambda: ocp.Chain(6),
    "deep sea": lambda: ocp.DeepSea(4, mapping_seed=1),
    "random starts": lambda: ocp.TableSystem(
        [[1, -1], [2, 0], [0, 1]], [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], initial_state=[0.2, 0.3, 0.5], horizon=5
    ),
    "starts by episode": lambda: ocp.TableSystem([[1], [0]], [[0.0], [1.0]], initial_state=[0, 1, 1], horizon=2),
    "pendulum": lambda: ocp.InvertedPendulum(disturbance=200.0, horizon=9),
    "adversary": lambda: ocp.Adversary(n_features=3, horizon=4),
    "vector actions": lambda: ocp.LinearQuadratic(**LINEAR, initial_state=[[1.0], [2.0], [3.0]]),
}


@pytest.mark.parametrize("name", ["ocpfast/InvertedPendulum-v0", "ocpfast/Chain-v0"])
def test_the_registered_pass_gymnasiums_checker(name):
    env = gymnasium.make(name)
    check_env(env.unwrapped)  # warnings are errors here
    assert env.spec.id == name
    assert pickle.loads(pickle.dumps(env.spec)).make().unwrapped.system == env.unwrapped.system


@pytest.mark.parametrize("kind", ["chain", "deep sea", "random starts", "pendulum"])
def test_other_systems_pass_it_too(kind):
    check_env(SystemEnv(SYSTEMS[kind]()), skip_render_check=True)  # without a specification it cannot make more


def test_it_registers_without_an_import(tmp_path):
    code = "import gymnasium; print(gymnasium.make('ocpfast.gym:ocpfast/Chain-v0', n_states=7).observation_space)"
    assert call(sys.executable, "-c", code, cwd=tmp_path) == "Discrete(7)\n"


def test_the_package_imports_no_gymnasium(tmp_path):
    code = "import ocpfast, sys; print([name for name in ('gymnasium', 'matplotlib', 'dm_env') if name in sys.modules])"
    assert call(sys.executable, "-c", code, cwd=tmp_path) == "[]\n"


def test_without_gymnasium_it_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "ocpfast.gym")
    with pytest.raises(ImportError, match=re.escape("ocpfast.gym: needs gymnasium >= 1.1; pip install 'ocpfast[gym]'")):
        importlib.import_module("ocpfast.gym")


def test_the_chain_is_the_chain():
    env = gymnasium.make("ocpfast/Chain-v0", n_states=4)
    assert env.reset(seed=0) == (0, {"optimal_value": 1.0})
    outcomes = [env.step(1) for _ in range(4)]
    assert [outcome[:4] for outcome in outcomes] == [
        (1, 0.0, False, False), (2, 0.0, False, False), (3, 0.0, False, False), (3, 1.0, False, True),
    ]  # fmt: skip


def test_the_pendulum_follows_its_system_with_the_environments_generator():
    env = gymnasium.make("ocpfast/InvertedPendulum-v0", disturbance=2.5)
    observation, info = env.reset(seed=3)
    assert info == {}
    system, rng = ocp.InvertedPendulum(2.5), gymnasium.utils.seeding.np_random(3)[0]
    assert np.array_equal(observation, system.reset(rng))
    state, terminated = observation, False
    while not terminated:
        observation, reward, terminated, truncated, _ = env.step(2)
        state, expected, fell = system.step(state, 2, rng=rng)
        assert np.array_equal(observation, state)
        assert (reward, terminated, truncated) == (expected, fell, False)
    with pytest.raises(RuntimeError, match="reset before"):
        env.unwrapped.step(1)


def test_the_horizon_truncates():
    env = InvertedPendulumEnv(horizon=2)
    env.reset()
    assert env.step(1)[2:4] == (False, False)
    assert env.step(1)[2:4] == (False, True)
    with pytest.raises(RuntimeError, match="no episode is under way"):
        env.step(1)


def test_observations_are_the_callers_to_change():
    env = InvertedPendulumEnv()
    observation, _ = env.reset()
    observation[:] = np.nan
    assert np.isfinite(env.step(1)[0]).all()


def test_a_start_of_ones_own():
    assert SystemEnv(ocp.Chain(5)).reset(options={"state": 4}) == (4, {"optimal_value": 5.0})
    env = InvertedPendulumEnv()
    start = np.array([0.1, 0.2])
    assert np.array_equal(env.reset(options={"state": start})[0], start)
    env.step(0)
    assert np.array_equal(start, [0.1, 0.2])
    envs = SystemVectorEnv(ocp.Chain(5), 2)
    assert np.array_equal(envs.reset(options={"state": 4})[0], [4, 4])


def test_bad_arguments():
    chain = SystemEnv(ocp.Chain(5))
    with pytest.raises(ValueError, match=re.escape("options: expected no other than 'state', got ['start']")):
        chain.reset(options={"start": 1})
    with pytest.raises(ValueError, match=r"state: expected an integer in 0\.\.4, got 7"):
        chain.reset(options={"state": 7})
    with pytest.raises(RuntimeError, match="expected a reset before"):
        SystemEnv(ocp.Chain(5)).step(0)
    chain.reset()
    with pytest.raises(ValueError, match=r"action: expected an integer in 0\.\.1, got 2"):
        chain.step(2)
    with pytest.raises(TypeError, match="system: expected a System, got 5"):
        SystemEnv(5)
    with pytest.raises(ValueError, match="render_mode: expected one of None, got 'rgb_array'"):
        ChainEnv(render_mode="rgb_array")
    with pytest.raises(ValueError, match="render_mode: expected one of None, 'rgb_array', got 'human'"):
        InvertedPendulumEnv(render_mode="human")
    with pytest.raises(ValueError, match="num_envs"):
        SystemVectorEnv(ocp.Chain(5), 0)
    with pytest.raises(ValueError, match="autoreset_mode: expected one of 'NextStep', 'SameStep', 'Disabled', got 'x'"):
        SystemVectorEnv(ocp.Chain(5), 2, "x")
    envs = SystemVectorEnv(ocp.Chain(5), 2)
    with pytest.raises(RuntimeError, match="expected a reset of every environment"):
        envs.step(np.zeros(2, dtype=int))
    with pytest.raises(ValueError, match="seed: expected 2 of them"):
        envs.reset(seed=[1])
    with pytest.raises(ValueError, match=r"options\['reset_mask'\]: expected a bool array of shape \(2,\)"):
        envs.reset(options={"reset_mask": [True, False]})
    envs.reset()
    with pytest.raises(ValueError, match=r"actions: expected integers in 0\.\.1, got 9"):
        envs.step(np.array([0, 9]))
    with pytest.raises(ValueError, match=r"actions: expected shape \(2,\), got \(3,\)"):
        envs.step(np.zeros(3, dtype=int))
    with pytest.raises(TypeError, match="actions: expected integers, got dtype float64"):
        envs.step(np.zeros(2))


def assert_same(one, other):
    """Observations, rewards, endings and infos, also of what is in them."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, np.ndarray) and one.dtype == object:
        assert one.shape == other.shape
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    else:
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.array_equal(one, other)


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("kind", SYSTEMS)
def test_the_vector_version_equals_gymnasiums_of_single_ones(kind, mode):
    n = 5
    compiled = SystemVectorEnv(SYSTEMS[kind](), n, mode)
    single = SyncVectorEnv([lambda: SystemEnv(SYSTEMS[kind]())] * n, autoreset_mode=mode)
    assert compiled.metadata["autoreset_mode"] is single.metadata["autoreset_mode"] is mode
    assert compiled.observation_space == single.observation_space
    assert compiled.action_space == single.action_space
    assert compiled.single_observation_space == single.single_observation_space
    assert_same(compiled.reset(seed=7), single.reset(seed=7))
    compiled.action_space.seed(1)
    ended = 0
    for step in range(60):
        actions = compiled.action_space.sample()
        if kind == "vector actions":
            actions = actions.clip(-1, 1)
        ours = compiled.step(actions)
        assert_same(ours, single.step(actions))
        over = ours[2] | ours[3]
        ended += over.sum()
        if mode is AutoresetMode.DISABLED and over.any():
            with pytest.raises(RuntimeError, match="are over; reset them first"):
                compiled.step(actions)
            seeds = [step, None, step + 1, None, None]
            options = {"reset_mask": over}
            assert_same(compiled.reset(seed=seeds, options=dict(options)), single.reset(seed=seeds, options=options))
    assert ended >= 2 * n


def test_a_reset_of_some_leaves_the_others_alone():
    envs = SystemVectorEnv(ocp.Chain(9), 3)
    envs.reset()
    envs.step(np.ones(3, dtype=int))
    observations, infos = envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert np.array_equal(observations, [1, 0, 1])
    assert np.array_equal(infos["_optimal_value"], [False, True, False])


def test_make_vec_is_the_compiled_one():
    envs = gymnasium.make_vec("ocpfast/InvertedPendulum-v0", num_envs=4, disturbance=2.5)  # warns without a mode
    assert isinstance(envs.unwrapped, SystemVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    single = gymnasium.make_vec("ocpfast/InvertedPendulum-v0", num_envs=4, disturbance=2.5, vectorization_mode="sync")
    assert_same(envs.reset(seed=0), single.reset(seed=0))
    for _ in range(30):
        actions = envs.action_space.sample()
        assert_same(envs.step(actions), single.step(actions))
    chain = gymnasium.make_vec("ocpfast/Chain-v0", num_envs=2, autoreset_mode="SameStep")
    assert isinstance(chain, ChainVectorEnv)
    assert chain.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


def test_a_lane_that_fails_moves_none():
    """A pendulum that fell cannot be stepped: the error names it, and the others are where they were."""
    lanes = Lanes(ocp.InvertedPendulum(), 3)
    every = np.ones(3, dtype=bool)
    lanes.reset(every)
    lanes.reset(np.array([False, True, False]), [2.0, 0.5])
    with pytest.raises(ValueError, match=re.escape("state: expected |angle| < pi/2") + r".*got \[2\.\s+0\.5\]"):
        lanes.step(np.zeros(3, dtype=int), every)
    assert np.array_equal(lanes.states, [[0.0, 0.0], [2.0, 0.5], [0.0, 0.0]])


def test_lanes_check_what_they_get():
    lanes = Lanes(ocp.InvertedPendulum(disturbance=2.5, horizon=2), 3)
    every, none = np.ones(3, dtype=bool), np.zeros(3, dtype=int)
    with pytest.raises(RuntimeError, match="no episode is under way in lane 0; reset it first"):
        lanes.step(none, every)
    for mask in (np.ones(2, dtype=bool), np.ones(3, dtype=int), True):
        with pytest.raises(ValueError, match="mask: expected 3 bools"):
            lanes.reset(mask)
    with pytest.raises(ValueError, match=r"lane: expected an integer in 0\.\.2, got -1"):
        lanes.seed(-1, np.random.PCG64(0))
    with pytest.raises(ValueError, match="n: expected an integer"):
        Lanes(ocp.Chain(3), 0)
    lanes.reset(every, [0.1, 0.0])  # each draws from a generator of its own, if it was given none
    lanes.step(none + 1, every)
    assert len(set(lanes.states[:, 1])) == 3
    lanes.reset(every)
    for _ in range(2):
        _, _, truncated = lanes.step(none + 1, every)
    assert truncated.all()
    with pytest.raises(RuntimeError, match="no episode is under way"):
        lanes.step(none, every)


def test_lanes_step_in_many_threads():
    """Each thread its own; and one vector in two threads either works or says that it is busy."""
    shared = SystemVectorEnv(ocp.InvertedPendulum(2.5), 5_000)
    shared.reset(seed=0)
    said = []

    def work():
        for _ in range(20):
            try:
                shared.step(np.ones(5_000, dtype=int))
            except RuntimeError as error:
                said.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("another thread is stepping them" in one or "no episode is under way" in one for one in said)
    assert np.isfinite(shared._lanes.states).all()


def test_lanes_are_not_reset_while_another_thread_steps_them():
    lanes = Lanes(ocp.InvertedPendulum(2.5), 20_000)
    every, ones = np.ones(20_000, dtype=bool), np.ones(20_000, dtype=int)
    lanes.reset(every)
    seen = threading.Event()

    def work():
        while not seen.is_set():
            with contextlib.suppress(RuntimeError):  # no episode is under way in those that fell
                lanes.step(ones, every)

    stepping = threading.Thread(target=work)
    stepping.start()
    try:
        with pytest.raises(RuntimeError, match=r"^lanes: another thread is stepping them$"):
            for _ in range(10_000):
                lanes.reset(every)
    finally:
        seen.set()
        stepping.join()
    lanes.reset(every)


def test_systems_in_python_are_refused_where_steps_are_compiled():
    class Slow(ocp.Chain):
        def step(self, state, action, period=0, rng=None):
            return super().step(state, action, period, rng)

    with pytest.raises(TypeError, match=r"Slow\.step is Python, which SystemVectorEnv cannot call"):
        SystemVectorEnv(Slow(4), 2)
    check_env(SystemEnv(Slow(4)), skip_render_check=True)

    class Walk(ocp.PythonSystem):
        def __init__(self):
            super().__init__(n_states=4, n_actions=2, horizon=3)

        def reset(self):
            return 0

        def step(self, state, action):
            return min(state + action, 3), float(action), False

    with pytest.raises(TypeError, match=r"system: expected compiled functions, got Walk.*SyncVectorEnv takes many"):
        SystemVectorEnv(Walk(), 2)
    check_env(SystemEnv(Walk()), skip_render_check=True)
    envs = SyncVectorEnv([lambda: SystemEnv(Walk())] * 2)
    envs.reset()
    assert np.array_equal(envs.step(np.array([0, 1]))[0], [0, 1])


def test_pictures():
    pytest.importorskip("matplotlib")
    env = gymnasium.make("ocpfast/InvertedPendulum-v0", render_mode="rgb_array")
    env.reset()
    upright = env.render()
    assert upright.shape == (400, 600, 3)
    assert upright.dtype == np.uint8
    for _ in range(4):
        env.step(0)
    assert not np.array_equal(env.render(), upright)
    envs = gymnasium.make_vec("ocpfast/InvertedPendulum-v0", num_envs=2, render_mode="rgb_array")
    envs.reset()
    frames = envs.render()
    assert np.array_equal(frames[0], upright)
    assert len(frames) == 2
    for unbegun in (
        InvertedPendulumEnv(render_mode="rgb_array"),
        gymnasium.make_vec("ocpfast/InvertedPendulum-v0", num_envs=2, render_mode="rgb_array").unwrapped,
    ):
        with pytest.raises(RuntimeError, match="render: expected a reset"):
            unbegun.render()
    assert InvertedPendulumEnv().render() is None


def test_tables_of_transitions():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    system = table_system(lake)
    assert (system.n_states, system.n_actions, system.horizon) == (16, 4, 100)
    rng = np.random.default_rng(0)
    for episode in range(20):
        state, _ = lake.reset(seed=episode)
        ended = False
        while not ended:
            action = int(rng.integers(4))
            following, reward, terminated, truncated, _ = lake.step(action)
            x, r, over = system.step(state, action)
            assert (r, over) == (reward, terminated)
            assert over or x == following
            state, ended = following, terminated or truncated
    taxi = gymnasium.make("Taxi-v4")
    assert np.array_equal(table_system(taxi).initial_state, taxi.unwrapped.initial_state_distrib)
    assert table_system(taxi, horizon=30, initial_state=7).initial_state == 7
    with pytest.raises(ValueError, match=r"expected deterministic steps, got \d outcomes of action 0 in state 0"):
        table_system(gymnasium.make("FrozenLake-v1"))
    with pytest.raises(ValueError, match="horizon: expected an integer, for the environment has no time limit"):
        table_system(gymnasium.make("CliffWalking-v1"))
    with pytest.raises(TypeError, match="env: expected an environment with a table P"):
        table_system(gymnasium.make("ocpfast/Chain-v0"))


def test_vectors_without_a_render_mode_draw_nothing():
    envs = gymnasium.make_vec("ocpfast/InvertedPendulum-v0", num_envs=2)
    assert envs.unwrapped.render() is None
    assert repr(envs.unwrapped).startswith("SystemVectorEnv(InvertedPendulum(")
    envs.close()
    assert repr(SystemEnv(ocp.Chain(5))) == "SystemEnv(Chain(n_states=5))"
