"""Agents in environments of others: Gymnasium's, and those with the interface of dm_env, one step at a time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ocpfast import _check
from ocpfast.agent import Agent
from ocpfast.mistakes import not_an_agent
from ocpfast.results import Result
from ocpfast.running import Bar, Interrupted
from ocpfast.systems import System

__all__ = ["learn"]


def learn(
    agent: Agent,
    env: Any,
    episodes: int,
    max_steps: int | None = None,
    *,
    state_of: Callable[[Any], Any] | None = None,
    seed: int | None = None,
    progress: bool = True,
) -> Result:
    """Let an agent learn in an environment: Gymnasium's, or one with the interface of dm_env (bsuite's).

    Parameters
    ----------
    agent : Agent
        The agent, which learns itself (`ocpfast.run` takes copies). An unfinished episode of it is dropped.
    env : gymnasium.Env or dm_env.Environment
        With Discrete actions, as many as the agent has. Observations are Discrete, for an agent over as many states; or
        a Box of one dimension, for an agent over vectors of that size (`StateAggregation` over a `Grid`, for one).
    episodes : int
        The number of episodes.
    max_steps : int, optional
        Truncate episodes after so many steps, if the environment or the agent does not end them before.
    state_of : callable, optional
        Makes the agent's state, an index or a vector, of an observation. For observations of other kinds:
        ``state_of=np.argmax`` makes an index of bsuite's one-hot matrices.
    seed : int, optional
        For the first ``env.reset(seed=...)``; not for dm_env, whose environments are seeded when they are made.
    progress : bool, default True
        Show a progress bar.

    Returns
    -------
    Result
        Rewards of shape (1, episodes); optimal values as well, where ``env.reset`` gives an ``optimal_value`` in its
        information.

    Raises
    ------
    Interrupted
        On Ctrl-C, with the rewards of the complete episodes; the agent keeps what it has learned.

    Notes
    -----
    A class with a horizon ends its episodes there, and the environment is reset: what is learned is to do best within
    so many steps. The horizon may not be longer than the environment's time limit: what is behind the limit would never
    be seen and keep its optimistic values for ever. A class without a horizon takes the end of the clock as a
    truncation.

    OCP is for deterministic environments. Gymnasium's do not say whether they are; where a table of transitions or a
    `System` shows that steps are random, the agent's certificate will say so.

    Examples
    --------
    >>> import gymnasium, ocpfast as ocp
    >>> lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    >>> table = ocp.TabulaRasa(n_states=16, n_actions=4, horizon=100)
    >>> agent = ocp.OCP(table, replay="stationary", update="period", ties="directed")
    >>> result = ocp.learn(agent, lake, episodes=20, progress=False)
    >>> result.rewards[0, -5:]
    array([1., 1., 1., 1., 1.])
    """
    if not isinstance(agent, Agent):
        raise not_an_agent(agent, "an agent such as OCP", "learn(agent, env, episodes)")
    episodes = _check.integer(episodes, "episodes", 1)
    if max_steps is not None:
        max_steps = _check.integer(max_steps, "max_steps", 1)
    if state_of is not None and not callable(state_of):
        raise TypeError(f"state_of: expected a function of an observation, got {state_of!r}")
    if seed is not None:
        seed = _check.integer(seed, "seed", 0)
    show = _check.flag(progress, "progress")
    world = _world_of(env, state_of)
    if seed is not None and world.is_dm_env:
        raise ValueError(f"seed: expected None with an environment of dm_env, which is seeded when made, got {seed}")
    _check_fit(agent, world, max_steps)
    agent._stochastic |= world.stochastic

    outcomes: list[tuple[float, Any]] = []  # in one piece, as Ctrl-C comes at any moment
    agent.begin_episode()
    try:
        with Bar(total=episodes, unit="episode", disable=not show) as bar:
            for _ in range(episodes):
                outcomes.append(_episode(agent, world, max_steps, seed))
                seed = None
                bar.update()
        return _result(outcomes)
    except KeyboardInterrupt:
        raise Interrupted(_result(outcomes), [], f"interrupted after {len(outcomes)} complete episodes") from None
    finally:
        agent.begin_episode()  # what an error or Ctrl-C left unfinished


def _result(outcomes: list[tuple[float, Any]]) -> Result:
    rewards, optimal = [reward for reward, _ in outcomes], [value for _, value in outcomes]
    known = bool(optimal) and None not in optimal
    return Result(np.array([rewards], dtype=np.float64), np.array([optimal], dtype=np.float64) if known else None)


def _episode(agent: Agent, world: _World, max_steps: int | None, seed: int | None) -> tuple[float, Any]:
    """One episode; its reward, and the optimal value of its start, where that is told."""
    observation, info = world.reset(seed)
    state = world.state_of(observation)
    total, steps, ended = 0.0, 0, False
    while not ended:
        action = agent.act(state)
        observation, reward, terminated, truncated = world.step(action + world.first_action)
        steps += 1
        # where nothing comes after, there need not be a state: bsuite's last observations are empty
        following = state if terminated else world.state_of(observation)
        ended = agent.observe(following, reward, terminated, truncated or steps == max_steps)
        state = following
        total += float(reward)
    return total, info.get("optimal_value")


@dataclass(frozen=True)
class _World:
    """What `learn` needs of an environment, whoever made it."""

    n_actions: int
    first_action: int
    n_states: int | None  # where states are indices
    state_size: int | None  # where they are vectors; both None: `state_of` decides
    state_of: Callable[[Any], Any]
    reset: Callable[[int | None], tuple[Any, dict[str, Any]]]
    step: Callable[[Any], tuple[Any, Any, Any, Any]]
    limit: int | None  # on the steps of an episode
    stochastic: bool  # known to be
    is_dm_env: bool


def _check_fit(agent: Agent, world: _World, max_steps: int | None) -> None:
    domain = agent._domain
    if domain.n_actions != world.n_actions:
        has = (
            f"vectors of {domain.action_size} as actions" if domain.n_actions is None else f"{domain.n_actions} actions"
        )
        raise ValueError(f"agent: its class has {has}, but the environment has {world.n_actions} actions")
    if agent._any_state:
        return
    if (world.n_states, world.state_size) != (None, None) and (
        (domain.n_states, domain.state_size) != (world.n_states, world.state_size)
    ):
        described = [
            f"vectors of {one.state_size}" if one.n_states is None else f"{one.n_states} states"
            for one in (domain, world)
        ]
        hint = "; StateAggregation over a Grid takes vectors" if world.n_states is None and domain.n_states else ""
        raise ValueError(f"agent: its class is over {described[0]}, but the environment is over {described[1]}{hint}")
    limits = [limit for limit in (world.limit, max_steps) if limit is not None]
    if domain.horizon is None or not limits or domain.horizon <= min(limits):
        return
    raise ValueError(
        f"agent: its class has horizon {domain.horizon}, but episodes of the environment are cut after {min(limits)} "
        "steps: what comes later would never be seen, and plans for it would be cut; give the class horizon="
        f"{min(limits)} or a shorter one, or the environment a longer time limit (gymnasium.make(..., "
        f"max_episode_steps={domain.horizon}))"
    )


def _world_of(env: Any, state_of: Callable[[Any], Any] | None) -> _World:
    gymnasium = sys.modules.get("gymnasium")  # an environment of its own has imported it
    if gymnasium is not None and isinstance(env, gymnasium.Env):
        return _gymnasium_world(env, state_of)
    if all(callable(getattr(env, name, None)) for name in ("reset", "step", "action_spec", "observation_spec")):
        return _dm_env_world(env, state_of)
    if hasattr(env, "single_action_space"):
        raise TypeError(
            f"env: expected one environment, got {env.num_envs} of them in a vector; learn() steps one at a time "
            "(ocpfast.run simulates many systems in parallel)"
        )
    hint = f"; gymnasium.make({env!r}) makes one" if isinstance(env, str) else ""
    if isinstance(env, System):
        hint = "; ocpfast.run runs agents in systems, and ocpfast.gym.SystemEnv makes environments of them"
    raise TypeError(f"env: expected a Gymnasium environment, or one with the interface of dm_env, got {env!r}{hint}")


def _index_of(first: int, n: int) -> Callable[[Any], int]:
    def state_of(observation: Any) -> int:
        return _check.integer(observation, "observation", first, first + n - 1) - first

    return state_of


def _vector_of(size: int) -> Callable[[Any], Any]:
    def state_of(observation: Any) -> Any:
        vector = _check.numeric(observation, "observation", f"{size} numbers")
        if vector.shape != (size,):
            raise ValueError(f"observation: expected {size} numbers, got shape {vector.shape}")
        return vector

    return state_of


# What to do about observations that are neither Discrete nor a flat Box.
_OTHERWISE = "; state_of= makes a state of an observation of any kind"


def _gymnasium_world(env: Any, state_of: Callable[[Any], Any] | None) -> _World:
    from gymnasium import spaces

    actions, observations = env.action_space, env.observation_space
    if not isinstance(actions, spaces.Discrete):
        hint = {
            spaces.MultiDiscrete: "; number the combinations, with gymnasium.wrappers.TransformAction",
            spaces.Box: "; list some of its actions, with gymnasium.wrappers.TransformAction",
        }.get(type(actions), "")
        raise TypeError(f"env: expected Discrete actions, got {actions}{hint}")
    n_states = state_size = None
    if state_of is not None:
        pass
    elif isinstance(observations, spaces.Discrete):
        n_states = int(observations.n)
        state_of = _index_of(int(observations.start), n_states)
    elif isinstance(observations, spaces.Box) and len(observations.shape) == 1:
        state_size = observations.shape[0]
        state_of = _vector_of(state_size)
    else:
        flat = isinstance(observations, spaces.Box)
        hint = "; gymnasium.wrappers.FlattenObservation makes one dimension of it" if flat else ""
        raise TypeError(
            f"env: expected Discrete observations or a Box of one dimension, got {observations}{hint}{_OTHERWISE}"
        )

    def step(action: Any) -> tuple[Any, Any, Any, Any]:
        return env.step(action)[:4]  # type: ignore[no-any-return]

    system = getattr(env.unwrapped, "system", None)
    if not isinstance(system, System):
        system = None
    return _World(
        n_actions=int(actions.n),
        first_action=int(actions.start),
        n_states=n_states,
        state_size=state_size,
        state_of=state_of,
        reset=lambda seed: env.reset(seed=seed),
        step=step,
        limit=_time_limit(env, system),
        stochastic=_known_stochastic(env, system),
        is_dm_env=False,
    )


def _time_limit(env: Any, system: System | None) -> int | None:
    """After how many steps episodes are truncated, as far as can be known."""
    from gymnasium.wrappers import TimeLimit

    limits = [] if system is None else [system.horizon]
    if env.spec is not None and env.spec.max_episode_steps is not None:
        limits.append(env.spec.max_episode_steps)
    while env is not env.unwrapped:  # one that was never registered may have been given a limit all the same
        if isinstance(env, TimeLimit):
            limits.append(env._max_episode_steps)
        env = env.env
    return min(limits, default=None)


def _known_stochastic(env: Any, system: System | None) -> bool:
    """Whether steps are known to be random: by a system, the registration, or a toy text's table of transitions."""
    if system is not None:
        return not system.deterministic_steps
    if env.spec is not None and env.spec.nondeterministic:
        return True
    table = getattr(env.unwrapped, "P", None)
    if not isinstance(table, dict):
        return False
    return any(
        len({outcome[1:] for outcome in outcomes if outcome[0] > 0}) > 1
        for choices in table.values()
        for outcomes in choices.values()
    )


def _dm_env_world(env: Any, state_of: Callable[[Any], Any] | None) -> _World:
    actions, observations = env.action_spec(), env.observation_spec()
    counted = _counted(actions)
    if counted is None:
        raise TypeError(f"env: expected one action of finitely many, got {actions}")
    n_states = state_size = None
    if state_of is None:
        states = _counted(observations)
        shape = getattr(observations, "shape", None)
        if states is not None:
            first, n_states = states
            state_of = _index_of(first, n_states)
        elif shape is not None and len(shape) == 1:
            state_size = int(shape[0])
            state_of = _vector_of(state_size)
        else:
            raise TypeError(f"env: expected one integer or one dimension of numbers, got {observations}{_OTHERWISE}")

    def reset(seed: int | None) -> tuple[Any, dict[str, Any]]:
        return env.reset().observation, {}

    def step(action: Any) -> tuple[Any, Any, Any, Any]:
        outcome = env.step(action)
        last = bool(outcome.last())
        terminated = last and outcome.discount == 0
        if not terminated and outcome.discount != 1:
            raise ValueError(
                f"env: expected a discount of 1, or 0 at the end, got {outcome.discount}; agents have theirs"
            )
        return outcome.observation, outcome.reward, terminated, last and not terminated

    return _World(
        n_actions=counted[1],
        first_action=counted[0],
        n_states=n_states,
        state_size=state_size,
        state_of=state_of,
        reset=reset,
        step=step,
        limit=None,
        stochastic=False,
        is_dm_env=True,
    )


def _counted(spec: Any) -> tuple[int, int] | None:
    """The first of finitely many integers that a specification of dm_env allows, and their number."""
    if getattr(spec, "shape", None) != () or not np.issubdtype(spec.dtype, np.integer):
        return None
    if getattr(spec, "minimum", None) is None or getattr(spec, "maximum", None) is None:
        return None
    return int(spec.minimum), int(spec.maximum) - int(spec.minimum) + 1
