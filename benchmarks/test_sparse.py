"""The paper's chain with sparse linear features: 1,500 episodes of 50 periods, 3 of 60 features count, one thread."""

import time

import numpy as np
import pytest

import ocpfast as ocp

N = 50
METHODS = [{}, {"replay": True, "ties": "directed"}]


def features(n_features):
    """phi = [Q*, 1, Gaussian...] in every period."""
    phi = np.random.default_rng(0).standard_normal((N, N, 2, n_features))
    phi[..., 0] = ocp.solve(ocp.Chain(N)).q
    phi[..., 1] = 1.0
    return phi


def play(agent, episodes):
    """The agent after more episodes, the regret of these, and the seconds of processor time they took."""
    started = time.process_time()
    result = ocp.run(agent, ocp.Chain(N), episodes, workers=1, progress=False, keep_agents=True)
    return result.agents[0], result.regret()[0, -1], time.process_time() - started


@pytest.mark.benchmark(group="chain of 50, K0 of K features: 1,500 episodes")
@pytest.mark.parametrize("n_features, sparsity", [(20, 2), (60, 3)])
@pytest.mark.parametrize("options", METHODS, ids=["plain", "replay, directed"])
def test_chain(benchmark, report, n_features, sparsity, options):
    phi = features(n_features)
    fresh = ocp.OCP(ocp.SparseLinear(phi, sparsity), selection="eluder", **options)
    seconds = []

    def simulate():
        agent, regret, taken = play(fresh, 1_500)
        seconds.append(taken)
        return agent, regret

    agent, regret = benchmark.pedantic(simulate, rounds=1 if benchmark.disabled else 5)
    _, linear, _ = play(ocp.OCP(ocp.LinearFeatures(phi), selection="eluder", **options), 3_000)
    assert regret <= (2 * sparsity + 1) * N
    report(
        f"chain of {N}, {sparsity} of {n_features} features, {options}: {1e3 * min(seconds):.0f} ms for 1,500 "
        f"episodes, regret {regret:.0f} (linear class: {linear:.0f}), {agent.statistics()['determined']} equalities"
    )


def test_later_periods_cost_no_more(report):
    """A learned period costs what one of a linear class does."""
    phi = features(20)
    early, _, _ = play(ocp.OCP(ocp.SparseLinear(phi, 2), selection="eluder"), 1_000)
    linear, _, _ = play(ocp.OCP(ocp.LinearFeatures(phi), selection="eluder"), 1_000)
    late, _, _ = play(early, 20_000)
    seconds = [[play(agent, 2_000)[2] for agent in (early, late, linear)] for _ in range(10)]
    first, last, peer = (1e9 * min(window) / (2_000 * N) for window in zip(*seconds, strict=True))
    report(f"ns per learned period: {first:.0f}, {last:.0f} after 20,000 episodes more; linear class {peer:.0f}")
    assert last <= 1.5 * first
