"""Agents: what learns, one step at a time. `ocpfast.run` runs them compiled."""

from __future__ import annotations

import itertools
import os
import warnings
from typing import Any, Literal

import numpy as np

from ocpfast import _check, _core
from ocpfast.agent import Agent
from ocpfast.certificates import Certificate
from ocpfast.hypothesis import Hypothesis
from ocpfast.mistakes import not_a_hypothesis
from ocpfast.randomness import Seed
from ocpfast.showing import changed, count
from ocpfast.systems import System

__all__ = ["OCP"]


class OCP(Agent):
    """Optimistic constraint propagation: act on the most optimistic hypothesis left.

    Parameters
    ----------
    hypothesis : Hypothesis
        The class of candidates for Q*: TabulaRasa, StateAggregation, LinearFeatures, Polytope, Quadratic, FiniteClass,
        Sigmoid or SparseLinear.
    selection : {"all", "eluder", "first", "window"}
        Which constraints are kept: all of them; those that strictly reduce the eluder dimension (for classes that
        contain Q*; `statistics()["contradictions"]` counts proofs that this one does not); those that make something
        undetermined determined; those of the last `window` episodes.
    window : int, optional
        With selection="window", the number of episodes. It cannot be combined with replay, whose exactness rests on
        upper values that never rise.
    ties : {"first", "random", "least_visited", "directed"}
        Which of the actions with the largest upper value is taken: the lowest; any; the least visited; a determined
        one if there is one, else the one that leads soonest to something new.
    replay : bool or "stationary"
        Recompute what stored transitions say when what they lead to changes. "stationary": you state that transitions
        and rewards do not depend on the period, so one seen at any period is replayed at every period.
    update : {"episode", "period"}
        When constraints join: at the end of the episode as in the paper, or at once.
    discount : float, default 1
        In (0, 1]. Below 1 it needs `bounds` or `reward_bound`.
    bounds : (float, float), optional
        Known beforehand: every Q_t(x, a) lies between them.
    reward_bound : float, optional
        Known beforehand: rewards are at most this large in size. Stands for ``bounds`` of ± reward_bound /
        (1 - discount) or, without a discount, ± reward_bound times the periods left.
    rng : None, int, SeedSequence, BitGenerator or Generator
        For ties="random". `ocpfast.run` draws from streams of its own instead.
    replay_sweeps : int, default 36_000
        Replay in a time-homogeneous class stops after this many sweeps and goes on after the next episode.
    replay_capacity : int, default 10_000
        Where states are vectors: how many transitions are stored. The oldest are forgotten first; what they said last
        stays known.

    Notes
    -----
    `statistics` counts ``episodes`` and ``periods`` observed; ``constraints`` held; parameters ``determined``;
    constraints ``rejected`` because they contradict `bounds`; ``contradictions`` that prove incoherence
    (selection="eluder"); ``transitions`` stored; constraints ``recomputed`` by replay; ``searches`` for something new
    (ties="directed"). Linear classes also count the linear programs solved (``lps``), their simplex ``pivots``, those
    solved again from scratch (``cold_lps``) and the questions that needed none (``skipped_lps``), and the vector
    ``states`` that are remembered; ``determined`` are dimensions there, and ``rejected`` the constraints that conflict
    now. Finite classes count the hypotheses left (``survivors``) and those of them that differ
    (``distinct_survivors``); ``determined`` is the length of a sequence of triples, each independent of those before
    it, on which all that are left agree.

    `begin_episode` forgets the constraints of an unfinished episode, except those that joined at once
    (update="period").

    Limits: a reward is at most 1e80 in size, a finite end of `bounds` 1e100; what is larger is an error. So no sum of
    rewards overflows, however long the horizon. Tables and aggregations compare values exactly, from 1e-323 to 1e98.
    In linear classes (`LinearFeatures` says how exact they are) and finite ones, values that differ by less than 1e-8
    or so are equal: multiply rewards of 1e-12 by 1e12.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> chain = ocp.Chain(5)
    >>> agent = ocp.OCP(ocp.TabulaRasa(5, 2, horizon=5), ties="directed", replay=True)
    >>> for episode in range(20):
    ...     state, ended, total = chain.reset(), False, 0.0
    ...     while not ended:
    ...         action = agent.act(state)
    ...         state, reward, terminated = chain.step(state, action)
    ...         ended = agent.observe(state, reward, terminated)
    ...         total += reward
    >>> total
    1.0
    """

    def __init__(
        self,
        hypothesis: Hypothesis,
        selection: Literal["all", "eluder", "first", "window"] = "all",
        window: int | None = None,
        ties: Literal["first", "random", "least_visited", "directed"] = "first",
        replay: bool | Literal["stationary"] = False,
        update: Literal["episode", "period"] = "episode",
        discount: float = 1.0,
        bounds: tuple[float, float] | None = None,
        reward_bound: float | None = None,
        rng: Seed = None,
        replay_sweeps: int = 36_000,
        replay_capacity: int = 10_000,
    ) -> None:
        if not isinstance(hypothesis, Hypothesis):
            raise not_a_hypothesis(hypothesis, "a hypothesis class such as TabulaRasa")
        self._hypothesis = hypothesis
        self._options: dict[str, Any] = {
            "selection": _check.one_of(selection, "selection", ("all", "eluder", "first", "window")),
            "window": None if window is None else _check.integer(window, "window", 1, 2**62),
            "ties": _check.one_of(ties, "ties", ("first", "random", "least_visited", "directed")),
            "replay": _check.one_of(replay, "replay", (False, True, "stationary")),
            "update": _check.one_of(update, "update", ("episode", "period")),
            "discount": _check.number(discount, "discount", "a number in (0, 1]"),
            "bounds": bounds,
            "reward_bound": reward_bound,
            "replay_sweeps": _check.integer(replay_sweeps, "replay_sweeps", 1, 2**62),
            "replay_capacity": _check.integer(replay_capacity, "replay_capacity", 1, 2**30),
        }
        options = self._options
        if not 0 < options["discount"] <= 1:
            raise ValueError(f"discount: expected a number in (0, 1], got {discount!r}")
        if (selection == "window") != (window is not None):
            remedy = "say how many episodes" if window is None else "say selection='window'"
            raise ValueError(
                f"window: expected an integer if and only if selection is 'window', got {window!r} with {selection!r}; "
                f"{remedy}"
            )
        if selection == "window" and replay:
            raise ValueError(
                f"replay: expected False with selection='window', got {replay!r}; a window forgets what replay rests "
                "on: choose one of them"
            )
        lower, upper = self._prior_bounds()
        self._bounded = bool(np.isfinite(upper).all())
        self._warned = False
        core = hypothesis._agent_core(
            _core.AgentOptions(
                selection=_core.Selection[selection],
                window=window or 0,
                lower=hypothesis._in_class_units(lower),
                upper=hypothesis._in_class_units(upper),
                ties=_core.Ties[ties],
                replay=_core.ReplayMode["stationary" if replay == "stationary" else "on" if replay else "off"],
                immediate=update == "period",
                discount=options["discount"],
                replay_sweeps=options["replay_sweeps"],
                replay_capacity=options["replay_capacity"],
            )
        )
        super().__init__(hypothesis, core, rng)

    def _prior_bounds(self) -> tuple[list[float], list[float]]:
        """Lower and upper bounds, one for all layers or one a layer."""
        bounds, reward_bound = self._options["bounds"], self._options["reward_bound"]
        discount = self._options["discount"]
        if bounds is not None and reward_bound is not None:
            raise ValueError("bounds, reward_bound: expected at most one of them, got both")
        if bounds is not None:
            try:
                low, high = bounds
            except (TypeError, ValueError):
                raise ValueError(f"bounds: expected a pair (lower, upper), got {bounds!r}") from None
            low, high = _check.number(low, "bounds[0]"), _check.number(high, "bounds[1]")
            if not low <= high or low == np.inf or high == -np.inf:
                raise ValueError(f"bounds: expected lower <= upper, got {bounds!r}")
            if any(_check.LARGEST_VALUE < abs(bound) < np.inf for bound in (low, high)):
                raise ValueError(f"bounds: expected infinities and numbers of at most 1e100 in size, got {bounds!r}")
            if discount < 1 and high == np.inf:
                raise ValueError(f"bounds: expected a finite upper bound with discount < 1, got {bounds!r}")
            self._options["bounds"] = (low, high)
            return [low], [high]
        if reward_bound is not None:
            size = _check.number(reward_bound, "reward_bound", "a finite number >= 0")
            if not 0 <= size < np.inf:
                raise ValueError(f"reward_bound: expected a finite number >= 0, got {reward_bound!r}")
            if size > _check.LARGEST_REWARD:
                raise ValueError(f"reward_bound: expected a number of at most 1e80 in size, got {reward_bound!r}")
            self._options["reward_bound"] = size
            if discount < 1:
                return [-size / (1 - discount)], [size / (1 - discount)]
            if self._hypothesis.horizon is None:
                raise ValueError(
                    "reward_bound: a time-homogeneous class needs discount < 1 with it (or bounds instead), "
                    f"got {reward_bound!r} with discount {discount}"
                )
            # summed as values are summed, so that rounding cannot put a possible value outside
            left = list(itertools.accumulate([size] * self._hypothesis.horizon))[::-1]
            return [-value for value in left], left
        if discount < 1:
            raise ValueError(
                f"discount: below 1 it needs bounds or reward_bound, got {discount!r} and neither; reward_bound=r says "
                "that no reward is larger than r in size"
            )
        return [-np.inf], [np.inf]

    @property
    def hypothesis(self) -> Hypothesis:
        """The hypothesis class."""
        return self._hypothesis

    @property
    def n_constraints(self) -> int:
        """The number of constraints held, after dropping those that can never matter again."""
        return int(self._core.n_constraints)

    def _before_observing(self, reward: float) -> None:
        if reward <= 0 and not self._warned and self._hypothesis.homogeneous and not self._bounded:
            self._warn_unbounded(stacklevel=4)

    def _before_running(self, system: System) -> None:
        if system.reward_range[0] <= 0 and not self._warned and self._hypothesis.homogeneous and not self._bounded:
            self._warn_unbounded(stacklevel=5)

    def _warn_unbounded(self, stacklevel: int) -> None:
        self._warned = True
        warnings.warn(
            "a time-homogeneous class without bounds values every cycle with something unknown in it at +inf; rewards "
            "that are not positive suggest a goal rather than survival: give OCP bounds= (or discount= and "
            "reward_bound=), or the class a horizon",
            stacklevel=stacklevel,
        )

    def upper(self, state: Any, action: Any, period: int = 0) -> float:
        """Upper value: the largest Q_period(state, action) among the hypotheses left.

        Parameters
        ----------
        state : int or array_like
            The state.
        action : int or array_like
            The action.
        period : int, default 0
            The period; a time-homogeneous class has the same values in all.

        Returns
        -------
        float
            The value; inf where nothing is known.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4)).upper(state=0, action=1)
        inf
        """
        return float(self._core.upper(state, action, period))

    def lower(self, state: Any, action: Any, period: int = 0) -> float:
        """Lower value: the smallest Q_period(state, action) among the hypotheses left.

        It needs a hypothesis class with lower="exact", or selection "first" or "eluder", where it comes for free.

        Parameters
        ----------
        state : int or array_like
            The state.
        action : int or array_like
            The action.
        period : int, default 0
            The period.

        Returns
        -------
        float
            The value; -inf where nothing is known.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4, lower="exact")).lower(state=0, action=1)
        -inf
        """
        return float(self._core.lower(state, action, period))

    def determined(self, state: Any, action: Any, period: int = 0) -> bool:
        """Whether the upper value rests on what was observed alone, not on optimism.

        In a linear class: whether all hypotheses left agree on it because of the equalities observed. In a finite one:
        whether all hypotheses left agree on it.

        Parameters
        ----------
        state : int or array_like
            The state.
        action : int or array_like
            The action.
        period : int, default 0
            The period.

        Returns
        -------
        bool
            True if it does.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4)).determined(state=0, action=1)
        False
        """
        return bool(self._core.determined(state, action, period))

    def certificate(self) -> Certificate:
        """What can be promised about the episodes to come, if Q* is in the hypothesis class.

        Each suboptimal episode determines something that was not determined before (Theorem 1), so what is left to
        determine bounds how many are still to come. The agent must be right about two things that it cannot see: that
        Q* is in the class (constraints that contradict each other or the class disprove it, and are noticed), and that
        the system is deterministic (`run` knows; in a loop of your own it is for you to know).

        Returns
        -------
        Certificate
            ``valid``, ``remaining``, ``last_episode_optimal`` and ``reason``. Not valid for time-homogeneous classes,
            with a discount or a window, once constraints contradicted each other, and after `run` in a system whose
            steps are stochastic.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> agent = ocp.OCP(ocp.TabulaRasa(n_states=1, n_actions=2, horizon=1))
        >>> agent.certificate().remaining
        2
        >>> for reward in (0.5, 1.0, 1.0):
        ...     action = agent.act(0)
        ...     ended = agent.observe(0, reward)
        >>> agent.certificate()
        Certificate(valid=True, remaining=0, last_episode_optimal=True, reason='')
        """
        with self._core.reading():
            reason = self._why_no_certificate()
            if reason:
                return Certificate(valid=False, remaining=None, last_episode_optimal=False, reason=reason)
            remaining = self._hypothesis._remaining(self._core.statistics())
            return Certificate(True, max(0, remaining), bool(self._core.last_episode_determined))

    def plot_values(self, path: str | os.PathLike[str] | None = None, period: int = 0) -> Any:
        """Draw maps of the values: the largest upper value of an action, lower ones if tracked, the action itself.

        Over a `Grid` of two dimensions the axes are the state's; over one of one dimension there are curves; over
        finitely many states the axes are period and state. Where the action taken is not yet determined, the map is
        hatched.

        Parameters
        ----------
        path : str or path, optional
            Where to save the figure.
        period : int, default 0
            Which period, where a grid has periods.

        Returns
        -------
        matplotlib Figure
            The figure; it needs ``pip install 'ocpfast[plot]'``.

        Examples
        --------
        >>> import os, tempfile
        >>> import ocpfast as ocp
        >>> pendulum = ocp.InvertedPendulum()
        >>> agent = ocp.OCP(ocp.StateAggregation(pendulum.partition(), n_actions=3))
        >>> [agent] = ocp.run(agent, pendulum, episodes=50, progress=False, keep_agents=True).agents
        >>> figure = agent.plot_values(os.path.join(tempfile.mkdtemp(), "values.png"))
        >>> figure.axes[0].get_title()
        'upper value'
        """
        from ocpfast.plotting import plot_values

        return plot_values(self, path, period)

    def _why_no_certificate(self) -> str:
        if self._hypothesis.homogeneous:
            return "the hypothesis class is time-homogeneous"
        if self._options["discount"] < 1:
            return "values are discounted"
        if self._options["selection"] == "window":
            return "constraints older than the window are forgotten"
        if self._stochastic:
            return "the system is stochastic"
        if not self._core.coherent:
            return "constraints contradict each other, the bounds or the class: Q* is not in it"
        return ""

    def _arguments(self) -> dict[str, Any]:
        return {"hypothesis": self._hypothesis, **self._options}

    def _memory(self) -> dict[str, Any]:
        return {**super()._memory(), "warned": self._warned}

    def _remember(self, memory: dict[str, Any]) -> None:
        super()._remember(memory)
        self._warned = bool(memory["warned"])

    def _described(self) -> list[str]:
        return [repr(self._hypothesis), *changed(OCP, self._options)]

    def _learned(self) -> list[str]:
        return [count(self.n_constraints, "constraint")]
