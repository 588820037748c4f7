"""The paper's chain with linear features: 1,500 episodes of 50 periods, K = 20, one thread."""

import sys
import time

import numpy as np
import pytest

import ocpfast as ocp

resource = pytest.importorskip("resource")

N, K = 50, 20
LEARNED = 1_000  # after about 900 episodes nothing changes any more
METHODS = [{"selection": "eluder"}, {"selection": "all"}, {"selection": "eluder", "replay": True, "ties": "directed"}]


def features():
    """phi = [Q*, 1, Gaussian...] in every period."""
    q = ocp.solve(ocp.Chain(N)).q
    gaussian = np.random.default_rng(0).standard_normal((N, N, 2, K - 2))
    return np.concatenate([q[..., None], np.ones((N, N, 2, 1)), gaussian], axis=-1)


def play(agent, episodes):
    """The agent after more episodes, the regret of these, and the seconds of processor time they took."""
    started = time.process_time()
    result = ocp.run(agent, ocp.Chain(N), episodes, workers=1, progress=False, keep_agents=True)
    return result.agents[0], result.regret()[0, -1], time.process_time() - started


def peak_megabytes():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


@pytest.mark.benchmark(group="chain of 50 with 20 features: 1,500 episodes")
@pytest.mark.parametrize("options", METHODS, ids=str)
def test_chain(benchmark, report, options):
    fresh = ocp.OCP(ocp.LinearFeatures(features()), **options)
    seconds = []

    def simulate():
        agent, regret, taken = play(fresh, 1_500)
        seconds.append(taken)
        return agent, regret

    agent, regret = benchmark.pedantic(simulate, rounds=1 if benchmark.disabled else 20)
    assert regret <= (25 if "replay" in options else N * K)
    statistics = agent.statistics()
    benchmark.extra_info.update({name: statistics[name] for name in ("lps", "pivots")})
    report(
        f"chain of {N}, {K} features, {options}: {1e3 * min(seconds):.1f} ms for 1,500 episodes, "
        f"{statistics['lps']} linear programs, {statistics['pivots']} pivots"
    )


@pytest.mark.benchmark(group="chain of 50 in a polytope: 20 episodes")
@pytest.mark.parametrize("selection", ["all", "eluder"])
def test_polytope(benchmark, report, selection):
    """More rows than directions, so that HiGHS is asked: what one linear program costs, all told."""
    a_ub = np.vstack([np.eye(K), -np.eye(K), np.ones((1, K))])
    prior = ocp.Polytope(features(), a_ub, np.append(np.full(2 * K, 10.0), 100.0), shared=False)
    fresh = ocp.OCP(prior, selection=selection)
    seconds = []

    def simulate():
        agent, _, taken = play(fresh, 20)
        seconds.append(taken)
        return agent

    statistics = benchmark.pedantic(simulate, rounds=1 if benchmark.disabled else 3).statistics()
    report(
        f"the same in a polytope, selection {selection!r}: {1e6 * min(seconds) / statistics['lps']:.0f} us for each of "
        f"{statistics['lps']} linear programs of {statistics['pivots'] / statistics['lps']:.1f} pivots"
    )


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_later_periods_cost_no_more(report, request, options):
    """The time of a period after 1,000 episodes and after 1,000,000, measured in turns, and memory between them."""
    episodes = 20_000 if request.config.getoption("benchmark_disable") else 1_000_000
    early, _, _ = play(ocp.OCP(ocp.LinearFeatures(features()), **options), LEARNED)
    late, chunk = early, episodes // 10
    peaks = []
    for _ in range(10):
        late, regret, _ = play(late, chunk)
        assert regret == 0
        peaks.append(peak_megabytes())
    periods = 2_000 * N
    seconds = [(play(early, 2_000)[2], play(late, 2_000)[2]) for _ in range(20)]
    first, last = (1e9 * min(window) / periods for window in zip(*seconds, strict=True))
    growth = peaks[-1] - peaks[1]  # the first ones make room for the results
    report(
        f"{options}, ns per period: {first:.0f} after {LEARNED:,} episodes, {last:.0f} after {episodes:,}; "
        f"memory +{growth:.1f} MB"
    )
    assert last <= 1.5 * first
    assert growth <= 4  # one byte a period would be 40
