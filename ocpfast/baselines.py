"""The agents that OCP is compared with: least-squares value iteration, Q-learning, the random policy."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ocpfast import _check, _core
from ocpfast.agent import Agent
from ocpfast.exploration import EpsilonGreedy, Exploration, core_of
from ocpfast.hypothesis import Hypothesis, TabulaRasa, _Aggregation
from ocpfast.linear import LinearFeatures
from ocpfast.mistakes import not_a_hypothesis
from ocpfast.randomness import Seed
from ocpfast.showing import changed, count

__all__ = ["LSVI", "QLearning", "RandomPolicy"]

_GREEDY = EpsilonGreedy(0.1)


class _ValueAgent(Agent):
    """What LSVI and QLearning share: estimates of the value of each action."""

    def value(self, state: Any, action: int, period: int = 0) -> float:
        """Estimate of Q_period(state, action).

        Parameters
        ----------
        state : int or array_like
            The state.
        action : int
            The action.
        period : int, default 0
            The period; where the class is time-homogeneous, values are the same in all.

        Returns
        -------
        float
            The estimate.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.LSVI(ocp.TabulaRasa(3, 2, horizon=4)).value(state=0, action=1)
        0.0
        """
        return float(self._core.value(state, action, period))


class LSVI(_ValueAgent):
    """Least-squares value iteration: fit Q to rewards and the values of what followed, and explore at random.

    After each episode, backward from the last period, Q_t is fitted by least squares to r + max_a Q_{t+1}(x', a) over
    all that was seen at period t. Where periods share their parameters, each of `sweeps` sweeps from 0 fits them to all
    that was seen.

    Parameters
    ----------
    hypothesis : TabulaRasa, StateAggregation or LinearFeatures
        The class that is fitted; linear features need finitely many states.
    exploration : EpsilonGreedy, Boltzmann or None
        How it departs from the best action; None: never.
    rng : None, int, SeedSequence, BitGenerator or Generator
        For exploration and random ties. `ocpfast.run` draws from streams of its own instead.
    ties : {"random", "first"}
        Which of the actions with the largest value is the best: any, or the lowest. Before a reward was seen all values
        are 0: the paper's 2^(N - 1) episodes for a chain of N states are those of random ties.
    sweeps : int, default 36_000
        In time-homogeneous classes: the number of sweeps of a fit, that is, the number of periods that values look
        ahead. Other classes that share parameters make as many as they have periods. Sweeps end early where one
        changes nothing.

    Notes
    -----
    A cell of an aggregation gets the average over its data, and 0 where there are none. Linear features go by the
    normal equations; where these are singular, by their shortest solution, as in `numpy.linalg.lstsq`, with features
    counted as dependent where the others leave less than a millionth of their length.

    In time-homogeneous aggregations sweeps that can be foreseen are stepped over. The values are then within 1e-9 of
    those of plain sweeps, relative to the largest value (``hypothesis/value_iteration.hpp`` proves it), else equal to
    the last bit. Fits of linear features that share parameters need not converge: beyond 1e100 a fit stops and counts
    as diverged.

    Memory holds each distinct transition once, with its count: it does not grow with the number of episodes.
    `statistics` counts ``episodes`` and ``periods`` observed; distinct ``transitions``; ``sweeps`` made and
    ``skipped_sweeps``; fits that ``diverged``. `begin_episode` drops an unfinished episode, but what was seen in it
    counts at the end of the next one.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> agent = ocp.LSVI(ocp.TabulaRasa(5, 2, horizon=5), ocp.EpsilonGreedy(0.5))
    >>> result = ocp.run(agent, ocp.Chain(5), episodes=300, rng=0, progress=False, keep_agents=True)
    >>> result.agents[0].value(state=0, action=1)
    1.0
    """

    def __init__(
        self,
        hypothesis: Hypothesis,
        exploration: Exploration | None = _GREEDY,
        rng: Seed = None,
        *,
        ties: Literal["random", "first"] = "random",
        sweeps: int = 36_000,
    ) -> None:
        explorer = core_of(exploration, ties)
        self._exploration, self._ties = exploration, ties
        self._sweeps = _check.integer(sweeps, "sweeps", 1, 2**62)
        core: _core.AggregationLsvi | _core.LinearLsvi
        if isinstance(hypothesis, _Aggregation):
            core = _core.AggregationLsvi(partition=hypothesis._partition, exploration=explorer, sweeps=self._sweeps)
        elif isinstance(hypothesis, LinearFeatures):
            if hypothesis.n_states is None:
                raise ValueError(
                    "hypothesis: expected linear features of finitely many states, got features of vectors; "
                    "StateAggregation over a Grid takes vectors"
                )
            core = _core.LinearLsvi(features=hypothesis._scaled_features(), exploration=explorer, sweeps=self._sweeps)
        else:
            raise not_a_hypothesis(hypothesis, "TabulaRasa, StateAggregation or LinearFeatures")
        super().__init__(hypothesis, core, rng)

    @property
    def hypothesis(self) -> Hypothesis:
        """The class that is fitted."""
        return self._domain

    def _arguments(self) -> dict[str, Any]:
        return {
            "hypothesis": self._domain,
            "exploration": self._exploration,
            "ties": self._ties,
            "sweeps": self._sweeps,
        }

    def _described(self) -> list[str]:
        return [
            repr(self._domain),
            repr(self._exploration),
            *changed(LSVI, {"ties": self._ties, "sweeps": self._sweeps}),
        ]

    def _learned(self) -> list[str]:
        return [count(self._core.statistics()["transitions"], "transition")]


class QLearning(_ValueAgent):
    """Q-learning on a table: at every period Q_t(x, a) moves towards r + discount * max_b Q_{t+1}(x', b).

    With learning rate 1 from +inf and no exploration, the default, it is OCP on `TabulaRasa`, action for action.

    Parameters
    ----------
    n_states, n_actions : int
        States are 0 .. n_states - 1, actions 0 .. n_actions - 1.
    horizon : int or None
        The number of periods of an episode, each with values of its own; None for one table in all periods, where the
        end of the clock is a truncation.
    learning_rate : float, default 1
        In (0, 1].
    initial : float, default inf
        The values at first: finite, or +inf.
    exploration : EpsilonGreedy, Boltzmann or None
        How it departs from the best action; None, the default: never.
    discount : float, default 1
        In (0, 1].
    ties : {"first", "random"}
        Which of the actions with the largest value is the best: the lowest, or any.
    rng : None, int, SeedSequence, BitGenerator or Generator
        For exploration and random ties. `ocpfast.run` draws from streams of its own instead.

    Notes
    -----
    An infinite value says that nothing is known: whatever the learning rate, the first target replaces it. A finite
    value whose target is infinite becomes infinite, as any average with it.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> chain, table = ocp.Chain(6), ocp.TabulaRasa(6, 2, horizon=6)
    >>> learned = ocp.run(ocp.QLearning(6, 2, horizon=6), chain, episodes=60, progress=False)
    >>> bool((learned.rewards == ocp.run(ocp.OCP(table), chain, episodes=60, progress=False).rewards).all())
    True
    """

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        horizon: int | None,
        learning_rate: float = 1.0,
        initial: float = np.inf,
        exploration: Exploration | None = None,
        discount: float = 1.0,
        ties: Literal["first", "random"] = "first",
        rng: Seed = None,
    ) -> None:
        table = TabulaRasa(n_states, n_actions, horizon)
        for name, value in (("learning_rate", learning_rate), ("discount", discount)):
            if not 0 < _check.number(value, name, "a number in (0, 1]") <= 1:
                raise ValueError(f"{name}: expected a number in (0, 1], got {value!r}")
        if _check.number(initial, "initial", "a finite number or +inf") == -np.inf:
            raise ValueError(f"initial: expected a finite number or +inf, got {initial!r}")
        if _check.LARGEST_VALUE < abs(initial) < np.inf:
            raise ValueError(f"initial: expected a number of at most 1e100 in size or +inf, got {initial!r}")
        self._options: dict[str, Any] = {
            "learning_rate": float(learning_rate),
            "initial": float(initial),
            "exploration": exploration,
            "discount": float(discount),
            "ties": ties,
        }
        core = _core.QLearning(
            partition=table._partition,
            exploration=core_of(exploration, ties),
            initial=float(initial),
            learning_rate=float(learning_rate),
            discount=float(discount),
        )
        super().__init__(table, core, rng)

    def _arguments(self) -> dict[str, Any]:
        sizes = {name: getattr(self._domain, name) for name in ("n_states", "n_actions", "horizon")}
        return {**sizes, **self._options}

    def _described(self) -> list[str]:
        sizes = [f"{name}={getattr(self._domain, name)}" for name in ("n_states", "n_actions", "horizon")]
        return [*sizes, *changed(QLearning, self._options)]


class RandomPolicy(Agent):
    """Any action with the same probability, in any state of any system with so many actions.

    Parameters
    ----------
    n_actions : int
        The number of actions.
    rng : None, int, SeedSequence, BitGenerator or Generator
        Where actions come from. `ocpfast.run` draws from streams of its own instead.

    Notes
    -----
    States are not looked at, and an episode ends where the system ends it. ``act(state, learn=False)`` draws as well.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> agent = ocp.RandomPolicy(n_actions=3)
    >>> result = ocp.run(agent, ocp.InvertedPendulum(), episodes=1000, rng=0, progress=False)
    >>> bool(result.rewards.mean() < 2)  # seconds
    True
    """

    _any_state = True

    def __init__(self, n_actions: int, rng: Seed = None) -> None:
        domain = TabulaRasa(1, n_actions, horizon=None)
        super().__init__(domain, _core.RandomPolicy(domain.n_actions), rng)

    def _greedy(self, state: Any, period: int | None) -> int:
        if period is not None:
            _check.integer(period, "period", 0)
        return int(self._core.any_action(self._capsule))

    def _arguments(self) -> dict[str, Any]:
        return {"n_actions": self._domain.n_actions}

    def _described(self) -> list[str]:
        return [f"n_actions={self._domain.n_actions}"]
