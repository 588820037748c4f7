"""A hundred simulations of the chain: threads of our own, and what it costs to have other processes do them."""

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import ocpfast as ocp

CHAIN = ocp.Chain(50)
AGENT = ocp.OCP(ocp.TabulaRasa(50, 2, horizon=50), ties="random", replay=True)
EPISODES, SIMULATIONS, WORKERS = 2000, 100, 2


@pytest.fixture(scope="module")
def threads():
    return None


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.fixture(scope="module")
def dask():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": WORKERS, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with distributed.LocalCluster(protocol="tcp://", **options) as cluster, distributed.Client(cluster) as client:
        yield client.get_executor()


def hundred(executor, workers=WORKERS):
    return ocp.run(AGENT, CHAIN, EPISODES, SIMULATIONS, rng=0, workers=workers, executor=executor, progress=False)


@pytest.mark.benchmark(group=f"{SIMULATIONS} simulations of Chain(50), {EPISODES} episodes each, {WORKERS} workers")
@pytest.mark.parametrize("where", ["threads", "processes", "dask"])
def test_simulations(benchmark, request, where):
    executor = request.getfixturevalue(where)
    hundred(executor)  # workers that import ocpfast for the first time
    result = benchmark.pedantic(hundred, (executor,), rounds=1 if benchmark.disabled else 10)
    assert np.array_equal(result.rewards, hundred(None, workers=1).rewards)


def test_pickled_sizes(report):
    """Not times, but what a network carries."""
    pendulum = ocp.InvertedPendulum(disturbance=2.5)
    balancer = ocp.OCP(ocp.StateAggregation(pendulum.partition(), n_actions=3), replay=True)
    for name, agent, system in (("Chain(50)", AGENT, CHAIN), ("the pendulum", balancer, pendulum)):
        result = ocp.run(agent, system, 200, 1, rng=0, progress=False, keep_agents=True)
        [learned] = result.agents
        rewards = ocp.Result(result.rewards, result.optimal)
        sizes = [len(pickle.dumps(one)) for one in (system, agent, learned, rewards)]
        report(
            f"{name}, pickled: system {sizes[0]:,} bytes, agent {sizes[1]:,}, after 200 episodes {sizes[2]:,}, "
            f"their result {sizes[3]:,}"
        )
        assert sizes[0] < 300 and sizes[3] < result.rewards.nbytes + 500
        assert pickle.loads(pickle.dumps(learned)).statistics() == learned.statistics()
