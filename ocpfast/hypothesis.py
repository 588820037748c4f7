"""Hypothesis classes: immutable descriptions of the candidates for Q*. What is learned lives in an agent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocpfast import _check, _core
from ocpfast.showing import FEW, array_in_words

__all__ = ["Grid", "Hypothesis", "StateAggregation", "TabulaRasa"]

_RENUMBERED = "numpy.unique(labels, return_inverse=True)[1] numbers them anew"

Triple: TypeAlias = tuple[Any, Any, int]  # state, action, period


class Grid:
    """Bins over continuous states.

    Parameters
    ----------
    edges : sequence of 1-D array_like
        Bin edges for each dimension, finite and strictly increasing. n edges make n + 1 bins: the outer bins are
        open-ended, and a value on an edge belongs to the bin above it (as `numpy.digitize` has it).
    extra : int, default 0
        Labels for special states, numbered before the cells. A state with a NaN in it gets label 0 of them.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> grid = ocp.Grid([[0.0], [-1.0, 1.0]], extra=1)
    >>> grid.n_labels
    7
    >>> grid.label([0.5, 0.0]), grid.label([float("nan"), 0.0])
    (5, 0)
    """

    def __init__(self, edges: Sequence[ArrayLike], extra: int = 0) -> None:
        if isinstance(edges, (str, bytes)) or not hasattr(edges, "__iter__"):
            raise TypeError(f"edges: expected a sequence of 1-D arrays, got {edges!r}")
        checked = []
        for i, dimension in enumerate(edges):
            array = _check.numeric(dimension, f"edges[{i}]", "finite, strictly increasing numbers")
            if array.ndim != 1:
                remedy = "; where states have one component: Grid([edges])" if array.ndim == 0 else ""
                raise ValueError(f"edges[{i}]: expected a 1-D array, got shape {array.shape}{remedy}")
            if not np.all(np.isfinite(array)) or np.any(np.diff(array) <= 0):
                raise ValueError(f"edges[{i}]: expected finite, strictly increasing numbers, got {array}")
            array.flags.writeable = False
            checked.append(array)
        if not checked:
            raise ValueError("edges: expected the edges of at least one dimension, got none")
        self._edges = tuple(checked)
        self._extra = _check.integer(extra, "extra", 0)
        cells = 1
        for array in checked:
            cells *= len(array) + 1
        _check.n_cells(cells + self._extra, "edges")
        self._core = _core.Grid(checked, self._extra)

    @property
    def edges(self) -> tuple[NDArray[np.float64], ...]:
        """The bin edges of each dimension."""
        return self._edges

    @property
    def extra(self) -> int:
        """The number of labels for special states."""
        return self._extra

    @property
    def dimension(self) -> int:
        """The number of components of a state."""
        return len(self._edges)

    @property
    def n_labels(self) -> int:
        """The number of labels, extra ones included."""
        return int(self._core.n_labels)

    def label(self, state: ArrayLike) -> int:
        """Label of one state.

        Parameters
        ----------
        state : array_like of shape (dimension,)
            The state; a NaN in it makes it special.

        Returns
        -------
        int
            The label, in ``0 .. n_labels - 1``.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.Grid([[0.0, 1.0]]).label([0.5])
        1
        """
        array = _check.numeric(state, "state", f"{self.dimension} numbers")
        if array.shape != (self.dimension,):
            raise ValueError(f"state: expected {self.dimension} numbers, got shape {array.shape}")
        return int(self._labels(array[np.newaxis], "state")[0])

    def labels(self, states: ArrayLike) -> NDArray[np.int64]:
        """Labels of many states.

        Parameters
        ----------
        states : array_like of shape (n, dimension)
            One state a row.

        Returns
        -------
        ndarray of int64, shape (n,)
            The label of each.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.Grid([[0.0, 1.0]]).labels([[-5.0], [0.0], [7.0]])
        array([0, 1, 2])
        """
        array = _check.numeric(states, "states", f"numbers of shape (n, {self.dimension})")
        if array.ndim != 2 or array.shape[1] != self.dimension:
            raise ValueError(f"states: expected shape (n, {self.dimension}), got {array.shape}")
        return self._labels(array, "states")

    def _labels(self, states: NDArray[np.float64], name: str) -> NDArray[np.int64]:
        if self._extra == 0 and np.any(np.isnan(states)):
            raise ValueError(f"{name}: NaN, but the grid has no extra label for it (extra=1 gives it one)")
        return self._core.labels(states)

    def __repr__(self) -> str:
        if sum(map(len, self._edges)) <= FEW:
            described = repr([edges.tolist() for edges in self._edges])
        else:
            described = f"<{' x '.join(str(len(edges) + 1) for edges in self._edges)} bins>"
        return f"Grid({described}, extra={self._extra})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grid):
            return NotImplemented
        return (
            self._extra == other._extra
            and self.dimension == other.dimension
            and all(np.array_equal(a, b) for a, b in zip(self._edges, other._edges, strict=True))
        )

    def __hash__(self) -> int:
        return hash((self._extra, tuple(edges.tobytes() for edges in self._edges)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Grid, (self._edges, self._extra)


class Hypothesis(ABC):
    """What all hypothesis classes share: the sizes of their domain.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> isinstance(ocp.TabulaRasa(3, 2, horizon=4), ocp.Hypothesis)
    True
    """

    _n_actions: int
    _horizon: int | None

    @property
    def n_actions(self) -> int | None:
        """The number of actions; None where they are vectors."""
        return self._n_actions

    @property
    def action_size(self) -> int | None:
        """The number of components of an action; None where actions are indices."""
        return None

    @property
    def horizon(self) -> int | None:
        """The number of periods; None for a time-homogeneous class."""
        return self._horizon

    @property
    def homogeneous(self) -> bool:
        """Whether all periods share their parameters, so that the horizon cap is no end but a truncation."""
        return self._horizon is None

    @property
    @abstractmethod
    def n_states(self) -> int | None:
        """The number of states; None where they are vectors."""

    @property
    def state_size(self) -> int | None:
        """The number of components of a state; None where states are indices."""
        return None

    @abstractmethod
    def eluder_dimension(self) -> int:
        """Eluder dimension: the most episodes that can be suboptimal if Q* is in the class (Theorem 1).

        Returns
        -------
        int
            At most this many episodes are suboptimal if Q* is in the class.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.TabulaRasa(n_states=50, n_actions=2, horizon=50).eluder_dimension()
        5000
        """

    def _in_class_units(self, bounds: list[float]) -> list[float]:
        """Bounds on rewards as bounds on the values in which the class thinks."""
        return bounds

    def _remaining(self, statistics: dict[str, int]) -> int:
        """At most so many suboptimal episodes can still come, if Q* is in the class."""
        return self._dimension - statistics["determined"]

    @cached_property
    def _dimension(self) -> int:
        return self.eluder_dimension()

    @abstractmethod
    def _agent_core(self, options: _core.AgentOptions) -> Any:
        """The compiled agent that learns this class."""

    @abstractmethod
    def _independent(self, triple: Triple, triples: Sequence[Triple]) -> bool:
        """Whether two functions of the class can agree on `triples`, but not at `triple`; all of them are checked."""


class _Aggregation(Hypothesis):
    """What TabulaRasa and StateAggregation share: cells of (t, x, a) with one parameter each."""

    _partition: _core.Partition
    _lower: str

    @property
    def n_actions(self) -> int:
        """The number of actions."""
        return self._n_actions

    @property
    def lower(self) -> str:
        """Whether agents track lower values: "off" or "exact"."""
        return self._lower

    def _agent_core(self, options: _core.AgentOptions) -> _core.AggregationOcp:
        return _core.AggregationOcp(partition=self._partition, track_lower=self._lower == "exact", options=options)

    def eluder_dimension(self) -> int:
        """Eluder dimension: the number of parameters.

        Returns
        -------
        int
            At most this many episodes are suboptimal if Q* is in the class (Theorem 1).

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.TabulaRasa(n_states=50, n_actions=2, horizon=50).eluder_dimension()
        5000
        """
        return int(self._partition.n_cells)

    @abstractmethod
    def _cell(self, triple: Triple) -> tuple[int, ...]:
        """What the triple shares with those of its cell alone."""

    @abstractmethod
    def _layers(self) -> NDArray[np.int64]:
        """The cells of all (x, a) over finite states, numbered within a layer: shape (S, A), or (H, S, A)."""

    def _independent(self, triple: Triple, triples: Sequence[Triple]) -> bool:
        return self._cell(triple) not in map(self._cell, triples)

    def _layer(self, period: int) -> int:
        return 0 if self._horizon is None else period

    def _set_common(self, n_actions: int, horizon: int | None, lower: str) -> None:
        self._n_actions = _check.integer(n_actions, "n_actions", 1)
        self._horizon = None if horizon is None else _check.integer(horizon, "horizon", 1)
        self._lower = _check.one_of(lower, "lower", ("off", "exact"))


class TabulaRasa(_Aggregation):
    """Nothing known beforehand: every Q_t(x, a) is a parameter of its own.

    Parameters
    ----------
    n_states, n_actions : int
        States are 0 .. n_states - 1, actions 0 .. n_actions - 1.
    horizon : int or None
        The number of periods of an episode, each with its own parameters; None for a time-homogeneous table.
    lower : {"off", "exact"}
        Whether agents track lower values. They never influence control.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> ocp.TabulaRasa(n_states=50, n_actions=2, horizon=50)
    TabulaRasa(n_states=50, n_actions=2, horizon=50)
    """

    def __init__(
        self, n_states: int, n_actions: int, horizon: int | None, lower: Literal["off", "exact"] = "off"
    ) -> None:
        self._set_common(n_actions, horizon, lower)
        self._n_states = _check.integer(n_states, "n_states", 1)
        _check.n_cells(self._n_states * self._n_actions * (self._horizon or 1), "n_states, n_actions, horizon")
        self._partition = _core.Partition(self._n_states, self._n_actions, self._horizon or 0)

    @property
    def n_states(self) -> int:
        """The number of states."""
        return self._n_states

    def _cell(self, triple: Triple) -> tuple[int, ...]:
        state, action, period = triple
        return self._layer(period), state, action

    def _layers(self) -> NDArray[np.int64]:
        return np.arange(self._n_states * self._n_actions).reshape(self._n_states, self._n_actions)

    def __repr__(self) -> str:
        lower = "" if self._lower == "off" else f", lower={self._lower!r}"
        return f"TabulaRasa(n_states={self._n_states}, n_actions={self._n_actions}, horizon={self._horizon}{lower})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TabulaRasa) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash(self.__reduce__())

    def __reduce__(self) -> tuple[Any, ...]:
        return TabulaRasa, (self._n_states, self._n_actions, self._horizon, self._lower)


class StateAggregation(_Aggregation):
    """One parameter for each cell of a partition.

    Parameters
    ----------
    partition : array_like of int or Grid
        Labels 0 .. K-1, every one of them used. Shape (S,): states with one label share a parameter for each action.
        Shape (S, A): pairs with one label share a parameter. Shape (H, S, A): another partition in every period.
        A `Grid` labels continuous states.
    n_actions : int
        The number of actions.
    horizon : int, optional
        The number of periods of an episode, each with its own parameters. None: all periods share them (a
        time-homogeneous class), unless the partition itself has a period axis.
    lower : {"off", "exact"}
        Whether agents track lower values. They never influence control, and exact ones need memory that grows with
        the number of distinct values seen.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> halves = ocp.StateAggregation([0, 0, 1, 1], n_actions=2, horizon=3)
    >>> halves.eluder_dimension()
    12
    >>> pendulum = ocp.InvertedPendulum()
    >>> ocp.StateAggregation(pendulum.partition(), n_actions=3).eluder_dimension()
    2886
    """

    def __init__(
        self,
        partition: ArrayLike | Grid,
        n_actions: int,
        horizon: int | None = None,
        lower: Literal["off", "exact"] = "off",
    ) -> None:
        self._set_common(n_actions, horizon, lower)
        self._description: Grid | NDArray[np.int64]
        if isinstance(partition, Grid):
            self._description = partition
            _check.n_cells(partition.n_labels * self._n_actions * (self._horizon or 1), "partition")
            self._partition = _core.Partition(
                partition.n_labels, self._n_actions, self._horizon or 0, grid=partition._core
            )
        else:
            self._description = labels = self._checked_labels(partition)
            if labels.ndim == 1:
                n_points = int(labels.max()) + 1
                _check.n_cells(n_points * self._n_actions * (self._horizon or 1), "partition")
                self._partition = _core.Partition(n_points, self._n_actions, self._horizon or 0, points=labels)
            else:
                self._partition = self._joint_partition(labels)

    def _checked_labels(self, partition: ArrayLike) -> NDArray[np.int64]:
        try:
            array = np.asarray(partition)
        except ValueError:
            raise ValueError("partition: expected shape (S,), (S, A) or (H, S, A), got ragged rows") from None
        if array.dtype == object:
            own = "; its own is partition()" if hasattr(partition, "partition") else ""
            raise TypeError(f"partition: expected an array of labels or a Grid, got {partition!r}{own}")
        if array.ndim not in (1, 2, 3):
            raise ValueError(f"partition: expected shape (S,), (S, A) or (H, S, A), got {array.shape}")
        if array.size == 0:
            raise ValueError(f"partition: expected at least one label, got shape {array.shape}")
        if not np.issubdtype(array.dtype, np.integer):
            remedy = "; partition.astype(int) where they are whole numbers" if array.dtype.kind == "f" else ""
            raise TypeError(f"partition: expected integer labels, got dtype {array.dtype}{remedy}")
        if array.ndim > 1 and array.shape[-1] != self._n_actions:
            raise ValueError(
                f"partition: expected {self._n_actions} actions in its last axis (n_actions), got shape {array.shape}"
            )
        if array.ndim == 3:
            if self._horizon is None:
                self._horizon = array.shape[0]
            elif self._horizon != array.shape[0]:
                raise ValueError(
                    f"partition: expected {self._horizon} periods in its first axis (horizon), got shape {array.shape}"
                )
        for t, one in enumerate(array if array.ndim == 3 else [array]):
            where = f"partition[{t}]" if array.ndim == 3 else "partition"
            if one.min() < 0:
                raise ValueError(f"{where}: expected labels >= 0, got {one.min()}")
            if one.max() >= one.size:
                raise ValueError(
                    f"{where}: expected labels without gaps, got {one.max()} among {one.size} labels; {_RENUMBERED}"
                )
            unused = np.flatnonzero(np.bincount(one.ravel().astype(np.int64)) == 0)
            if unused.size:
                raise ValueError(
                    f"{where}: expected every label of 0..{one.max()} to be used, but {unused[0]} is not; {_RENUMBERED}"
                )
        labels = np.array(array, dtype=np.int64)
        labels.flags.writeable = False
        return labels

    def _joint_partition(self, labels: NDArray[np.int64]) -> _core.Partition:
        """Cells shared between actions: (S, A) or (H, S, A) labels."""
        _check.n_cells(labels.size * (self._horizon or 1 if labels.ndim == 2 else 1), "partition")
        layers = labels if labels.ndim == 3 else np.broadcast_to(labels, (self._horizon or 1, *labels.shape))
        # states that share all their labels are one point
        by_state = np.ascontiguousarray(np.moveaxis(labels, -2, 0)).reshape(labels.shape[-2], -1)
        _, representative, points = np.unique(by_state, axis=0, return_index=True, return_inverse=True)
        counts = layers.max(axis=(1, 2)) + 1
        cells = layers[:, representative, :] + (np.cumsum(counts) - counts)[:, None, None]
        return _core.Partition(
            len(representative),
            self._n_actions,
            self._horizon or 0,
            points=points.ravel(),
            cells=cells.ravel(),
            n_cells=int(counts.sum()),
        )

    @property
    def partition(self) -> Grid | NDArray[np.int64]:
        """The labels, or the grid."""
        return self._description

    @property
    def n_states(self) -> int | None:
        """The number of states; None where they are vectors."""
        return None if isinstance(self._description, Grid) else int(self._description.shape[-2:][0])

    @property
    def state_size(self) -> int | None:
        """The number of components of a state; None where states are indices."""
        return self._description.dimension if isinstance(self._description, Grid) else None

    def _cell(self, triple: Triple) -> tuple[int, ...]:
        state, action, period = triple
        layer, described = self._layer(period), self._description
        if isinstance(described, Grid):
            return layer, described.label(state), action
        if described.ndim == 1:
            return layer, int(described[state]), action
        return layer, int(described[state, action] if described.ndim == 2 else described[period, state, action])

    def _layers(self) -> NDArray[np.int64]:
        assert isinstance(self._description, np.ndarray)
        if self._description.ndim > 1:
            return self._description
        return self._description[:, np.newaxis] * self._n_actions + np.arange(self._n_actions)

    def __repr__(self) -> str:
        described = self._description
        shown = repr(described) if isinstance(described, Grid) else array_in_words(described, "labels")
        lower = "" if self._lower == "off" else f", lower={self._lower!r}"
        return f"StateAggregation({shown}, n_actions={self._n_actions}, horizon={self._horizon}{lower})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateAggregation):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        described = self._description
        labels = (described.shape, described.tobytes()) if isinstance(described, np.ndarray) else described
        return labels, *self._settings()

    def _settings(self) -> tuple[int, int | None, str]:
        return self._n_actions, self._horizon, self._lower

    def __reduce__(self) -> tuple[Any, ...]:
        return StateAggregation, (self._description, *self._settings())
