"""Exploration of agents that estimate values: how often, and how, they do not take what looks best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ocpfast import _check, _core

__all__ = ["Boltzmann", "EpsilonGreedy", "Exploration"]


@dataclass(frozen=True)
class EpsilonGreedy:
    """With probability epsilon any action, uniformly; else one with the largest value.

    Parameters
    ----------
    epsilon : float
        In [0, 1].

    Examples
    --------
    >>> import ocpfast as ocp
    >>> ocp.EpsilonGreedy(0.1)
    EpsilonGreedy(epsilon=0.1)
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not 0 <= _check.number(self.epsilon, "epsilon", "a number in [0, 1]") <= 1:
            raise ValueError(f"epsilon: expected a number in [0, 1], got {self.epsilon!r}")


@dataclass(frozen=True)
class Boltzmann:
    """Actions with probabilities proportional to exp(value / temperature).

    Actions of infinite value share all of the probability.

    Parameters
    ----------
    temperature : float
        Positive and finite; in units of reward.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> ocp.Boltzmann(0.5)
    Boltzmann(temperature=0.5)
    """

    temperature: float

    def __post_init__(self) -> None:
        if not 0 < _check.number(self.temperature, "temperature", "a positive, finite number") < np.inf:
            raise ValueError(f"temperature: expected a positive, finite number, got {self.temperature!r}")


Exploration = EpsilonGreedy | Boltzmann


def core_of(exploration: Exploration | None, ties: str) -> _core.Exploration:
    """The compiled twin of an exploration, and of what happens to ties."""
    random_ties = _check.one_of(ties, "ties", ("first", "random")) == "random"
    if exploration is None:
        return _core.Exploration(_core.ExplorationKind.none, 0.0, random_ties)
    if isinstance(exploration, EpsilonGreedy):
        return _core.Exploration(_core.ExplorationKind.epsilon_greedy, float(exploration.epsilon), random_ties)
    if isinstance(exploration, Boltzmann):
        return _core.Exploration(_core.ExplorationKind.boltzmann, float(exploration.temperature), random_ties)
    remedy = _check.hint(exploration, "exploration")
    if isinstance(exploration, (int, float)):
        remedy = f"; EpsilonGreedy({exploration!r}) explores with this probability"
    raise TypeError(f"exploration: expected EpsilonGreedy, Boltzmann or None, got {exploration!r}{remedy}")
