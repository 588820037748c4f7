"""Linear hypothesis classes: Q_t(x, a) = phi(t, x, a) . theta."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocpfast import _check, _core, _highs
from ocpfast.hypothesis import Hypothesis

__all__ = ["LinearFeatures", "Polytope"]


class _Linear(Hypothesis):
    """What LinearFeatures and Polytope share: a table of features, and a prior on the parameters."""

    def __init__(self, phi: ArrayLike, horizon: int | None, shared: bool) -> None:
        table = _check.numeric(phi, "phi", "numbers of shape (H, S, A, K) or (S, A, K)")
        if table.ndim not in (3, 4) or table.size == 0:
            raise ValueError(f"phi: expected shape (H, S, A, K) or (S, A, K), none of them 0, got {table.shape}")
        if not np.all(np.isfinite(table)):
            raise ValueError(f"phi: expected finite numbers, got {table[~np.isfinite(table)].flat[0]}")
        self._horizon = None if horizon is None else _check.integer(horizon, "horizon", 1)
        if table.ndim == 4:
            if self._horizon not in (None, len(table)):
                raise ValueError(f"horizon: expected {len(table)} as in phi's first axis, got {horizon}")
            self._horizon = len(table)
        self._shared = _check.flag(shared, "shared")
        if table.ndim == 3 and self._shared:
            self._horizon = None  # the same features and parameters in every period: time-homogeneous
        table.flags.writeable = False
        self._phi = table
        self._n_states, self._n_actions, self._n_features = (int(n) for n in table.shape[-3:])
        _check.n_cells(self._n_states * self._n_actions * (self._horizon or 1), "phi")
        self._prior_a = np.empty((0, self._n_features))
        self._prior_b = np.empty(0)
        self._prior_equality = np.empty(0, dtype=bool)

    @property
    def phi(self) -> NDArray[np.float64]:
        """The features, as they were given."""
        return self._phi

    @property
    def n_states(self) -> int:
        """The number of states."""
        return self._n_states

    @property
    def n_features(self) -> int:
        """The number of features K."""
        return self._n_features

    def eluder_dimension(self) -> int:
        """Eluder dimension: the rank of the features, added up over blocks that share no parameters.

        Returns
        -------
        int
            At most this many episodes are suboptimal if Q* is in the class (Theorem 1).

        Examples
        --------
        >>> import numpy as np, ocpfast as ocp
        >>> ocp.LinearFeatures(np.ones((4, 3, 2, 5))).eluder_dimension()
        4
        """
        fixed = self._prior_a[self._prior_equality]
        known = int(np.linalg.matrix_rank(fixed)) if len(fixed) else 0
        per_period = self._phi.ndim == 4 and not self._shared
        blocks = self._phi if per_period else self._phi[np.newaxis]
        ranks = [
            np.linalg.matrix_rank(np.vstack([fixed, block.reshape(-1, self._n_features)])) - known for block in blocks
        ]
        repeated = 1 if per_period or self._shared or self._horizon is None else self._horizon
        return int(sum(ranks)) * repeated

    def _agent_core(self, **options: Any) -> _core.LinearOcp:
        if options["selection"] is _core.Selection.first:
            raise ValueError("selection: expected 'all', 'eluder' or 'window' for a linear class, got 'first'")
        _highs.load()
        # theta in units in which the longest feature has length 1 or so: HiGHS's tolerances are absolute. A power of
        # two, so that scaling is exact.
        unit = 2.0 ** np.round(np.log2(max(np.abs(self._phi).max(), np.finfo(float).tiny)))
        domain = _core.Partition(self._n_states, self._n_actions, self._horizon or 0)
        features = _core.Features(
            domain=domain,
            table=(self._phi / unit).ravel(),
            n_features=self._n_features,
            periods=len(self._phi) if self._phi.ndim == 4 else 1,
            shared=self._shared or self._horizon is None,
            prior_a=self._prior_a,
            prior_b=self._prior_b * unit,
            prior_equality=self._prior_equality.tolist(),
        )
        return _core.LinearOcp(features=features, **options)

    def _arguments(self) -> tuple[Any, ...]:
        return self._phi, self._horizon, self._shared

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self._arguments(), other._arguments()
        return all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))

    def __hash__(self) -> int:
        return hash((type(self), self._phi.shape, self._phi.tobytes(), self._horizon, self._shared))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(<phi of shape {self._phi.shape}>, horizon={self._horizon}, shared={self._shared})"
        )


class LinearFeatures(_Linear):
    """Linear combinations of features.

    Parameters
    ----------
    phi : array_like of shape (H, S, A, K) or (S, A, K)
        The K features of each triple (t, x, a), or of each pair (x, a) in every period.
    horizon : int, optional
        With (S, A, K) features: the number of periods, each with parameters of its own. Without it all periods share
        them and the class is time-homogeneous.
    shared : bool, default False
        Whether one theta serves all periods.

    Notes
    -----
    Agents with selection="all" hold every constraint that could ever matter: where Q* is not in the class, they grow.
    selection="eluder" holds at most `eluder_dimension` of them and solves no linear program.

    Linear programs are solved by HiGHS, which a thread cannot enter twice: an agent must not be used from within a
    callback of a highspy model that the same thread is solving. Other highspy models, in any thread and with any
    number of threads, are not disturbed. The environment variable ``OCPFAST_HIGHS=python`` solves through highspy's
    Python API, slower, instead of its library.

    Examples
    --------
    The chain with features that contain Q*, which dynamic programming gives:

    >>> import numpy as np, ocpfast as ocp
    >>> n = 10
    >>> down, up = np.maximum(np.arange(n) - 1, 0), np.minimum(np.arange(n) + 1, n - 1)
    >>> down[-1] = n - 1  # the last state is never left
    >>> q, value = np.zeros((n, n, 2)), np.zeros(n)
    >>> for t in reversed(range(n)):
    ...     q[t] = np.stack([value[down], value[up]], axis=1)
    ...     q[t, -1] += 1
    ...     value = q[t].max(axis=1)
    >>> phi = np.stack([q, np.ones_like(q)], axis=-1)
    >>> agent = ocp.OCP(ocp.LinearFeatures(phi), selection="eluder", replay=True, ties="directed")
    >>> ocp.run(agent, ocp.Chain(n), episodes=60, progress=False).suboptimal()
    array([1])
    """

    def __init__(self, phi: ArrayLike, horizon: int | None = None, shared: bool = False) -> None:
        super().__init__(phi, horizon, shared)


class Polytope(_Linear):
    """Linear combinations of features whose parameters lie in a given polytope.

    Parameters
    ----------
    phi : array_like of shape (H, S, A, d) or (S, A, d)
        The features, as in `LinearFeatures`.
    a_ub, b_ub : array_like of shape (m, d) and (m,)
        Known beforehand: ``a_ub @ theta <= b_ub``. With shared=False it holds for each period's theta.
    horizon : int, optional
        As in `LinearFeatures`.
    shared : bool, default True
        Whether one theta serves all periods, so that what is learned in one period tells about the others.

    Examples
    --------
    >>> import numpy as np, ocpfast as ocp
    >>> phi = np.eye(4).reshape(2, 2, 1, 4)  # two periods, two states, one action: a parameter each
    >>> decreasing = ocp.Polytope(phi, a_ub=[[0, 0, 1, -1], [-1, 0, 0, 0], [1, 0, 0, 0]], b_ub=[0, 0, 9])
    >>> agent = ocp.OCP(decreasing)
    >>> agent.upper(0, 0, period=0), agent.upper(0, 0, period=1)
    (9.0, inf)
    """

    def __init__(
        self, phi: ArrayLike, a_ub: ArrayLike, b_ub: ArrayLike, horizon: int | None = None, shared: bool = True
    ) -> None:
        super().__init__(phi, horizon, shared)
        a = _check.numeric(a_ub, "a_ub", f"numbers of shape (m, {self._n_features})")
        b = _check.numeric(b_ub, "b_ub", "numbers of shape (m,)")
        if a.ndim != 2 or a.shape[1] != self._n_features:
            raise ValueError(f"a_ub: expected shape (m, {self._n_features}), got {a.shape}")
        if b.shape != (len(a),):
            raise ValueError(f"b_ub: expected shape ({len(a)},), one bound for each row of a_ub, got {b.shape}")
        if not np.all(np.isfinite(a)) or np.any(np.isnan(b)) or np.any(b == -np.inf):
            raise ValueError("a_ub, b_ub: expected finite numbers (b_ub may be +inf)")
        self._a_ub, self._b_ub = a, b
        length = np.linalg.norm(a, axis=1)
        if np.any((length == 0) & (b < 0)):
            raise ValueError("a_ub, b_ub: the polytope is empty: a row of zeros has a negative bound")
        telling = (length > 0) & np.isfinite(b)
        self._prior_a = a[telling] / length[telling, np.newaxis]
        self._prior_b = b[telling] / length[telling]
        self._prior_equality = self._implicit_equalities()

    def _implicit_equalities(self) -> NDArray[np.bool_]:
        """Which rows hold with equality throughout: the affine hull. Raises where the polytope is empty."""
        if not len(self._prior_b):
            return np.empty(0, dtype=bool)
        _highs.load()
        # theta with a last component of 1 turns a.theta - b into a feature
        excess = np.column_stack([self._prior_a, -self._prior_b])
        one = np.zeros((1, self._n_features + 1))
        one[0, -1] = 1.0
        everywhere = _core.LinearStore(excess, one, np.ones(1), [True])
        scale = max(1.0, float(np.abs(self._prior_b).max()))
        if everywhere.infimum_of_maximum(list(range(len(excess)))) > 1e-7 * scale:
            raise ValueError("a_ub, b_ub: the polytope is empty: no theta satisfies all rows")
        inside = _core.LinearStore(self._prior_a, self._prior_a, self._prior_b, [False] * len(excess))
        smallest = np.array([inside.lower(i) for i in range(len(excess))])
        return np.asarray(smallest >= self._prior_b - 1e-9 * scale)

    def _arguments(self) -> tuple[Any, ...]:
        return self._phi, self._a_ub, self._b_ub, self._horizon, self._shared
