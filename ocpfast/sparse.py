"""Sparse linear hypothesis classes: Q_t(x, a) = phi(t, x, a) . theta_t with few non-zeros in each theta_t."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocpfast import _check, _core, _highs
from ocpfast.features import DenseSource, SparseSource
from ocpfast.hypothesis import Triple
from ocpfast.linear import _DEPENDENCE, _Linear
from ocpfast.showing import changed

__all__ = ["SparseLinear", "is_full_rank"]

# Numbers that an exact method may touch before it gives up, in one go or in a search: about a second's worth.
_EFFORT = 10**8
_SEARCH_EFFORT = 2 * 10**7
_MAX_NODES = 1_000  # of a mixed-integer program: seconds


class SparseLinear(_Linear):
    """Linear combinations of at most K0 of the features.

    Parameters
    ----------
    phi : array_like of shape (H, S, A, K) or (S, A, K), sparse rows, or FeatureFunction of finite states
        The features, as in `LinearFeatures`. States must be indices.
    sparsity : int
        K0, the most non-zeros that theta may have: that of each period, or the one that serves all periods where
        `shared` or where the class is time-homogeneous.
    horizon : int, optional
        As in `LinearFeatures`.
    shared : bool, default False
        As in `LinearFeatures`.
    n_actions : int, optional
        As in `LinearFeatures`, with sparse rows.
    theta_bound : float, optional
        Known beforehand: no parameter is larger than this in size. It is needed, and used, only where there are more
        than `enumerate_up_to` sets of features.
    enumerate_up_to : int, default 500_000
        Up to so many sets of K0 features are gone through one by one; where there are more, HiGHS is asked.

    Notes
    -----
    The class is the union, over all sets of K0 features, of small linear classes. Agents learn equalities (L = U)
    alone, keep those that rule out a set or determine more of its parameters, and so need selection="eluder"; the
    intervals that other selections keep would take linear programs for each set. Where L is needed, because U is
    finite, it is the exact infimum of the largest value; under ``bounds`` with a finite upper end, U is always finite,
    and L may be less where some value is open. Theorem 1 needs no more: the last triple of an episode on which the sets
    left do not agree is followed by one on which they do, so that its constraint is an equality, and a new one.

    Sets are gone through one by one whenever an equality joins: at K = 60 and K0 = 3 they are 34,220 in each block,
    which takes 2 ms; half a million take 0.2 s. Once all is learned nothing is gone through.

    A set is ruled out where an equality that depends on those before it differs from what they predict by more than
    1e-8 (relative to the larger of 1 and the value) and what rounding can explain, given how nearly dependent the
    features were. A prediction that is more uncertain than 1e-6 does not count: its value must be observed. Rewards
    should thus be of the order of 1. Errors in what is known of a period enter the one before it, and generic features
    make them grow with each: Gaussian ones by a factor of two or more, so that after 20 periods (K0 = 2) or 10 (K0 = 3)
    the set of Q* itself can be ruled out, which ``statistics()["contradictions"]`` then shows. `LinearFeatures`, whose
    predictions combine K values instead of K0, have the same limit earlier. The chain's values are exact.

    Beyond `enumerate_up_to` each supremum is a mixed-integer program, with tolerances of 1e-9: a value is determined
    where the supremum and the infimum differ by no more than 1e-5 and the sets that attain them both give it. U then
    rests on `theta_bound` where a value is open, and L is the largest of the determined values. This is a last resort:
    as soon as equalities leave few sets, it takes seconds to minutes to prove which. Branching therefore stops after
    1,000 nodes, with a bound above the supremum: what is learned stays true and every observed value is known, but
    what could be concluded about others may be missed, and the number of triples, not the eluder dimension, then bounds
    the suboptimal episodes. ``statistics()["programs"]`` counts programs.

    ``statistics()["supports"]`` counts the sets that are left, over all blocks.

    Examples
    --------
    Two of six features decide, and it does not take six observations of a period to know everything:

    >>> import numpy as np, ocpfast as ocp
    >>> rng = np.random.default_rng(0)
    >>> phi = rng.standard_normal((1, 10, 2, 6))  # one period
    >>> reward = phi[0] @ [0, 2.0, 0, 0, -1.0, 0]
    >>> agent = ocp.OCP(ocp.SparseLinear(phi, sparsity=2), selection="eluder")
    >>> for state in range(3):
    ...     ended = agent.observe(state, reward[state, agent.act(state)])
    >>> agent.determined(9, 1), bool(abs(agent.upper(9, 1) - reward[9, 1]) < 1e-9)
    (True, True)
    """

    def __init__(
        self,
        phi: Any,
        sparsity: int,
        horizon: int | None = None,
        shared: bool = False,
        n_actions: int | None = None,
        theta_bound: float | None = None,
        enumerate_up_to: int = 500_000,
    ) -> None:
        super().__init__(phi, horizon, shared, n_actions)
        if self.state_size is not None:
            raise ValueError("phi: expected features of finite states, got a FeatureFunction of vector states")
        self._sparsity = _check.integer(sparsity, "sparsity", 1)
        self._enumerate_up_to = _check.integer(enumerate_up_to, "enumerate_up_to", 0, 2**27)
        self._theta_bound = None
        if theta_bound is not None:
            self._theta_bound = _check.number(theta_bound, "theta_bound", "a positive number")
            if not 0 < self._theta_bound < np.inf:
                raise ValueError(f"theta_bound: expected a finite number > 0, got {theta_bound!r}")
        elif self.n_supports > self._enumerate_up_to:
            raise ValueError(
                f"theta_bound: expected a number where more than {self._enumerate_up_to} sets of features "
                f"(enumerate_up_to) are too many to go through, got None and C({self._n_features}, {self._sparsity}) = "
                f"{self.n_supports} sets"
            )

    @property
    def sparsity(self) -> int:
        """The most non-zeros of theta, K0."""
        return self._sparsity

    @property
    def n_supports(self) -> int:
        """The number of sets of features that theta may be about, C(K, K0)."""
        return math.comb(self._n_features, min(self._sparsity, self._n_features))

    def eluder_dimension(self) -> int:
        """Eluder dimension: the 2 K0-rank of the features, added up over blocks that share no parameters.

        The l-rank of a matrix is the length of the longest sequence of its rows of which each is independent of those
        before it on some l columns. It lies between min(l, rank) and the rank, and is found exactly where the rank is
        at most 2 K0, or by a search over sequences where the features are few (at most 20 million numbers are touched,
        in a second or so). Elsewhere the rank is returned, which is an upper bound: of Gaussian features, for which
        2 K0 is right with probability 1, nothing short of looking at every 2 K0 x 2 K0 submatrix would prove it (see
        `is_full_rank`).

        Returns
        -------
        int
            At most this many episodes are suboptimal if Q* is in the class (Theorem 1).

        Examples
        --------
        >>> import numpy as np, ocpfast as ocp
        >>> phi = np.random.default_rng(0).standard_normal((4, 3, 2, 5))
        >>> ocp.SparseLinear(phi, sparsity=1).eluder_dimension(), ocp.LinearFeatures(phi).eluder_dimension()
        (8, 20)
        """
        repeated = 1 if self._source.periods or self._shared or self._horizon is None else self._horizon
        blocks = self._blocks()
        effort = _SEARCH_EFFORT // len(blocks)
        return repeated * sum(_l_rank(block, 2 * self._sparsity, effort) for block in blocks)

    def _blocks(self) -> list[NDArray[np.float64]]:
        """The features of each block with features of its own, one a row."""
        if isinstance(self._source, DenseSource):
            periods = [*self._source.table] if self._source.periods else [self._source.table]
            rows = [period.reshape(-1, self._n_features) for period in periods]
        else:
            assert isinstance(self._source, SparseSource)
            rows = [period.toarray() for period in self._source.rows]
        return [np.vstack(rows)] if self._shared else rows

    def _independent(self, triple: Triple, triples: Sequence[Triple]) -> bool:
        """Whether the feature is independent of the others of its block on some 2 K0 features."""
        together = self._shared or self._horizon is None
        rows = [self._source.feature(*other) for other in triples if together or other[2] == triple[2]]
        before = np.array(rows).reshape(-1, self._n_features)
        return _l_independent(self._source.feature(*triple), before, 2 * self._sparsity)

    def _remaining(self, statistics: dict[str, int]) -> int:
        if self.n_supports <= self._enumerate_up_to:
            return super()._remaining(statistics)
        # programs that stop early miss what the class knows, but every suboptimal episode observes a triple more
        return (self.n_states or 0) * self._n_actions * (self._horizon or 1) - statistics["determined"]

    def _agent_core(self, options: _core.AgentOptions) -> Any:
        if options.selection is not _core.Selection.eluder:
            raise ValueError(
                "selection: expected 'eluder' for a sparse linear class, whose hypotheses are a union over sets of "
                f"features: intervals would take a linear program for each of them, got {options.selection.name!r}; "
                "OCP(hypothesis, selection='eluder')"
            )
        prior = {"prior_a": np.empty((0, self._n_features)), "prior_b": np.empty(0), "prior_equality": []}
        features = self._source.core(self._horizon or 0, self._shared or self._horizon is None, prior)
        size = min(self._sparsity, self._n_features)
        if self.n_supports > self._enumerate_up_to:
            assert self._theta_bound is not None
            _highs.load()
            # features are divided by the unit of the source
            bound = self._theta_bound * self._source.unit()
            return _core.SparseProgramOcp(
                features=features, sparsity=size, theta_bound=bound, max_nodes=_MAX_NODES, options=options
            )
        return _core.SparseOcp(features=features, sparsity=size, options=options)

    def _arguments(self) -> tuple[Any, ...]:
        settings = self._theta_bound, self._enumerate_up_to
        return self._phi, self._sparsity, self._horizon, self._shared, self._given_actions, *settings

    def _identity(self) -> tuple[Any, ...]:
        return *super()._identity(), self._sparsity, self._theta_bound, self._enumerate_up_to

    def _settings(self) -> list[str]:
        rest = changed(SparseLinear, {"theta_bound": self._theta_bound, "enumerate_up_to": self._enumerate_up_to})
        return [f"sparsity={self._sparsity}", *super()._settings(), *rest]


def is_full_rank(matrix: ArrayLike, size: int) -> bool:
    """Whether every size x size submatrix has full rank: then the `size`-rank is `size`.

    Parameters
    ----------
    matrix : array_like of shape (n, K)
        Features, one a row.
    size : int
        At most n and K; 2 K0 for a class of sparsity K0.

    Returns
    -------
    bool
        True if none is singular (to a relative 1e-9 of its smallest singular value). ValueError where they are too many
        to look at: more than about 100 million numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from ocpfast.sparse import is_full_rank
    >>> is_full_rank(np.random.default_rng(0).standard_normal((8, 6)), 4), is_full_rank(np.eye(3), 2)
    (True, False)
    """
    rows = _check.numeric(matrix, "matrix", "numbers of shape (n, K)")
    if rows.ndim != 2:
        raise ValueError(f"matrix: expected shape (n, K), got {rows.shape}")
    if not np.all(np.isfinite(rows)):
        raise ValueError("matrix: expected finite numbers")
    size = _check.integer(size, "size", 1, min(rows.shape))
    count = math.comb(rows.shape[0], size) * math.comb(rows.shape[1], size)
    if count * size**2 > _EFFORT:
        raise ValueError(f"size: {count} submatrices of size {size} in shape {rows.shape} are too many to look at")
    scaled = _scaled(rows)
    if scaled.shape != rows.shape:  # a row of zeros
        return False
    columns = np.array(list(itertools.combinations(range(rows.shape[1]), size)))
    for chosen in itertools.combinations(range(len(rows)), size):
        submatrices = scaled[np.array(chosen)][:, columns].swapaxes(0, 1)
        if np.any(np.linalg.svd(submatrices, compute_uv=False)[:, -1] <= _DEPENDENCE):
            return False
    return True


def _scaled(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows that are not zero, in units of each feature's largest value, of length 1."""
    largest = np.abs(rows).max(axis=0, initial=0.0)
    rows = rows / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(rows, axis=1)
    return np.asarray(rows[length > 0] / length[length > 0, np.newaxis])


def _rank(rows: NDArray[np.float64]) -> int:
    return int(np.linalg.matrix_rank(rows)) if len(rows) else 0


def _l_independent(row: NDArray[np.float64], before: NDArray[np.float64], size: int) -> bool:
    """Whether a row is linearly independent of others on some `size` columns."""
    n_columns = len(row)
    together = _scaled(np.vstack([before, row]))
    if not np.any(row):
        return False
    others = together[:-1]
    rank = _rank(others)
    if _rank(together) == rank:
        return False
    if rank < size or size >= n_columns:
        return True  # those rows have rank + 1 columns on which they are independent
    if math.comb(n_columns, size) * len(together) * size**2 > _EFFORT:
        raise ValueError(f"sparsity: C({n_columns}, {size}) sets of features are too many to tell independence exactly")
    columns = np.array(list(itertools.combinations(range(n_columns), size)))
    with_row = together[:, columns].swapaxes(0, 1)
    ranks = [np.linalg.matrix_rank(m, tol=_DEPENDENCE) for m in (with_row, with_row[:, :-1])]
    return bool(np.any(ranks[0] > ranks[1]))


def _l_rank(rows: NDArray[np.float64], size: int, effort: int) -> int:
    """The `size`-rank where it can be found, else the rank."""
    rank = _rank(rows)
    if rank <= size:
        return rank
    rows = _scaled(rows)
    # rows that are multiples of each other are one: unique up to sign
    lead = np.argmax(np.abs(rows) > _DEPENDENCE, axis=1)
    rows = rows * np.sign(rows[np.arange(len(rows)), lead])[:, np.newaxis]
    rows = rows[np.unique(np.round(rows, 9), axis=0, return_index=True)[1]]
    if math.comb(rows.shape[1], size) * len(rows) * size > effort:
        return rank
    found = _Sequences(rows, size, rank, effort).longest()
    return rank if found is None else found


class _Sequences:
    """A search for the longest sequence of rows of which each is l-independent of those before it.

    What can follow depends only on which rows have become dependent. It is not a matroid: the order in which rows are
    taken matters for how many can be, so all orders are tried, but each set of dependent rows only once.
    """

    def __init__(self, rows: NDArray[np.float64], size: int, rank: int, effort: int) -> None:
        columns = np.array(list(itertools.combinations(range(rows.shape[1]), size)))
        self.start = rows[:, columns].swapaxes(0, 1)  # (sets of columns, rows, size)
        self.rank = rank
        self.effort = effort
        self.known: dict[bytes, int] = {}

    def longest(self) -> int | None:
        """The length; None where it takes too long."""
        return self.after(self.start, 0)

    def after(self, residual: NDArray[np.float64], taken: int) -> int | None:
        """How many can follow, given what is left of all rows on all columns."""
        free = (np.linalg.norm(residual, axis=2) > _DEPENDENCE).any(axis=0)
        key = free.tobytes()
        if key in self.known:
            return self.known[key]
        best = 0
        for row in np.flatnonzero(free):
            self.effort -= residual.size
            if self.effort < 0:
                return None
            following = self.after(self.without(residual, int(row)), taken + 1)
            if following is None:
                return None
            best = max(best, 1 + following)
            if taken + best == self.rank:
                break  # it cannot be longer
        self.known[key] = best
        return best

    @staticmethod
    def without(residual: NDArray[np.float64], row: int) -> NDArray[np.float64]:
        """Projects out what is left of one row, on each set of columns."""
        direction = residual[:, row, :]
        length = np.linalg.norm(direction, axis=1, keepdims=True)
        unit = np.where(length > _DEPENDENCE, direction / np.maximum(length, _DEPENDENCE), 0.0)
        for _ in range(2):
            residual = residual - np.einsum("cnl,cl->cn", residual, unit)[:, :, np.newaxis] * unit[:, np.newaxis, :]
        residual[:, row, :] = 0
        return residual
