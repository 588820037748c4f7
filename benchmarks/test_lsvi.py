"""The fit of LSVI after an episode: 36,000 sweeps of the pendulum's cells, and normal equations, against NumPy.

And whole episodes on a small chain against rlberry-scool's LSVI-UCB, which fits all its data anew after each of them.
"""

import time

import numpy as np
import pytest
from reference_lsvi import LiteralLSVI

import ocpfast as ocp

SWEEPS = 36_000


def learned_pendulum(disturbance=2.5, episodes=300):
    """An agent in the middle of learning, its data as NumPy wants them (means and shares of points), its values."""
    pendulum = ocp.InvertedPendulum(disturbance)
    grid = pendulum.partition()
    agent = ocp.LSVI(ocp.StateAggregation(grid, n_actions=3), ocp.EpsilonGreedy(0.1), rng=1)
    rng = np.random.default_rng(2)
    somewhere = {}  # a state of each visited point
    count, outcomes = np.zeros((grid.n_labels, 3)), np.zeros((grid.n_labels, 3, grid.n_labels))
    for _ in range(episodes):
        state, ended = pendulum.reset(rng), False
        while not ended:
            action, label = agent.act(state), grid.label(state)
            somewhere[label] = state
            state, reward, terminated = pendulum.step(state, action, rng=rng)
            count[label, action] += 1
            if not terminated:
                outcomes[label, action, grid.label(state)] += 1
            ended = agent.observe(state, reward, terminated, truncated=agent.period == SWEEPS - 1)
    seen = np.flatnonzero(count.sum(axis=1))
    n = np.maximum(count[seen], 1)
    values = np.array([[agent.value(somewhere[label], action) for action in range(3)] for label in seen])
    return agent, 0.1 * (count[seen] > 0), outcomes[np.ix_(seen, range(3), seen)] / n[..., np.newaxis], values


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


@pytest.mark.ratios
@pytest.mark.benchmark(group="LSVI on the pendulum's cells")
def test_pendulum_fit(benchmark):
    benchmark.extra_info.update(who="ocpfast", unit="fit of 36,000 sweeps")
    agent, *_ = learned_pendulum()
    benchmark(fit, agent)
    # one datum more changes little, and that one is worth 0.1 by itself
    assert 0.1 <= agent.value([0.0, 0.0], 1) <= 0.1 * SWEEPS


@pytest.mark.ratios
@pytest.mark.benchmark(group="LSVI on the pendulum's cells")
def test_pendulum_fit_numpy(benchmark):
    benchmark.extra_info.update(who="NumPy, sweep by sweep", unit="fit of 36,000 sweeps")
    episodes = 30 if benchmark.disabled else 300
    _, reward, shares, values = learned_pendulum(episodes=episodes)
    q = benchmark.pedantic(numpy_sweeps, args=(reward, shares, SWEEPS), rounds=1)
    assert np.allclose(values, q, rtol=1e-8, atol=1e-8 * q.max())


def test_ratio(report, request):
    smoke = request.config.getoption("benchmark_disable")
    agent, reward, shares, _ = learned_pendulum(episodes=30 if smoke else 300)
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
    agent = ocp.LSVI(ocp.LinearFeatures(phi), ocp.EpsilonGreedy(0.5), rng=2)
    benchmark.pedantic(ocp.run, args=(agent, system, 100), kwargs={"rng": 0, "progress": False}, rounds=5)
    literal = LiteralLSVI(phi)
    for _ in range(3):
        state = 0
        for t in range(50):
            action, before = agent.act(state), state
            state, reward, _ = system.step(state, action)
            agent.observe(state, reward)
            literal.record(t, before, action, reward, state if t < 49 else None)
        literal.fit()
    for t, x in ((0, 0), (7, 3), (20, 10), (49, 5)):
        assert [agent.value(x, a, t) for a in range(2)] == pytest.approx(literal.values(t, x), rel=1e-6, abs=1e-6)


N_STATES, HORIZON, EPISODES = 4, 8, 40


def small_chain():
    """A chain of 4 states and 8 periods: exploration finds the end, so that both agents see every transition."""
    x = np.arange(N_STATES)
    next_state = np.stack([np.maximum(x - 1, 0), np.minimum(x + 1, N_STATES - 1)], axis=1)
    next_state[-1] = N_STATES - 1
    reward = np.zeros((N_STATES, 2))
    reward[-1] = 1.0
    return ocp.TableSystem(next_state, reward, horizon=HORIZON)


@pytest.mark.ratios
@pytest.mark.benchmark(group="LSVI, chain of 4, 40 episodes")
def test_small_chain(benchmark):
    benchmark.extra_info.update(who="ocpfast", per=EPISODES, unit="episode and fit")
    system = small_chain()
    phi = np.eye(2 * N_STATES).reshape(N_STATES, 2, 2 * N_STATES)
    fresh = ocp.LSVI(ocp.LinearFeatures(phi), ocp.EpsilonGreedy(1.0), sweeps=HORIZON)
    run = {"rng": 1, "progress": False, "keep_agents": True, "workers": 1}
    [agent] = benchmark.pedantic(ocp.run, (fresh, system, EPISODES), run, rounds=1 if benchmark.disabled else 20).agents
    values = [[agent.value(x, a) for a in range(2)] for x in range(N_STATES)]
    assert values == pytest.approx(ocp.solve(system).q[0], abs=1e-9)


@pytest.mark.ratios
@pytest.mark.benchmark(group="LSVI, chain of 4, 40 episodes")
@pytest.mark.filterwarnings("ignore")
def test_small_chain_rlberry(benchmark):
    benchmark.extra_info.update(who="rlberry-scool's LSVI-UCB", per=EPISODES, unit="episode and fit")
    agents = pytest.importorskip("rlberry_scool.agents", reason="no rlberry-scool: pip install '.[bench]'")
    from rlberry.envs.finite_mdp import FiniteMDP
    from rlberry_scool.agents.features import FeatureMap

    class OnePair(FeatureMap):
        shape = (2 * N_STATES,)

        def __init__(self, env):
            pass

        def map(self, state, action):
            feature = np.zeros(self.shape)
            feature[2 * state + action] = 1.0
            return feature

    system = small_chain()
    probability = np.eye(N_STATES)[system.next_state]

    def learn():
        env = FiniteMDP(system.reward, probability, initial_state_distribution=0)
        # so little regularisation that values are those of least squares
        agent = agents.LSVIUCBAgent(env, horizon=HORIZON, feature_map_fn=OnePair, gamma=1.0, reg_factor=1e-6)
        agent.fit(budget=EPISODES)
        return agent.w_policy

    values = benchmark.pedantic(learn, rounds=1)
    assert values.reshape(N_STATES, 2) == pytest.approx(ocp.solve(system).q[0], abs=1e-4)
