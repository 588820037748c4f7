"""Many episodes of many simulations, compiled: in parallel threads, or wherever an executor takes them."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any, ClassVar, TypeAlias
from weakref import WeakSet

import numpy as np
from tqdm import tqdm

from ocpfast import _check, _core
from ocpfast.agent import Agent
from ocpfast.executors import (
    Failure,
    Interrupts,
    LostError,
    Part,
    Threads,
    Workers,
    available_cores,
    check_executor,
    in_this_process,
    pickled,
    shared,
    unpickled,
    work_off,
    workers_of,
)
from ocpfast.mistakes import not_a_system, not_an_agent
from ocpfast.randomness import Seed, Streams
from ocpfast.results import Result, compact
from ocpfast.systems import PythonSystem, System
from ocpfast.systems.base import CountedGenerator

__all__ = ["ExecutorError", "Interrupted", "run"]

AgentSource: TypeAlias = Agent | Sequence[Agent] | Callable[[np.random.Generator], Agent]

# Small enough that the last chunks keep all workers busy, large enough that a hundred thousand simulations of
# microseconds are not a hundred thousand calls.
_CHUNKS_PER_WORKER = 16
# Simulations side by side, where the system steps many: with 12 or more the processor is busy, and what they know of
# the states they visit should stay in its caches.
_LANES = 24
_WIDTH = 4  # of a vector register, in doubles: the last one of a part should not be half empty


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `run` or `learn`; `result` holds what was complete.

    Attributes
    ----------
    result : Result
        Rewards of the complete simulations; of `learn`, of the complete episodes.
    simulations : list of int
        Which simulations they are; of `learn`, none.

    Examples
    --------
    Here it is the report of the progress that presses Ctrl-C:

    >>> import ocpfast as ocp
    >>> def impatient(episodes):
    ...     raise KeyboardInterrupt
    >>> agent = ocp.OCP(ocp.TabulaRasa(20, 2, horizon=20))
    >>> try:
    ...     result = ocp.run(agent, ocp.Chain(20), simulations=3, progress=impatient)
    ... except ocp.Interrupted as interrupted:
    ...     partial = interrupted.result
    >>> partial.rewards.shape[1]
    1000
    """

    def __init__(self, result: Result, simulations: list[int], message: str | None = None) -> None:
        super().__init__(message or f"interrupted after {len(simulations)} complete simulations")
        self.result = result
        self.simulations = simulations

    def __reduce__(self) -> tuple[Any, ...]:
        return Interrupted, (self.result, self.simulations, *self.args)


class ExecutorError(BrokenExecutor):
    """The executor of a `run` lost a task: workers died or could not be reached, or it was shut down.

    What it said itself is the ``__cause__``. Errors of agents and systems are not this: they are raised as they are,
    whoever ran the simulation.

    Attributes
    ----------
    result : Result
        Rewards of the simulations that were complete.
    simulations : list of int
        Which simulations they are. With the same integer as ``rng``, ``run(..., simulations=1, first_simulation=i)``
        does simulation i, and so any of the others.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import ocpfast as ocp
    >>> executor = ThreadPoolExecutor(2)
    >>> executor.shutdown()
    >>> agent = ocp.OCP(ocp.TabulaRasa(20, 2, horizon=20))
    >>> try:
    ...     result = ocp.run(agent, ocp.Chain(20), simulations=3, executor=executor, progress=False)
    ... except ocp.ExecutorError as error:
    ...     error.simulations
    []
    """

    def __init__(self, result: Result, simulations: list[int], reason: str) -> None:
        super().__init__(
            f"the executor failed after {len(simulations)} complete simulations, which are in this error's result: "
            f"{reason}"
        )
        self.result = result
        self.simulations = simulations
        self._reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return ExecutorError, (self.result, self.simulations, self._reason)


class Bar(tqdm):  # type: ignore[type-arg]
    """A progress bar that starts no thread of its own, and waits for none but the threads of this process."""

    monitor_interval = 0
    _instances: ClassVar[WeakSet[Any]] = (
        WeakSet()
    )  # guarded by the lock below, as those of the user's bars are by tqdm's


def _new_lock() -> None:
    Bar.set_lock(threading.RLock())


# tqdm's own is shared with forked processes: one that is killed while it writes, or was forked while another thread of
# ours wrote, would leave it taken for ever.
_new_lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def run(
    agent: AgentSource,
    system: System,
    episodes: int = 1000,
    simulations: int | None = None,
    rng: Seed = None,
    *,
    workers: int | None = None,
    progress: bool | Callable[[int], object] = True,
    executor: Executor | None = None,
    keep_agents: bool = False,
    first_simulation: int = 0,
) -> Result:
    """Run simulations of an agent in a system.

    Parameters
    ----------
    agent : agent, sequence of agents, or callable
        An agent is copied for each simulation, with all it has learned, and is itself unchanged; of a sequence, each
        simulation copies one; a callable makes one for each simulation from that simulation's generator.
    system : System
        What the agent acts on; its kind and number of states, its actions and its horizon must fit the agent's
        hypothesis class.
    episodes : int, default 1000
        The number of episodes of each simulation.
    simulations : int, optional
        The number of simulations; by default the length of the sequence, or 1.
    rng : None, int, SeedSequence, BitGenerator or Generator
        The source of all randomness; each simulation has its own streams (see `simulation_streams`), so results do
        not depend on `workers` or `executor`.
    workers : int, optional
        The number of threads; by default one for each core. With an executor: how many tasks it runs at the same time,
        which decides how simulations are divided; by default what it says itself.
    progress : bool or callable, default True
        Show a progress bar; or call this with the number of episodes that are done, about ten times a second. With an
        executor in other processes, episodes count when their simulation has come back.
    executor : concurrent.futures.Executor, optional
        Who runs the simulations instead of threads of our own: a process pool, dask's, MPI's (see the examples). It is
        not shut down. Agent and system are pickled for it, unless its workers are threads; of what is large, a callable
        that makes the agent sends its name alone.
    keep_agents : bool, default False
        Keep each simulation's agent as it was at the end, in `Result.agents`.
    first_simulation : int, default 0
        The number of the first simulation. A large run may be done in parts, in other places or at other times: with
        the same integer as `rng`, a part that starts with simulation 50 gives what the whole gives from there on.

    Returns
    -------
    Result
        Rewards of all episodes and, where the system knows it, the optimal value.

    Raises
    ------
    Interrupted
        On Ctrl-C, within a second, with what was complete. What an executor has not begun is cancelled. In another
        thread than the main one: when the interpreter exits.
    ExecutorError
        If the executor fails, with what was complete.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> agent = ocp.OCP(ocp.TabulaRasa(20, 2, horizon=20), ties="directed", replay=True)
    >>> result = ocp.run(agent, ocp.Chain(20), episodes=200, simulations=3, rng=0, progress=False)
    >>> result.rewards[:, -1]
    array([1., 1., 1.])

    On more than one machine, with dask::

        client = distributed.Client("scheduler:8786")
        executor = client.get_executor()
        result = ocp.run(agent, system, episodes=1000, simulations=10_000, rng=0, executor=executor)

    or MPI, in a script that ``mpiexec -n 128 python -m mpi4py.futures script.py`` starts::

        if __name__ == "__main__":
            with mpi4py.futures.MPIPoolExecutor() as executor:
                result = ocp.run(agent, system, episodes=1000, simulations=10_000, rng=0, executor=executor)
    """
    check_system(system, "run()")
    check_executor(executor)
    episodes = _check.integer(episodes, "episodes", 1)
    if simulations is not None:
        simulations = _check.integer(simulations, "simulations", 1)
    if isinstance(agent, Sequence) and not isinstance(agent, Agent):
        if not agent:
            raise ValueError("agent: expected at least one, got an empty sequence")
        if simulations not in (None, len(agent)):
            raise ValueError(f"simulations: expected {len(agent)}, one for each agent, got {simulations}")
        simulations = len(agent)
    n = simulations or 1
    if workers is not None:
        n_workers = _check.integer(workers, "workers", 1)
    else:
        n_workers = available_cores() if executor is None else workers_of(executor)
    n_workers = min(n, n_workers)

    first_number = _check.integer(first_simulation, "first_simulation", 0, 2**32 - n)
    if not callable(progress):
        progress = _check.flag(progress, "progress")
    job = _Job(agent, system, episodes, n, Streams(rng, first_number), _check.flag(keep_agents, "keep_agents"))
    try:
        with Interrupts() as interrupts:
            _work(job, agent, _parts(n, n_workers, system), executor, n_workers, progress, interrupts)
    except KeyboardInterrupt:
        raise Interrupted(*job.complete()) from None
    except BrokenExecutor as error:
        said = error.__cause__ if isinstance(error, LostError) else error
        reason = ": ".join(filter(None, (type(said).__name__, str(said))))
        raise ExecutorError(*job.complete(), reason) from said
    return job.result()


def _work(
    job: _Job,
    agent: AgentSource,
    parts: list[Part],
    executor: Executor | None,
    workers: int,
    progress: bool | Callable[[int], object],
    interrupts: Interrupts,
) -> None:
    """Have all parts done, in threads or by the executor.

    A function of its own, so that the pool is gone when it returns, while Ctrl-C is still put off: in the callbacks of
    weak references to its threads Python drops what is raised (one of 140 times at random moments of short runs).
    """
    report = progress if callable(progress) else None
    with Bar(total=job.episodes, unit="episode", unit_scale=True, disable=progress is not True) as bar:

        def watch() -> None:
            bar.update(job.episodes_done() - bar.n)
            if report is not None:
                report(job.episodes_done())

        if executor is None:
            with ThreadPoolExecutor(workers, thread_name_prefix="ocpfast") as pool:
                work_off(parts, Threads(job, pool), workers, watch, interrupts)
        elif in_this_process(executor):
            work_off(parts, Threads(job, executor), workers, watch, interrupts)
        else:
            work_off(parts, Workers(job.sender(agent, parts, executor), job.take), workers, watch, interrupts)


def check_system(system: object, caller: str) -> None:
    """Raise where `system` is not one that compiled code can call; `caller` is who needs that."""
    if not isinstance(system, System):
        raise not_a_system(system, caller)
    _ = system.capsule  # raises where the contract is not complete
    if isinstance(system, PythonSystem):
        return
    for method in ("reset", "step"):
        if getattr(type(system), method) is not getattr(System, method):
            raise TypeError(
                f"system: {type(system).__name__}.{method} is Python, which {caller} cannot call; a system in Python "
                "derives from PythonSystem"
            )


def _check_fit(agent: object, system: System) -> Agent:
    if not isinstance(agent, Agent):
        raise not_an_agent(agent, "an agent such as OCP (or a sequence of them, or a callable that makes one)")
    hypothesis = agent._domain
    if (hypothesis.n_actions, hypothesis.action_size) != (system.n_actions, system.action_size):
        described = [
            f"{domain.n_actions} actions"
            if domain.action_size is None
            else f"vectors of {domain.action_size} as actions"
            for domain in (hypothesis, system)
        ]
        remedy = "" if system.n_actions is None else f"; make it with n_actions={system.n_actions}"
        raise ValueError(f"agent: its class has {described[0]}, but the system has {described[1]}{remedy}")
    if agent._any_state:
        return agent
    if hypothesis.n_states != system.n_states:
        described = [
            "vectors" if n_states is None else f"{n_states} states"
            for n_states in (hypothesis.n_states, system.n_states)
        ]
        if system.n_states is not None:
            remedy = f"make a class of {system.n_states} states"
        else:
            remedy = f"StateAggregation(Grid(edges), n_actions={system.n_actions}) is a class over vectors"
        raise ValueError(f"agent: its class is over {described[0]}, but the system is over {described[1]}; {remedy}")
    if hypothesis.state_size is not None and hypothesis.state_size != system.state_size:
        raise ValueError(
            f"agent: its class has states of {hypothesis.state_size} numbers, but the system's have "
            f"{system.state_size}; make a class over states of {system.state_size} numbers"
        )
    if hypothesis.horizon is not None and hypothesis.horizon != system.horizon:
        raise ValueError(
            f"agent: its class has horizon {hypothesis.horizon}, but the system has {system.horizon}; make the class "
            f"with horizon={system.horizon}, or None (time-homogeneous)"
        )
    agent._before_running(system)
    return agent


def _parts(simulations: int, workers: int, system: System) -> list[Part]:
    """Which simulations go together: as many parts for each worker, as even as possible."""
    if not system.steps_many:
        size = max(1, simulations // (workers * _CHUNKS_PER_WORKER))
        return [(first, min(first + size, simulations)) for first in range(0, simulations, size)]
    n = min(simulations, workers * -(-simulations // (workers * _LANES)))
    unit = _WIDTH if simulations >= n * _WIDTH else 1
    units = -(-simulations // unit)
    bounds = [min(unit * (units * i // n), simulations) for i in range(n + 1)]
    return list(itertools.pairwise(bounds))


class _Job:
    """The simulations of one run, and what is known of them so far."""

    def __init__(
        self,
        agent: AgentSource,
        system: System,
        episodes: int,
        simulations: int,
        streams: Streams,
        keep_agents: bool,
    ) -> None:
        self._system = system
        self._make_agent = _maker(agent, system)
        self._streams = streams
        try:
            self._rewards = np.empty((simulations, episodes))
            self._optimal = np.empty((simulations, episodes))
        except (MemoryError, ValueError):
            raise MemoryError(f"episodes, simulations: no memory for {episodes} x {simulations} rewards") from None
        self.episodes = simulations * episodes
        self._agents: dict[int, Agent] = {}
        self._keep_agents = keep_agents
        self._complete = np.zeros(simulations, dtype=bool)
        self._controls: list[_core.Control] = []
        self._stopped = threading.Event()

    def simulate(self, first: int, last: int) -> None:
        """Run simulations first .. last - 1, in the calling thread."""
        control = _core.Control()
        self._controls.append(control)
        lanes = _LANES if self._system.steps_many else 1
        for start in range(first, last, lanes):
            if self._stopped.is_set():
                return
            self._simulate_together(range(start, min(start + lanes, last)), control)

    def _simulate_together(self, numbers: range, control: _core.Control) -> None:
        streams = [self._streams.of(i) for i in numbers]
        agents = [self._make_agent(i, self._streams).copy(rng) for i, (_, rng) in zip(numbers, streams, strict=True)]
        system = self._system._for_simulation(streams[0][0])  # kept alive: the capsule points into it
        bit_generators: list[Any] = [rng.bit_generator for rng, _ in streams]
        if not system.stochastic:
            bit_generators = list(map(CountedGenerator, bit_generators))
        complete = np.zeros(len(numbers), dtype=bool)
        # a callable may make agents of several kinds, which do not go side by side
        for _, group in itertools.groupby(range(len(agents)), lambda k: type(agents[k]._core)):
            lanes = list(group)
            rows = slice(numbers[lanes[0]], numbers[lanes[-1]] + 1)
            complete[lanes] = _core.simulate(
                agents=[agents[k]._core for k in lanes],
                system=system.capsule,
                system_bitgens=[bit_generators[k].capsule for k in lanes],
                agent_bitgens=[agents[k]._capsule for k in lanes],
                rewards=self._rewards[rows],
                optimal=self._optimal[rows],
                first=self._streams.first + rows.start,
                control=control,
            )
        if not system.stochastic and any(counted.draws for counted in bit_generators):
            raise system._undeclared_draws(
                "functions draw", "stochastic=True, or random_start=True if it is reset alone that draws"
            )
        for agent in agents:
            agent._stochastic |= not self._system.deterministic_steps
        if self._keep_agents:
            self._agents.update(zip(numbers, agents, strict=True))
        self._complete[numbers.start : numbers.stop] = complete  # last: Ctrl-C in another thread asks what is

    def sender(self, agent: AgentSource, parts: list[Part], executor: Executor) -> Callable[[Part], Future[Any]]:
        """A function that submits a part to an executor; all that must be pickled for it is pickled here."""
        agents: dict[int, Any]
        if isinstance(agent, Sequence) and not isinstance(agent, Agent):
            agents = {first: pickled(list(agent[first:last]), "agent", executor) for first, last in parts}
        else:
            one = shared(pickled(agent, "agent", executor), executor)
            agents = {first: one for first, _ in parts}
        system = shared(pickled(self._system, "system", executor), executor)
        # dask takes calls with equal arguments for one call, and may answer with what came of it in an earlier run
        run = uuid.uuid4().hex

        def send(part: Part) -> Future[Any]:
            first, last = part
            streams, episodes = self._streams.starting_at(first), self._rewards.shape[1]
            return executor.submit(
                _simulate_elsewhere, run, agents[first], system, streams, episodes, last - first, self._keep_agents
            )

        return send

    def outcome(self) -> tuple[Any, ...]:
        """What `take` takes, of a job that is done."""
        return self._rewards, compact(self._optimal), self._agents

    def take(self, part: Part, outcome: tuple[Any, ...]) -> None:
        """Put the outcome of a job that was part of this one in its place."""
        first, last = part
        self._rewards[first:last], self._optimal[first:last], agents = outcome
        self._agents.update({first + i: agent for i, agent in agents.items()})
        self._complete[first:last] = True

    def stop(self) -> None:
        """Make all simulations stop within a step."""
        self._stopped.set()
        for control in self._controls:
            control.stop()

    def episodes_done(self) -> int:
        if not self._controls:  # simulated elsewhere
            return int(np.count_nonzero(self._complete)) * self._rewards.shape[1]
        return sum(control.episodes_done for control in self._controls)

    def result(self) -> Result:
        return self._result_of(np.arange(len(self._complete)))

    def complete(self) -> tuple[Result, list[int]]:
        which = np.flatnonzero(self._complete)
        return self._result_of(which), which.tolist()

    def _result_of(self, which: np.ndarray[Any, Any]) -> Result:
        whole = len(which) == len(self._complete)
        rewards = self._rewards if whole else self._rewards[which]
        optimal = self._optimal if whole else self._optimal[which]
        agents = [self._agents[i] for i in which] if self._keep_agents else None
        return Result(rewards, None if np.isnan(optimal).any() else optimal, agents)


# One agent and one system stay in a worker from task to task: a table that first must be solved is solved once.
_unpickled = functools.lru_cache(maxsize=2)(unpickled)
# The run that Ctrl-C ended here: a process pool has handed out tasks of it that can no longer be cancelled.
_interrupted_run = ""


def _simulate_elsewhere(
    run: str, agent: bytes, system: bytes, streams: Streams, episodes: int, simulations: int, keep_agents: bool
) -> tuple[Any, ...] | Failure:
    """A part of a run, in a worker of an executor."""
    global _interrupted_run
    if run == _interrupted_run:
        raise KeyboardInterrupt
    try:
        job = _Job(
            _unpickled(agent, "agent"), _unpickled(system, "system"), episodes, simulations, streams, keep_agents
        )
        if threading.current_thread() is threading.main_thread():
            # Ctrl-C reaches the processes of a pool as well, but main threads only, and not while they compute
            with Interrupts() as interrupts, ThreadPoolExecutor(1, thread_name_prefix="ocpfast") as pool:
                work_off([(0, simulations)], Threads(job, pool), 1, lambda: None, interrupts)
        else:
            job.simulate(0, simulations)
        return job.outcome()
    except KeyboardInterrupt:
        _interrupted_run = run
        raise
    except Exception as error:
        return Failure(error)


def _is_agent_class(value: object) -> bool:
    """Whether it is OCP, say, and not an agent of this kind: a callable that makes agents, but not of a generator."""
    return isinstance(value, type) and issubclass(value, Agent)


def _maker(agent: AgentSource, system: System) -> Callable[[int, Streams], Agent]:
    """A function that gives the agent of a simulation, to be copied; all that can be checked is checked here."""
    if isinstance(agent, Agent):
        # as it is now: another thread may go on with it before the last simulation has begun
        prototype = _check_fit(agent, system).copy(rng=0)
        return lambda simulation, streams: prototype
    if isinstance(agent, Sequence):
        agents = [_check_fit(one, system) for one in agent]
        return lambda simulation, streams: agents[simulation]
    expected = "an agent such as OCP, a sequence of them or a callable that makes one"
    if callable(agent) and not _is_agent_class(agent):
        try:
            inspect.signature(agent).bind(None)
        except TypeError:
            raise TypeError(
                f"agent: expected {expected} from a generator, as in lambda rng: ..., got {agent!r}"
            ) from None
        except ValueError:  # a builtin does not say what it takes
            pass
        return lambda simulation, streams: _check_fit(agent(streams.of_factory(simulation)), system)
    raise not_an_agent(agent, expected)
