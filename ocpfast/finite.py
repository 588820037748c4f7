"""Finite hypothesis classes: a list of candidate Q tables, and the exact eluder dimension of short lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocpfast import _check, _core
from ocpfast.hypothesis import Hypothesis

__all__ = ["FiniteClass", "longest_independent_sequence"]

# What an exact eluder dimension may cost: half a second or so.
MAX_EXACT_TABLES = 64
MAX_GROUPINGS = 20_000

Triple = tuple[int, int, int]  # state, action, period


class FiniteClass(Hypothesis):
    """A list of candidates for Q*, of which those that observations contradict are struck off.

    Parameters
    ----------
    tables : array_like of shape (n, H, S, A)
        The value of each state and action in each period, under each of n hypotheses. float32 stays float32, all
        other numbers become float64. One copy is made, which all agents share.
    tolerance : float, optional
        A hypothesis is struck off when its value lies outside of an observed interval [L, U] by more than this,
        relative to the larger of 1 and the end it lies beyond. Values closer than this are one value: they tie, and
        hypotheses that differ by less everywhere are one hypothesis. The default is 1e-9 for float64 and
        (H + 1) 2^-23 for float32 (2.5e-6 for 20 periods).

    Notes
    -----
    Tables are sums of rewards, and sums round: 0.1 + 0.2 is not 0.3, so that comparing without a tolerance strikes Q*
    off. U and L are one reward away from values of the tables themselves, so that errors do not add up from period to
    period while learning; but a table may be wrong by one rounding (2^-24 of the value in float32) for each of the H
    rewards in it, and U and L rest on another table entry, as wrong, and a reward. Twice H + 1 roundings cover both. In
    float64 1e-9 is that of four million periods. Both assume partial sums that are not much larger than 1 and the value
    itself: where large rewards cancel, give a tolerance.

    What is proved holds up to the tolerance: episodes that lose more than about 2 H times it are counted by
    `eluder_dimension`. Ties between upper values go by the tolerance as well.

    Agents with selection="eluder" keep only constraints that strike off something and leave something; one that would
    leave nothing proves that Q* is not in the list and is counted as a contradiction. With selection="all" they hold
    every distinct constraint, and those that leave nothing by themselves count as rejected.

    Examples
    --------
    Is the treasure of the chain at its end, at its start, or nowhere?

    >>> import numpy as np, ocpfast as ocp
    >>> n = 6
    >>> tables = np.zeros((3, n, n, 2))
    >>> tables[0, n - 1, n - 1] = 1.0  # Q* of the chain, by dynamic programming: 1 for each period spent at the end
    >>> step = [np.append(np.maximum(np.arange(n - 1) - 1, 0), n - 1), np.minimum(np.arange(n) + 1, n - 1)]
    >>> for t in reversed(range(n - 1)):
    ...     for a in range(2):
    ...         tables[0, t, :, a] = (np.arange(n) == n - 1) + tables[0, t + 1].max(axis=1)[step[a]]
    >>> tables[1, :, 0, 0] = n - np.arange(n)  # a decoy: 1 for each period spent at the start
    >>> treasure = ocp.FiniteClass(tables)
    >>> treasure.eluder_dimension()
    2
    >>> result = ocp.run(ocp.OCP(treasure), ocp.Chain(n), episodes=10, progress=False, keep_agents=True)
    >>> result.suboptimal(), result.agents[0].statistics()["survivors"]
    (array([1]), 1)
    """

    def __init__(self, tables: ArrayLike, tolerance: float | None = None) -> None:
        try:
            given = np.asarray(tables)
        except ValueError:
            raise ValueError("tables: expected numbers of shape (n, H, S, A), got ragged rows") from None
        if given.dtype.kind not in "iuf" and given.size > 0:
            raise TypeError(f"tables: expected numbers of shape (n, H, S, A), got dtype {given.dtype}")
        if given.ndim != 4 or 0 in given.shape:
            raise ValueError(f"tables: expected shape (n, H, S, A) without zeros, got {given.shape}")
        n, horizon, self._n_states, self._n_actions = (int(size) for size in given.shape)
        self._horizon = horizon
        _check.n_cells(n, "tables")
        _check.n_cells(int(np.prod(given.shape[1:], dtype=object)), "tables")
        single = given.dtype.kind == "f" and given.dtype.itemsize == 4
        self._values = _by_triple(given, np.dtype(np.float32 if single else np.float64))
        if tolerance is None:
            self._tolerance = (horizon + 1) * 2.0**-23 if single else 1e-9
        else:
            self._tolerance = _check.number(tolerance, "tolerance", "a number in [0, 1)")
            if not 0 <= self._tolerance < 1:
                raise ValueError(f"tolerance: expected a number in [0, 1), got {tolerance!r}")
        domain = _core.Partition(self._n_states, self._n_actions, horizon)
        self._core: _core.FiniteTables32 | _core.FiniteTables64
        if single:
            self._core = _core.FiniteTables32(domain, cast(NDArray[np.float32], self._values), self._tolerance)
        else:
            self._core = _core.FiniteTables64(domain, self._values, self._tolerance)
        self._distinct: list[int] | None = None  # found when asked for
        self._eluder_dimension: int | None = None

    @property
    def tables(self) -> NDArray[Any]:
        """The tables, of shape (n, H, S, A); read-only."""
        return np.moveaxis(self._values, -1, 0)

    @property
    def tolerance(self) -> float:
        """How far a value may lie outside of an interval, relative to the larger of 1 and the interval's end."""
        return self._tolerance

    @property
    def n_hypotheses(self) -> int:
        """The number of tables, equal ones included."""
        return int(self._values.shape[-1])

    @property
    def n_states(self) -> int:
        """The number of states."""
        return self._n_states

    def eluder_dimension(self) -> int:
        """Eluder dimension: the longest sequence of triples each of which is independent of those before it.

        A triple (state, action, period) is independent of others if two tables agree on all of those and differ on it.
        Equal tables count once. Exact for up to 8 distinct tables, and for up to 64 as long as the search meets no more
        than 20,000 ways in which triples group the tables. Else a bound: the number of distinct tables minus 1, or the
        number of triples on which tables differ if that is smaller.

        Returns
        -------
        int
            At most this many episodes are suboptimal if Q* is in the class (Theorem 1).

        Examples
        --------
        >>> import numpy as np, ocpfast as ocp
        >>> ocp.FiniteClass(np.eye(4).reshape(4, 1, 4, 1)).eluder_dimension()  # each triple tells one from the rest
        3
        >>> ocp.FiniteClass(np.arange(4.0).reshape(4, 1, 1, 1)).eluder_dimension()  # one triple tells all apart
        1
        """
        if self._eluder_dimension is None:
            distinct = self._distinct_tables()
            exact = None
            if len(distinct) <= MAX_EXACT_TABLES:
                values = self._values.reshape(-1, self.n_hypotheses)[:, distinct]
                exact = longest_independent_sequence(_labels(values, self._tolerance))
            self._eluder_dimension = min(len(distinct) - 1, self._core.n_telling()) if exact is None else exact
        return self._eluder_dimension

    def _distinct_tables(self) -> list[int]:
        """The number of one table of each set of tables that are equal up to the tolerance."""
        if self._distinct is None:
            self._distinct = self._core.distinct()
        return self._distinct

    def _independent(self, triple: Triple, triples: Iterable[Triple]) -> bool:
        """Whether two tables agree on all of `triples` and differ on `triple`; each is (state, action, period)."""
        return self._core.independent(self._index(triple), [self._index(one) for one in triples])

    def _index(self, triple: Triple) -> int:
        state, action, period = triple
        period = _check.integer(period, "period", 0, cast(int, self._horizon) - 1)
        state = _check.integer(state, "state", 0, self._n_states - 1)
        return (period * self._n_states + state) * self._n_actions + _check.integer(
            action, "action", 0, self._n_actions - 1
        )

    def _remaining(self, statistics: dict[str, int]) -> int:
        """How many suboptimal episodes can still come to an agent with these statistics, if Q* is in the class."""
        # An episode that explores strikes off something, and finds a triple that is independent of all on which the
        # hypotheses left agree.
        return min(statistics["distinct_survivors"] - 1, self.eluder_dimension() - statistics["determined"])

    def _agent_core(self, options: _core.AgentOptions) -> _core.FiniteOcp32 | _core.FiniteOcp64:
        if options.selection is _core.Selection.first:
            raise ValueError("selection: expected 'all', 'eluder' or 'window' for a finite class, got 'first'")
        if isinstance(self._core, _core.FiniteTables32):
            return _core.FiniteOcp32(tables=self._core, options=options)
        return _core.FiniteOcp64(tables=self._core, options=options)

    def __reduce__(self) -> tuple[Any, ...]:
        return FiniteClass, (self.tables, self._tolerance)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FiniteClass):
            return NotImplemented
        return (
            self._tolerance == other._tolerance
            and self._values.dtype == other._values.dtype
            and np.array_equal(self._values, other._values)
        )

    def __hash__(self) -> int:
        # of a few values: the tables may fill most of the memory
        return hash((self._values.shape, self._values.dtype, self._tolerance, *self._values.flat[:64].tolist()))

    def __repr__(self) -> str:
        shape = self._values.shape[:-1]
        return (
            f"FiniteClass(<{self.n_hypotheses} tables of shape {shape}, {self._values.dtype}>, "
            f"tolerance={self._tolerance:.3g})"
        )


def _by_triple(tables: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """A read-only copy of shape (H, S, A, n), so that the values of a triple are neighbours."""
    result = np.empty((*tables.shape[1:], len(tables)), dtype=dtype)
    # pieces that fit a cache: three times as fast as the whole for 100,000 tables
    size = max(1, 2**16 // int(np.prod(tables.shape[1:])))
    for start in range(0, len(tables), size):
        piece = np.asarray(tables[start : start + size], dtype=dtype)
        if not np.all(np.isfinite(piece)):
            bad = start + int(np.argmin(np.isfinite(piece).all(axis=(1, 2, 3))))
            raise ValueError(f"tables: expected finite numbers, got NaN or infinity in tables[{bad}]")
        result[..., start : start + size] = np.moveaxis(piece, 0, -1)
    result.flags.writeable = False
    return result


def _labels(values: NDArray[Any], tolerance: float) -> NDArray[np.int64]:
    """Of each row of (triples, tables): which of its entries are one value, up to the tolerance."""
    order = np.argsort(values, axis=1, kind="stable")
    ascending = np.take_along_axis(values, order, axis=1).astype(np.float64)
    labels = np.zeros(values.shape, dtype=np.int64)
    smallest = ascending[:, 0].copy()
    for k in range(1, values.shape[1]):  # a value belongs to those before it if it agrees with their smallest
        scale = np.maximum(1.0, np.maximum(np.abs(smallest), np.abs(ascending[:, k])))
        differs = ascending[:, k] - smallest > tolerance * scale
        smallest = np.where(differs, ascending[:, k], smallest)
        labels[:, k] = labels[:, k - 1] + differs
    by_table = np.empty_like(labels)
    np.put_along_axis(by_table, order, labels, axis=1)
    return by_table


def longest_independent_sequence(
    labels: Sequence[Sequence[int]] | NDArray[Any], most: int = MAX_GROUPINGS
) -> int | None:
    """Length of the longest sequence of questions each of which is independent of those before it.

    Parameters
    ----------
    labels : array_like of int, shape (questions, hypotheses)
        What each hypothesis answers to each question (of a finite class: to each triple). A question is independent of
        others if two hypotheses give the same answers to all of those and another to this one.
    most : int, default 20_000
        Where the search meets more ways of grouping the hypotheses than this, it gives up. n hypotheses have at most
        Bell(n) groupings: 4,140 for 8 of them.

    Returns
    -------
    int or None
        The length; None where the search gave up.

    Notes
    -----
    What can follow a sequence depends only on how it groups the hypotheses: those that its questions do not tell apart.
    So the search is over groupings, each met once, and each question that splits one leads to a finer one. It stops
    early where hypotheses can be told apart one by one, and no sequence can be longer.

    Examples
    --------
    >>> from ocpfast.finite import longest_independent_sequence
    >>> longest_independent_sequence([[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
    3
    >>> longest_independent_sequence([[0, 1, 2, 3], [0, 0, 0, 1]])  # the second question first, then the first
    2
    """
    answers = np.asarray(labels)
    n = answers.shape[1]
    # a question is the sets of hypotheses that it leaves together, as bits; equal questions count once
    questions = []
    for row in {tuple(np.unique(row, return_inverse=True)[1].tolist()) for row in answers}:
        sets = [0] * (max(row) + 1)
        for hypothesis, label in enumerate(row):
            sets[label] |= 1 << hypothesis
        questions.append(frozenset(sets))
    lengths: dict[frozenset[int], int] = {}

    def longest(groups: frozenset[int], left: list[frozenset[int]]) -> int:
        """After questions that leave these groups together, with the questions that may still split them."""
        if groups in lengths:
            return lengths[groups]
        if len(lengths) >= most:
            raise _TooManyError
        finer = {}
        for question in left:
            parts = frozenset(p for group in groups for part in question if (p := group & part).bit_count() > 1)
            if parts != groups:
                finer[question] = parts
        length = 0
        # those that leave the most to be told apart first: long sequences tell little at a time
        for parts in sorted(set(finer.values()), key=lambda parts: (-_excess(parts), sorted(parts))):
            if 1 + min(_excess(parts), len(finer) - 1) <= length:
                break
            length = max(length, 1 + longest(parts, list(finer)))
        lengths[groups] = length
        return length

    try:
        return longest(frozenset([(1 << n) - 1] if n > 1 else []), sorted(set(questions), key=sorted))
    except _TooManyError:
        return None


class _TooManyError(Exception):
    """The search met too many groupings."""


def _excess(groups: frozenset[int]) -> int:
    """How many more groups there can be: no sequence is longer."""
    return sum(group.bit_count() - 1 for group in groups)
