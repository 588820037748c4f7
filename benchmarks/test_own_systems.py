"""A pendulum of one's own beside the one that comes with ocpfast: the examples of csrc/examples/own_system.

One simulation in one thread, with an agent that has learned to balance: a step is the disturbance, the integrator, the
action and what is learned of it. Many simulations of the built-in pendulum go side by side in SIMD lanes, which a
system of one's own does only with a `step_many`: they stand here too, for comparison.
"""

import sys
import time

import pytest
from own_systems import COMPILED, WAYS, built_examples, pendulum

import ocpfast as ocp

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
    if way.startswith("built in"):
        return ocp.InvertedPendulum(2.5)
    return pendulum(way, disturbance=2.5, horizon=HOUR // 10 if way == "python" else HOUR)


@pytest.mark.benchmark(group="a pendulum of one's own: one step", timer=time.process_time)
@pytest.mark.parametrize("way", ["built in", "built in, 100 side by side", *WAYS])
def test_learned_steps(benchmark, balancing, way):
    many = way.endswith("side by side")
    system, episodes, simulations = made(way), 1 if many or way == "python" else 20, 100 if many else 1
    keywords = {"simulations": simulations, "rng": 3, "workers": 1, "progress": False}
    result = benchmark.pedantic(ocp.run, (balancing, system, episodes), keywords, rounds=1 if benchmark.disabled else 7)
    benchmark.extra_info["steps"] = steps = round(float(result.rewards.sum()) / STEP)
    assert steps > simulations * episodes * system.horizon / 2  # it balances


def ns_per_step(agent, way, systems):
    """Processor time, which other programs disturb less than the clock."""
    episodes, simulations = (1, 24) if way.endswith("side by side") else (1 if way == "python" else 20, 1)
    started = time.process_time_ns()
    result = ocp.run(agent, systems[way], episodes, simulations, rng=3, workers=1, progress=False)
    return (time.process_time_ns() - started) / round(float(result.rewards.sum()) / STEP)


def test_the_speed_of_ones_own(report, request, balancing):
    """In turn, the best of each: the least noisy ratio to be had. Wanted is 80 % of the built-in pendulum's speed."""
    smoke = request.config.getoption("benchmark_disable")
    systems = {way: made(way) for way in ("built in", "built in, 24 side by side", *WAYS)}
    best = dict.fromkeys(systems, float("inf"))
    for _ in range(1 if smoke else 15):
        for way in systems:
            best[way] = min(best[way], ns_per_step(balancing, way, systems))
    for way, ns in best.items():
        report(f"a pendulum's learned step, {way}: {ns:,.1f} ns, {best['built in'] / ns:.1%} of the built-in speed")
    assert smoke or all(best["built in"] / best[way] >= 0.8 for way in COMPILED)
