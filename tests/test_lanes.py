"""Simulations side by side: each gives the bits that it gives alone, whatever the processor's instructions."""

import os
import re
import shutil
import subprocess

import instructions
import numpy as np
import pytest
from commands import ROOT

import ocpfast as ocp

SETS = ("scalar", "baseline", "avx2", "avx512")
HERE = ocp.InvertedPendulum().instructions
AVAILABLE = SETS[: SETS.index(HERE) + 1]
HORIZON = 400


def pendulum(**options):
    return ocp.InvertedPendulum(**{"disturbance": 2.5, "horizon": HORIZON, **options})


def aggregation(system):
    return ocp.StateAggregation(system.partition(), n_actions=3)


def run(agent, system, simulations, first=0, workers=1, episodes=60):
    return ocp.run(
        agent, system, episodes, simulations, rng=7, workers=workers, progress=False, keep_agents=True,
        first_simulation=first,
    )  # fmt: skip


def upper_values(agent):
    velocities = np.linspace(-7, 7, 29)
    return [agent.upper((angle, v), a) for angle in np.linspace(-1.5, 1.5, 31) for v in velocities for a in range(3)]


def assert_same(together, alone, first=0):
    """`alone` is one simulation, number `first` of `together`."""
    np.testing.assert_array_equal(together.rewards[first], alone.rewards[0])
    one, other = together.agents[first], alone.agents[0]
    assert one.statistics() == other.statistics()
    if hasattr(one, "upper"):
        assert upper_values(one) == upper_values(other)


AGENTS = {
    "first": lambda c: ocp.OCP(c),
    "random": lambda c: ocp.OCP(c, ties="random"),
    "least_visited": lambda c: ocp.OCP(c, ties="least_visited"),
    "directed": lambda c: ocp.OCP(c, ties="directed"),
    "replay": lambda c: ocp.OCP(c, replay=True),
    "replay, directed": lambda c: ocp.OCP(c, replay=True, ties="directed"),
    "immediate": lambda c: ocp.OCP(c, update="period"),
    "discounted": lambda c: ocp.OCP(c, discount=0.99, reward_bound=0.1),
    "bounded": lambda c: ocp.OCP(c, bounds=(0.0, HORIZON * 0.1)),
    "window": lambda c: ocp.OCP(c, selection="window", window=20),
    "eluder": lambda c: ocp.OCP(c, selection="eluder"),
    "LSVI": lambda c: ocp.LSVI(c, ocp.EpsilonGreedy(0.1)),
    "random policy": lambda c: ocp.RandomPolicy(3),
}


@pytest.mark.parametrize("name", AGENTS)
def test_each_simulation_gives_what_it_gives_alone(name, compared):
    system = pendulum()
    agent = AGENTS[name](aggregation(system))
    together = run(agent, system, 9)
    assert len({reward.tobytes() for reward in together.rewards}) == 9  # no lane is another's copy
    for i in (0, 3, 8):
        assert_same(together, run(agent, system, 1, first=i), i)
    compared("simulations: side by side = alone, scalar = SIMD", 3)


@pytest.mark.parametrize(
    "options",
    [{}, {"disturbance": 0.0}, {"integrator": "euler"}, {"substeps": 3}, {"integrator": "euler", "substeps": 2}],
    ids=str,
)
@pytest.mark.parametrize("chosen", AVAILABLE)
def test_instructions_give_the_same_bits(monkeypatch, chosen, options, compared):
    monkeypatch.setenv("OCPFAST_INSTRUCTIONS", chosen)
    system = pendulum(**options)
    assert system.instructions == chosen
    agent = ocp.OCP(aggregation(system), ties="random")
    together = run(agent, system, 11)  # no multiple of a width
    monkeypatch.delenv("OCPFAST_INSTRUCTIONS")
    for i in range(11):
        assert_same(together, run(agent, pendulum(**options), 1, first=i), i)
    compared("simulations: side by side = alone, scalar = SIMD", 11)


def test_instructions_that_do_not_exist(monkeypatch):
    monkeypatch.setenv("OCPFAST_INSTRUCTIONS", "sse9")
    with pytest.raises(ValueError, match=r"OCPFAST_INSTRUCTIONS: expected .*'avx512', got 'sse9'"):
        pendulum()


@pytest.mark.parametrize("name", ["first", "random", "replay, directed", "LSVI"])
@pytest.mark.parametrize("horizon", [1, 2, 7, 9])
def test_the_clock_stops_each_lane(name, horizon):
    """A fall takes six steps or more, so that most episodes are truncated, or some."""
    system = pendulum(horizon=horizon)
    agent = AGENTS[name](aggregation(system))
    together = run(agent, system, 9)
    assert together.rewards.max() == pytest.approx(0.1 * horizon)
    for i in range(9):
        assert_same(together, run(agent, system, 1, first=i), i)


@pytest.mark.parametrize("simulations", [2, 5, 31, 32, 33, 70])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_number_of_lanes_and_workers(simulations, workers):
    system = pendulum(horizon=100)
    agent = ocp.OCP(aggregation(system))
    every = run(agent, system, 70, workers=2, episodes=20)
    some = run(agent, system, simulations, workers=workers, episodes=20)
    np.testing.assert_array_equal(some.rewards, every.rewards[:simulations])


def test_agents_of_several_kinds_and_grids():
    system = pendulum()
    coarse = ocp.StateAggregation(ocp.Grid([np.linspace(-1, 1, 9), np.linspace(-3, 3, 9)], extra=1), n_actions=3)
    uneven = ocp.StateAggregation(ocp.Grid([[-1.0, -0.2, 0.0, 0.3, 1.0], [-2.0, 0.0, 0.5]]), n_actions=3)
    agents = [
        ocp.OCP(aggregation(system)), ocp.OCP(coarse), ocp.OCP(uneven, ties="random"), ocp.RandomPolicy(3),
        ocp.OCP(coarse, replay=True), ocp.LSVI(aggregation(system), ocp.EpsilonGreedy(0.1)),
    ]  # fmt: skip
    together = run(agents, system, None)
    for i, agent in enumerate(agents):
        assert_same(together, run(agent, system, 1, first=i), i)


def test_an_error_in_one_lane_names_its_simulation():
    system = ocp.InvertedPendulum(disturbance=1e4, horizon=50)  # which leaves the states it allows, sooner or later
    agent = ocp.RandomPolicy(3)
    with pytest.raises(RuntimeError, match=r"simulation \d+, episode \d+, period \d+: .*does not allow") as error:
        run(agent, system, 6, episodes=3000)
    number = int(str(error.value).split(",")[0].removeprefix("simulation "))
    with pytest.raises(RuntimeError) as alone:
        run(agent, system, 1, first=number, episodes=3000)
    assert str(alone.value) == str(error.value)


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    compiler = os.environ.get("CXX", "g++").split()[0]
    if shutil.which(compiler) is None:
        pytest.skip(f"no compiler {compiler!r}")
    core = ROOT / "tests" / "core"
    return instructions.build(tmp_path_factory.mktemp("lanes"), core / "lanes.cpp", core / "main.cpp")


@pytest.mark.parametrize("what", ["labels_of_many", "steps_of_many", "simulations_of_many"])
def test_kernels(checks, what, compared):
    """Guessed labels against bisection, steps of many against steps of one, and simulations side by side against each
    alone, optimised as the package is: tests/core/lanes.cpp."""
    done = subprocess.run([checks, what], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = int(re.search(r"(\d+) cases, HiGHS", done.stdout)[1])
    assert cases >= 100_000
    compared(f"{what.replace('_', ' ')} = alone, scalar = SIMD", cases)
