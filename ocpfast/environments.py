"""Environments of others: how many episodes until an agent acts optimally. `ocpfast gym` prints the table.

Optimal means V*_0 of the episode's initial state, within the agent's horizon, by dynamic programming in the table of
transitions that the environment itself shows (bsuite's Deep Sea: 1 less its move cost). Agents that need tens of
episodes learn in the environment itself, by `ocpfast.learn`. Those that need up to a million of them are run compiled,
in the same table: the episodes are the same ones, for the same starts.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ocpfast as ocp
from ocpfast.agent import Agent
from ocpfast.gym import table_system

import gymnasium  # isort: skip (ocpfast.gym says what to do where it is missing)

__all__ = ["AGENTS", "TASKS", "Measured", "Starts", "Task", "deep_sea", "lines", "measure", "toy_text"]

# Three ways to be OCP on TabulaRasa, from the paper's to the one that assumes most.
AGENTS: dict[str, dict[str, Any]] = {
    "OCP": {},
    "replay, directed": {"replay": True, "ties": "directed"},
    "stationary replay, at once": {"replay": "stationary", "update": "period", "ties": "directed"},
}
# Its best is shown. Rate 1 is the right one where nothing is random; 0 is optimistic where rewards are negative.
EPSILONS = 0.03, 0.1, 0.3
Q_LEARNING: dict[str, Any] = {"horizon": None, "learning_rate": 1.0, "initial": 0.0, "discount": 0.99, "ties": "random"}
# Episodes of each agent: several times what it needs, or as many as there is patience for.
_EPISODES = {"OCP": 100_000, "replay, directed": 100_000, "stationary replay, at once": 200, "Q-learning": 20_000}
_TAXI_EPISODES = {**_EPISODES, "OCP": 1_000_000}
_DEEP_SEA_EPISODES = {"OCP": 3_000, "replay, directed": 500, "stationary replay, at once": 500, "Q-learning": 3_000}


class Starts(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A toy text that starts where it is told, and says what the optimal value is there.

    Parameters
    ----------
    env : gymnasium.Env
        One of Gymnasium's toy texts.
    states : sequence of int
        Each episode starts in any of them, with the same probability.
    optimal : ndarray of shape (n_states,)
        V*_0.

    Examples
    --------
    >>> import gymnasium, numpy as np
    >>> from ocpfast.environments import Starts
    >>> env = Starts(gymnasium.make("CliffWalking-v1"), [24], np.zeros(48))
    >>> observation, info = env.reset()
    >>> observation, info["optimal_value"]
    (24, 0.0)
    """

    def __init__(self, env: Any, states: Sequence[int], optimal: NDArray[np.float64]) -> None:
        super().__init__(env)
        self._states, self._optimal = list(states), optimal

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        _, info = self.env.reset(seed=seed, options=options)
        toy: Any = self.env.unwrapped
        toy.s = self._states[int(toy.np_random.integers(len(self._states)))]
        return toy.s, {**info, "optimal_value": float(self._optimal[toy.s])}


@dataclass(frozen=True)
class Task:
    """An environment, where its episodes start, and how it is learned."""

    name: str
    starts: str  # "fixed" or "random"
    table: ocp.TabulaRasa
    episodes: dict[str, int]  # of each agent
    make: Callable[[], Any]
    optimal: float | None = None  # V*_0, where resets do not tell it
    state_of: Callable[[Any], Any] | None = None
    system: ocp.TableSystem | None = None  # the same, compiled
    values: NDArray[np.float64] | None = None  # V*_0 of each of its states


@dataclass(frozen=True)
class Measured:
    """What came of an agent: how many episodes were suboptimal, on average over seeds, and the last of all that was.

    Where an agent explores for ever (Q-learning), `last` is the number of episodes after which its greedy policy was
    optimal from every start, and `suboptimal` is unknown. A `last` of None: it was not done with it.
    """

    suboptimal: float | None
    last: int | None
    episodes: int

    def __str__(self) -> str:
        if self.last is None:
            return f"> {self.episodes:,}"
        return f"{self.last:,}" if self.suboptimal is None else f"{self.suboptimal:,.0f} ({self.last:,})"


def measure(task: Task, agent: str, seeds: int = 5) -> Measured:
    """Run one of `AGENTS`, or "Q-learning", in an environment.

    Parameters
    ----------
    task : Task
        One of `TASKS`, or one's own.
    agent : str
        Which.
    seeds : int, default 5
        How many times: with seeds 0, 1, ...

    Returns
    -------
    Measured
        Suboptimal episodes.

    Examples
    --------
    >>> from ocpfast.environments import measure, toy_text
    >>> measure(toy_text("CliffWalking-v1", "fixed", horizon=100), "stationary replay, at once", seeds=1)
    Measured(suboptimal=4.0, last=4, episodes=200)
    """
    episodes = task.episodes[agent]
    if agent == "Q-learning":
        return _measure_q_learning(task, seeds, episodes)
    if task.starts == "fixed":
        seeds = 1  # then nothing is random
    learner = ocp.OCP(task.table, **AGENTS[agent])
    if task.system is not None and episodes > 1_000:
        loss = _losses(ocp.run(learner, task.system, episodes, seeds, rng=0, progress=False), None)
    else:
        results = [_learn(learner.copy(), task, episodes, seed) for seed in range(seeds)]
        loss = np.concatenate([_losses(result, task.optimal) for result in results])
    suboptimal = loss > 1e-9
    last = 1 + int(np.flatnonzero(suboptimal.any(axis=0))[-1])
    # with more of them in the last tenth, more are to be expected
    return Measured(float(suboptimal.sum(axis=1).mean()), last if last <= 0.9 * episodes else None, episodes)


def _losses(result: ocp.Result, optimal: float | None) -> NDArray[np.float64]:
    best = result.optimal if optimal is None else optimal
    assert best is not None
    return best - result.rewards


def _learn(agent: Agent, task: Task, episodes: int, seed: int | None) -> ocp.Result:
    env = task.make()
    if not isinstance(env, gymnasium.Env):
        seed = None  # bsuite's are seeded when they are made
    return ocp.learn(agent, env, episodes, state_of=task.state_of, seed=seed, progress=False)


def _measure_q_learning(task: Task, seeds: int, episodes: int) -> Measured:
    """For the best epsilon: the mean over seeds of the episodes before its greedy policy is optimal in each of them."""
    means = []
    for epsilon in EPSILONS:
        counts: list[int] = []
        for seed in range(seeds):
            count = _until_greedy(task, epsilon, episodes, seed)
            if count is None:
                break
            counts.append(count)
        else:
            means.append(float(np.mean(counts)))
    return Measured(None, round(min(means)) if means else None, episodes)


def _until_greedy(task: Task, epsilon: float, episodes: int, seed: int) -> int | None:
    """After how many episodes the greedy policy is optimal, looked at every ten episodes or twentieth of them."""
    sequence = np.random.SeedSequence(seed)
    agent: Agent = ocp.QLearning(
        task.table.n_states, task.table.n_actions, exploration=ocp.EpsilonGreedy(epsilon), rng=sequence, **Q_LEARNING
    )
    done = 0
    while done < episodes:
        some = min(max(10, done // 20), episodes - done)
        if task.system is not None:
            kept = ocp.run(agent, task.system, some, rng=sequence, workers=1, progress=False, keep_agents=True)
            [agent] = kept.agents
        else:
            _learn(agent, task, some, None)
        done += some
        if _greedy_is_optimal(agent, task):
            return done
    return None


def _greedy_is_optimal(agent: Agent, task: Task) -> bool:
    if task.system is None:
        assert task.optimal is not None and task.state_of is not None
        env, total = task.make(), 0.0
        outcome = env.reset()
        while not outcome.last():
            outcome = env.step(agent.act(task.state_of(outcome.observation), learn=False))
            total += outcome.reward
        return bool(total >= task.optimal - 1e-9)
    system = task.system
    assert task.values is not None
    policy = np.array([agent.act(state, learn=False) for state in range(task.table.n_states)])
    starts = _start_states(system)
    states, totals, going = starts.copy(), np.zeros(len(starts)), np.ones(len(starts), dtype=bool)
    for _ in range(system.horizon):
        totals[going] += system.reward[states[going], policy[states[going]]]
        states[going] = system.next_state[states[going], policy[states[going]]]
        going &= states >= 0
    return bool((totals >= task.values[starts] - 1e-9).all())


def _start_states(system: ocp.TableSystem) -> NDArray[np.int64]:
    initial = system.initial_state
    return np.array([initial]) if isinstance(initial, int) else np.flatnonzero(initial)


def toy_text(name: str, starts: str, horizon: int, **options: Any) -> Task:
    """One of Gymnasium's toy texts, without slipping.

    Parameters
    ----------
    name : str
        As `gymnasium.make` has it.
    starts : {"fixed", "random"}
        Fixed: where ``reset(seed=0)`` starts. Random: any state that the environment starts in or, where it has one
        start alone, any that can be reached from there and is not the end, with the same probability.
    horizon : int
        The number of periods.
    **options
        Those of the environment.

    Returns
    -------
    Task
        The task.

    Examples
    --------
    >>> from ocpfast.environments import toy_text
    >>> toy_text("Taxi-v4", "random", horizon=200).table
    TabulaRasa(n_states=500, n_actions=6, horizon=200)
    """
    if starts not in ("fixed", "random"):
        raise ValueError(f"starts: expected 'fixed' or 'random', got {starts!r}")
    env = gymnasium.make(name, **options)
    system = table_system(env, horizon)
    states = _start_states(system)
    if starts == "fixed":
        states = np.array([env.reset(seed=0)[0]])
    elif len(states) == 1:
        states = _reachable(system, int(states[0]))
    probabilities = np.zeros(len(system.next_state))
    probabilities[states] = 1 / len(states)
    system = table_system(env, horizon, int(states[0]) if starts == "fixed" else probabilities)
    values = ocp.solve(system).v[0]
    n_states, n_actions = system.reward.shape
    return Task(
        name=f"{name} {options['map_name']}" if "map_name" in options else name,
        starts=starts,
        table=ocp.TabulaRasa(n_states, n_actions, horizon),
        episodes=_TAXI_EPISODES if name.startswith("Taxi") else _EPISODES,
        make=lambda: Starts(gymnasium.make(name, **options), states.tolist(), values),
        system=system,
        values=values,
    )


def _reachable(system: ocp.TableSystem, start: int) -> NDArray[np.int64]:
    found, new = {start}, [start]
    while new:
        for following in system.next_state[new.pop()].tolist():
            if following >= 0 and following not in found:
                found.add(following)
                new.append(following)
    return np.array(sorted(found))


def deep_sea(size: int) -> Task:
    """Deep Sea, bsuite's own, through its dm_env interface; a state is the place of the one in its one-hot matrix.

    Parameters
    ----------
    size : int
        Rows and columns.

    Returns
    -------
    Task
        The task. Making its environment needs bsuite (``pip install 'ocpfast[bsuite]'``).

    Examples
    --------
    >>> from ocpfast.environments import deep_sea
    >>> deep_sea(10).table
    TabulaRasa(n_states=100, n_actions=2, horizon=10)
    """

    def make() -> Any:
        from bsuite.environments.deep_sea import DeepSea

        return DeepSea(size, mapping_seed=0)

    return Task(
        name=f"bsuite Deep Sea, size {size}",
        starts="fixed",
        table=ocp.TabulaRasa(size * size, 2, horizon=size),
        episodes=_DEEP_SEA_EPISODES,
        make=make,
        optimal=0.99,
        state_of=np.argmax,
    )


TASKS: tuple[Callable[[], Task], ...] = (
    lambda: toy_text("Taxi-v4", "fixed", 200),
    lambda: toy_text("Taxi-v4", "random", 200),
    lambda: toy_text("CliffWalking-v1", "fixed", 100),
    lambda: toy_text("CliffWalking-v1", "random", 100),
    lambda: toy_text("FrozenLake-v1", "fixed", 100, map_name="4x4", is_slippery=False),
    lambda: toy_text("FrozenLake-v1", "random", 100, map_name="4x4", is_slippery=False),
    lambda: toy_text("FrozenLake-v1", "fixed", 100, map_name="8x8", is_slippery=False),
    lambda: toy_text("FrozenLake-v1", "random", 100, map_name="8x8", is_slippery=False),
    lambda: deep_sea(10),
    lambda: deep_sea(20),
    lambda: deep_sea(30),
    lambda: deep_sea(50),
)


def lines(seeds: int = 5) -> Iterator[str]:
    """Measure all agents in all environments; the lines of a Markdown table, each as soon as it is known.

    Parameters
    ----------
    seeds : int, default 5
        How many times each.

    Yields
    ------
    str
        A line.

    Examples
    --------
    >>> from ocpfast.environments import lines
    >>> next(lines()).split(" | ")[:2]
    ['| environment', 'starts']
    """
    if "Taxi-v4" not in gymnasium.registry:
        raise ImportError(f"ocpfast gym: needs gymnasium >= 1.3, for Taxi-v4, got {gymnasium.__version__}")
    columns = [*AGENTS, "Q-learning"]
    yield f"| environment | starts | class | bounds, discount | {' | '.join(columns)} |"
    yield f"|---|---|---|---|{'--:|' * len(columns)}"
    for make in TASKS:
        task = make()
        if task.system is None and importlib.util.find_spec("bsuite") is None:
            cells = ["no bsuite here"] * len(columns)
        else:
            cells = [str(measure(task, agent, seeds)) for agent in columns]
        table = f"TabulaRasa({task.table.n_states}, {task.table.n_actions}, {task.table.horizon})"
        yield f"| {task.name} | {task.starts} | {table} | none, 1 | {' | '.join(cells)} |"
