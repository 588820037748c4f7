"""State aggregation: the compiled update against the same in NumPy, and a large table with everything on."""

import numpy as np
import pytest

import ocpfast as ocp

N = 30  # states and horizon of the chain
EPISODES = 300


def in_numpy():
    """Tabula rasa OCP on the chain, as short as NumPy makes it."""
    upper = np.full((N + 1, N, 2), np.inf)
    upper[N] = 0.0
    rewards = np.zeros(EPISODES)
    for episode in range(EPISODES):
        state, seen = 0, []
        for t in range(N):
            action = int(upper[t, state].argmax())
            reward = float(state == N - 1)
            following = state if state == N - 1 else state + 1 if action else max(state - 1, 0)
            seen.append(((t, state, action), reward + upper[t + 1, following].max()))
            rewards[episode] += reward
            state = following
        for triple, value in seen:
            upper[triple] = min(upper[triple], value)
    return rewards


def compiled():
    agent = ocp.OCP(ocp.TabulaRasa(N, 2, horizon=N))
    return ocp.run(agent, ocp.Chain(N), EPISODES, progress=False).rewards[0]


def stepped():
    agent, chain = ocp.OCP(ocp.TabulaRasa(N, 2, horizon=N)), ocp.Chain(N)
    rewards = np.zeros(EPISODES)
    for episode in range(EPISODES):
        state, ended = chain.reset(), False
        while not ended:
            state, reward, terminated = chain.step(state, agent.act(state))
            ended = agent.observe(state, reward, terminated)
            rewards[episode] += reward
    return rewards


@pytest.mark.ratios
@pytest.mark.benchmark(group="aggregation update, chain of 30")
@pytest.mark.parametrize(
    "who, implementation",
    [("ocpfast", compiled), ("ocpfast, stepped from Python", stepped), ("NumPy", in_numpy)],
    ids=["compiled", "stepped", "numpy"],
)
def test_chain(benchmark, who, implementation):
    benchmark.extra_info.update(who=who, per=N * EPISODES, unit="period")
    assert np.array_equal(benchmark(implementation), in_numpy())


@pytest.mark.benchmark(group="table of 500 states, 6 actions, H=200, 400 episodes, everything on")
@pytest.mark.parametrize("options", [{}, {"reward_bound": 10.0}], ids=["unbounded", "bounded"])
def test_everything_on(benchmark, options):
    rng = np.random.default_rng(0)
    system = ocp.TableSystem(rng.integers(0, 500, (500, 6)), rng.integers(-9, 10, (500, 6)), horizon=200)
    agent = ocp.OCP(
        ocp.TabulaRasa(500, 6, horizon=200), ties="directed", replay="stationary", update="period", **options
    )
    result = benchmark.pedantic(
        ocp.run, (agent, system, 400), {"workers": 1, "progress": False}, rounds=1 if benchmark.disabled else 3
    )
    assert result.suboptimal(1e-6)[0] < 40
