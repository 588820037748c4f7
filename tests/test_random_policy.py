"""The random policy: uniform, in any system, by the seed alone."""

import copy
import pickle

import numpy as np
import pytest

import ocpfast as ocp


def taken(agent, n):
    actions = []
    for _ in range(n):
        actions.append(agent.act(None))
        agent.observe(None, 0.0)
    return actions


@pytest.mark.parametrize("n_actions", [1, 2, 3, 7])
def test_it_is_uniform(n_actions):
    n = 20_000
    counts = np.bincount(taken(ocp.RandomPolicy(n_actions, rng=0), n), minlength=n_actions)
    p = 1 / n_actions
    assert len(counts) == n_actions and np.all(np.abs(counts - n * p) <= 5 * np.sqrt(n * p * (1 - p)))


def test_it_follows_the_seed():
    assert taken(ocp.RandomPolicy(3, rng=1), 50) == taken(ocp.RandomPolicy(3, rng=1), 50)
    assert taken(ocp.RandomPolicy(3, rng=1), 50) != taken(ocp.RandomPolicy(3, rng=2), 50)
    agent = ocp.RandomPolicy(3, rng=1)
    assert taken(agent.copy(), 50) == taken(copy.deepcopy(agent), 50) == taken(agent, 50)


def test_running_is_stepping_in_systems_of_both_kinds():
    for system in (ocp.InvertedPendulum(2.5, horizon=50), ocp.Chain(6)):
        agent = ocp.RandomPolicy(system.n_actions)
        result = ocp.run(agent, system, 30, 2, rng=4, progress=False, keep_agents=True, workers=2)
        for i, (system_rng, agent_rng) in enumerate(ocp.simulation_streams(4, 2)):
            mine, rewards = agent.copy(agent_rng), []
            for episode in range(30):
                state, ended, total, period = system.reset(system_rng, episode), False, 0.0, 0
                while not ended:
                    state, reward, terminated = system.step(state, mine.act(state), period, system_rng)
                    ended = mine.observe(state, reward, terminated, truncated=period == system.horizon - 1)
                    total, period = total + reward, period + 1
                rewards.append(total)
            assert rewards == pytest.approx(result.rewards[i], abs=1e-9)
            assert mine.statistics() == result.agents[i].statistics()
    assert agent.statistics() == {"episodes": 0, "periods": 0}


def test_episodes_end_where_the_system_ends_them():
    agent = ocp.RandomPolicy(2, rng=0)
    for _ in range(1000):
        agent.act(0)
        assert agent.observe(0, 1.0) is False
    assert agent.period == 1000
    agent.act(0)
    assert agent.observe(0, 1.0, truncated=True)
    agent.act(0)
    assert agent.observe(0, 1.0, terminated=True)
    assert agent.period == 0 and agent.statistics() == {"episodes": 2, "periods": 1002}
    agent.act(0)
    agent.begin_episode()
    agent.act(0)


def test_acting_without_learning_needs_no_observe():
    agent = ocp.RandomPolicy(3, rng=0)
    assert {agent.act(0, learn=False) for _ in range(100)} == {0, 1, 2}
    assert agent.act(0, learn=False, period=3) in range(3)
    assert repr(agent) == "RandomPolicy(n_actions=3)"
    twin = pickle.loads(pickle.dumps(agent))
    assert [agent.act(0, learn=False) for _ in range(30)] == [twin.act(0, learn=False) for _ in range(30)]


def test_bad_input():
    with pytest.raises(ValueError, match="n_actions: expected an integer >= 1, got 0"):
        ocp.RandomPolicy(0)
    with pytest.raises(TypeError, match=r"n_actions: expected an integer >= 1, got 2.5"):
        ocp.RandomPolicy(2.5)
    with pytest.raises(ValueError, match="expected at most"):
        ocp.RandomPolicy(2**40)
    agent = ocp.RandomPolicy(2)
    with pytest.raises(ValueError, match="agent: its class has 2 actions, but the system has 3"):
        ocp.run(agent, ocp.InvertedPendulum(), progress=False)
    with pytest.raises(RuntimeError, match="observe: there is no action to observe"):
        agent.observe(0, 0.0)
    agent.act(0)
    with pytest.raises(RuntimeError, match="act: called twice in period 0"):
        agent.act(0)
    with pytest.raises(ValueError, match="reward: expected a finite number, got nan"):
        agent.observe(0, np.nan)
    with pytest.raises(TypeError, match="terminated: expected True or False, got 1"):
        agent.observe(0, 0.0, terminated=1)
    assert isinstance(agent, ocp.Agent)
