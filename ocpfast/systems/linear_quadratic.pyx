# cython: language_level=3
"""Linear-quadratic control."""

from libc.stdint cimport int64_t
from libcpp.vector cimport vector

import numpy as np

from ocpfast import _check
from ocpfast.systems.base cimport System
from ocpfast.systems.contract cimport contract_of
from ocpfast.systems.base import _count, _floats, _read_only

__all__ = ["LinearQuadratic"]


cdef extern from "ocpfast/system/linear_quadratic_matrices.hpp" namespace "ocp":
    cppclass LinearQuadraticMatrices:
        size_t n
        size_t m
        vector[double] a
        vector[double] b
        vector[double] q
        vector[double] r

cdef extern from "ocpfast/system/riccati.hpp" namespace "ocp":
    enum class RiccatiStatus "ocp::Riccati::Status":
        ok
        overflow
        ill_conditioned

    RiccatiStatus all_remaining(const LinearQuadraticMatrices &matrices, int64_t horizon, double *p) except + nogil
    RiccatiStatus action_values(const LinearQuadraticMatrices &matrices, int64_t later, double *values) except + nogil

cdef extern from "ocpfast/system/linear_quadratic.hpp" namespace "ocp":
    cppclass LinearQuadraticArrays:
        LinearQuadraticMatrices matrices
        int64_t horizon
        vector[double] starts
        vector[double] scale
        vector[double] actions

    cppclass OverVectors "ocp::LinearQuadratic<double>":
        OverVectors(LinearQuadraticArrays arrays) except +

    cppclass OverList "ocp::LinearQuadratic<std::int64_t>":
        OverList(LinearQuadraticArrays arrays) except +


cdef vector[double] numbers_of(array):
    cdef const double[::1] flat = array.reshape(-1)
    cdef vector[double] numbers
    if flat.shape[0]:
        numbers.assign(&flat[0], &flat[0] + flat.shape[0])
    return numbers


cdef LinearQuadraticMatrices matrices_of(dict arrays):
    cdef LinearQuadraticMatrices matrices
    matrices.n, matrices.m = arrays["B"].shape
    matrices.a, matrices.b = numbers_of(arrays["A"]), numbers_of(arrays["B"])
    matrices.q, matrices.r = numbers_of(arrays["state_cost"]), numbers_of(arrays["action_cost"])
    return matrices


def _matrix(name, value, rows, columns):
    """Return a checked matrix; `rows` and `columns` are sizes, or letters for any size of at least 1."""
    array = _floats(name, value)
    wanted = (rows, columns)
    fits = array.ndim == 2 and all(
        size >= 1 and (isinstance(want, str) or size == want) for size, want in zip(array.shape, wanted)
    )
    if not fits or (rows == columns and array.shape[0] != array.shape[1]):
        raise ValueError(f"{name}: expected shape ({rows}, {columns}), got {array.shape}")
    return array


def _cost(name, value, size, definite):
    """Return a checked symmetric matrix that is positive semidefinite or, if so asked, definite."""
    array = _matrix(name, value, size, size)
    largest = np.abs(array).max()
    skew = np.abs(array - array.T)
    if skew.max() > 1e-12 * largest:
        i, j = np.unravel_index(skew.argmax(), skew.shape)
        raise ValueError(
            f"{name}: expected a symmetric matrix, got {array[i, j]} at ({i}, {j}) and {array[j, i]} at ({j}, {i})"
        )
    array = 0.5 * array + 0.5 * array.T
    eigenvalues = np.linalg.eigvalsh(array / largest) if largest else np.zeros(size)
    rounding = 4.0 * size * np.finfo(float).eps
    if definite and not eigenvalues[0] > rounding:
        raise ValueError(
            f"{name}: expected a positive definite matrix, got one with eigenvalue {eigenvalues[0] * largest}"
        )
    if not eigenvalues[0] >= -rounding:
        raise ValueError(
            f"{name}: expected a positive semidefinite matrix, got one with eigenvalue {eigenvalues[0] * largest}"
        )
    return array


def _rows(array):
    """Return an array as nested tuples: what == and hash go by."""
    return None if array is None else tuple(map(_rows, array)) if array.ndim > 1 else tuple(array.tolist())


cdef class LinearQuadratic(System):
    """LinearQuadratic(A, B, state_cost, action_cost, horizon, initial_state=None, initial_scale=None, \
actions=None)\n--\n
    A linear system with quadratic costs: the classical problem of optimal control.

    The state x and the action u are vectors; x is followed by ``A @ x + B @ u``, and each of the `horizon`
    periods pays ``-(x @ state_cost @ x + u @ action_cost @ u)``.

    Parameters
    ----------
    A : array_like, shape (n, n)
        How the state moves by itself; n is at most 1024.
    B : array_like, shape (n, m)
        What the action adds.
    state_cost : array_like, shape (n, n)
        A symmetric positive semidefinite matrix.
    action_cost : array_like, shape (m, m)
        A symmetric positive definite matrix.
    horizon : int
        Number of periods.
    initial_state : array_like, shape (n,) or (k, n), optional
        Where episodes start: always in one state, or episode j in row j modulo k. Needed without `initial_scale`,
        with it the origin by default.
    initial_scale : float or array_like, shape (n,), optional
        Half-widths of a box: each episode starts at its initial state plus a draw that is uniform on
        (-initial_scale, initial_scale), component by component.
    actions : array_like, shape (k, m), optional
        The only vectors that can be chosen, by their index. By default an action is any vector of m numbers.

    Notes
    -----
    Over all vectors the optimal value is ``-x @ P @ x`` with P the first matrix of `riccati`; it is unknown (None)
    where the recursion leaves the range of doubles or horizon x (n + m)^3 is above 2e9. Over a list of k actions it
    takes a search of the k^horizon sequences and is known where these are at most 2^20.

    A step whose state or reward is beyond the range of doubles raises OverflowError (RuntimeError within `run`).

    Examples
    --------
    A mass that a force brings to rest, in steps of 0.5 s:

    >>> from ocpfast.systems import LinearQuadratic
    >>> mass = LinearQuadratic(
    ...     A=[[1.0, 0.5], [0.0, 1.0]], B=[[0.0], [0.5]], state_cost=[[1.0, 0.0], [0.0, 0.0]], action_cost=[[0.1]],
    ...     horizon=20, initial_state=[1.0, 0.0],
    ... )
    >>> state, reward, terminated = mass.step(mass.reset(), [-2.0])
    >>> state, reward
    (array([ 1., -1.]), -1.4)
    >>> round(mass.optimal_value([1.0, 0.0]), 3)
    -2.755
    """

    def __init__(
        self, A, B, state_cost, action_cost, horizon, initial_state=None, initial_scale=None, actions=None
    ):
        cdef LinearQuadraticArrays arrays
        a = _matrix("A", A, "n", "n")
        n = len(a)
        if n > 1024:
            raise ValueError(f"A: expected at most 1024 rows, got {n}")
        b = _matrix("B", B, n, "m")
        m = b.shape[1]
        q = _cost("state_cost", state_cost, n, definite=False)
        r = _cost("action_cost", action_cost, m, definite=True)
        choices = None if actions is None else _matrix("actions", actions, "k", m)
        starts, scale = self._checked_start(initial_state, initial_scale, n)

        given = {"A": a, "B": b, "state_cost": q, "action_cost": r, "actions": choices}
        arrays.matrices = matrices_of(given)
        arrays.horizon = _count(horizon, "horizon", 1)
        arrays.starts = numbers_of(starts)
        if scale.any():
            arrays.scale = numbers_of(scale)
        if choices is None:
            self.adopt(contract_of(new OverVectors(arrays)))
        else:
            arrays.actions = numbers_of(choices)
            self.adopt(contract_of(new OverList(arrays)))
        self._arrays = {name: None if array is None else _read_only(array) for name, array in given.items()}
        self.arguments = {
            "A": _rows(a), "B": _rows(b), "state_cost": _rows(q), "action_cost": _rows(r),
            "horizon": self.contract.horizon, "initial_state": _rows(starts), "initial_scale": _rows(scale),
            "actions": _rows(choices),
        }

    @staticmethod
    def _checked_start(initial_state, initial_scale, n):
        """Return initial states, one a row, and half-widths, all 0 where nothing is drawn."""
        if initial_state is None and initial_scale is None:
            raise TypeError("initial_state: required without initial_scale, got None")
        starts = np.zeros((1, n)) if initial_state is None else _floats("initial_state", initial_state)
        if starts.ndim not in (1, 2) or starts.shape[-1] != n or starts.size == 0:
            raise ValueError(f"initial_state: expected shape ({n},) or (k, {n}), got {starts.shape}")
        scale = np.zeros(n) if initial_scale is None else _floats("initial_scale", initial_scale)
        if scale.shape not in ((), (n,)):
            raise ValueError(f"initial_scale: expected a number or shape ({n},), got shape {scale.shape}")
        if scale.min() < 0:
            raise ValueError(f"initial_scale: expected numbers >= 0, got {scale.min()}")
        if np.abs(starts).max() + scale.max() > 1e300:
            raise ValueError("initial_state, initial_scale: expected initial states within 1e300 of the origin")
        return starts.reshape(-1, n), np.array(np.broadcast_to(scale, n))

    @property
    def A(self):
        """How the state moves by itself: a read-only array of shape (n, n)."""
        return self._arrays["A"]

    @property
    def B(self):
        """What an action adds to the state: a read-only array of shape (n, m)."""
        return self._arrays["B"]

    @property
    def state_cost(self):
        """The cost of states: a read-only array of shape (n, n)."""
        return self._arrays["state_cost"]

    @property
    def action_cost(self):
        """The cost of actions: a read-only array of shape (m, m)."""
        return self._arrays["action_cost"]

    @property
    def actions(self):
        """The vectors that can be chosen, a read-only array of shape (k, m); None where all can.

        Examples
        --------
        >>> from ocpfast.systems import LinearQuadratic
        >>> bang = LinearQuadratic([[1.0]], [[1.0]], [[1.0]], [[1.0]], 5, [1.0], actions=[[-1.0], [1.0]])
        >>> bang.actions.tolist(), bang.n_actions
        ([[-1.0], [1.0]], 2)
        """
        return self._arrays["actions"]

    def riccati(self):
        """Return the matrices of the optimal values over all action vectors, period by period.

        Returns
        -------
        numpy.ndarray, shape (horizon + 1, n, n)
            ``-x @ P[t] @ x`` is the optimal value of state x in period t; ``P[horizon]`` is 0.

        Raises
        ------
        OverflowError
            Where a matrix is beyond the range of doubles.
        ArithmeticError
            Where the action cost is lost beside what actions do to later states.

        Examples
        --------
        >>> from ocpfast.systems import LinearQuadratic
        >>> LinearQuadratic([[1.0]], [[1.0]], [[1.0]], [[1.0]], horizon=3, initial_state=[1.0]).riccati()[:, 0, 0]
        array([1.6, 1.5, 1. , 0. ])
        """
        self.instance()
        size = self.contract.state_size
        try:
            matrices = np.empty((self.contract.horizon + 1, size, size))
        except (MemoryError, ValueError):
            raise MemoryError(
                f"riccati: no memory for {self.contract.horizon + 1} matrices of shape ({size}, {size})"
            ) from None
        cdef double[:, :, ::1] memory = matrices
        cdef RiccatiStatus status
        cdef LinearQuadraticMatrices given = matrices_of(self._arrays)
        with nogil:
            status = all_remaining(given, self.contract.horizon, &memory[0, 0, 0])
        self._check_status("riccati", status)
        return matrices

    def q(self, period):
        """Return the matrix of the optimal action values of a period, over all action vectors.

        Parameters
        ----------
        period : int
            The period, in ``0..horizon - 1``.

        Returns
        -------
        numpy.ndarray, shape (n + m, n + m)
            M, such that ``-z @ M @ z`` is Q* of state x and action u in this period if z is x followed by u, and the
            best vectors are chosen in later periods.

        Raises
        ------
        OverflowError, ArithmeticError
            As `riccati`.

        Examples
        --------
        >>> from ocpfast.systems import LinearQuadratic
        >>> LinearQuadratic([[1.0]], [[1.0]], [[1.0]], [[1.0]], horizon=3, initial_state=[1.0]).q(1)
        array([[2., 1.],
               [1., 2.]])
        """
        self.instance()
        cdef int64_t number = _check.integer(period, "period", 0, self.contract.horizon - 1)
        size = self.contract.state_size + self._arrays["B"].shape[1]
        matrix = np.empty((size, size))
        cdef double[:, ::1] memory = matrix
        cdef RiccatiStatus status
        cdef LinearQuadraticMatrices given = matrices_of(self._arrays)
        with nogil:
            status = action_values(given, self.contract.horizon - 1 - number, &memory[0, 0])
        self._check_status("q", status)
        return matrix

    def _check_status(self, name, int status):
        if status == <int>RiccatiStatus.overflow:
            raise OverflowError(f"{name}: the optimal costs grow beyond the range of doubles within the horizon")
        if status == <int>RiccatiStatus.ill_conditioned:
            raise ArithmeticError(
                f"{name}: action_cost is too small beside the later costs of actions for the precision of doubles"
            )

    def __repr__(self):
        n, m = self._arrays["B"].shape
        choice = f"{m} to choose" if self.contract.n_actions == 0 else f"{self.contract.n_actions} actions"
        return f"<LinearQuadratic: {n} numbers a state, {choice}, H={self.contract.horizon}>"
