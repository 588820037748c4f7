"""The linear-quadratic hypothesis class: Q_t(x, u) is a quadratic form of (x, u)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocpfast import _check, _core
from ocpfast.features import OpenSource, _power_of_two
from ocpfast.hypothesis import Hypothesis
from ocpfast.linear import LinearFeatures

__all__ = ["Quadratic"]

# Components of states or actions: beyond them the monomials of one period fill gigabytes.
_MOST_COMPONENTS = 2**10
_LARGEST_ACTION = 1e100  # its square must be a number
_DEPENDENCE = 1e-9  # of csrc/include/ocpfast/tolerances.hpp


class Quadratic(Hypothesis):
    """Quadratic forms of state and action, one for each period.

    Parameters
    ----------
    n_state, n_action : int
        The number of components of a state x and of an action u.
    horizon : int
        The number of periods.
    actions : array_like of shape (A, n_action), optional
        A finite list of actions: agents then act with indices into it. Without it actions are vectors, any of them.

    Examples
    --------
    >>> import numpy as np, ocpfast as ocp
    >>> ocp.Quadratic(n_state=2, n_action=1, horizon=5).eluder_dimension()
    30
    """

    def __init__(self, n_state: int, n_action: int, horizon: int, actions: ArrayLike | None = None) -> None:
        self._n_state = _check.integer(n_state, "n_state", 1, _MOST_COMPONENTS)
        self._n_action = _check.integer(n_action, "n_action", 1, _MOST_COMPONENTS)
        self._horizon = _check.integer(horizon, "horizon", 1)
        n = self._n_state + self._n_action
        self._n_features = n * (n + 1) // 2
        _check.n_cells(self._n_features * self._horizon, "n_state, n_action, horizon")
        self._list: _ListSource | None = None
        if actions is not None:
            self._list = _ListSource(self._n_state, _checked_actions(actions, self._n_action))

    @property
    def n_states(self) -> None:
        """None: states are vectors."""
        return None

    @property
    def state_size(self) -> int:
        """The number of components of a state."""
        return self._n_state

    @property
    def n_actions(self) -> int | None:
        """The number of actions in the list; None where there is no list."""
        return None if self._list is None else self._list.n_actions

    @property
    def action_size(self) -> int | None:
        """The number of components of an action; None where actions are indices into a list."""
        return self._n_action if self._list is None else None

    @property
    def actions(self) -> NDArray[np.float64] | None:
        """The list of actions, of shape (A, n_action); None where there is none."""
        return None if self._list is None else self._list.actions

    @property
    def n_features(self) -> int:
        """The number of products of two components of (x, u): the parameters of a period."""
        return self._n_features

    def eluder_dimension(self) -> int:
        """Eluder dimension: the parameters of all periods.

        With a list of actions, only those that the list can tell apart.

        Returns
        -------
        int
            At most this many episodes are suboptimal if Q* is in the class (Theorem 1).

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.Quadratic(n_state=2, n_action=1, horizon=5).eluder_dimension()
        30
        >>> ocp.Quadratic(n_state=2, n_action=1, horizon=5, actions=[[0.0]]).eluder_dimension()
        15
        """
        per_period = self._n_features if self._list is None else self._list.rank()
        return per_period * self._horizon

    def _agent_core(self, options: _core.AgentOptions) -> _core.LinearOcp | _core.QuadraticOcp:
        if self._list is not None:
            return LinearFeatures(self._list, self._horizon)._agent_core(options)
        if options.selection is not _core.Selection.eluder:
            raise ValueError(
                "selection: expected 'eluder' for Quadratic without a list of actions (the infimum of a maximum over "
                f"all actions would be a semidefinite program), got {options.selection.name!r}"
            )
        if options.ties not in (_core.Ties.first, _core.Ties.directed):
            raise ValueError(
                "ties: expected 'first' or 'directed' for Quadratic without a list of actions, "
                f"got {options.ties.name!r}"
            )
        return _core.QuadraticOcp(self._n_state, self._n_action, self._horizon, options)

    def _independent(self, triple: tuple[Any, Any, int], triples: Iterable[tuple[Any, Any, int]]) -> bool:
        """Whether (state, action, period) is independent of others: its feature is outside their span."""
        feature = self._direction(triple[0], triple[1])
        others = [self._direction(state, action) for state, action, period in triples if period == triple[2]]
        if not others:
            return bool(feature.any())
        residual = feature - np.linalg.lstsq(np.array(others).T, feature, rcond=_DEPENDENCE)[0] @ np.array(others)
        return bool(np.linalg.norm(residual) > _DEPENDENCE)

    def _direction(self, state: Any, action: Any) -> NDArray[np.float64]:
        """The feature of a pair, divided by its length."""
        u = action if self._list is None else self._list.actions[action]
        z = np.concatenate([np.asarray(state, dtype=float), np.asarray(u, dtype=float)])
        z /= np.linalg.norm(z) or 1.0
        return _monomials(z)

    def _identity(self) -> tuple[Any, ...]:
        listed = None if self._list is None else (self._list.actions.shape, self._list.actions.tobytes())
        return self._n_state, self._n_action, self._horizon, listed

    def __eq__(self, other: object) -> bool:
        return self._identity() == other._identity() if isinstance(other, Quadratic) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        return Quadratic, (self._n_state, self._n_action, self._horizon, self.actions)

    def __repr__(self) -> str:
        listed = "" if self._list is None else f", actions={self._list!r}"
        return f"Quadratic(n_state={self._n_state}, n_action={self._n_action}, horizon={self._horizon}{listed})"


def _checked_actions(given: ArrayLike, n_action: int) -> NDArray[np.float64]:
    actions = _check.numeric(given, "actions", f"numbers of shape (A, {n_action})")
    if actions.ndim != 2 or actions.shape[1] != n_action or not len(actions):
        raise ValueError(f"actions: expected shape (A, {n_action}) with A >= 1, got {actions.shape}")
    if not np.abs(actions).max() <= _LARGEST_ACTION:
        bad = actions[~(np.abs(actions) <= _LARGEST_ACTION)].flat[0]
        raise ValueError(f"actions: expected numbers of at most {_LARGEST_ACTION:g} in size, got {bad}")
    actions.flags.writeable = False
    return actions


def _monomials(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """The products of two components, those of different ones times sqrt(2), as in quadratic_features.hpp."""
    i, j = np.triu_indices(len(z))
    return np.asarray(np.where(i == j, 1.0, np.sqrt(2.0)) * z[i] * z[j])


class _ListSource(OpenSource):
    """The monomials of (x, u) with u from a list: compiled features of vector states."""

    def __init__(self, n_state: int, actions: NDArray[np.float64]) -> None:
        self.actions = actions
        self.periods = None
        self.state_size = n_state
        self.n_actions = len(actions)
        n = n_state + actions.shape[1]
        self.n_features = n * (n + 1) // 2

    def rank(self) -> int:
        """The parameters that matter: those of xx', those of xu' and those of uu' that the list can tell apart."""
        n = self.state_size or 0
        scaled = self.actions / (np.abs(self.actions).max() or 1.0)
        products = np.array([_monomials(u) for u in scaled])
        return n * (n + 1) // 2 + n * int(np.linalg.matrix_rank(scaled)) + int(np.linalg.matrix_rank(products))

    def ranks(self, fixed: NDArray[np.float64], shared: bool) -> list[int]:
        return [self.rank()]

    def unit(self) -> float:
        # states are about as large as actions where both are in sensible units
        return _power_of_two(float(np.abs(self.actions).max()) ** 2)

    def _compiled(self) -> tuple[int, int, object]:
        functions = _core.QuadraticList(self.state_size, self.actions)
        return functions.address, functions.user_data, functions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ListSource) and np.array_equal(self.actions, other.actions)

    def __hash__(self) -> int:
        return hash((self.state_size, self.actions.shape, self.actions.tobytes()))

    def __repr__(self) -> str:
        return f"<{self.n_actions} of {self.actions.shape[1]} numbers>"
