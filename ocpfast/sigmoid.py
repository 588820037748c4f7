"""Sigmoid hypothesis classes: Q_t(x, a) = psi(phi(t, x, a) . theta)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocpfast import _check, _core
from ocpfast.linear import _Linear
from ocpfast.showing import changed

__all__ = ["Sigmoid"]


class Sigmoid(_Linear):
    """Logistic functions of linear combinations of features, for systems that pay at the end of an episode alone.

    A reward in [0, 1] at the end (the probability of success, say, or a grade) makes Q_t(x, a) the best value that can
    still be reached, and psi(y) = 1 / (1 + exp(-y)), which increases, keeps it the best. So the agent thinks in logits
    throughout, as in `LinearFeatures`; values in and out are rewards.

    Parameters
    ----------
    phi : array_like of shape (H, S, A, K) or (S, A, K), sparse rows, or FeatureFunction
        The features, as in `LinearFeatures`.
    horizon : int, optional
        As in `LinearFeatures`.
    shared : bool, default False
        As in `LinearFeatures`.
    n_actions : int, optional
        As in `LinearFeatures`.
    clip : float, default 1e-9
        Rewards are moved into [clip, 1 - clip], as 0 and 1 have no finite logit. This commutes with the maximum, so
        nothing else changes: Q* is in the class if its `logits` are linear in the features.

    Notes
    -----
    A reward before the end that is not 0, or one outside [0, 1], is an error. Agents take no discount; their ``bounds``
    are in units of reward.

    Examples
    --------
    Four doors, of which one opens, and features that know how doors differ:

    >>> import numpy as np, ocpfast as ocp
    >>> reward = np.array([[0.1, 0.9, 0.2, 1.0]])
    >>> grades = ocp.Sigmoid(np.eye(4)[np.newaxis], horizon=1)
    >>> agent = ocp.OCP(grades)
    >>> system = ocp.TableSystem(np.full((1, 4), -1), reward, horizon=1)
    >>> result = ocp.run(agent, system, episodes=10, progress=False, keep_agents=True)
    >>> result.rewards[0]
    array([0.1, 0.9, 0.2, 1. , 1. , 1. , 1. , 1. , 1. , 1. ])
    >>> round(result.agents[0].upper(state=0, action=1), 9)
    0.9
    """

    def __init__(
        self,
        phi: Any,
        horizon: int | None = None,
        shared: bool = False,
        n_actions: int | None = None,
        clip: float = 1e-9,
    ) -> None:
        super().__init__(phi, horizon, shared, n_actions)
        self._clip = _check.number(clip, "clip", "a number in [1e-15, 0.5)")
        if not 1e-15 <= self._clip < 0.5:
            raise ValueError(f"clip: expected a number in [1e-15, 0.5), got {clip!r}")

    @property
    def clip(self) -> float:
        """How far rewards are kept from 0 and 1."""
        return self._clip

    def logits(self, rewards: ArrayLike) -> NDArray[np.float64]:
        """What rewards (or values, or Q*) are in units of ``phi @ theta``.

        Parameters
        ----------
        rewards : array_like
            Numbers in [0, 1].

        Returns
        -------
        ndarray of float64
            ``log(p / (1 - p))`` of p clipped to [clip, 1 - clip].

        Examples
        --------
        >>> import numpy as np, ocpfast as ocp
        >>> ocp.Sigmoid(np.ones((1, 1, 1)), horizon=1, clip=1e-3).logits([0.5, 0.0, 1.0]).round(3)
        array([ 0.   , -6.907,  6.907])
        """
        array = _check.numeric(rewards, "rewards", "numbers in [0, 1]")
        if not np.all((array >= 0) & (array <= 1)):
            raise ValueError(
                f"rewards: expected numbers in [0, 1], got {array[~((array >= 0) & (array <= 1))].flat[0]}"
            )
        p = np.clip(array, self._clip, 1 - self._clip)
        return np.asarray(np.log(p) - np.log1p(-p))

    def _in_class_units(self, bounds: list[float]) -> list[float]:
        # rewards are in [0, 1], so a finite bound beyond them is no weaker than 0 or 1
        return [bound if np.isinf(bound) else float(self.logits(min(max(bound, 0.0), 1.0))) for bound in bounds]

    def _agent_core(self, options: _core.AgentOptions) -> _core.SigmoidOcp:
        if options.discount != 1:
            raise ValueError(f"discount: expected 1 for a sigmoid class, got {options.discount}")
        return _core.SigmoidOcp(features=self._core_features(options), clip=self._clip, options=options)

    def _arguments(self) -> tuple[Any, ...]:
        return *super()._arguments(), self._clip

    def _settings(self) -> list[str]:
        return [*super()._settings(), *changed(Sigmoid, {"clip": self._clip})]

    def _identity(self) -> tuple[Any, ...]:
        return *super()._identity(), self._clip
