# cython: language_level=3
"""Systems with finitely many states: the chain, Deep Sea, and whatever can be written down as arrays."""

from libc.stdint cimport int64_t, uint8_t
from libcpp cimport bool as cpp_bool
from libcpp.vector cimport vector

import numpy as np

from ocpfast import _check
from ocpfast.systems.base cimport System
from ocpfast.systems.contract cimport contract_of
from ocpfast.systems.base import _count, _floats, _read_only

__all__ = ["Chain", "DeepSea", "TableSystem"]


cdef extern from "ocpfast/system/chain.hpp" namespace "ocp":
    cppclass CppChain "ocp::Chain":
        CppChain(int64_t n_states) except +

cdef extern from "ocpfast/system/deep_sea.hpp" namespace "ocp":
    cppclass CppDeepSea "ocp::DeepSea":
        CppDeepSea(int64_t size, vector[uint8_t] right) except +

cdef extern from "ocpfast/system/table.hpp" namespace "ocp":
    cppclass TableArrays:
        int64_t n_states
        int64_t n_actions
        int64_t horizon
        cpp_bool homogeneous
        const int64_t *next_state
        const double *reward
        const int64_t *initial
        int64_t n_initial
        const double *cumulative

    cppclass CppTable "ocp::Table":
        CppTable(const TableArrays &arrays) except +


cdef class Chain(System):
    """Chain(n_states)\n--\n
    A chain whose only reward lies at its far end: the paper's example of hard exploration.

    An episode starts in state 0 and lasts `n_states` periods. Action 1 moves one state up, action 0 one state
    down (in state 0: nowhere), the last state is never left. Every transition from the last state pays 1, so
    that only an agent that moves up in every period is paid at all.

    Parameters
    ----------
    n_states : int
        Number of states, at least 2; also the horizon.

    Examples
    --------
    >>> from ocpfast.systems import Chain
    >>> chain = Chain(4)
    >>> state, total = chain.reset(), 0.0
    >>> for period in range(chain.horizon):
    ...     state, reward, terminated = chain.step(state, 1, period)
    ...     total += reward
    >>> state, total, chain.optimal_value(0)
    (3, 1.0, 1.0)
    """

    def __init__(self, n_states):
        cdef int64_t n = _count(n_states, "n_states", 2)
        self.adopt(contract_of(new CppChain(n)))
        self.arguments = {"n_states": n}


cdef class DeepSea(System):
    """DeepSea(size, mapping_seed=None)\n--\n
    Deep Sea, the deterministic exploration test of bsuite.

    A diver starts in the top left cell of a square grid and sinks one row in every period. In each cell one
    action swims right and costs ``0.01 / size``, the other swims left for free; at the sides the diver keeps
    the column. Swimming right in the last column finds the treasure, worth 1, which takes swimming right in
    every period. The step from the last row terminates the episode; the state it returns lies in that row
    again and means nothing.

    Parameters
    ----------
    size : int
        Number of rows and of columns; also the horizon. State ``row * size + column`` is a cell.
    mapping_seed : int, optional
        Seed of a random choice of the action that swims right, cell by cell. None: action 1 in every cell.

    Examples
    --------
    >>> from ocpfast.systems import DeepSea
    >>> sea = DeepSea(10)
    >>> sea.step(0, 1)
    (11, -0.001, False)
    >>> sea.optimal_value(0)
    0.99
    """

    def __init__(self, size, mapping_seed=None):
        cdef int64_t n = _check.integer(size, "size", 1, 2**31 - 1)
        cdef vector[uint8_t] right
        cdef uint8_t[::1] flat
        cdef int64_t i
        if mapping_seed is not None:
            mapping_seed = _check.integer(mapping_seed, "mapping_seed", 0)
            generator = np.random.Generator(np.random.PCG64(mapping_seed))
            mapping = generator.integers(2, size=(n, n), dtype=np.uint8)
            flat = mapping.reshape(-1)
            right.assign(&flat[0], &flat[0] + n * n)
        self.adopt(contract_of(new CppDeepSea(n, right)))
        self._mapping = None if mapping_seed is None else _read_only(mapping)
        self.arguments = {"size": n, "mapping_seed": mapping_seed}

    @property
    def mapping(self):
        """The action that swims right in each cell: a read-only uint8 array of shape (size, size).

        Examples
        --------
        >>> from ocpfast.systems import DeepSea
        >>> DeepSea(2).mapping
        array([[1, 1],
               [1, 1]], dtype=uint8)
        """
        if self._mapping is None:
            size = self.contract.horizon
            self._mapping = _read_only(np.ones((size, size), dtype=np.uint8))
        return self._mapping


cdef class TableSystem(System):
    """TableSystem(next_state, reward, initial_state=0, horizon=None)\n--\n
    A finite deterministic system given as arrays.

    Parameters
    ----------
    next_state : array_like of int
        ``next_state[x, a]`` is where action a leads from state x, or -1 if it ends the episode. A third axis
        in front, ``next_state[t, x, a]``, makes it depend on the period.
    reward : array_like of float
        What the transition pays; of the same shape.
    initial_state : int, sequence of int, or sequence of float, optional
        Where episodes start: always in one state; episode j in entry j modulo the length; or in a random
        state with these probabilities, one per state.
    horizon : int, optional
        Number of periods. Required where the arrays have no period axis, else the length of that axis.

    Notes
    -----
    The arrays are copied. A terminated transition returns the state it started from. The optimal values are
    computed by dynamic programming when first asked for, unless horizon x S x A is above 2e9: then they are unknown.

    Examples
    --------
    Two rooms: action 1 goes to the other one, action 0 from room 1 leaves the building, for a prize.

    >>> from ocpfast.systems import TableSystem
    >>> rooms = TableSystem([[0, 1], [-1, 0]], [[0.0, 0.0], [5.0, 0.0]], horizon=3)
    >>> rooms.step(0, 1)
    (1, 0.0, False)
    >>> rooms.step(1, 0)
    (1, 5.0, True)
    >>> rooms.optimal_value(0)
    5.0
    """

    def __init__(self, next_state, reward, initial_state=0, horizon=None):
        cdef TableArrays arrays
        cdef const int64_t[::1] next_memory, initial_memory
        cdef const double[::1] reward_memory, cumulative_memory

        table = self._checked_next_state(next_state)
        payoff = _read_only(_floats("reward", reward, table.shape))
        arrays.homogeneous = table.ndim == 2
        arrays.n_states, arrays.n_actions = table.shape[-2:]
        if arrays.homogeneous:
            if horizon is None:
                raise TypeError("horizon: required where next_state has no period axis, got None")
            arrays.horizon = _count(horizon, "horizon", 1)
        else:
            arrays.horizon = len(table)
            if horizon is not None and _count(horizon, "horizon", 1) != arrays.horizon:
                raise ValueError(
                    f"horizon: expected {arrays.horizon} as in next_state's period axis, got {horizon}"
                )
        start = self._checked_initial_state(initial_state, arrays.n_states)

        next_memory = table.reshape(-1)
        reward_memory = payoff.reshape(-1)
        arrays.next_state = &next_memory[0]
        arrays.reward = &reward_memory[0]
        arrays.initial = NULL
        arrays.n_initial = 0
        arrays.cumulative = NULL
        cumulative = None
        if start.dtype == np.float64:
            cumulative = np.cumsum(start)
            cumulative /= cumulative[-1]
            cumulative[np.flatnonzero(start)[-1]:] = 1.0  # so that no draw can fall behind the last state
            cumulative_memory = cumulative
            arrays.cumulative = &cumulative_memory[0]
        else:
            initial_memory = start.reshape(-1)
            arrays.initial = &initial_memory[0]
            arrays.n_initial = start.size
        self.adopt(contract_of(new CppTable(arrays)))
        # the C++ table reads these arrays where they are
        self._next_state = table
        self._reward = payoff
        self._initial_state = start
        self._cumulative = cumulative

    @staticmethod
    def _checked_next_state(next_state):
        try:
            table = np.asarray(next_state)
        except ValueError:
            raise ValueError("next_state: expected shape (S, A) or (H, S, A), got ragged rows") from None
        if table.ndim not in (2, 3):
            raise ValueError(f"next_state: expected shape (S, A) or (H, S, A), got {table.shape}")
        if table.size == 0:
            raise ValueError(f"next_state: expected a non-empty array, got shape {table.shape}")
        if table.dtype.kind not in "iu":
            raise TypeError(
                f"next_state: expected integers, the states that actions lead to, got dtype {table.dtype}; "
                "next_state.astype(int) where they are whole numbers"
            )
        n_states = table.shape[-2]
        for worst in (table.min(), table.max()):
            if not -1 <= worst < n_states:
                raise ValueError(f"next_state: expected integers in -1..{n_states - 1}, got {worst}")
        return _read_only(np.array(table, dtype=np.int64, order="C"))

    @staticmethod
    def _checked_initial_state(initial_state, n_states):
        """Return an int64 array (of one dimension or none) or float64 probabilities."""
        start = initial_state if isinstance(initial_state, np.ndarray) else None
        if isinstance(initial_state, (list, tuple, range)):
            try:
                start = np.asarray(initial_state)
            except ValueError:
                raise ValueError("initial_state: expected a non-empty sequence, got ragged rows") from None
        if start is None:
            try:
                start = np.array(_check.integer(initial_state, "initial_state", 0, n_states - 1))
            except TypeError:
                raise TypeError(
                    "initial_state: expected an integer, a sequence of integers or probabilities, "
                    f"got {initial_state!r} ({type(initial_state).__name__})"
                ) from None
        if start.ndim > 1 or start.size == 0:
            raise ValueError(f"initial_state: expected a non-empty sequence, got shape {start.shape}")
        if start.dtype.kind in "iu":
            for worst in (start.min(), start.max()):
                if not 0 <= worst < n_states:
                    raise ValueError(f"initial_state: expected integers in 0..{n_states - 1}, got {worst}")
            return _read_only(np.array(start, dtype=np.int64))
        if start.dtype.kind != "f":
            raise TypeError(f"initial_state: expected integers or probabilities, got dtype {start.dtype}")
        start = _floats("initial_state", start, (n_states,))
        if start.min() < 0:
            raise ValueError(f"initial_state: expected probabilities >= 0, got {start.min()}")
        if abs(start.sum() - 1.0) > 1e-8:
            raise ValueError(f"initial_state: expected probabilities that sum to 1, got {start.sum()}")
        return _read_only(start)

    @property
    def next_state(self):
        """Where each transition leads, -1 if nowhere: a read-only int64 array.

        Examples
        --------
        >>> from ocpfast.systems import TableSystem
        >>> TableSystem([[0, -1]], [[0.0, 1.0]], horizon=2).next_state
        array([[ 0, -1]])
        """
        return self._next_state

    @property
    def reward(self):
        """What each transition pays: a read-only float64 array.

        Examples
        --------
        >>> from ocpfast.systems import TableSystem
        >>> TableSystem([[0, -1]], [[0.0, 1.0]], horizon=2).reward
        array([[0., 1.]])
        """
        return self._reward

    @property
    def initial_state(self):
        """Where episodes start, as it was given: an int, or a read-only array of states or of probabilities.

        Examples
        --------
        >>> from ocpfast.systems import TableSystem
        >>> TableSystem([[0], [1]], [[0.0], [1.0]], initial_state=[1, 0], horizon=2).initial_state
        array([1, 0])
        """
        return self._initial_state if self._initial_state.ndim else int(self._initial_state)

    def __repr__(self):
        periods = "H=" if self._next_state.ndim == 2 else "period-dependent, H="
        return (
            f"<TableSystem: {self.contract.state_size} states, {self.contract.n_actions} actions, "
            f"{periods}{self.contract.horizon}>"
        )

    def _parts(self):
        return self._next_state, self._reward, self._initial_state

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        if self.horizon != other.horizon:
            return False
        return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(self._parts(), other._parts()))

    def __hash__(self):
        # Equal systems agree on these; hashing the arrays would cost as much as comparing them.
        return hash((type(self), self._next_state.shape, self.horizon, self.reward_range))

    def __reduce__(self):
        return type(self), (self._next_state, self._reward, self._initial_state, self.horizon)
