"""The paper's chain with linear features: 1,500 episodes of 50 periods, K = 20, one thread."""

import numpy as np
import pytest

import ocpfast as ocp

N, K = 50, 20


def features():
    """phi = [Q*, 1, Gaussian...] in every period."""
    down, up = np.maximum(np.arange(N) - 1, 0), np.minimum(np.arange(N) + 1, N - 1)
    down[-1] = N - 1
    q, value = np.zeros((N, N, 2)), np.zeros(N)
    for t in reversed(range(N)):
        q[t] = np.stack([value[down], value[up]], axis=1)
        q[t, -1] += 1
        value = q[t].max(axis=1)
    gaussian = np.random.default_rng(0).standard_normal((N, N, 2, K - 2))
    return np.concatenate([q[..., None], np.ones((N, N, 2, 1)), gaussian], axis=-1)


@pytest.mark.benchmark(group="chain of 50 with 20 features: 1,500 episodes")
@pytest.mark.parametrize(
    "options",
    [{"selection": "eluder"}, {"selection": "all"}, {"selection": "eluder", "replay": True, "ties": "directed"}],
    ids=str,
)
def test_chain(benchmark, options):
    agent = ocp.OCP(ocp.LinearFeatures(features()), **options)
    rounds = 1 if benchmark.disabled else 5
    settings = {"workers": 1, "progress": False, "keep_agents": True}
    result = benchmark.pedantic(ocp.run, (agent, ocp.Chain(N), 1500), settings, rounds=rounds)
    assert result.regret()[0, -1] <= (25 if "replay" in options else N * K)
    benchmark.extra_info["lps"] = result.agents[0].statistics()["lps"]
