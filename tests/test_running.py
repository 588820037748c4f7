"""run(): the same as stepping by hand, whatever the workers; errors, Ctrl-C, memory."""

import collections
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import ocpfast as ocp

PENDULUM = ocp.InvertedPendulum(disturbance=2.5, horizon=300)
CELLS = ocp.StateAggregation(PENDULUM.partition(), n_actions=3)
TABLE = ocp.TableSystem(
    np.random.default_rng(0).integers(-1, 30, (30, 3)),
    np.random.default_rng(1).integers(-3, 4, (30, 3)),
    initial_state=np.full(30, 1 / 30),
    horizon=12,
)


def by_hand(agent, system, episodes, system_rng):
    """The loop a user would write."""
    rewards = []
    for episode in range(episodes):
        state, ended, total, period = system.reset(system_rng, episode), False, 0.0, 0
        while not ended:
            action = agent.act(state)
            state, reward, terminated = system.step(state, action, period, system_rng)
            ended = agent.observe(state, reward, terminated, truncated=period == system.horizon - 1)
            total += reward
            period += 1
        rewards.append(total)
    return rewards


@pytest.mark.parametrize("ties", ["first", "random", "least_visited", "directed"])
@pytest.mark.parametrize("replay", [False, True, "stationary"])
@pytest.mark.parametrize("update", ["episode", "period"])
@pytest.mark.parametrize("system", [PENDULUM, TABLE], ids=["pendulum", "table"])
def test_stepping_and_running_give_the_same_trajectories(system, ties, replay, update, compared):
    hypothesis = CELLS if system is PENDULUM else ocp.TabulaRasa(30, 3, horizon=12)
    agent = ocp.OCP(hypothesis, ties=ties, replay=replay, update=update)
    episodes, simulations = 40, 2
    result = ocp.run(agent, system, episodes, simulations, rng=3, keep_agents=True, progress=False)
    for i, (system_rng, agent_rng) in enumerate(ocp.simulation_streams(3, simulations)):
        mine = agent.copy(agent_rng)
        assert by_hand(mine, system, episodes, system_rng) == pytest.approx(result.rewards[i], abs=1e-9)
        assert mine.statistics() == result.agents[i].statistics()
        # the generators stand where they would stand after the same draws
        assert agent_rng.random() == result.agents[i]._rng.random()
    assert agent.statistics()["episodes"] == 0  # the agent itself is unchanged
    compared("stepping = run", simulations)


@pytest.mark.parametrize("ties", ["first", "random"])
def test_results_do_not_depend_on_the_number_of_workers(ties):
    def rewards(workers):
        agent = ocp.OCP(CELLS, ties=ties)
        return ocp.run(agent, PENDULUM, 50, simulations=37, rng=11, workers=workers, progress=False).rewards

    alone = rewards(1)
    for workers in (2, 3, 16):
        assert np.array_equal(alone, rewards(workers))
    assert len({tuple(row) for row in alone}) == 37  # every simulation has its own randomness


def test_seeds():
    agent = ocp.OCP(CELLS, ties="random")

    def rewards(rng):
        return ocp.run(agent, PENDULUM, 5, simulations=2, rng=rng, progress=False).rewards.tolist()

    assert rewards(1) == rewards(np.random.SeedSequence(1)) == rewards(np.random.default_rng(1))
    assert rewards(1) != rewards(2)
    assert rewards(None) != rewards(None)
    sequence = np.random.SeedSequence(1)
    assert rewards(sequence) != rewards(sequence)  # spawning goes on


def test_an_hour_is_an_hour():
    """36,000 additions of 0.1 would drift."""
    hour = ocp.TableSystem([[0]], [[0.1]], horizon=36_000)
    assert ocp.run(ocp.OCP(ocp.TabulaRasa(1, 1, None)), hour, episodes=1, progress=False).rewards[0, 0] == 3600.0


def test_a_long_replay_is_cut_into_pieces():
    """A cycle that replay lowers for ever, one sweep after another: each episode does its share."""
    n = 5000
    cycle = ocp.TableSystem((np.arange(n)[:, None] + 1) % n, np.full((n, 1), -1e-3), horizon=n)
    agent = ocp.OCP(ocp.TabulaRasa(n, 1, None), replay=True, bounds=(-1e9, 0.0))
    started = time.monotonic()
    ocp.run(agent, cycle, episodes=3, progress=False)
    assert time.monotonic() - started < 20


def test_memory_does_not_grow_with_the_number_of_simulations():
    agent = ocp.OCP(ocp.TabulaRasa(300, 10, horizon=100))
    system = ocp.TableSystem(np.zeros((300, 10), int), np.zeros((300, 10)), horizon=100)
    ocp.run(agent, system, episodes=1, simulations=4, progress=False)
    before = resident_kilobytes()
    ocp.run(agent, system, episodes=1, simulations=400, progress=False)
    assert resident_kilobytes() - before < 40_000  # one agent has 4 MB


def test_a_trained_agent_goes_on_learning():
    agent = ocp.OCP(ocp.TabulaRasa(20, 2, horizon=20), replay=True, ties="directed")
    first = ocp.run(agent, ocp.Chain(20), episodes=100, keep_agents=True, progress=False)
    second = ocp.run(first.agents[0], ocp.Chain(20), episodes=10, progress=False)
    assert first.suboptimal()[0] > 0 and second.suboptimal()[0] == 0


def test_an_agent_in_the_middle_of_an_episode_starts_anew():
    agent = ocp.OCP(ocp.TabulaRasa(5, 2, horizon=5))
    agent.act(0)
    assert ocp.run(agent, ocp.Chain(5), episodes=60, progress=False).rewards[0, -1] == 1.0
    assert agent.observe(0, 0.0) is False


def test_sequences_and_factories_of_agents():
    table = ocp.TabulaRasa(8, 2, horizon=8)
    agents = [ocp.OCP(table, ties=ties) for ties in ("first", "least_visited", "random")]
    result = ocp.run(agents, ocp.Chain(8), episodes=100, rng=0, progress=False)
    alone = [ocp.run(agents[i], ocp.Chain(8), episodes=100, progress=False).rewards[0] for i in range(2)]
    assert result.rewards.shape == (3, 100) and np.array_equal(result.rewards[:2], alone)

    drawn = []

    def factory(rng):
        drawn.append(rng.random())
        return ocp.OCP(table, ties="random")

    made = ocp.run(factory, ocp.Chain(8), episodes=100, simulations=3, rng=0, workers=1, progress=False)
    plain = ocp.run(ocp.OCP(table, ties="random"), ocp.Chain(8), episodes=100, simulations=3, rng=0, progress=False)
    assert np.array_equal(made.rewards, plain.rewards)  # what the factory drew does not matter to the ties
    assert len(set(drawn)) == 3


def test_initial_states_follow_the_episode():
    system = ocp.TableSystem([[0], [1]], [[1.0], [5.0]], initial_state=[0, 1, 1], horizon=2)
    result = ocp.run(ocp.OCP(ocp.TabulaRasa(2, 1, horizon=2)), system, episodes=4, progress=False)
    assert result.rewards.tolist() == [[2.0, 10.0, 10.0, 2.0]]
    assert result.regret().tolist() == [[0.0, 0.0, 0.0, 0.0]]


def test_a_factory_that_does_not_say_what_it_takes():
    """As some functions in C do not, in older Pythons."""
    made = collections.defaultdict(lambda: ocp.OCP(ocp.TabulaRasa(5, 2, horizon=5)))
    result = ocp.run(made.__getitem__, ocp.Chain(5), episodes=2, simulations=3, workers=1, progress=False)
    assert len(made) == 3 and result.rewards.shape == (3, 2)


class TestBadInput:
    AGENT = ocp.OCP(ocp.TabulaRasa(5, 2, horizon=5))

    @pytest.mark.parametrize(
        "changes, error, message",
        [
            ({"system": "chain"}, TypeError, r"system: expected a System such as Chain, got 'chain'"),
            ({"agent": 3}, TypeError, r"agent: expected an agent such as OCP"),
            ({"agent": [3]}, TypeError, r"agent: expected an agent such as OCP"),
            ({"agent": lambda rng: 3}, TypeError, r"agent: expected an agent such as OCP"),
            (
                {"agent": lambda: 3},
                TypeError,
                r"agent: expected .* from a generator, as in lambda rng: \.\.\., got <function",
            ),
            ({"agent": []}, ValueError, r"agent: expected at least one, got an empty sequence"),
            ({"agent": [AGENT], "simulations": 1.0}, TypeError, r"simulations: expected an integer >= 1, got 1.0"),
            (
                {"agent": [AGENT], "simulations": 2},
                ValueError,
                r"simulations: expected 1, one for each agent",
            ),
            ({"episodes": 0}, ValueError, r"episodes: expected an integer >= 1, got 0"),
            ({"episodes": 1.5}, TypeError, r"episodes: expected an integer >= 1, got 1.5"),
            ({"episodes": 10**14, "simulations": 10**4}, MemoryError, r"episodes, simulations: no memory"),
            ({"simulations": 0}, ValueError, r"simulations: expected an integer >= 1"),
            ({"workers": 0}, ValueError, r"workers: expected an integer >= 1"),
            ({"rng": 0.5}, TypeError, r"rng: expected None, an integer >= 0, .*, got 0.5"),
            ({"simulations": 10**8, "episodes": 10**8}, MemoryError, r"episodes, simulations: no memory"),
            (
                {"system": ocp.Chain(6)},
                ValueError,
                r"agent: its class is over 5 states, but the system is over 6",
            ),
            ({"system": PENDULUM}, ValueError, r"agent: its class has 2 actions, but the system has 3"),
            (
                {"system": ocp.TableSystem(np.zeros((5, 2), int), np.zeros((5, 2)), horizon=4)},
                ValueError,
                r"agent: its class has horizon 5, but the system has 4",
            ),
            (
                {"agent": ocp.OCP(ocp.StateAggregation(ocp.Grid([[0.0]]), 3)), "system": PENDULUM},
                ValueError,
                r"agent: its class has states of 1 numbers, but the system's have 2",
            ),
            (
                {"agent": ocp.OCP(ocp.TabulaRasa(5, 3, None)), "system": PENDULUM},
                ValueError,
                r"agent: its class is over 5 states, but the system is over vectors",
            ),
        ],
    )
    def test_arguments(self, changes, error, message):
        arguments = {"agent": self.AGENT, "system": ocp.Chain(5), "episodes": 2, "progress": False, **changes}
        with pytest.raises(error, match=message):
            ocp.run(**arguments)

    def test_a_python_subclass_that_run_would_ignore(self):
        class Loud(ocp.Chain):
            def step(self, *args):
                raise AssertionError("never called")

        with pytest.raises(TypeError, match=r"system: Loud.step is Python, which run\(\) cannot call"):
            ocp.run(self.AGENT, Loud(5), episodes=1, progress=False)

    def test_an_agent_that_is_callable_is_still_an_agent(self):
        class Callable(ocp.OCP):
            def __call__(self, rng):
                raise AssertionError("never called")

        with pytest.raises(ValueError, match=r"its class is over 1 states, but the system is over 5"):
            ocp.run(Callable(ocp.TabulaRasa(1, 2, 5)), ocp.Chain(5), episodes=1, progress=False)

    def test_rewards_that_would_overflow(self):
        rich = ocp.TableSystem([[0]], [[1e308]], horizon=5)
        with pytest.raises(
            RuntimeError, match=r"episode 0, period 0: .* 1e\+308, expected a number of at most 1e80 in"
        ):
            ocp.run(ocp.OCP(ocp.TabulaRasa(1, 1, 5)), rich, episodes=2, progress=False)

    def test_goal_tasks_without_bounds_warn(self):
        with pytest.warns(UserWarning, match="rewards that are not positive suggest a goal"):
            ocp.run(ocp.OCP(ocp.TabulaRasa(5, 2, None)), ocp.Chain(5), episodes=2, progress=False)

    def test_an_error_in_one_simulation_ends_the_run(self):
        def factory(rng):
            raise ZeroDivisionError("in the factory")

        with pytest.raises(ZeroDivisionError, match="in the factory"):
            ocp.run(factory, ocp.Chain(5), simulations=50, progress=False)
        assert not workers_left()


def workers_left():
    return [thread for thread in threading.enumerate() if thread.name.startswith("ocpfast")]


def test_the_progress_bar_counts_episodes_and_leaves_no_thread(capfd):
    before = threading.enumerate()  # dask, in other tests, leaves one
    ocp.run(ocp.OCP(CELLS), ocp.InvertedPendulum(2.5), episodes=700, simulations=2, rng=0, progress=True)
    shown = capfd.readouterr().err
    assert "100%" in shown and "1.40k/1.40k" in shown
    assert shown.count("\r") > 2  # it moved while compiled code ran
    assert threading.enumerate() == before


def test_ctrl_c_stops_within_a_second_and_keeps_what_is_complete(tmp_path):
    script = """
        import signal, threading
        import ocpfast as ocp
        signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
        pendulum = ocp.InvertedPendulum()
        agent = ocp.OCP(ocp.StateAggregation(pendulum.partition(), n_actions=3))
        print("ready", flush=True)
        try:
            ocp.run(agent, pendulum, episodes=10**6, simulations=4, rng=0, workers=2, progress=False)
        except ocp.Interrupted as interrupted:
            assert isinstance(interrupted, KeyboardInterrupt)
            assert interrupted.result.rewards.shape == (len(interrupted.simulations), 10**6)
            assert threading.enumerate() == [threading.main_thread()]
            print("interrupted", flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    # tmp_path: the package that is installed, not the source folder that may be the present directory
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)
        sent = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        try:
            assert process.communicate(timeout=10)[0] == "interrupted\n"
        finally:
            process.kill()
        assert time.monotonic() - sent < 1.5  # a second, and the interpreter's own end
        assert process.returncode == 0


def resident_kilobytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
@pytest.mark.parametrize(
    "options", [{}, {"replay": True, "ties": "directed"}, {"selection": "window", "window": 5}], ids=str
)
def test_a_million_short_episodes_do_not_grow_the_process(options):
    system = ocp.TableSystem(
        np.random.default_rng(0).integers(0, 6, (6, 2)), np.zeros((6, 2)), np.full(6, 1 / 6), horizon=4
    )
    agent = ocp.OCP(ocp.StateAggregation([0, 0, 1, 1, 2, 2], 2, horizon=4), **options)
    after_a_while, episodes = None, 100_000
    for _ in range(10):
        agent = ocp.run(agent, system, episodes, keep_agents=True, rng=0, progress=False).agents[0]
        after_a_while = after_a_while or resident_kilobytes()
    assert agent.statistics()["episodes"] == 10 * episodes
    assert resident_kilobytes() - after_a_while < 2000


def test_a_run_in_parts_is_the_whole_run():
    system = ocp.InvertedPendulum(2.5)
    agent = ocp.OCP(ocp.StateAggregation(system.partition(), n_actions=3), ties="random")
    whole = ocp.run(agent, system, 20, 6, rng=4, progress=False).rewards
    parts = [
        ocp.run(agent, system, 20, size, rng=4, progress=False, first_simulation=first).rewards
        for first, size in ((0, 1), (1, 3), (4, 2))
    ]
    assert (np.concatenate(parts) == whole).all()
    with pytest.raises(ValueError, match="first_simulation: expected an integer in 0"):
        ocp.run(agent, system, 2, rng=4, progress=False, first_simulation=-1)


def test_progress_may_be_told_to_a_function():
    told = []
    ocp.run(ocp.OCP(ocp.TabulaRasa(9, 2, 9)), ocp.Chain(9), 50, 4, progress=told.append)
    assert told[-1] == 200 and told == sorted(told)
    with pytest.raises(TypeError, match="progress: expected True or False"):
        ocp.run(ocp.OCP(ocp.TabulaRasa(9, 2, 9)), ocp.Chain(9), 50, progress=1)


class Ones(np.random.bit_generator.ISeedSequence):
    """Seeds of a user's own, from which no streams can be spawned."""

    def generate_state(self, n_words, dtype=np.uint32):
        return np.ones(n_words, dtype)


def test_generators_must_come_from_a_seed_sequence():
    generator = np.random.Generator(np.random.PCG64(Ones()))
    with pytest.raises(TypeError, match="rng: expected a generator that was seeded with a SeedSequence, got "):
        ocp.run(ocp.OCP(ocp.TabulaRasa(5, 2, horizon=5)), ocp.Chain(5), 1, rng=generator, progress=False)
