"""Checkpoints and pickles: an agent that was saved and loaded goes on as the one that stayed, to the last bit."""

import hashlib
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from saving_cases import (
    KINDS,
    REPEATS,
    Loop,
    World,
    known,
    load,
    made,
    open_features,
    polytope,
    small_agent,
    sparse_programs,
    tabula_rasa,
)
from saving_cases import small as small  # a fixture

import ocpfast as ocp


@pytest.mark.filterwarnings("ignore:a time-homogeneous class without bounds")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_loaded_agent_goes_on_to_the_last_bit(kind, tmp_path, compared):
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
    compared("saved and loaded = stayed", REPEATS.get(kind.__name__, 40))


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


# ---- what must be given again, and what cannot be saved --------------------------------------------------------------


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


class PathOfBytes:
    def __fspath__(self):
        return b"agent.ocp"


def test_a_path_of_bytes_is_refused():
    with pytest.raises(TypeError, match="path: expected a str or a path such as"):
        ocp.load_agent(PathOfBytes())


def test_on_the_way_to_something_new(tmp_path):
    """Directed exploration follows a way of many periods, found when it began: a saved agent goes on with it."""
    chain, path = ocp.Chain(12), tmp_path / "agent.ocp"
    agent = ocp.OCP(ocp.TabulaRasa(12, 2, horizon=12), replay=True, ties="directed")
    state = chain.reset()
    for _ in range(60):  # periods
        agent.save(path)
        loaded = ocp.load_agent(path)
        action = agent.act(state)
        assert loaded.act(state) == action
        assert loaded._core.state() == agent._core.state()
        state, reward, terminated = chain.step(state, action)
        if agent.observe(state, reward, terminated):
            state = chain.reset()
