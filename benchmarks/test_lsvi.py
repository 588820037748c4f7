"""The fit of LSVI after an episode: 36,000 sweeps of the pendulum's cells, and normal equations, against NumPy."""

import time

import numpy as np
import pytest

import ocpfast as ocp

SWEEPS = 36_000


def learned_pendulum(disturbance=2.5, episodes=300):
    """An agent in the middle of learning, and its data as NumPy wants them: means and shares of visited points."""
    pendulum = ocp.InvertedPendulum(disturbance)
    grid = pendulum.partition()
    agent = ocp.LSVI(ocp.StateAggregation(grid, n_actions=3), ocp.EpsilonGreedy(0.1), rng=1)
    rng = np.random.default_rng(2)
    count, outcomes = np.zeros((grid.n_labels, 3)), np.zeros((grid.n_labels, 3, grid.n_labels))
    for _ in range(episodes):
        state, ended = pendulum.reset(rng), False
        while not ended:
            action, label = agent.act(state), grid.label(state)
            state, reward, terminated = pendulum.step(state, action, rng=rng)
            count[label, action] += 1
            if not terminated:
                outcomes[label, action, grid.label(state)] += 1
            ended = agent.observe(state, reward, terminated, truncated=agent.period == SWEEPS - 1)
    seen = np.flatnonzero(count.sum(axis=1))
    n = np.maximum(count[seen], 1)
    return agent, 0.1 * (count[seen] > 0), outcomes[np.ix_(seen, range(3), seen)] / n[..., np.newaxis]


def fit(agent):
    """One more episode of one period, and the fit after it."""
    agent.act([0.0, 0.0])
    agent.observe([0.0, 0.0], 0.1, terminated=True)


def numpy_sweeps(reward, shares, sweeps):
    rows = shares.reshape(-1, shares.shape[-1])
    q = np.zeros_like(reward)
    for _ in range(sweeps):
        q = reward + (rows @ q.max(axis=1)).reshape(reward.shape)
    return q


@pytest.mark.benchmark(group="LSVI: pendulum, one fit of 36,000 sweeps")
def test_pendulum_fit(benchmark):
    agent, _, _ = learned_pendulum()
    benchmark(fit, agent)


@pytest.mark.benchmark(group="LSVI: pendulum, one fit of 36,000 sweeps")
def test_pendulum_fit_numpy(benchmark):
    _, reward, shares = learned_pendulum()
    benchmark.pedantic(numpy_sweeps, args=(reward, shares, SWEEPS), rounds=1)


def test_ratio(report, request):
    smoke = request.config.getoption("benchmark_disable")
    agent, reward, shares = learned_pendulum(episodes=30 if smoke else 300)
    started = time.process_time_ns()
    for _ in range(20):
        fit(agent)
    mine = (time.process_time_ns() - started) / 20
    sweeps = SWEEPS // 100
    started = time.process_time_ns()
    numpy_sweeps(reward, shares, sweeps)
    plain = (time.process_time_ns() - started) * SWEEPS / sweeps
    statistics = agent.statistics()
    report(
        f"LSVI, one fit of the pendulum's {statistics['transitions']} transitions: {mine / 1e6:.2f} ms, NumPy "
        f"{plain / 1e6:.0f} ms; {statistics['sweeps'] / statistics['episodes']:.0f} sweeps made of 36,000"
    )
    assert smoke or mine < plain / 100


@pytest.mark.benchmark(group="LSVI: chain of 50, 20 features, an episode and its fit")
def test_chain_with_features(benchmark):
    """With noise as Q*, so that there is something to fit; 50 normal equations of 20 unknowns."""
    phi = np.random.default_rng(0).normal(size=(50, 50, 2, 20))
    rewards = np.random.default_rng(1).normal(size=(50, 2))
    forward = np.stack([np.maximum(np.arange(50) - 1, 0), np.minimum(np.arange(50) + 1, 49)], axis=1)
    system = ocp.TableSystem(forward, rewards, horizon=50)
    agent = ocp.LSVI(ocp.LinearFeatures(phi), ocp.EpsilonGreedy(0.5))
    benchmark.pedantic(ocp.run, args=(agent, system, 100), kwargs={"rng": 0, "progress": False}, rounds=5)
