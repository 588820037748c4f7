"""Linear hypothesis classes: Q_t(x, a) = phi(t, x, a) . theta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocpfast import _check, _core, _highs
from ocpfast.features import DenseSource, source_of
from ocpfast.hypothesis import Hypothesis, Triple
from ocpfast.showing import array_in_words

__all__ = ["LinearFeatures", "Polytope"]

# Of what a feature's length must remain outside a span: as in csrc/include/ocpfast/tolerances.hpp.
_DEPENDENCE = 1e-9
# Beyond this more bounds are wrong: of 30 cases of intervals none was at 1.8e12, and some from 3e12 on. Directions
# that have less than the second of the largest are rounding of the features, and not there.
_LARGEST_CONDITION, _ROUNDING = 1e11, 1e-14


class _Linear(Hypothesis):
    """What LinearFeatures and Polytope share: features, and a prior on the parameters."""

    def __init__(self, phi: Any, horizon: int | None, shared: bool, n_actions: int | None) -> None:
        self._horizon = None if horizon is None else _check.integer(horizon, "horizon", 1)
        self._shared = _check.flag(shared, "shared")
        self._given_actions = n_actions
        self._phi = phi
        self._source = source_of(phi, n_actions, self._horizon)
        if self._source.periods is not None:
            if self._horizon not in (None, self._source.periods):
                raise ValueError(f"horizon: expected {self._source.periods} as in phi's first axis, got {horizon}")
            self._horizon = self._source.periods
        elif self._shared and horizon is not None:
            raise ValueError(
                "horizon: expected None where phi has no period axis and all periods share their parameters, which "
                f"makes the class time-homogeneous, got {horizon}; shared=False gives each period its own"
            )
        if isinstance(self._source, DenseSource):
            self._phi = self._source.table
        self._n_actions, self._n_features = self._source.n_actions, self._source.n_features
        _check.n_cells((self.n_states or 1) * self._n_actions * (self._horizon or 1), "phi")
        self._prior_a = np.empty((0, self._n_features))
        self._prior_b = np.empty(0)
        self._prior_equality = np.empty(0, dtype=bool)

    @property
    def phi(self) -> Any:
        """The features: an array, sparse rows, or a `FeatureFunction` of vector states."""
        return self._phi

    @property
    def n_states(self) -> int | None:
        """The number of states; None where they are vectors."""
        return self._source.n_states

    @property
    def state_size(self) -> int | None:
        """The number of components of a state; None where states are indices."""
        return self._source.state_size

    @property
    def n_features(self) -> int:
        """The number of features K."""
        return self._n_features

    def eluder_dimension(self) -> int:
        """Eluder dimension: the rank of the features, added up over blocks that share no parameters.

        Where the features are a function of vector states, their number stands for their rank.

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
        ranks = self._source.ranks(fixed, self._shared)
        repeated = 1 if self._source.periods or self._shared or self._horizon is None else self._horizon
        return sum(rank - known for rank in ranks) * repeated

    def _independent(self, triple: Triple, triples: Sequence[Triple]) -> bool:
        """Whether the feature is outside the span of the others of its block and of what the prior fixes."""
        together = self._shared or self._horizon is None
        block = [other for other in triples if together or other[2] == triple[2]]
        rows = [*self._prior_a[self._prior_equality], *(self._source.feature(*other) for other in block)]
        return outside_span(self._source.feature(*triple), rows)

    def _agent_core(self, options: _core.AgentOptions) -> _core.LinearOcp | _core.SigmoidOcp:
        return _core.LinearOcp(features=self._core_features(options), options=options)

    def _core_features(self, options: _core.AgentOptions) -> _core.Features:
        if options.selection is _core.Selection.first:
            raise ValueError("selection: expected 'all', 'eluder' or 'window' for a linear class, got 'first'")
        if self.state_size is not None and options.replay is _core.ReplayMode.stationary and self._horizon:
            raise ValueError(
                "replay: expected False or True where states are vectors, got 'stationary'; a class without a horizon "
                "is stationary by itself"
            )
        self._check_condition()
        _highs.load()
        return self._scaled_features()

    def _check_condition(self) -> None:
        unit = self._source.unit()
        for number, block in enumerate(self._source.blocks(self._shared or self._horizon is None)):
            tall = len(block) > 2 * self._n_features  # then the triangle of a QR decomposition is found sooner
            rows = np.linalg.qr(block / unit, mode="r") if tall else block / unit
            sizes = np.linalg.svd(rows, compute_uv=False)
            there = sizes[sizes > sizes[0] * max(_ROUNDING, 2 * self._n_features * np.finfo(float).eps)]
            if len(there) and there[0] > _LARGEST_CONDITION * there[-1]:
                where = f" in period {number}" if self._source.periods and not self._shared else ""
                raise ValueError(
                    f"phi: expected features of a condition number of at most {_LARGEST_CONDITION:.0e}, got "
                    f"{there[0] / there[-1]:.1e}{where}; make them less alike, as numpy.linalg.qr does"
                )

    def _scaled_features(self) -> _core.Features:
        # theta in units in which the longest feature has length 1 or so: HiGHS's tolerances are absolute
        prior = {
            "prior_a": self._prior_a,
            "prior_b": self._prior_b * self._source.unit(),
            "prior_equality": self._prior_equality.tolist(),
        }
        return self._source.core(self._horizon or 0, self._shared or self._horizon is None, prior)

    def _arguments(self) -> tuple[Any, ...]:
        return self._phi, self._horizon, self._shared, self._given_actions

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        return self._source, self._horizon, self._shared

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([repr(self._source), *self._settings()])})"

    def _settings(self) -> list[str]:
        """The arguments after phi, in words."""
        return [f"horizon={self._horizon}", f"shared={self._shared}"]


def outside_span(feature: NDArray[np.float64], rows: Sequence[NDArray[np.float64]]) -> bool:
    """Whether more than 1e-9 of a feature's length is outside the span of rows."""
    feature = _unit(feature)
    known = [row for row in map(_unit, rows) if row.any()]
    if not known:
        return bool(feature.any())
    _, size, directions = np.linalg.svd(np.array(known), full_matrices=False)
    span = directions[size > _DEPENDENCE]
    for _ in range(2):  # the second time takes off what rounding left
        feature = feature - span.T @ (span @ feature)
    return bool(np.linalg.norm(feature) > _DEPENDENCE)


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """The vector with length 1, or 0; its largest component goes first, so that no square overflows."""
    largest = np.abs(vector).max(initial=0.0)
    if largest == 0:
        return vector
    vector = vector / largest
    return np.asarray(vector / np.linalg.norm(vector))


class LinearFeatures(_Linear):
    """Linear combinations of features.

    Parameters
    ----------
    phi : array_like of shape (H, S, A, K) or (S, A, K), sparse rows, or FeatureFunction
        The K features of each triple (t, x, a), or of each pair (x, a) in every period. As SciPy's sparse matrices:
        one of shape (S * A, K), the actions of a state one after the other, or a list of H of them. A
        `FeatureFunction` computes them, also for vector states.
    horizon : int, optional
        Where phi has no period axis: the number of periods, each with parameters of its own. Without it all periods
        share them and the class is time-homogeneous: the end of the clock is then a truncation.
    shared : bool, default False
        Whether one theta serves all periods. Where phi has no period axis the class is then time-homogeneous and
        refuses a horizon.
    n_actions : int, optional
        With sparse rows: the number of actions.

    Notes
    -----
    Agents with selection="all" hold every constraint that could ever matter: where Q* is not in the class, they grow.
    selection="eluder" holds at most `eluder_dimension` of them and solves no linear program (with ``bounds`` that have
    a finite upper end: none as long as a state has at most two undetermined actions).

    Limits: bounds are right to 1e-8, relative to the larger of 1 and the value, and to 1e-6 where linear programs find
    them, for features whose condition number is at most 1e11 (directions with less than 1e-14 of the largest singular
    value are rounding and do not count). `OCP` refuses others, except that it cannot know them where phi is a function
    of vector states. Every finite bound is proved by multiples of features that were observed, added up in twice the
    digits of a double. Where what was observed leaves a value uncertain by more than 2e-9, or the proof fails, the
    upper value is +inf until the feature is observed itself: with nearly dependent features that can take more episodes
    than the eluder dimension. Constraints with L < U whose feature is within 1e-7 of the span of others bound that
    feature alone. Features within 2e-15 of a span are in it: of two that differ by less, with a parameter of 1e15 that
    tells them apart, one has the value of the other.

    What is learned of a period is fitted exactly to what is known of the next, so rounding grows with the horizon, by a
    factor of about the condition of the fitted features in each period. Ten Gaussian features start to contradict
    themselves after about ten periods; ``statistics()`` then counts constraints that are rejected or contradict others,
    and `OCP.certificate` is not valid. Features that tell values apart exactly (indicators, Q* itself) do not suffer.

    Linear programs are solved by HiGHS, which a thread cannot enter twice: an agent must not be used from within a
    callback of a highspy model that the same thread is solving. Other highspy models, in any thread and with any
    number of threads, are not disturbed. The environment variable ``OCPFAST_HIGHS=python`` solves through highspy's
    Python API, slower, instead of its library.

    Examples
    --------
    The chain with features that contain Q*, which dynamic programming gives:

    >>> import numpy as np, ocpfast as ocp
    >>> chain = ocp.Chain(10)
    >>> q = ocp.solve(chain).q
    >>> phi = np.stack([q, np.ones_like(q)], axis=-1)
    >>> agent = ocp.OCP(ocp.LinearFeatures(phi), selection="eluder", replay=True, ties="directed")
    >>> ocp.run(agent, chain, episodes=60, progress=False).suboptimal()
    array([1])
    """

    def __init__(
        self, phi: Any, horizon: int | None = None, shared: bool = False, n_actions: int | None = None
    ) -> None:
        super().__init__(phi, horizon, shared, n_actions)


class Polytope(_Linear):
    """Linear combinations of features whose parameters lie in a given polytope.

    Parameters
    ----------
    phi : array_like of shape (H, S, A, d) or (S, A, d), sparse rows, or FeatureFunction
        The features, as in `LinearFeatures`.
    a_ub, b_ub : array_like of shape (m, d) and (m,)
        Known beforehand: ``a_ub @ theta <= b_ub``. With shared=False it holds for each period's theta.
    horizon : int, optional
        As in `LinearFeatures`; where phi has no period axis it needs shared=False.
    shared : bool, default True
        Whether one theta serves all periods, so that what is learned in one period tells about the others.
    n_actions : int, optional
        As in `LinearFeatures`.

    Notes
    -----
    How exact bounds are, and up to which condition number of the features, is as in `LinearFeatures`. A row of `a_ub`
    of which equalities and other rows leave less than 1e-7 of its length is not used: bounds are then wider.

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
        self,
        phi: Any,
        a_ub: ArrayLike,
        b_ub: ArrayLike,
        horizon: int | None = None,
        shared: bool = True,
        n_actions: int | None = None,
    ) -> None:
        super().__init__(phi, horizon, shared, n_actions)
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
        return self._phi, self._a_ub, self._b_ub, self._horizon, self._shared, self._given_actions

    def _settings(self) -> list[str]:
        bounds = {"a_ub": self._a_ub, "b_ub": self._b_ub}
        return [*(f"{name}={array_in_words(one, name)}" for name, one in bounds.items()), *super()._settings()]

    def _identity(self) -> tuple[Any, ...]:
        return *super()._identity(), self._a_ub.shape, self._a_ub.tobytes(), self._b_ub.tobytes()
