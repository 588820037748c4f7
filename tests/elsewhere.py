"""What tests send to other processes, which import it by name: agents made there, and one executor that takes notes."""

import os
import pickle
import signal
import time
from concurrent.futures import Executor

import numpy as np

import ocpfast as ocp

PENDULUM = ocp.InvertedPendulum(disturbance=2.5, horizon=300)
TABLE = ocp.TableSystem(
    np.random.default_rng(0).integers(-1, 30, (30, 3)),
    np.random.default_rng(1).integers(-3, 4, (30, 3)),
    initial_state=np.full(30, 1 / 30),
    horizon=12,
)
FEATURES = np.random.default_rng(2).normal(size=(30, 3, 4))


def on_chain(rng):
    return ocp.OCP(ocp.TabulaRasa(20, 2, horizon=20), ties="random", replay=True)


def on_pendulum(rng):
    return ocp.OCP(ocp.StateAggregation(PENDULUM.partition(), n_actions=3), ties="random")


def on_table(rng):
    """Linear programs, over features that each simulation draws for itself."""
    return ocp.OCP(ocp.LinearFeatures(FEATURES + rng.normal(size=FEATURES.shape), horizon=12), ties="random")


def on_large_table(rng):
    return ocp.OCP(ocp.TabulaRasa(6000, 3, horizon=12), ties="random")


def on_adversary(rng):
    return ocp.OCP(ocp.Adversary(6, 4, 1.0).hypothesis())


def one_state(rng):
    return ocp.OCP(ocp.TabulaRasa(1, 1, 5))


def slowly(rng):
    time.sleep(0.05)
    return on_chain(rng)


def dividing_by_zero(rng):
    return 1 // 0


class AwkwardError(Exception):
    """Pickles, but does not unpickle."""

    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


def awkward(rng):
    raise AwkwardError(1, 2)


def deadly(rng):
    """Kills the worker that it is called in."""
    os.kill(os.getpid(), signal.SIGKILL)


def killing_once(calls, most, agent, rng):
    """`agent(rng)`, except that the worker dies in one of the calls after so many of them; `calls` is a file."""
    with open(calls, "ab") as file:
        file.write(b".")
    if os.path.getsize(calls) > most:
        try:
            os.close(os.open(f"{calls}.killed", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return agent(rng)


class Notes(Executor):
    """Passes calls on, and notes what goes each way."""

    def __init__(self, executor, workers):
        self._executor = executor
        self.num_workers = workers
        self.futures = []
        self.sent = []
        self.most_at_once = 0

    def submit(self, function, /, *args, **kwargs):
        self.sent.append(len(pickle.dumps((function, args, kwargs))))
        self.futures.append(self._executor.submit(function, *args, **kwargs))
        self.most_at_once = max(self.most_at_once, sum(not future.done() for future in self.futures))
        return self.futures[-1]

    def received(self):
        return [len(pickle.dumps(future.result())) for future in self.futures]


class Moody(ocp.PythonSystem):
    """A system in Python that fails in some period."""

    def __init__(self, period):
        super().__init__(n_states=7, n_actions=2, horizon=7)
        self.fatal = period

    def reset(self):
        return 0

    def step(self, state, action, period):
        if period == self.fatal:
            raise LookupError("in a mood", period)
        return state, 0.0, False
