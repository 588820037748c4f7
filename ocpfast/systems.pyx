# cython: language_level=3
"""Systems: what an agent acts on.

Every system is a thin object around one C struct, `ocp_system`, through which compiled agents call it without
Python. `System` offers the same functions to Python, one checked step at a time.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t
from libcpp cimport bool as cpp_bool
from libcpp.vector cimport vector

import contextlib

import math

import numpy as np

from ocpfast import _check
from ocpfast.randomness import generator

__all__ = ["Chain", "DeepSea", "InvertedPendulum", "System", "TableSystem"]


cdef extern from "ocpfast/sincos.hpp" namespace "ocp" nogil:
    cppclass SineCosine:
        double sine
        double cosine
    SineCosine sincos(double angle)

cdef extern from "ocpfast/system/contract.hpp" namespace "ocp":
    ocp_system contract_of[T](T *system)

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

cdef extern from "ocpfast/system/pendulum.hpp" namespace "ocp":
    cppclass CppPendulum "ocp::InvertedPendulum":
        CppPendulum(double disturbance, int64_t horizon, cpp_bool runge_kutta, int64_t substeps) except +
        void advance(double *state, double force) nogil
        double max_velocity() nogil


_NO_LOCK = contextlib.nullcontext()


def _count(value, name, least):
    """Return a checked integer that also fits into 64 bits."""
    number = _check.integer(value, name, least)
    if number >= 2**63:
        raise ValueError(f"{name}: expected an integer below 2**63, got {number}")
    return number


def _floats(name, value, shape=None):
    """Return a fresh C-ordered float64 array of finite numbers, or say what is wrong with it."""
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        array = np.asarray(None)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name}: expected real numbers, got {value!r} ({type(value).__name__})")
    array = np.array(array, dtype=np.float64, order="C")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        raise ValueError(f"{name}: expected finite numbers, got {array[~finite].flat[0]}")
    return array


def _read_only(array):
    array.flags.writeable = False
    return array


def _rebuild(cls, arguments):
    return cls(**arguments)


def _sincos(angles):
    """Return sine and cosine as the compiled integrators compute them."""
    cdef double[::1] x = np.array(angles, dtype=np.float64).reshape(-1)
    sines = np.empty(x.shape[0])
    cosines = np.empty(x.shape[0])
    cdef double[::1] s = sines
    cdef double[::1] c = cosines
    cdef SineCosine both
    cdef Py_ssize_t i
    with nogil:
        for i in range(x.shape[0]):
            both = sincos(x[i])
            s[i] = both.sine
            c[i] = both.cosine
    return sines, cosines


cdef class _Value:
    """A state or an action where the contract's functions can read and write it."""

    cdef int64_t index
    cdef object vector  # None: it is the index
    cdef double[::1] numbers
    cdef void *memory

    cdef public_form(self):
        return self.index if self.vector is None else self.vector


cdef _Value value_of(str name, given, bint is_vector, int64_t size):
    """Check a state or an action; `size` is that of the vector, or the number of indices."""
    cdef _Value value = _Value()
    if is_vector:
        value.vector = _floats(name, given, (size,))
        value.numbers = value.vector
        value.memory = &value.numbers[0]
    else:
        value.index = _check.integer(given, name, 0, size - 1)
        value.memory = &value.index
    return value


cdef ocp_bitgen *bitgen_of(bit_generator) except? NULL:
    if bit_generator is None:
        return NULL
    return <ocp_bitgen *>PyCapsule_GetPointer(bit_generator.capsule, "BitGenerator")


cdef class System:
    """What all systems share; the base of the built-in systems and of those written by users.

    A subclass is a Cython ``cdef class`` whose ``__init__`` fills in ``self.contract``, a C struct described
    in the header ``ocpfast/system.h``; version, size and infinite reward bounds already stand there. It then
    has the methods below, and compiled agents call its functions directly. It may also set
    ``self.arguments``, its constructor's arguments by name, to be copied, pickled, compared and printed, and
    ``self.state_domain``, the text after "expected" when a function answers ``OCP_BAD_STATE``.

    Examples
    --------
    >>> from ocpfast.systems import Chain, System
    >>> isinstance(Chain(5), System)
    True
    """

    def __cinit__(self):
        self.contract.abi_version = OCP_SYSTEM_ABI
        self.contract.struct_size = sizeof(ocp_system)
        self.contract.reward_min = -INFINITY
        self.contract.reward_max = INFINITY

    def __dealloc__(self):
        if self.own_instance != NULL:
            self.contract.destroy(self.own_instance)
        if self.owns_parameters:
            self.contract.destroy(self.contract.parameters)

    cdef int adopt(self, ocp_system contract) except -1:
        """Take over a contract whose parameters now belong to this object."""
        if self.contract.step != NULL:
            contract.destroy(contract.parameters)
            raise RuntimeError(f"{type(self).__name__}.__init__ was called a second time")
        self.contract = contract
        self.owns_parameters = True
        return 0

    cdef void *instance(self) except? NULL:
        """What the contract's functions act on here; never shared with a compiled run if it has memory."""
        if self.contract.step == NULL or self.contract.reset == NULL:
            raise RuntimeError(f"{type(self).__name__}.__init__ has not filled in the contract")
        if self.contract.horizon < 1 or self.contract.state_size < 1:
            raise RuntimeError(
                f"{type(self).__name__}: expected contract.horizon and contract.state_size >= 1, "
                f"got {self.contract.horizon} and {self.contract.state_size}"
            )
        if (self.contract.n_actions < 1) == (self.contract.action_size < 1):
            raise RuntimeError(
                f"{type(self).__name__}: expected one of contract.n_actions and contract.action_size >= 1, "
                f"got {self.contract.n_actions} and {self.contract.action_size}"
            )
        if self.contract.clone == NULL:
            return self.contract.parameters
        if self.contract.destroy == NULL:
            raise RuntimeError(f"{type(self).__name__}: contract.clone needs contract.destroy")
        if self.own_instance == NULL:
            self.own_instance = self.contract.clone(self.contract.parameters)
            if self.own_instance == NULL:
                raise MemoryError(f"{type(self).__name__}: could not be cloned")
        return self.own_instance

    def _fail(self, int code, state, action, period):
        if code == OCP_BAD_STATE:
            wanted = self.state_domain or "a state that the system allows"
            raise ValueError(f"state: expected {wanted}, got {state}")
        if code == OCP_BAD_ACTION:
            raise ValueError(f"action: expected one that the system allows, got {action}")
        if code == OCP_BAD_PERIOD:
            raise ValueError(f"period: expected one that the system allows, got {period}")
        if code == OCP_NO_MEMORY:
            raise MemoryError(f"{type(self).__name__}: out of memory")
        raise RuntimeError(f"{type(self).__name__}: its function failed with code {code}")

    def _bit_generator(self, rng):
        """Return the bit generator that `rng` stands for; None where the system draws nothing."""
        if rng is not None:
            bit_generator = generator(rng).bit_generator
        elif self.own_generator is None and self.contract.flags & OCP_STOCHASTIC:
            self.own_generator = bit_generator = np.random.PCG64()
        else:
            bit_generator = self.own_generator
        return bit_generator if self.contract.flags & OCP_STOCHASTIC else None

    @property
    def n_states(self):
        """Number of states; None where states are vectors.

        Examples
        --------
        >>> from ocpfast.systems import Chain
        >>> Chain(5).n_states
        5
        """
        return None if self.contract.state_kind == OCP_STATE_VECTOR else self.contract.state_size

    @property
    def state_size(self):
        """Number of components of a state vector; None where states are integers.

        Examples
        --------
        >>> from ocpfast.systems import InvertedPendulum
        >>> InvertedPendulum().state_size
        2
        """
        return self.contract.state_size if self.contract.state_kind == OCP_STATE_VECTOR else None

    @property
    def n_actions(self):
        """Number of actions; None where actions are vectors.

        Examples
        --------
        >>> from ocpfast.systems import Chain
        >>> Chain(5).n_actions
        2
        """
        return self.contract.n_actions if self.contract.action_size == 0 else None

    @property
    def horizon(self):
        """Number of periods of an episode.

        Examples
        --------
        >>> from ocpfast.systems import Chain
        >>> Chain(5).horizon
        5
        """
        return self.contract.horizon

    @property
    def reward_range(self):
        """The smallest and the largest possible reward; infinite where unknown.

        Examples
        --------
        >>> from ocpfast.systems import Chain
        >>> Chain(5).reward_range
        (0.0, 1.0)
        """
        return self.contract.reward_min, self.contract.reward_max

    @property
    def stochastic(self):
        """Whether `reset` or `step` draws random numbers.

        Examples
        --------
        >>> from ocpfast.systems import InvertedPendulum
        >>> InvertedPendulum().stochastic, InvertedPendulum(disturbance=2.5).stochastic
        (False, True)
        """
        return bool(self.contract.flags & OCP_STOCHASTIC)

    @property
    def homogeneous(self):
        """Whether transitions and rewards are the same in every period.

        Examples
        --------
        >>> from ocpfast.systems import Chain
        >>> Chain(5).homogeneous
        True
        """
        return bool(self.contract.flags & OCP_HOMOGENEOUS)

    @property
    def capsule(self):
        """A PyCapsule named "ocpfast.system" that points to the C struct.

        The struct lives as long as the system does: whoever uses the capsule keeps the system alive.

        Examples
        --------
        >>> from ocpfast.systems import Chain
        >>> type(Chain(5).capsule).__name__
        'PyCapsule'
        """
        self.instance()
        return PyCapsule_New(&self.contract, OCP_SYSTEM_CAPSULE, NULL)

    def reset(self, rng=None, episode=0):
        """Return the initial state of an episode.

        Parameters
        ----------
        rng : None, int, SeedSequence, BitGenerator or Generator, optional
            Where random numbers come from. None: a generator of the system's own, seeded by the operating
            system.
        episode : int, optional
            Number of the episode, from 0: some systems start each one elsewhere.

        Returns
        -------
        int or numpy.ndarray
            The state: an integer, or a new float64 array of shape ``(state_size,)``.

        Examples
        --------
        >>> from ocpfast.systems import Chain, InvertedPendulum
        >>> Chain(5).reset()
        0
        >>> InvertedPendulum().reset()
        array([0., 0.])
        """
        cdef void *instance = self.instance()
        cdef int64_t number = _count(episode, "episode", 0)
        cdef int code = OCP_FAILED
        bit_generator = self._bit_generator(rng)
        cdef int64_t size = self.contract.state_size
        cdef bint is_vector = self.contract.state_kind == OCP_STATE_VECTOR
        cdef _Value state = value_of("state", np.zeros(size) if is_vector else 0, is_vector, size)
        with _NO_LOCK if bit_generator is None else bit_generator.lock:
            code = self.contract.reset(instance, number, bitgen_of(bit_generator), state.memory)
        if code != OCP_OK:
            self._fail(code, None, None, 0)
        return state.public_form()

    def step(self, state, action, period=0, rng=None):
        """Take an action and return what comes of it.

        The horizon is the caller's business: a step in the last period is a step like any other.

        Parameters
        ----------
        state : int or array_like
            Where the system is; it is not changed.
        action : int or array_like
            What to do there.
        period : int, optional
            The period of the episode, in ``0..horizon - 1``.
        rng : None, int, SeedSequence, BitGenerator or Generator, optional
            Where random numbers come from, as in `reset`. An integer seeds anew in each call.

        Returns
        -------
        next_state : int or numpy.ndarray
            The next state; after a terminated transition some valid state that means nothing.
        reward : float
            The reward.
        terminated : bool
            Whether the episode ended, so that there is no value after this transition.

        Examples
        --------
        >>> from ocpfast.systems import Chain
        >>> Chain(5).step(3, 1)
        (4, 0.0, False)
        >>> Chain(5).step(4, 1)
        (4, 1.0, False)
        """
        # The GIL is kept: one step is short, and all threads share the instance of a system with memory.
        cdef void *instance = self.instance()
        cdef int64_t number = _check.integer(period, "period", 0, self.contract.horizon - 1)
        cdef double reward = 0.0
        cdef int ending = OCP_CONTINUES
        cdef int code = OCP_FAILED
        cdef _Value following = value_of(
            "state", state, self.contract.state_kind == OCP_STATE_VECTOR, self.contract.state_size
        )
        cdef int64_t choices = self.contract.action_size or self.contract.n_actions
        cdef _Value chosen = value_of("action", action, self.contract.action_size > 0, choices)
        bit_generator = self._bit_generator(rng)
        with _NO_LOCK if bit_generator is None else bit_generator.lock:
            code = self.contract.step(
                instance, number, following.memory, chosen.memory, bitgen_of(bit_generator), &reward, &ending
            )
        if code != OCP_OK:
            self._fail(code, state, action, period)
        return following.public_form(), reward, ending == OCP_TERMINATED

    def optimal_value(self, state):
        """Return the largest expected sum of rewards of an episode that starts in `state`; None if unknown.

        Parameters
        ----------
        state : int or array_like
            The initial state.

        Returns
        -------
        float or None
            The optimal value.

        Examples
        --------
        >>> from ocpfast.systems import Chain, InvertedPendulum
        >>> Chain(5).optimal_value(0)
        1.0
        >>> InvertedPendulum().optimal_value([0.0, 0.0]) is None
        True
        """
        cdef void *instance = self.instance()
        cdef double value = 0.0
        cdef int code = OCP_FAILED
        cdef _Value start = value_of(
            "state", state, self.contract.state_kind == OCP_STATE_VECTOR, self.contract.state_size
        )
        cdef const void *memory = start.memory
        if self.contract.optimal_value == NULL:
            return None
        if self.contract.flags & OCP_NEEDS_GIL:
            code = self.contract.optimal_value(instance, memory, &value)
        else:
            with nogil:  # it may have to solve the whole system first
                code = self.contract.optimal_value(instance, memory, &value)
        if code != OCP_OK:
            self._fail(code, state, None, 0)
        return None if math.isnan(value) else value

    def __repr__(self):
        if self.arguments is None:
            return f"<{type(self).__name__}>"
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{type(self).__name__}({arguments})"

    def __eq__(self, other):
        if type(self) is not type(other) or self.arguments is None:
            return NotImplemented
        return self.arguments == (<System>other).arguments

    def __hash__(self):
        if self.arguments is None:
            return object.__hash__(self)
        return hash((type(self), *self.arguments.values()))

    def __reduce__(self):
        if self.arguments is None:
            raise TypeError(f"cannot pickle or copy {type(self).__name__}: it does not state its arguments")
        return _rebuild, (type(self), self.arguments)


cdef class Chain(System):
    """A chain whose only reward lies at its far end: the paper's example of hard exploration.

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
    """Deep Sea, the deterministic exploration test of bsuite.

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
    """A finite deterministic system given as arrays.

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
            raise TypeError(f"next_state: expected integers, got dtype {table.dtype}")
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


cdef class InvertedPendulum(System):
    """The paper's inverted pendulum on a cart, to be kept upright for an hour.

    The state is the angle from the vertical, in radians, and the angular velocity. Actions 0, 1 and 2 push
    the cart with -50, 0 and +50 N for 0.1 s. Every step pays the 0.1 s it lasts, also the one in which the
    pendulum falls: it has fallen when the angle is pi/2 or more to either side at the end of a step, which
    terminates the episode; the state then returned is the physical one.

    Parameters
    ----------
    disturbance : float, optional
        Half-width d of the disturbances, in 0..10000: each step adds a force uniform on (-d, d) N, constant
        over the step, and the initial velocity is uniform on (-d, d).
    horizon : int, optional
        Number of steps; the default is one hour.
    integrator : {"rk4", "euler"}, optional
        Classical Runge-Kutta of order 4, or the explicit Euler method.
    substeps : int, optional
        How many steps of the integrator make up 0.1 s.

    Examples
    --------
    >>> from ocpfast.systems import InvertedPendulum
    >>> pendulum = InvertedPendulum()
    >>> state, steps, terminated = pendulum.reset(), 0, False
    >>> while not terminated:
    ...     state, reward, terminated = pendulum.step(state, 2)
    ...     steps += 1
    >>> steps
    6
    """

    def __init__(self, disturbance=0.0, horizon=36_000, integrator="rk4", substeps=1):
        width = float(_floats("disturbance", disturbance, ()))
        if not 0.0 <= width <= 1e4:
            raise ValueError(f"disturbance: expected a number in 0..10000, got {width}")
        if not isinstance(integrator, str) or integrator not in ("rk4", "euler"):
            raise ValueError(f"integrator: expected 'rk4' or 'euler', got {integrator!r}")
        cdef int64_t periods = _count(horizon, "horizon", 1)
        cdef int64_t parts = _check.integer(substeps, "substeps", 1, 1_000_000)
        self.adopt(contract_of(new CppPendulum(width, periods, integrator == "rk4", parts)))
        self.arguments = {
            "disturbance": width, "horizon": periods, "integrator": str(integrator), "substeps": parts,
        }
        self.state_domain = "|angle| < pi/2 and |angular velocity| <= 10000"

    def max_velocity(self):
        """Return the largest |angular velocity|, at the 0.1 s steps, of a fall from rest under +50 N.

        The paper grids velocities up to this one. It depends on the integrator and its substeps.

        Returns
        -------
        float
            Radians a second.

        Examples
        --------
        >>> from ocpfast.systems import InvertedPendulum
        >>> round(InvertedPendulum().max_velocity(), 3)
        6.264
        """
        self.instance()
        return (<CppPendulum *>self.contract.parameters).max_velocity()

    def partition(self):
        """Return the paper's 962 partitions of the states, for `ocpfast.StateAggregation`.

        31 intervals of the angle times 31 of the velocity (29 between plus and minus `max_velocity`, two open
        ones), and label 0 for the fallen pendulum.

        Returns
        -------
        ocpfast.Grid
            The partition.

        Examples
        --------
        >>> from ocpfast.systems import InvertedPendulum
        >>> InvertedPendulum().partition().n_labels
        962
        """
        from ocpfast.hypothesis import Grid

        limit = self.max_velocity()
        angles = np.linspace(-np.pi / 2, np.pi / 2, 32)[1:-1]
        return Grid([angles, np.linspace(-limit, limit, 30)], extra=1)

    def advance(self, states, forces):
        """Move many pendulums on by 0.1 s each, without disturbance and whether fallen or not.

        Parameters
        ----------
        states : array_like, shape (n, 2)
            Angles, in -1e5..1e5 radians, and angular velocities, in -1e4..1e4 radians a second.
        forces : array_like, shape (n,)
            Forces on the carts in Newtons, in -1e6..1e6, constant over the 0.1 s.

        Returns
        -------
        numpy.ndarray, shape (n, 2)
            The states that follow.

        Examples
        --------
        >>> from ocpfast.systems import InvertedPendulum
        >>> InvertedPendulum().advance([[0.0, 0.0], [0.0, 0.0]], [0.0, -50.0]).round(4)
        array([[0.    , 0.    ],
               [0.0447, 0.9073]])
        """
        self.instance()
        result = _floats("states", states)
        if result.ndim != 2 or result.shape[1] != 2:
            raise ValueError(f"states: expected shape (n, 2), got {result.shape}")
        pushes = _floats("forces", forces, (len(result),))
        for name, values, limit in (
            ("states[:, 0]", result[:, 0], 1e5), ("states[:, 1]", result[:, 1], 1e4), ("forces", pushes, 1e6),
        ):
            beyond = values[np.abs(values) > limit]
            if beyond.size:
                raise ValueError(f"{name}: expected numbers in {-limit}..{limit}, got {beyond[0]}")
        cdef double[:, ::1] state = result
        cdef const double[::1] force = pushes
        cdef CppPendulum *pendulum = <CppPendulum *>self.contract.parameters
        cdef Py_ssize_t i
        with nogil:
            for i in range(state.shape[0]):
                pendulum.advance(&state[i, 0], force[i])
        return result
