"""Systems as Gymnasium environments; `ocpfast.learn` is the other way, agents in any such environment.

Importing this module registers ``ocpfast/InvertedPendulum-v0`` and ``ocpfast/Chain-v0``, each with a vector version
that steps all its environments in one compiled call; `SystemEnv` and `SystemVectorEnv` take any other system. Without
the import, ``gymnasium.make("ocpfast.gym:ocpfast/Chain-v0")`` does the same: since 1.0 Gymnasium loads no plugins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.utils import seeding
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError(f"ocpfast.gym: needs gymnasium >= 1.1; pip install 'ocpfast[gym]' ({error})") from None

from ocpfast import _check, plotting
from ocpfast.running import check_system
from ocpfast.systems import Chain, InvertedPendulum, System, TableSystem
from ocpfast.systems.lanes import Lanes

__all__ = [
    "ChainEnv",
    "ChainVectorEnv",
    "InvertedPendulumEnv",
    "InvertedPendulumVectorEnv",
    "SystemEnv",
    "SystemVectorEnv",
    "table_system",
]

# The pendulum refuses to be stepped faster than 1e4 radians a second, and no force below 1,000 N takes it near either.
_PENDULUM_LIMIT = 1e4


def _spaces(system: System) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
    """Spaces of observations and of actions."""

    def space(n: int | None, size: int | None, limit: float) -> spaces.Space[Any]:
        if n is not None:
            return spaces.Discrete(n)
        assert size is not None
        return spaces.Box(-limit, limit, (size,), np.float64)

    limit = _PENDULUM_LIMIT if isinstance(system, InvertedPendulum) else np.inf
    return space(system.n_states, system.state_size, limit), space(system.n_actions, system.action_size, np.inf)


def _start_of(options: dict[str, Any] | None) -> Any:
    """The state that the options of a reset ask for; None where they ask for none."""
    unknown = set(options or ()) - {"state"}
    if unknown:
        raise ValueError(f"options: expected no other than 'state', got {sorted(unknown)}")
    return (options or {}).get("state")


def _about_start(system: System, state: Any) -> dict[str, Any]:
    value = system.optimal_value(state)
    return {} if value is None else {"optimal_value": value}


def _check_render_mode(mode: str | None, metadata: dict[str, Any]) -> str | None:
    if mode is not None and mode not in metadata["render_modes"]:
        modes = [None, *metadata["render_modes"]]
        raise ValueError(f"render_mode: expected one of {', '.join(map(repr, modes))}, got {mode!r}")
    return mode


class SystemEnv(gymnasium.Env[Any, Any]):
    """A system as a Gymnasium environment.

    Observations are states: Discrete, or a Box where they are vectors; so are actions. An episode is truncated after
    the system's horizon. The information of `reset` has the ``optimal_value`` of the initial state, where the system
    knows it. ``reset(options={"state": x})`` starts in state x.

    Parameters
    ----------
    system : System
        The system. One with memory (`Adversary`) should be in one environment only.
    render_mode : {None, "rgb_array"}
        "rgb_array": `render` gives a picture. Only `InvertedPendulumEnv` has it.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> from ocpfast.gym import SystemEnv
    >>> env = SystemEnv(ocp.Chain(5))
    >>> env.reset(seed=0)
    (0, {'optimal_value': 1.0})
    >>> env.step(1)
    (1, 0.0, False, False, {})
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, system: System, render_mode: str | None = None) -> None:
        if not isinstance(system, System):
            raise TypeError(f"system: expected a System, got {system!r}")
        self.system = system
        self.observation_space, self.action_space = _spaces(system)
        self.render_mode = _check_render_mode(render_mode, self.metadata)
        self._state: Any = None
        self._period = 0
        self._episode = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed : int, optional
            Seeds the generator of the environment anew.
        options : dict, optional
            ``{"state": x}`` starts in state x.

        Returns
        -------
        observation : int or ndarray
            The initial state.
        info : dict
            Its ``optimal_value``, where it is known.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> from ocpfast.gym import SystemEnv
        >>> SystemEnv(ocp.Chain(5)).reset(options={"state": 3})
        (3, {'optimal_value': 4.0})
        """
        super().reset(seed=seed)
        asked = _start_of(options)
        state = self.system.reset(self.np_random, self._episode) if asked is None else asked
        info = _about_start(self.system, state)  # which also checks the state
        self._state = np.array(state, dtype=np.float64) if self.system.n_states is None else int(state)
        self._period = 0
        self._episode += 1
        return self._observation(), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Parameters
        ----------
        action : int or array_like
            The action.

        Returns
        -------
        observation : int or ndarray
            The state that follows.
        reward : float
            The reward.
        terminated, truncated : bool
            Whether the system ended the episode; whether its horizon did.
        info : dict
            Empty.

        Examples
        --------
        >>> from ocpfast.gym import ChainEnv
        >>> env = ChainEnv(n_states=2)
        >>> observation, info = env.reset()
        >>> env.step(1), env.step(1)
        ((1, 0.0, False, False, {}), (1, 1.0, False, True, {}))
        """
        if self._state is None or self._period >= self.system.horizon:
            raise RuntimeError("step: expected a reset before it, for no episode is under way")
        self._state, reward, terminated = self.system.step(self._state, action, self._period, self.np_random)
        self._period += 1
        truncated = not terminated and self._period >= self.system.horizon
        observation = self._observation()
        if terminated:
            self._period = self.system.horizon
        return observation, reward, terminated, truncated, {}

    def _observation(self) -> Any:
        return self._state if isinstance(self._state, int) else self._state.copy()

    def __repr__(self) -> str:
        return f"SystemEnv({self.system!r})"


class SystemVectorEnv(VectorEnv[Any, Any, Any]):
    """Many environments of one system, which a compiled call steps together.

    Each has the episodes that `SystemEnv` has with the same seed; ``metadata["autoreset_mode"]`` says when those that
    are over begin again.

    Parameters
    ----------
    system : System
        The system; compiled. (Gymnasium's SyncVectorEnv takes any number of `SystemEnv` of one in Python.)
    num_envs : int, default 1
        How many.
    autoreset_mode : AutoresetMode or str
        "NextStep", the default: where an episode is over, the next `step` resets. "SameStep": the same `step` does,
        with the last observation in ``info["final_obs"]``. "Disabled": ``reset(options={"reset_mask": mask})`` does.
    render_mode : {None, "rgb_array"}
        As in `SystemEnv`.

    Examples
    --------
    >>> import numpy as np, ocpfast as ocp
    >>> from ocpfast.gym import SystemVectorEnv
    >>> envs = SystemVectorEnv(ocp.Chain(2), num_envs=3)
    >>> observations, info = envs.reset(seed=0)
    >>> observations, rewards, terminated, truncated, info = envs.step(np.array([0, 1, 1]))
    >>> observations
    array([0, 1, 1])
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        system: System,
        num_envs: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        check_system(system, "SystemVectorEnv")
        self.system = system
        self.num_envs = _check.integer(num_envs, "num_envs", 1, 2**31 - 1)
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            names = ", ".join(repr(mode.value) for mode in AutoresetMode)
            raise ValueError(f"autoreset_mode: expected one of {names}, got {autoreset_mode!r}") from None
        self.metadata = {**self.metadata, "autoreset_mode": self._mode}
        self.render_mode = _check_render_mode(render_mode, self.metadata)
        self.single_observation_space, self.single_action_space = _spaces(system)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._lanes = Lanes(system, self.num_envs)
        self._seeded = np.zeros(self.num_envs, dtype=bool)
        self._begun = np.zeros(self.num_envs, dtype=bool)
        self._over = np.zeros(self.num_envs, dtype=bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin an episode in every environment, or in some.

        Parameters
        ----------
        seed : int or sequence of int, optional
            The seed of each environment; an integer is that of the first, and the others' count on from it.
        options : dict, optional
            ``{"reset_mask": mask}`` resets only where the bool array `mask` says so; ``{"state": x}`` starts in
            state x.

        Returns
        -------
        observations : ndarray of shape (num_envs, ...)
            The states.
        info : dict
            The ``optimal_value`` of the initial states, where the system knows it.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> from ocpfast.gym import SystemVectorEnv
        >>> SystemVectorEnv(ocp.Chain(5), num_envs=2).reset()[0]
        array([0, 0])
        """
        options = dict(options or {})
        mask = self._checked_mask(options.pop("reset_mask", None))
        start = _start_of(options)
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, (int, np.integer)) else seed
        if seeds is not None and len(seeds) != self.num_envs:
            raise ValueError(f"seed: expected {self.num_envs} of them, one for each environment, got {len(seeds)}")
        for i in np.flatnonzero(mask).tolist():
            number = None if seeds is None else seeds[i]
            if number is not None or not self._seeded[i]:
                self._lanes.seed(i, seeding.np_random(number)[0].bit_generator)
                self._seeded[i] = True
        infos = self._begin(mask, {}, start)
        self._begun |= mask
        self._over &= ~mask
        return self._lanes.states, infos

    def _checked_mask(self, mask: Any) -> NDArray[np.bool_]:
        if mask is None:
            return np.ones(self.num_envs, dtype=bool)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ValueError(f"options['reset_mask']: expected a bool array of shape ({self.num_envs},), got {mask!r}")
        return mask

    def _begin(self, mask: NDArray[np.bool_], infos: dict[str, Any], start: Any = None) -> dict[str, Any]:
        self._lanes.reset(mask, start)
        if not self._lanes.knows_optimum:
            return infos
        states = self._lanes.states
        for i in np.flatnonzero(mask).tolist():
            infos = self._add_info(infos, _about_start(self.system, states[i]), i)
        return infos

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Take an action in every environment.

        Parameters
        ----------
        actions : array_like of shape (num_envs, ...)
            The actions; one in an environment that is to be reset has no effect.

        Returns
        -------
        observations : ndarray of shape (num_envs, ...)
            The states that follow.
        rewards : ndarray of shape (num_envs,)
            The rewards; 0 where there was a reset instead.
        terminated, truncated : bool ndarrays of shape (num_envs,)
            Where the system ended the episode; where its horizon did.
        info : dict
            As `reset` has it, where there was a reset; "SameStep" adds ``final_obs`` and ``final_info``.

        Examples
        --------
        >>> import numpy as np
        >>> from ocpfast.gym import ChainVectorEnv
        >>> envs = ChainVectorEnv(num_envs=2, n_states=2)
        >>> observations, info = envs.reset()
        >>> for _ in range(2):
        ...     observations, rewards, terminated, truncated, info = envs.step(np.array([1, 0]))
        >>> rewards, truncated
        (array([1., 0.]), array([ True,  True]))
        """
        if not self._begun.all():
            raise RuntimeError("step: expected a reset of every environment before it")
        if self._mode is AutoresetMode.DISABLED and self._over.any():
            where = np.flatnonzero(self._over).tolist()
            raise RuntimeError(f"step: the episodes of environments {where} are over; reset them first")
        waiting = self._over  # only where the next step resets
        rewards, terminated, truncated = self._lanes.step(actions, ~waiting)
        over = terminated | truncated
        infos: dict[str, Any] = {}
        if self._mode is AutoresetMode.SAME_STEP and over.any():
            last = self._lanes.states
            for i in np.flatnonzero(over).tolist():
                infos = self._add_info(infos, {"final_obs": last[i], "final_info": {}}, i)
            infos = self._begin(over, infos)
            over = np.zeros_like(over)
        elif waiting.any():
            infos = self._begin(waiting, infos)
        self._over = over
        return self._lanes.states, rewards, terminated, truncated, infos

    def __repr__(self) -> str:
        return f"SystemVectorEnv({self.system!r}, num_envs={self.num_envs})"


class InvertedPendulumEnv(SystemEnv):
    """``ocpfast/InvertedPendulum-v0``.

    Parameters
    ----------
    render_mode : {None, "rgb_array"}
        "rgb_array": `render` gives a picture of shape (400, 600, 3), which needs matplotlib.
    **options
        Those of `ocpfast.InvertedPendulum`.

    Examples
    --------
    >>> import gymnasium, ocpfast.gym
    >>> env = gymnasium.make("ocpfast/InvertedPendulum-v0", disturbance=2.5, render_mode="rgb_array")
    >>> observation, info = env.reset(seed=0)
    >>> env.render().shape
    (400, 600, 3)
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        super().__init__(InvertedPendulum(**options), render_mode)

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        """Draw the pendulum, as the render mode says."""
        if self.render_mode is None:
            return None
        if self._state is None:
            raise RuntimeError("render: expected a reset before it")
        return plotting.pendulum_picture(self._state)


class InvertedPendulumVectorEnv(SystemVectorEnv):
    """``ocpfast/InvertedPendulum-v0``, vectorised.

    Parameters
    ----------
    num_envs : int, default 1
        How many.
    autoreset_mode, render_mode
        As in `SystemVectorEnv` and `InvertedPendulumEnv`.
    **options
        Those of `ocpfast.InvertedPendulum`.

    Examples
    --------
    >>> import gymnasium, ocpfast.gym
    >>> envs = gymnasium.make_vec("ocpfast/InvertedPendulum-v0", num_envs=100, disturbance=2.5)
    >>> envs.reset(seed=0)[0].shape
    (100, 2)
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        **InvertedPendulumEnv.metadata,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(InvertedPendulum(**options), num_envs, autoreset_mode, render_mode)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Draw the pendulums, as the render mode says."""
        if self.render_mode is None:
            return None
        if not self._begun.all():
            raise RuntimeError("render: expected a reset before it")
        return tuple(plotting.pendulum_picture(state) for state in self._lanes.states)


class ChainEnv(SystemEnv):
    """``ocpfast/Chain-v0``.

    Parameters
    ----------
    n_states : int, default 50
        As in `ocpfast.Chain`.
    render_mode : None
        It has no pictures.

    Examples
    --------
    >>> import gymnasium, ocpfast.gym
    >>> gymnasium.make("ocpfast/Chain-v0", n_states=20).observation_space
    Discrete(20)
    """

    def __init__(self, n_states: int = 50, render_mode: str | None = None) -> None:
        super().__init__(Chain(n_states), render_mode)


class ChainVectorEnv(SystemVectorEnv):
    """``ocpfast/Chain-v0``, vectorised.

    Parameters
    ----------
    num_envs : int, default 1
        How many.
    autoreset_mode
        As in `SystemVectorEnv`.
    n_states : int, default 50
        As in `ocpfast.Chain`.
    render_mode : None
        It has no pictures.

    Examples
    --------
    >>> import gymnasium, ocpfast.gym
    >>> gymnasium.make_vec("ocpfast/Chain-v0", num_envs=3).reset()[0]
    array([0, 0, 0])
    """

    def __init__(
        self,
        num_envs: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        n_states: int = 50,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(Chain(n_states), num_envs, autoreset_mode, render_mode)


def table_system(env: Any, horizon: int | None = None, initial_state: Any = None) -> TableSystem:
    """The table of transitions of a Gymnasium environment that shows it, for `ocpfast.solve` and `ocpfast.run`.

    Parameters
    ----------
    env : gymnasium.Env
        An environment with a table ``P[state][action]`` of outcomes ``(probability, next_state, reward,
        terminated)``, as Gymnasium's toy texts have it, without slipping.
    horizon : int, optional
        The number of periods; by default the environment's time limit.
    initial_state : optional
        As in `ocpfast.TableSystem`; by default the environment's own probabilities.

    Returns
    -------
    TableSystem
        The system.

    Examples
    --------
    >>> import gymnasium, ocpfast as ocp
    >>> from ocpfast.gym import table_system
    >>> lake = table_system(gymnasium.make("FrozenLake-v1", is_slippery=False))
    >>> lake, float(ocp.solve(lake).v[0, 0])
    (<TableSystem: 16 states, 4 actions, H=100>, 1.0)
    """
    table = getattr(getattr(env, "unwrapped", None), "P", None)
    if table is None:
        raise TypeError(f"env: expected an environment with a table P of its transitions, got {env!r}")
    if horizon is None:
        horizon = None if env.spec is None else env.spec.max_episode_steps
        if horizon is None:
            raise ValueError("horizon: expected an integer, for the environment has no time limit, got None")
    next_state = np.empty((len(table), len(table[0])), dtype=np.int64)
    reward = np.empty(next_state.shape)
    for state, action in np.ndindex(next_state.shape):
        outcomes = {tuple(outcome[1:]) for outcome in table[state][action] if outcome[0] > 0}
        if len(outcomes) != 1:
            raise ValueError(
                f"env: expected deterministic steps, got {len(outcomes)} outcomes of action {action} in state {state} "
                "(is_slippery=False makes those of the toy texts deterministic)"
            )
        [(following, pay, terminated)] = outcomes
        next_state[state, action] = -1 if terminated else following
        reward[state, action] = pay
    if initial_state is None:
        initial_state = np.asarray(env.unwrapped.initial_state_distrib, dtype=np.float64)
    return TableSystem(next_state, reward, initial_state, horizon)


def _register() -> None:
    for name in ("InvertedPendulum", "Chain"):
        gymnasium.register(
            id=f"ocpfast/{name}-v0",
            entry_point=f"{__name__}:{name}Env",
            vector_entry_point=f"{__name__}:{name}VectorEnv",
        )


_register()
