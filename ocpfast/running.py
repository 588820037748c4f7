"""Many episodes of many simulations, compiled, in parallel threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, TypeAlias

import numpy as np
from tqdm import tqdm

from ocpfast import _check, _core
from ocpfast.agent import Agent
from ocpfast.randomness import Seed, Streams
from ocpfast.results import Result
from ocpfast.systems import System

__all__ = ["Interrupted", "run"]

AgentSource: TypeAlias = Agent | Sequence[Agent] | Callable[[np.random.Generator], Agent]

# Small enough that the last chunks keep all workers busy, large enough that a hundred thousand simulations of
# microseconds are not a hundred thousand calls.
_CHUNKS_PER_WORKER = 16
_REFRESH_SECONDS = 0.1


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `run`; `result` holds the simulations that were complete.

    Attributes
    ----------
    result : Result
        Rewards of the complete simulations.
    simulations : list of int
        Which simulations they are.
    """

    def __init__(self, result: Result, simulations: list[int]) -> None:
        super().__init__(f"interrupted after {len(simulations)} complete simulations")
        self.result = result
        self.simulations = simulations

    def __reduce__(self) -> tuple[Any, ...]:
        return Interrupted, (self.result, self.simulations)


class Bar(tqdm):  # type: ignore[type-arg]
    """A progress bar that starts no thread of its own."""

    monitor_interval = 0


def run(
    agent: AgentSource,
    system: System,
    episodes: int = 1000,
    simulations: int | None = None,
    rng: Seed = None,
    *,
    workers: int | None = None,
    progress: bool | Callable[[int], object] = True,
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
        not depend on `workers`.
    workers : int, optional
        The number of threads; by default one for each core.
    progress : bool or callable, default True
        Show a progress bar; or call this with the number of episodes that are done, about ten times a second.
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
        On Ctrl-C, within a second, with what was complete.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> agent = ocp.OCP(ocp.TabulaRasa(20, 2, horizon=20), ties="directed", replay=True)
    >>> result = ocp.run(agent, ocp.Chain(20), episodes=200, simulations=3, rng=0, progress=False)
    >>> result.rewards[:, -1]
    array([1., 1., 1.])
    """
    check_system(system, "run()")
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
    n_workers = min(n, available_cores() if workers is None else _check.integer(workers, "workers", 1))

    first_number = _check.integer(first_simulation, "first_simulation", 0, 2**32 - n)
    report = progress if callable(progress) else None
    show = report is None and _check.flag(progress, "progress")
    job = _Job(agent, system, episodes, n, rng, keep_agents, first_number)
    chunk = max(1, n // (n_workers * _CHUNKS_PER_WORKER))
    pool = ThreadPoolExecutor(n_workers, thread_name_prefix="ocpfast")
    pending: set[Future[None]] = set()
    try:
        pending = {pool.submit(job.simulate, first, min(first + chunk, n)) for first in range(0, n, chunk)}
        with Bar(total=n * episodes, unit="episode", unit_scale=True, disable=not show) as bar:
            while pending:
                done, pending = wait(pending, _REFRESH_SECONDS, FIRST_EXCEPTION)
                bar.update(job.episodes_done() - bar.n)
                if report is not None:
                    report(job.episodes_done())
                for future in done:
                    future.result()
    except KeyboardInterrupt:
        job.stop()
        pool.shutdown(cancel_futures=True)
        raise Interrupted(*job.complete()) from None
    except BaseException:
        job.stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return job.result()


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_system(system: object, caller: str) -> None:
    """Raise where `system` is not one whose functions are compiled; `caller` is who needs that."""
    if not isinstance(system, System):
        raise TypeError(f"system: expected a System, got {system!r}")
    for method in ("reset", "step"):
        if getattr(type(system), method) is not getattr(System, method):
            raise TypeError(
                f"system: {type(system).__name__}.{method} is Python, which {caller} cannot call; a system of one's "
                "own fills in the C struct of ocpfast/system.h"
            )


def _check_fit(agent: object, system: System) -> Agent:
    if not isinstance(agent, Agent):
        raise TypeError(
            f"agent: expected an agent such as OCP (or a sequence of them, or a callable that makes one), got {agent!r}"
        )
    hypothesis = agent._domain
    if (hypothesis.n_actions, hypothesis.action_size) != (system.n_actions, system.action_size):
        described = [
            f"{domain.n_actions} actions"
            if domain.action_size is None
            else f"vectors of {domain.action_size} as actions"
            for domain in (hypothesis, system)
        ]
        raise ValueError(f"agent: its class has {described[0]}, but the system has {described[1]}")
    if agent._any_state:
        return agent
    if hypothesis.n_states != system.n_states:
        described = [
            "vectors" if n_states is None else f"{n_states} states"
            for n_states in (hypothesis.n_states, system.n_states)
        ]
        raise ValueError(f"agent: its class is over {described[0]}, but the system is over {described[1]}")
    if hypothesis.state_size is not None and hypothesis.state_size != system.state_size:
        raise ValueError(
            f"agent: its class has states of {hypothesis.state_size} numbers, but the system's have {system.state_size}"
        )
    if hypothesis.horizon is not None and hypothesis.horizon != system.horizon:
        raise ValueError(f"agent: its class has horizon {hypothesis.horizon}, but the system has {system.horizon}")
    agent._before_running(system)
    return agent


class _Job:
    """The simulations of one run, and what is known of them so far."""

    def __init__(
        self,
        agent: AgentSource,
        system: System,
        episodes: int,
        simulations: int,
        rng: Seed,
        keep_agents: bool,
        first_simulation: int,
    ) -> None:
        self._system = system  # kept alive: the capsule points into it
        self._capsule = system.capsule
        self._make_agent = _maker(agent, system)
        self._first = first_simulation
        self._streams = Streams(rng, first_simulation)
        try:
            self._rewards = np.empty((simulations, episodes))
            self._optimal = np.empty((simulations, episodes))
        except (MemoryError, ValueError):
            raise MemoryError(f"episodes, simulations: no memory for {episodes} x {simulations} rewards") from None
        self._agents: dict[int, Agent] = {}
        self._keep_agents = keep_agents
        self._complete = np.zeros(simulations, dtype=bool)
        self._controls: list[_core.Control] = []
        self._stopped = threading.Event()

    def simulate(self, first: int, last: int) -> None:
        """Run simulations first .. last - 1, in the calling thread."""
        control = _core.Control()
        self._controls.append(control)
        for i in range(first, last):
            if self._stopped.is_set():
                return
            system_rng, agent_rng = self._streams.of(i)
            agent = self._make_agent(i, self._streams).copy(agent_rng)
            self._complete[i] = _core.simulate(
                agent=agent._core,
                system=self._capsule,
                system_bitgen=system_rng.bit_generator.capsule,
                agent_bitgen=agent._capsule,
                rewards=self._rewards[i],
                optimal=self._optimal[i],
                simulation=self._first + i,
                control=control,
            )
            agent._stochastic |= not self._system.deterministic_steps
            if self._keep_agents:
                self._agents[i] = agent

    def stop(self) -> None:
        """Make all simulations stop within a step."""
        self._stopped.set()
        for control in self._controls:
            control.stop()

    def episodes_done(self) -> int:
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


def _maker(agent: AgentSource, system: System) -> Callable[[int, Streams], Agent]:
    """A function that gives the agent of a simulation, to be copied; all that can be checked is checked here."""
    if isinstance(agent, Agent):
        prototype = _check_fit(agent, system)
        return lambda simulation, streams: prototype
    if isinstance(agent, Sequence):
        agents = [_check_fit(one, system) for one in agent]
        return lambda simulation, streams: agents[simulation]
    if callable(agent):
        return lambda simulation, streams: _check_fit(agent(streams.of_factory(simulation)), system)
    raise TypeError(
        f"agent: expected an agent such as OCP, a sequence of them or a callable that makes one, got {agent!r}"
    )
