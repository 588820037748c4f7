"""How time grows with |C|, |A|, d, H, K, the number of simulations and the number of workers: fitted exponents.

The lines at the end of a run say, for example, time ~ (H)^1.00.
"""

import os
import time

import numpy as np
import pytest
from test_polytope import Suprema

import ocpfast as ocp
from ocpfast.executors import available_cores

pytestmark = pytest.mark.ratios
EVERYTHING = {"ties": "directed", "replay": "stationary", "update": "period"}
QUIET = {"rng": 0, "workers": 1, "progress": False}
EPISODES = 2_000


def learned_table(n_actions=4, horizon=50, n_states=50):
    """A random table, and an agent that knows it."""
    rng = np.random.default_rng(0)
    shape = n_states, n_actions
    system = ocp.TableSystem(rng.integers(0, n_states, shape), rng.integers(-9, 10, shape), horizon=horizon)
    agent = ocp.OCP(ocp.TabulaRasa(*shape, horizon=horizon), **EVERYTHING)
    enough = 100 + 2 * n_states * n_actions // horizon  # episodes that meet nothing new but here and there
    result = ocp.run(agent, system, enough, keep_agents=True, **QUIET)
    assert (result.rewards[0, -50:] == result.optimal[0, -50:]).all()
    return result.agents[0], system


def assert_optimal(result):
    assert np.array_equal(result.rewards, result.optimal)


@pytest.mark.parametrize("n_actions", [4, 16, 64, 256])
def test_actions(grows, n_actions):
    agent, system = learned_table(n_actions=n_actions)
    per = EPISODES * system.horizon
    assert_optimal(grows("|A|, a learned period", n_actions, ocp.run, agent, system, EPISODES, per=per, **QUIET))


@pytest.mark.parametrize("horizon", [25, 50, 100, 200])
def test_horizon(grows, horizon):
    agent, system = learned_table(horizon=horizon)
    assert_optimal(grows("H, a learned episode", horizon, ocp.run, agent, system, EPISODES, per=EPISODES, **QUIET))


@pytest.mark.parametrize("n_features", [5, 10, 20, 40])
def test_features(grows, n_features):
    """Learning a chain with features [Q*, 1, noise...]: about so many episodes are suboptimal in each period."""
    n = 20
    phi = np.random.default_rng(0).standard_normal((n, n, 2, n_features))
    phi[..., 0], phi[..., 1] = ocp.solve(ocp.Chain(n)).q, 1.0
    fresh = ocp.OCP(ocp.LinearFeatures(phi), selection="eluder")
    result = grows("K, learning a chain of 20", n_features, ocp.run, fresh, ocp.Chain(n), n * n_features, **QUIET)
    assert result.suboptimal()[0] <= n * n_features
    assert result.rewards[0, -1] == 1


def asked_of(suprema, rounds):
    """A function that asks a new copy each time; it is ready before the clock starts."""
    copies = [suprema.copy() for _ in range(rounds)]
    return lambda: suprema.of_agent(copies.pop())


@pytest.mark.parametrize("n_constraints", [40, 80, 160, 320])
def test_constraints(grows, n_constraints):
    suprema = Suprema(n_constraints=n_constraints, peers=False)
    values = grows("|C|, 60 suprema, d=10", n_constraints, asked_of(suprema, 3), rounds=3)
    assert values == pytest.approx(suprema.of_agent(suprema.agent), abs=1e-5)


@pytest.mark.parametrize("d", [5, 10, 20, 40])
def test_dimension(grows, d):
    suprema = Suprema(d=d, n_constraints=80, peers=False)
    values = grows("d, 60 suprema, |C|=80", d, asked_of(suprema, 3), rounds=3)
    assert values == pytest.approx(suprema.of_agent(suprema.agent), abs=1e-5)


@pytest.mark.parametrize("simulations", [10, 30, 100, 300])
def test_simulations(grows, simulations):
    agent, system = learned_table()
    keywords = QUIET | {"simulations": simulations}
    assert_optimal(grows("simulations", simulations, ocp.run, agent, system, 200, rounds=3, **keywords))


@pytest.mark.benchmark(timer=time.perf_counter)
@pytest.mark.parametrize("workers", [n for n in (1, 2, 4, 8, 16) if n <= available_cores()])
def test_workers(grows, benchmark, workers):
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > 1.5 and not benchmark.disabled:
        pytest.skip(f"others use the machine too (a load of {load:.1f}): the clock says nothing of threads")
    agent, system = learned_table()
    keywords = QUIET | {"simulations": 64, "workers": workers}
    assert_optimal(grows("workers, 64 simulations", workers, ocp.run, agent, system, 2_000, rounds=5, **keywords))
