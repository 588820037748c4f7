"""Linear-quadratic control: a learned period, with continuous actions and with a list, and how long learning takes."""

import time

import numpy as np
import pytest

import ocpfast as ocp

SHAPES = [(1, 1, 4), (2, 1, 5), (4, 2, 8)]  # n, m, H
LEARNED = 200  # episodes, more than the largest eluder dimension
MORE = 5_000
CONTINUOUS = [{}, {"replay": True}, {"replay": "stationary"}]


def system(n, m, horizon, actions=None, moved=True, start="random"):
    """Controllable, spectral radius 1. Q* of a list is in the class where the actions do not move the state."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((n, n)), rng.standard_normal((n, m)) * moved
    a /= np.abs(np.linalg.eigvals(a)).max()
    where = {"initial_scale": 1.0} if start == "random" else {"initial_state": rng.standard_normal(n)}
    return ocp.LinearQuadratic(a, b, np.eye(n), np.eye(m), horizon, actions=actions, **where)


def play(agent, task, episodes):
    """The agent after more episodes, how many were suboptimal, and the seconds of processor time they took."""
    started = time.process_time()
    result = ocp.run(agent, task, episodes, rng=0, workers=1, progress=False, keep_agents=True)
    seconds = time.process_time() - started
    losses = (result.optimal - result.rewards) / np.abs(result.optimal)
    return result.agents[0], int((losses > 1e-6).sum()), seconds


@pytest.mark.benchmark(group="linear-quadratic, continuous actions: 5,000 learned episodes")
@pytest.mark.parametrize("start", ["random", "fixed"])
@pytest.mark.parametrize("options", CONTINUOUS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_continuous(benchmark, report, shape, options, start):
    task = system(*shape, start=start)
    agent = ocp.OCP(ocp.Quadratic(*shape), selection="eluder", **options)
    learned, suboptimal, taken = play(agent, task, LEARNED)
    seconds = []

    def simulate():
        _, worse, took = play(learned, task, MORE)
        seconds.append(took)
        return worse

    assert benchmark.pedantic(simulate, rounds=1 if benchmark.disabled else 20) == 0
    report(
        f"n, m, H = {shape}, {start} start, {options}: {suboptimal} suboptimal episodes, "
        f"{1e6 * taken / LEARNED / shape[2]:.2f} us a period while learning, "
        f"{1e9 * min(seconds) / MORE / shape[2]:.0f} ns learned"
    )


@pytest.mark.benchmark(group="linear-quadratic, a list of five actions: 5,000 learned episodes")
@pytest.mark.parametrize("shape", SHAPES[:2], ids=str)
def test_list(benchmark, report, shape):
    n, m, horizon = shape
    actions = np.linspace(-1, 1, 5)[:, np.newaxis]
    task = system(*shape, actions=actions, moved=False)
    agent = ocp.OCP(ocp.Quadratic(n, m, horizon, actions), selection="eluder")
    learned, _, _ = play(agent, task, LEARNED)
    seconds = []

    def simulate():
        _, worse, took = play(learned, task, MORE)
        seconds.append(took)
        return worse

    assert benchmark.pedantic(simulate, rounds=1 if benchmark.disabled else 20) == 0
    report(f"n, m, H = {shape}, {len(actions)} actions: {1e9 * min(seconds) / MORE / horizon:.0f} ns a learned period")
