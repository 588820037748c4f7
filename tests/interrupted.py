"""A process that is told Ctrl-C again and again: ``python interrupted.py JOB TIMES``.

It says "go" and works; the signal comes at some moment after that; then it looks whether anything is amiss.
tests/test_faults_interrupt.py sends the signals.
"""

import os
import signal
import sys
import tempfile
from pathlib import Path

import gymnasium
import numpy as np
from test_highs import Case, through

import ocpfast as ocp


class Table:
    """An agent that is stepped for ever, beside a twin that goes through the same steps in peace."""

    def __init__(self):
        self.agent, self.twin = self.made(), self.made()
        self.state, self.action = self.place(0), None

    def made(self):
        return ocp.OCP(ocp.TabulaRasa(15, 3, horizon=5), replay="stationary", ties="directed")

    def place(self, number):
        return number % 15

    def step(self, agent, state, action):
        following = self.place(7 * agent.period + 5 * int(np.sum(state)) + action + 1)
        agent.observe(following, float((2 * int(np.sum(state)) + action) % 4))
        return following

    def work(self):
        state, action = self.state, self.action
        while True:
            action = self.agent.act(state) if action is None else action
            state, action = self.step(self.agent, state, action), None

    def check(self):
        observed = self.agent.statistics()["periods"]
        while self.twin.statistics()["periods"] < observed:
            self.action = self.twin.act(self.state) if self.action is None else self.action
            self.state, self.action = self.step(self.twin, self.state, self.action), None
        if self.action is None:
            self.action = self.twin.act(self.state)
        try:
            assert self.agent.act(self.state) == self.action
        except RuntimeError as error:
            assert "act: called twice" in str(error)  # it came just after that
        assert self.agent._core.state() == self.twin._core.state()


class Features(Table):
    """Ctrl-C comes out of a feature function, in the middle of a call."""

    def made(self):
        function = ocp.FeatureFunction(self.features, n_features=4, n_actions=3, state_size=2)
        return ocp.OCP(ocp.LinearFeatures(function, horizon=5, shared=False), selection="eluder", replay=True)

    @staticmethod
    def features(state, action):
        x, y = state
        return [1.0, x, y * action, x * y]

    def place(self, number):  # ever new ones, whose features are not known yet
        self.number = number
        return np.array([number % 101, number % 89], dtype=float)


class Programs:
    """Linear programs by way of Python: Ctrl-C ends them, and what the episode would have taught may be lost."""

    case = Case(14)

    def work(self):
        with through("python"):
            self.agent = self.case.agent()
        self.case.play(self.agent)

    def check(self):
        self.agent.begin_episode()
        assert all(low <= high + 1e-6 for low, high in self.case.values(self.agent))
        assert self.agent.period == 0


class Save:
    def __init__(self):
        self.path = Path(tempfile.mkdtemp()) / "agent.ocp"
        self.agent, self.twin, self.saved = self.made(), self.made(), 0
        self.agent.save(self.path)

    def made(self):
        return ocp.QLearning(2000, 3, horizon=5)

    def step(self, agent):
        i = agent.statistics()["periods"]
        agent.act(i % 2000)
        agent.observe((7 * i + 1) % 2000, float(i % 11))

    def work(self):
        self.step(self.agent)
        self.agent.save(self.path)
        self.saved = self.agent.statistics()["periods"]

    def check(self):
        loaded = ocp.load_agent(self.path)
        periods = loaded.statistics()["periods"]
        assert periods >= self.saved
        while self.twin.statistics()["periods"] < periods:
            self.step(self.twin)
        assert loaded._core.state() == self.twin._core.state()
        self.agent, self.saved = loaded, periods
        self.agent.save(self.path)
        assert os.listdir(self.path.parent) == ["agent.ocp"]


class Run:
    """What is complete is what it would have been, and what comes next is as if nothing had been."""

    system, simulations, episodes = ocp.Chain(20), 40, 60

    def __init__(self):
        self.agent = ocp.OCP(ocp.TabulaRasa(20, 2, horizon=20), ties="random")
        self.whole = self.run(range(self.simulations))

    def run(self, simulations):
        return ocp.run(
            self.agent, self.system, self.episodes, len(simulations), rng=3, workers=2, progress=False,
            keep_agents=True, first_simulation=simulations[0],
        )  # fmt: skip

    def work(self):
        try:
            assert np.array_equal(self.run(range(self.simulations)).rewards, self.whole.rewards)
        except ocp.Interrupted as interrupted:
            assert np.array_equal(interrupted.result.rewards, self.whole.rewards[interrupted.simulations])
            states = [agent._core.state() for agent in interrupted.result.agents]
            assert states == [self.whole.agents[i]._core.state() for i in interrupted.simulations]
            raise

    def check(self):
        again = self.run(range(5, 9))
        assert np.array_equal(again.rewards, self.whole.rewards[5:9])
        assert not self.agent.statistics()["periods"]


class Walk(ocp.PythonSystem):
    def __init__(self):
        super().__init__(n_states=20, n_actions=2, horizon=20)

    def reset(self):
        return 0

    def step(self, state, action):
        return min(max(state + 2 * action - 1, 0), 19), float(state == 19), False


class RunPython(Run):
    system, simulations, episodes = Walk(), 12, 10


class Learn:
    def __init__(self):
        self.env = gymnasium.make("FrozenLake-v1", is_slippery=False)
        self.whole = self.learn(self.made(), 30)

    def made(self):
        table = ocp.TabulaRasa(n_states=16, n_actions=4, horizon=100)
        return ocp.OCP(table, replay="stationary", update="period", ties="directed")

    def learn(self, agent, episodes):
        return ocp.learn(agent, self.env, episodes, seed=0, progress=False).rewards[0]

    def work(self):
        self.agent = self.made()
        try:
            assert np.array_equal(self.learn(self.agent, 30), self.whole)
        except ocp.Interrupted as interrupted:
            rewards = interrupted.result.rewards[0]
            assert np.array_equal(rewards, self.whole[: len(rewards)])
            raise

    def check(self):
        assert self.agent.period == 0 and self.learn(self.agent, 30)[-1] == 1.0


class Solve:
    def __init__(self):
        rng = np.random.default_rng(0)
        self.system = ocp.TableSystem(
            rng.integers(0, 300, (300, 4)), rng.normal(size=(300, 4)), np.full(300, 1 / 300), horizon=300
        )
        self.q = ocp.solve(self.system).q

    def work(self):
        ocp.solve(self.system)

    def check(self):
        assert np.array_equal(ocp.solve(self.system).q, self.q)


JOBS = {
    "table": Table, "features": Features, "programs": Programs, "save": Save, "run": Run, "run in Python": RunPython,
    "learn": Learn, "solve": Solve,
}  # fmt: skip


def work_until_interrupted(job):
    """Python drops what is raised in callbacks of weak references: that Ctrl-C will not come again, so do not wait."""
    dropped.clear()
    try:
        os.write(1, b"go\n")
        while not dropped:
            job.work()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
    dropped = []
    sys.unraisablehook = lambda unraised: dropped.append(unraised.exc_type)
    job = JOBS[sys.argv[1]]()
    for _ in range(int(sys.argv[2])):
        work_until_interrupted(job)
        job.check()
    os.write(1, b"done\n")
