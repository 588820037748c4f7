"""A pendulum of one's own beside the one that comes with ocpfast: the examples of csrc/examples/own_system.

One thread, and an agent that has learned to balance: a step is the disturbance, the integrator, the action and what is
learned of it. Many simulations of the built-in pendulum go side by side in SIMD lanes, and so do those of a system of
one's own with a `step_many` ("lanes").
"""

import sys
import time

import pytest
from own_systems import WAYS, built_examples, pendulum

import ocpfast as ocp

BUILT_IN = "built in"
MANY = 24  # that go side by side
CASES = [*((way, 1) for way in (BUILT_IN, *WAYS)), (BUILT_IN, MANY), ("lanes", MANY)]
STEP = 0.1  # seconds of simulated time, and the reward of one step
HOUR = 36_000


@pytest.fixture(scope="module", autouse=True)
def examples(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = built_examples(tmp_path_factory.mktemp("examples"))
        patch.setattr(sys, "path", [str(folder), str(folder / "cython"), *sys.path])
        yield


@pytest.fixture(scope="module")
def balancing():
    """An agent that has learned to stay up."""
    system = ocp.InvertedPendulum(2.5)
    agent = ocp.OCP(ocp.StateAggregation(system.partition(), n_actions=3))
    result = ocp.run(agent, system, 900, rng=1, workers=1, progress=False, keep_agents=True)
    assert result.rewards[0, -1] == HOUR * STEP
    return result.agents[0]


def made(way):
    if way == BUILT_IN:
        return ocp.InvertedPendulum(2.5)
    return pendulum(way, disturbance=2.5, horizon=HOUR // 10 if way == "python" else HOUR)


def episodes_of(way, simulations):
    return 1 if way == "python" or simulations > 1 else 20


@pytest.mark.benchmark(group="a pendulum of one's own: one step", timer=time.process_time)
@pytest.mark.parametrize("way, simulations", CASES)
def test_learned_steps(benchmark, balancing, way, simulations):
    system = made(way)
    keywords = {"simulations": simulations, "rng": 3, "workers": 1, "progress": False}
    arguments = balancing, system, episodes_of(way, simulations)
    result = benchmark.pedantic(ocp.run, arguments, keywords, rounds=1 if benchmark.disabled else 7)
    benchmark.extra_info["steps"] = steps = round(float(result.rewards.sum()) / STEP)
    assert steps > result.rewards.size * system.horizon / 2  # it balances


def ns_per_step(agent, system, episodes, simulations):
    """Processor time, which other programs disturb less than the clock."""
    started = time.process_time_ns()
    result = ocp.run(agent, system, episodes, simulations, rng=3, workers=1, progress=False)
    return (time.process_time_ns() - started) / round(float(result.rewards.sum()) / STEP)


def test_the_speed_of_ones_own(report, request, balancing):
    """In turn, the best of each: the least noisy ratio to be had. Wanted is 80 % of the built-in pendulum's speed."""
    smoke = request.config.getoption("benchmark_disable")
    systems = {way: made(way) for way, _ in CASES}
    best = dict.fromkeys(CASES, float("inf"))
    for _ in range(1 if smoke else 15):
        for way, n in CASES:
            best[way, n] = min(best[way, n], ns_per_step(balancing, systems[way], episodes_of(way, n), n))
    for (way, n), ns in best.items():
        speed = best[BUILT_IN, n] / ns
        report(f"a pendulum's learned step, simulations: {n}, {way}: {ns:,.1f} ns, {speed:.1%} of the built-in speed")
        assert smoke or way == "python" or speed >= 0.8
