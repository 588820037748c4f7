"""100,000 tables over 20 periods, 10 states and 2 actions in float32: the time of an episode, beside plain NumPy.

Two classes. In "scattered" every table is Q* with noise, so that one constraint leaves a handful; in "similar" tables
differ from Q* in one value of twenty, by 1, so that they go slowly: 40 episodes leave thousands.
"""

import mmap
import time
from pathlib import Path

import numpy as np
import pytest

import ocpfast as ocp

N, H, S, A = 100_000, 20, 10, 2
EPISODES = 40


class Task:
    """A random system, and tables among which Q* is."""

    def __init__(self, kind):
        rng = np.random.default_rng(0)
        self.next_state, self.reward = rng.integers(S, size=(H, S, A)), rng.integers(0, 3, (H, S, A)) / 2
        q, value = np.zeros((H, S, A)), np.zeros(S)
        for t in reversed(range(H)):
            q[t] = self.reward[t] + value[self.next_state[t]]
            value = q[t].max(axis=1)
        tables = np.empty((N, H, S, A), dtype=np.float32)
        for piece in np.split(tables, 100):
            if kind == "scattered":
                piece[:] = q + rng.standard_normal(piece.shape)
            else:
                piece[:] = q + rng.integers(-1, 2, piece.shape) * (rng.random(piece.shape) < 0.05)
        tables[N // 3] = q
        self.hypothesis = ocp.FiniteClass(tables)
        self.system = ocp.TableSystem(self.next_state, self.reward, initial_state=0)


class MaskedScans:
    """The peer: plain OCP with NumPy, every question a look at the survivors of a column."""

    def __init__(self, hypothesis):
        self.columns = np.moveaxis(hypothesis.tables, 0, -1)  # contiguous: (H, S, A, n)
        self.tolerance = hypothesis.tolerance
        self.left = np.arange(hypothesis.n_hypotheses)

    def values(self, t, x):
        return self.columns[t, x].take(self.left, axis=1)  # nine times as fast as [:, self.left]

    def play(self, next_state, reward):
        x, found, upper = 0, [], self.values(0, 0).max(axis=1)
        for t in range(H):
            a = int(np.argmax(upper >= upper.max() - self.tolerance * max(1, abs(upper.max()))))
            low = high = reward[t, x, a]
            y = next_state[t, x, a]
            if t < H - 1:
                values = self.values(t + 1, y)
                upper = values.max(axis=1)
                low, high = low + values.max(axis=0).min(), high + upper.max()
            found.append((t, x, a, low, high))
            x = y
        for t, x, a, low, high in found:
            values = self.columns[t, x, a][self.left]
            low, high = low - self.tolerance * max(1, abs(low)), high + self.tolerance * max(1, abs(high))
            self.left = self.left[(values >= low) & (values <= high)]


@pytest.fixture(scope="module", params=["scattered", "similar"])
def task(request):
    return Task(request.param), request.param


def milliseconds(play, episodes):
    """Processor time of each episode."""
    times = []
    for _ in range(episodes):
        started = time.thread_time()
        play()
        times.append(1e3 * (time.thread_time() - started))
    return times


def compiled(agent, task, episodes):
    """The same with the compiled agent, and how many hypotheses were left after each episode."""
    left = []

    def play():
        x = 0
        for t in range(H):
            a = agent.act(x)
            y, r = int(task.next_state[t, x, a]), float(task.reward[t, x, a])
            agent.observe(y, r)
            x = y

    times = []
    for _ in range(episodes):
        times += milliseconds(play, 1)
        left.append(agent.statistics()["survivors"])
    return times, left


OPTIONS = [{}, {"selection": "eluder"}, {"update": "period"}, {"replay": True}, {"replay": True, "ties": "directed"}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_an_episode(report, request, task, options):
    task, kind = task
    rounds, episodes = (1, 5) if request.config.getoption("benchmark_disable") else (3, EPISODES)
    fresh = ocp.OCP(task.hypothesis, **options)
    runs = [compiled(fresh.copy(), task, episodes) for _ in range(rounds)]
    times, left = np.min([times for times, _ in runs], axis=0), runs[0][1]
    line = (
        f"{kind}, {options}: {times[0]:.1f} ms for the first episode, at most {times[1:].max():.1f} after it, "
        f"{times[-1]:.2f} for the last; survivors {left[0]:,} .. {left[-1]:,}"
    )
    if not options:
        peers = []
        for _ in range(rounds):
            peer = MaskedScans(task.hypothesis)
            peers.append(milliseconds(lambda peer=peer: peer.play(task.next_state, task.reward), episodes))
        assert len(peer.left) == left[-1]  # the same algorithm
        of_peer = np.min(peers, axis=0)
        line += (
            f"; NumPy {of_peer[0]:.1f}, {of_peer[1:].max():.1f}, {of_peer[-1]:.2f}: {sum(of_peer) / sum(times):.1f} x"
        )
        if rounds > 1:
            assert sum(times) < sum(of_peer)
            assert times.max() < 10  # 5 or less on an idle machine
    report(line)


def test_a_learned_period(report, task):
    """Once learning is over a period costs the same whatever the number of hypotheses left."""
    task, kind = task
    for options in OPTIONS:
        agent = ocp.OCP(task.hypothesis, **options)
        [agent] = ocp.run(agent, task.system, 300, workers=1, progress=False, keep_agents=True).agents
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            result = ocp.run(agent, task.system, 5_000, workers=1, progress=False)
            seconds.append(time.perf_counter() - started)
        report(
            f"{kind}, {options}, learned, {agent.statistics()['survivors']} survivors: "
            f"{1e9 * min(seconds) / 5_000 / H:.0f} ns per period, {result.suboptimal()[0]} suboptimal"
        )
        assert min(seconds) / 5_000 / H < 20e-6  # a look at all survivors would take more


def resident_megabytes():
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE / 2**20
    except FileNotFoundError:
        pytest.skip("no /proc/self/statm")


def test_memory(report, task):
    """One copy of the tables, whatever the number of agents."""
    task, kind = task
    before = resident_megabytes()
    agents = [ocp.OCP(task.hypothesis) for _ in range(20)]
    result = ocp.run(agents[0], task.system, 20, simulations=20, progress=False, keep_agents=True)
    grown = (resident_megabytes() - before) / (len(agents) + len(result.agents))
    report(f"{kind}: {grown:.2f} MB an agent on tables of {task.hypothesis.tables.nbytes / 2**20:.0f} MB")
    assert grown < 2
