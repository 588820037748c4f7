"""The linear-quadratic hypothesis class: Q_t(x, u) is a quadratic form of (x, u)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocpfast import _check, _core
from ocpfast.features import OpenSource, _power_of_two
from ocpfast.hypothesis import Hypothesis, Triple
from ocpfast.linear import LinearFeatures, outside_span
from ocpfast.showing import array_in_words

__all__ = ["Quadratic"]

# Components of states or actions: beyond them the monomials of one period fill gigabytes.
_MOST_COMPONENTS = 2**10
_LARGEST_ACTION = 1e100  # its square must be a number


class Quadratic(Hypothesis):
    """Quadratic forms of state and action, one for each period: the class of linear-quadratic control.

    Q_t(x, u) = z @ Q_t @ z with z = (x, u) and Q_t any symmetric matrix. Q* is in the class where the next state is
    linear in (x, u), rewards are minus a quadratic cost and actions are free, as in `LinearQuadratic`.

    Parameters
    ----------
    n_state, n_action : int
        The number of components of a state x and of an action u.
    horizon : int
        The number of periods.
    actions : array_like of shape (A, n_action), optional
        A finite list of actions: agents then act with indices into it. Without it actions are vectors, any of them.

    Notes
    -----
    **Without a list** agents need selection="eluder": they learn from equalities alone. In a state where something
    about the actions is not determined they try one of 0, ±s e_i and s (e_i + e_j), which decide a quadratic: the one
    most unlike what they tried in that period before (the largest leverage), so that later periods see different
    states; ties="first" and ties="directed" both mean this. s is the largest power of two that is not above the largest
    component of x (in the origin: of the last other state), so give actions in units in which they are about as large
    as states. Where all is determined they take the maximum in closed form. Rewards are taken to be minus a cost that
    is positive definite in u: where what was learned is not, ``statistics()["contradictions"]`` counts it.

    On the 400 random controllable systems of the tests, of up to 4 states, 2 actions and 8 periods, no more episodes
    were suboptimal (lost more than 1e-6 of the optimal value) than the eluder dimension says; with replay=True no more
    than a period has parameters; with replay="stationary", which is right for `LinearQuadratic`, no more than that
    number divided by the horizon. For n_state=4, n_action=2, horizon=8: 168, 21 and 3.

    That values are never positive may be said with ``bounds=(-inf, 0)``. Without a list it settles what to do in the
    origin and saves nothing else: as long as an action is not determined, 0 is not excluded for it by such a bound.
    With a list and selection="all" it saves up to a half of the suboptimal episodes (5.5 instead of 9 of 18 with two
    states, one action and three periods), with selection="eluder" nothing.

    **With a list** this is a linear class (see `LinearFeatures`) with all its options. But the best of a list of
    quadratics is in general no quadratic. Q* is in the class for a horizon of 1, for a list of one action, and where
    0 is in the list and the best action everywhere (if B = 0 or A = 0 in `LinearQuadratic`, say). Elsewhere the class
    is agnostic: no theorem holds, and constraints contradict each other. selection="eluder" counts that and may act
    badly for ever; selection="all" rejects some of them and did well in the few systems that were tried.

    Examples
    --------
    A mass that a force brings to rest:

    >>> import ocpfast as ocp
    >>> mass = ocp.LinearQuadratic(
    ...     A=[[1.0, 0.5], [0.0, 1.0]], B=[[0.0], [0.5]], state_cost=[[1.0, 0.0], [0.0, 0.0]], action_cost=[[0.1]],
    ...     horizon=20, initial_scale=1.0,
    ... )
    >>> hypothesis = ocp.Quadratic(n_state=2, n_action=1, horizon=20)
    >>> hypothesis.eluder_dimension()
    120
    >>> agent = ocp.OCP(hypothesis, selection="eluder", replay="stationary")
    >>> result = ocp.run(agent, mass, episodes=10, rng=0, progress=False, keep_agents=True)
    >>> result.suboptimal()
    array([1])
    >>> result.agents[0].act([1.0, 0.0], learn=False, period=0).round(2)
    array([-1.66])
    """

    def __init__(self, n_state: int, n_action: int, horizon: int, actions: ArrayLike | None = None) -> None:
        self._n_state = _check.integer(n_state, "n_state", 1, _MOST_COMPONENTS)
        self._n_action = _check.integer(n_action, "n_action", 1, _MOST_COMPONENTS)
        self._periods = self._horizon = _check.integer(horizon, "horizon", 1)
        n = self._n_state + self._n_action
        self._n_features = n * (n + 1) // 2
        _check.n_cells(self._n_features * self._periods, "n_state, n_action, horizon")
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
        return per_period * self._periods

    def _agent_core(self, options: _core.AgentOptions) -> Any:
        if self._list is not None:
            return LinearFeatures(self._list, self._horizon)._agent_core(options)
        if options.selection is not _core.Selection.eluder:
            raise ValueError(
                "selection: expected 'eluder' for Quadratic without a list of actions (the infimum of a maximum over "
                f"all actions would be a semidefinite program), got {options.selection.name!r}; "
                "OCP(hypothesis, selection='eluder')"
            )
        if options.ties not in (_core.Ties.first, _core.Ties.directed):
            raise ValueError(
                "ties: expected 'first' or 'directed' for Quadratic without a list of actions, "
                f"got {options.ties.name!r}"
            )
        return _core.QuadraticOcp(self._n_state, self._n_action, self._periods, options)

    def _independent(self, triple: Triple, triples: Sequence[Triple]) -> bool:
        """Whether the feature is outside the span of the others of its period."""
        others = [self._feature(other) for other in triples if other[2] == triple[2]]
        return outside_span(self._feature(triple), others)

    def _feature(self, triple: Triple) -> NDArray[np.float64]:
        state, action, _ = triple
        return _monomials(np.append(state, action if self._list is None else self._list.actions[action]))

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
        self._n_state = self.state_size = n_state
        self.n_actions = len(actions)
        n = n_state + actions.shape[1]
        self.n_features = n * (n + 1) // 2

    def rank(self) -> int:
        """The parameters that matter: those of xx', those of xu' and those of uu' that the list can tell apart."""
        n = self._n_state
        scaled = self.actions / (np.abs(self.actions).max() or 1.0)
        products = np.array([_monomials(u) for u in scaled])
        return n * (n + 1) // 2 + n * int(np.linalg.matrix_rank(scaled)) + int(np.linalg.matrix_rank(products))

    def unit(self) -> float:
        # states are about as large as actions where both are in sensible units
        return _power_of_two(float(np.abs(self.actions).max()) ** 2)

    def _compiled(self) -> tuple[int, int, object]:
        functions = _core.QuadraticList(self._n_state, self.actions)
        return functions.address, functions.user_data, functions

    def __repr__(self) -> str:
        return array_in_words(self.actions, "actions")
