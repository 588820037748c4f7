"""Features phi(t, x, a) of linear classes, and where they come from: arrays, sparse rows, functions of the state."""

from __future__ import annotations

import ctypes
import functools
import itertools
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocpfast import _check, _core
from ocpfast.showing import array_in_words
from ocpfast.signatures import FEATURES

__all__ = ["FeatureFunction"]

# How many values of a Python function are remembered: enough for the transitions that replay stores by default.
_REMEMBERED = 100_000
_Doubles = ctypes.POINTER(ctypes.c_double)


class FeatureFunction:
    """Features given by a function of the state, for `LinearFeatures` and `Polytope`.

    Parameters
    ----------
    function : callable, scipy.LowLevelCallable, numba cfunc or ctypes function
        A Python function ``function(state, action)`` that returns `n_features` numbers (``function(state, action,
        period)`` with `by_period`); its values are remembered. Or a compiled one, which `ocpfast.run` calls without
        Python: ``int function(int64_t period, const void *state, int64_t action, double *features, void *user_data)``
        as in the header ``ocpfast/features.h``; `ocpfast.signatures.FEATURES` spells it for numba and ctypes. It must
        always give the same values for the same arguments.
    n_features : int
        How many numbers it gives.
    n_actions : int
        Actions are 0 .. n_actions - 1.
    n_states, state_size : int
        One of them: the number of states, where a state is an index (every feature is then evaluated once, when the
        class is made), or the number of components of a vector state.
    by_period : bool, default False
        Whether the features depend on the period.
    scale : float, default 1
        With vector states: about how large the features are. Tolerances are relative to it, where they cannot be
        relative to the feature at hand.

    Examples
    --------
    >>> import numpy as np, ocpfast as ocp
    >>> def phi(state, action):
    ...     x, v = state
    ...     return [1, x, v, x * v, action]
    >>> quadratic = ocp.FeatureFunction(phi, n_features=5, n_actions=2, state_size=2)
    >>> agent = ocp.OCP(ocp.LinearFeatures(quadratic, horizon=3))
    >>> agent.upper([0.5, -1.0], action=0, period=2)
    inf
    """

    def __init__(
        self,
        function: Any,
        n_features: int,
        n_actions: int,
        *,
        n_states: int | None = None,
        state_size: int | None = None,
        by_period: bool = False,
        scale: float = 1.0,
    ) -> None:
        self._function = function
        self._n_features = _check.integer(n_features, "n_features", 1)
        self._n_actions = _check.integer(n_actions, "n_actions", 1)
        if (n_states is None) == (state_size is None):
            raise ValueError(
                f"n_states, state_size: expected one of them, got n_states={n_states!r}, state_size={state_size!r}; "
                "n_states where states are integers, state_size where they are vectors"
            )
        self._n_states = None if n_states is None else _check.integer(n_states, "n_states", 1)
        self._state_size = None if state_size is None else _check.integer(state_size, "state_size", 1, 2**20)
        self._by_period = _check.flag(by_period, "by_period")
        self._scale = _check.number(scale, "scale", "a positive, finite number")
        if not 0 < self._scale < np.inf:
            raise ValueError(f"scale: expected a positive, finite number, got {scale!r}")
        compiled = FEATURES.address_of(function, "function")
        if compiled is None and not callable(function):
            raise TypeError(f"function: expected a callable or a compiled function, got {function!r}")
        self._address, self._user_data = compiled or (0, 0)
        self._remembered = functools.lru_cache(_REMEMBERED)(self._call)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self._n_features

    @property
    def n_actions(self) -> int:
        """The number of actions."""
        return self._n_actions

    @property
    def n_states(self) -> int | None:
        """The number of states; None where they are vectors."""
        return self._n_states

    @property
    def state_size(self) -> int | None:
        """The number of components of a state; None where states are indices."""
        return self._state_size

    @property
    def by_period(self) -> bool:
        """Whether the features depend on the period."""
        return self._by_period

    @property
    def scale(self) -> float:
        """About how large the features are."""
        return self._scale

    @property
    def compiled(self) -> bool:
        """Whether the function is called without Python."""
        return self._address != 0

    def __call__(self, state: Any, action: int, period: int = 0) -> NDArray[np.float64]:
        """Evaluate one feature, as agents do.

        Parameters
        ----------
        state : int or array_like
            The state.
        action : int
            The action.
        period : int, default 0
            The period; without `by_period` it makes no difference.

        Returns
        -------
        ndarray of shape (n_features,)
            The feature.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.FeatureFunction(lambda x, a: [1, x, a], n_features=3, n_actions=2, n_states=5)(4, 1)
        array([1., 4., 1.])
        """
        action = _check.integer(action, "action", 0, self._n_actions - 1)
        period = _check.integer(period, "period", 0)
        if self._n_states is not None:
            return self._values(_check.integer(state, "state", 0, self._n_states - 1), action, period)
        vector = _check.numeric(state, "state", f"{self._state_size} numbers")
        if vector.shape != (self._state_size,):
            raise ValueError(f"state: expected {self._state_size} numbers, got shape {vector.shape}")
        return self._values(vector, action, period)

    def _values(self, state: int | NDArray[np.float64], action: int, period: int) -> NDArray[np.float64]:
        """The features of a state that has been checked."""
        if not self._by_period:
            period = 0
        if not self.compiled:
            return self._remembered(state if isinstance(state, int) else state.tobytes(), action, period)
        memory = np.array([state], dtype=np.int64) if isinstance(state, int) else np.ascontiguousarray(state)
        values = np.empty(self._n_features)
        function = FEATURES.ctypes(self._address)
        error = function(period, memory.ctypes.data, action, values.ctypes.data_as(_Doubles), self._user_data)
        if error:
            raise RuntimeError(f"phi: it returned error {error} for action {action} in period {period}")
        return self._checked(values, state, action)

    def _call(self, state: int | bytes, action: int, period: int) -> NDArray[np.float64]:
        argument = state if isinstance(state, int) else np.frombuffer(state)
        given = self._function(argument, action, period) if self._by_period else self._function(argument, action)
        values = _check.numeric(given, "phi", f"{self._n_features} numbers")
        if values.shape != (self._n_features,):
            raise ValueError(f"phi: expected {self._n_features} numbers, got shape {values.shape}")
        return self._checked(values, argument, action)

    def _checked(self, values: NDArray[np.float64], state: Any, action: int) -> NDArray[np.float64]:
        if not np.isfinite(values).all():
            bad = values[~np.isfinite(values)][0]
            raise ValueError(f"phi: expected finite numbers, got {bad} for state {state} and action {action}")
        values.flags.writeable = False
        return values

    def _settings(self) -> dict[str, Any]:
        return {
            "n_states": self._n_states,
            "state_size": self._state_size,
            "by_period": self._by_period,
            "scale": self._scale,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        make = functools.partial(FeatureFunction, **self._settings())
        return make, (self._function, self._n_features, self._n_actions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureFunction):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        function = (self._address, self._user_data) if self.compiled else self._function
        return function, self._n_features, self._n_actions, *self._settings().values()

    def __repr__(self) -> str:
        states = f"n_states={self._n_states}" if self._state_size is None else f"state_size={self._state_size}"
        by_period = ", by_period=True" if self._by_period else ""
        scale = "" if self._scale == 1 else f", scale={self._scale}"
        name = getattr(self._function, "__name__", type(self._function).__name__)
        return f"FeatureFunction({name}, {self._n_features}, {self._n_actions}, {states}{by_period}{scale})"


class Source(ABC):
    """Features as a class needs them, with all sizes known."""

    n_states: int | None = None
    state_size: int | None = None
    n_actions: int
    n_features: int
    periods: int | None  # None: the same features in every period

    @abstractmethod
    def blocks(self, shared: bool) -> list[NDArray[np.float64]]:
        """Rows with the span and the singular values of the features: of each period, or of all where they share.

        None of features that nobody knows yet.
        """

    def ranks(self, fixed: NDArray[np.float64], shared: bool) -> list[int]:
        """The rank of the features and the rows of `fixed`, block by block."""
        return [int(np.linalg.matrix_rank(np.vstack([fixed, block]))) for block in self.blocks(shared)]

    @abstractmethod
    def feature(self, state: Any, action: int, period: int) -> NDArray[np.float64]:
        """phi(t, x, a), of arguments that were checked."""

    @abstractmethod
    def core(self, horizon: int, shared: bool, prior: dict[str, Any]) -> _core.Features:
        """The compiled description."""

    @abstractmethod
    def unit(self) -> float:
        """A power of two about as large as the features, so that dividing by it is exact."""


def _power_of_two(size: float) -> float:
    exponent = float(np.round(np.log2(max(size, np.finfo(float).tiny))))
    return float(2.0 ** min(exponent, 1023.0))  # the largest numbers are nearer to the next, which is infinite


class DenseSource(Source):
    """An array (H, S, A, K) or (S, A, K)."""

    def __init__(self, phi: ArrayLike) -> None:
        table = _check.numeric(phi, "phi", "numbers of shape (H, S, A, K) or (S, A, K)")
        if table.ndim not in (3, 4) or table.size == 0:
            raise ValueError(f"phi: expected shape (H, S, A, K) or (S, A, K), none of them 0, got {table.shape}")
        if not np.all(np.isfinite(table)):
            raise ValueError(f"phi: expected finite numbers, got {table[~np.isfinite(table)].flat[0]}")
        table.flags.writeable = False
        self.table = table
        self.periods = len(table) if table.ndim == 4 else None
        self._n_states, self.n_actions, self.n_features = (int(n) for n in table.shape[-3:])
        self.n_states = self._n_states

    def blocks(self, shared: bool) -> list[NDArray[np.float64]]:
        blocks = self.table if self.table.ndim == 4 and not shared else self.table[np.newaxis]
        return [block.reshape(-1, self.n_features) for block in blocks]

    def feature(self, state: Any, action: int, period: int) -> NDArray[np.float64]:
        table = self.table if self.periods is None else self.table[period]
        return np.asarray(table[state, action])

    def unit(self) -> float:
        return _power_of_two(float(np.abs(self.table).max()))

    def core(self, horizon: int, shared: bool, prior: dict[str, Any]) -> _core.Features:
        domain = _core.Partition(self._n_states, self.n_actions, horizon)
        table = (self.table / self.unit()).ravel()
        return _core.Features(domain=domain, table=table, n_features=self.n_features, shared=shared, **prior)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DenseSource) and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash((self.table.shape, self.table.tobytes()))

    def __repr__(self) -> str:
        return array_in_words(self.table, "phi")


class SparseSource(Source):
    """SciPy's sparse rows: (S * A, K) with the actions of a state one after the other, or one of them a period."""

    def __init__(self, phi: Any, n_actions: int) -> None:
        self.n_actions = _check.integer(n_actions, "n_actions", 1)
        many = isinstance(phi, (list, tuple))
        self.rows = [_checked_rows(one, f"phi[{t}]" if many else "phi") for t, one in enumerate(phi if many else [phi])]
        self.periods = len(self.rows) if many else None
        shape = self.rows[0].shape
        for t, one in enumerate(self.rows):
            if one.shape != shape:
                raise ValueError(f"phi[{t}]: expected shape {shape} as in phi[0], got {one.shape}")
        if shape[0] % self.n_actions or 0 in shape:
            raise ValueError(
                f"phi: expected shape (S * {self.n_actions}, K) with {self.n_actions} actions, got {shape}"
            )
        self._n_states, self.n_features = shape[0] // self.n_actions, int(shape[1])
        self.n_states = self._n_states

    def blocks(self, shared: bool) -> list[NDArray[np.float64]]:
        triangles = [_triangles(one) for one in self.rows]
        blocks = [list(itertools.chain(*triangles))] if shared else triangles
        return [np.vstack(block) for block in blocks]

    def feature(self, state: Any, action: int, period: int) -> NDArray[np.float64]:
        rows = self.rows[0 if self.periods is None else period]
        return np.asarray(rows[[state * self.n_actions + action]].toarray()[0])

    def unit(self) -> float:
        return _power_of_two(max(float(abs(one.data).max(initial=0.0)) for one in self.rows))

    def core(self, horizon: int, shared: bool, prior: dict[str, Any]) -> _core.Features:
        domain = _core.Partition(self._n_states, self.n_actions, horizon)
        offsets = np.cumsum([0, *(one.nnz for one in self.rows)])
        start = [one.indptr[:-1] + offset for one, offset in zip(self.rows, offsets, strict=False)]
        return _core.Features(
            domain=domain,
            start=np.concatenate([*start, offsets[-1:]]).astype(np.int64),
            column=np.concatenate([one.indices for one in self.rows]),
            value=np.concatenate([one.data for one in self.rows]) / self.unit(),
            n_features=self.n_features,
            shared=shared,
            **prior,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparseSource) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        arrays = [(one.shape, one.indptr.tobytes(), one.indices.tobytes(), one.data.tobytes()) for one in self.rows]
        return self.periods, self.n_actions, tuple(arrays)

    def __repr__(self) -> str:
        return f"<sparse phi of shape {(*(() if self.periods is None else (self.periods,)), *self.rows[0].shape)}>"


def _checked_rows(given: Any, name: str) -> Any:
    """A CSR copy of float64, without duplicates."""
    if not hasattr(given, "tocsr"):
        raise TypeError(f"{name}: expected sparse rows as in phi[0], got {type(given).__name__}")
    if given.dtype.kind not in "iuf" or len(given.shape) != 2:
        raise TypeError(f"{name}: expected a matrix of real numbers, got shape {given.shape} of {given.dtype}")
    rows = given.tocsr().astype(np.float64, copy=True)
    rows.sum_duplicates()
    if not np.isfinite(rows.data).all():
        raise ValueError(f"{name}: expected finite numbers, got {rows.data[~np.isfinite(rows.data)][0]}")
    return rows


def _triangles(rows: Any) -> list[NDArray[np.float64]]:
    """Dense rows with the same span and singular values, at most K for each block of 8 MB."""
    n, k = rows.shape
    step = max(k, 2**20 // k)
    return [np.asarray(np.linalg.qr(rows[i : i + step].toarray(), mode="r")) for i in range(0, n, step)]


class OpenSource(Source):
    """A function of vector states, evaluated where an agent meets them."""

    def __init__(self, function: FeatureFunction, periods: int | None) -> None:
        self.function = function
        self.periods = periods
        self.state_size = function.state_size
        self.n_actions, self.n_features = function.n_actions, function.n_features

    def blocks(self, shared: bool) -> list[NDArray[np.float64]]:
        return []

    def ranks(self, fixed: NDArray[np.float64], shared: bool) -> list[int]:
        return [self.n_features] * (1 if shared else self.periods or 1)

    def feature(self, state: Any, action: int, period: int) -> NDArray[np.float64]:
        return self.function._values(state, action, period)

    def unit(self) -> float:
        return _power_of_two(self.function.scale)

    def core(self, horizon: int, shared: bool, prior: dict[str, Any]) -> _core.Features:
        domain = _core.Partition(0, self.n_actions, horizon, vector_size=self.state_size)
        address, user_data, function = self._compiled()
        return _core.Features(
            domain=domain,
            address=address,
            user_data=user_data,
            function=function,
            unit=self.unit(),
            n_features=self.n_features,
            shared=shared,
            **prior,
        )

    def _compiled(self) -> tuple[int, int, object]:
        """Address and user data of the compiled function, 0 where it is Python's; and what is called, or kept alive."""
        function = self.function
        return function._address, function._user_data, function if function.compiled else function._values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenSource) and (self.function, self.periods) == (other.function, other.periods)

    def __hash__(self) -> int:
        return hash((self.function, self.periods))

    def __repr__(self) -> str:
        return repr(self.function)


def source_of(phi: Any, n_actions: int | None, horizon: int | None) -> Source:
    """The features of a class, from whatever the user gave."""
    if isinstance(phi, Source):
        return phi
    if isinstance(phi, FeatureFunction):
        if n_actions is not None and n_actions != phi.n_actions:
            raise ValueError(f"n_actions: expected {phi.n_actions} as in phi, or None, got {n_actions!r}")
        if phi.by_period and horizon is None:
            raise ValueError("horizon: expected an integer, as phi depends on the period, got None")
        periods = horizon if phi.by_period else None
        if phi.n_states is None:
            return OpenSource(phi, periods)
        _check.n_cells(phi.n_states * phi.n_actions * (periods or 1), "phi")
        table = np.empty((periods or 1, phi.n_states, phi.n_actions, phi.n_features))
        for period, state, action in np.ndindex(table.shape[:-1]):
            table[period, state, action] = phi._values(state, action, period)
        return DenseSource(table if phi.by_period else table[0])
    sparse = phi[0] if isinstance(phi, (list, tuple)) and len(phi) else phi
    if hasattr(sparse, "tocsr"):
        if n_actions is None:
            raise ValueError("n_actions: expected an integer with sparse phi of shape (S * A, K), got None")
        return SparseSource(phi, n_actions)
    if callable(phi) or FEATURES.address_of(phi, "phi") is not None:
        raise TypeError(
            f"phi: expected an array, sparse rows or a FeatureFunction, got {phi!r}; wrap the function: "
            "FeatureFunction(function, n_features, n_actions, ...)"
        )
    dense = DenseSource(phi)
    if n_actions is not None and n_actions != dense.n_actions:
        raise ValueError(f"n_actions: expected {dense.n_actions} as in phi, or None, got {n_actions!r}")
    return dense
