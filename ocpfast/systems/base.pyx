# cython: language_level=3
"""Systems: what an agent acts on.

Every system is a thin object around one C struct, `ocp_system`, through which compiled agents call it without
Python. `System` offers the same functions to Python, one checked step at a time.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t, uint64_t

import contextlib
import math

import numpy as np

from ocpfast import _check
from ocpfast.randomness import generator

__all__ = ["System"]


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


cdef ocp_bitgen *bitgen_of(bit_generator) except NULL:
    return <ocp_bitgen *>PyCapsule_GetPointer(bit_generator.capsule, "BitGenerator")


cdef uint64_t counted_uint64(void *counter) noexcept nogil:
    (<Counter *>counter).draws += 1
    return (<Counter *>counter).source.next_uint64((<Counter *>counter).source.state)


cdef uint32_t counted_uint32(void *counter) noexcept nogil:
    (<Counter *>counter).draws += 1
    return (<Counter *>counter).source.next_uint32((<Counter *>counter).source.state)


cdef double counted_double(void *counter) noexcept nogil:
    (<Counter *>counter).draws += 1
    return (<Counter *>counter).source.next_double((<Counter *>counter).source.state)


cdef uint64_t counted_raw(void *counter) noexcept nogil:
    (<Counter *>counter).draws += 1
    return (<Counter *>counter).source.next_raw((<Counter *>counter).source.state)


cdef class CountedGenerator:
    """A bit generator that works and counts its draws: for functions that are said to draw nothing.

    Those that do so all the same would read through a NULL pointer otherwise, or spoil what rests on their word.
    """

    def __init__(self, bit_generator):
        self.source = bit_generator  # kept alive
        self.counter.source = bitgen_of(bit_generator)
        self.bitgen.state = &self.counter
        self.bitgen.next_uint64 = counted_uint64
        self.bitgen.next_uint32 = counted_uint32
        self.bitgen.next_double = counted_double
        self.bitgen.next_raw = counted_raw

    @property
    def capsule(self):
        """As NumPy's bit generators have it; it does not keep this object alive."""
        return PyCapsule_New(&self.bitgen, "BitGenerator", NULL)

    @property
    def draws(self):
        """How often a number was drawn."""
        return self.counter.draws


cdef int raised(int code) except *:
    """Return what a function returned; where it left a Python exception behind, that is raised here."""
    return code


# The first line of a cdef class's docstring, up to "--", is where CPython finds its signature.
cdef class System:
    """System()\n--\n
    What all systems share; the base of the built-in systems and of those written by users.

    In Python one derives from `ocpfast.PythonSystem`, or makes an `ocpfast.CompiledSystem` of compiled functions. A
    direct subclass is a Cython ``cdef class`` whose ``__init__`` fills in ``self.contract``, a C struct described
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

    def _describe(
        self, *, horizon, n_states, state_size, n_actions, action_size, reward_range, stochastic, random_start, adaptive,
        homogeneous,
    ):
        """Write what a system says of itself into its contract; return it by name, checked."""
        if self.contract.step != NULL:
            raise RuntimeError(f"{type(self).__name__}.__init__ was called a second time")
        for one, other, got in (
            ("n_states", "state_size", (n_states, state_size)), ("n_actions", "action_size", (n_actions, action_size)),
        ):
            if (got[0] is None) == (got[1] is None):
                raise ValueError(
                    f"{one}, {other}: expected one of them, got {one}={got[0]!r}, {other}={got[1]!r}; {one} where they "
                    f"are integers, {other} where they are vectors"
                )
        given = {"horizon": _count(horizon, "horizon", 1)}
        self.contract.horizon = given["horizon"]
        if n_states is not None:
            self.contract.state_kind = OCP_STATE_INDEX
            given["n_states"] = self.contract.state_size = _count(n_states, "n_states", 1)
        else:
            self.contract.state_kind = OCP_STATE_VECTOR
            given["state_size"] = self.contract.state_size = _check.integer(state_size, "state_size", 1, 2**20)
        if n_actions is not None:
            given["n_actions"] = self.contract.n_actions = _count(n_actions, "n_actions", 1)
        else:
            given["action_size"] = self.contract.action_size = _check.integer(action_size, "action_size", 1, 2**20)
        if not isinstance(reward_range, (tuple, list)) or len(reward_range) != 2:
            raise TypeError(f"reward_range: expected two numbers, got {reward_range!r}")
        least, most = (_check.number(reward, "reward_range") for reward in reward_range)
        if least > most:
            raise ValueError(f"reward_range: expected the smallest reward and the largest, got {reward_range!r}")
        self.contract.reward_min, self.contract.reward_max = least, most
        given["reward_range"] = (least, most)
        flags = {
            "stochastic": (stochastic, OCP_STOCHASTIC),
            "random_start": (random_start, OCP_STOCHASTIC if stochastic else OCP_STOCHASTIC | OCP_RANDOM_START),
            "adaptive": (adaptive, OCP_ADAPTIVE),
            "homogeneous": (homogeneous, OCP_HOMOGENEOUS),
        }
        for name, (wanted, flag) in flags.items():
            given[name] = _check.flag(wanted, name)
            if given[name]:
                self.contract.flags |= <uint32_t>flag
        return given

    def _summary(self):
        """Return sizes in words, for __repr__."""
        states = f"{self.n_states} states" if self.state_size is None else f"states of {self.state_size} numbers"
        actions = f"{self.n_actions} actions" if self.action_size is None else f"actions of {self.action_size} numbers"
        return f"{states}, {actions}, H={self.horizon}"

    def _for_simulation(self, rng):
        """Return the system that one simulation runs on: itself, if its functions are compiled."""
        return self

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
        if code == OCP_OVERFLOW:
            raise OverflowError(
                f"{type(self).__name__}: the next state or the reward is beyond the range of doubles, "
                f"after action {action} in state {state}, period {period}"
            )
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

    cdef CountedGenerator counting(self):
        """The generator for functions that are said to draw nothing, from a count of 0."""
        if self.counted is None:
            self.counted = CountedGenerator(np.random.PCG64())
        self.counted.counter.draws = 0
        return self.counted

    def _undeclared_draws(self, who, remedy):
        """Return the error of a system that draws random numbers and does not say so."""
        return ValueError(
            f"stochastic: {type(self).__name__} was said not to draw random numbers, but its {who} them: say {remedy} "
            "(in a C struct: the flags OCP_STOCHASTIC and OCP_RANDOM_START)"
        )

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
    def action_size(self):
        """Number of components of an action vector; None where actions are integers.

        Examples
        --------
        >>> from ocpfast.systems import Chain, LinearQuadratic
        >>> LinearQuadratic([[1.0]], [[1.0]], [[1.0]], [[1.0]], horizon=5, initial_state=[1.0]).action_size
        1
        >>> Chain(5).action_size is None
        True
        """
        return self.contract.action_size or None

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
    def deterministic_steps(self):
        """Whether `step` draws no random numbers; `reset` may.

        Examples
        --------
        >>> from ocpfast.systems import InvertedPendulum, TableSystem
        >>> coin = TableSystem([[0], [1]], [[0.0], [1.0]], initial_state=[0.5, 0.5], horizon=1)
        >>> coin.stochastic, coin.deterministic_steps
        (True, True)
        >>> InvertedPendulum(disturbance=2.5).deterministic_steps
        False
        """
        return not self.contract.flags & OCP_STOCHASTIC or bool(self.contract.flags & OCP_RANDOM_START)

    @property
    def steps_many(self):
        """Whether `ocpfast.run` steps many simulations side by side.

        Examples
        --------
        >>> from ocpfast.systems import Chain, InvertedPendulum
        >>> Chain(5).steps_many, InvertedPendulum().steps_many
        (False, True)
        """
        return (
            self.contract.step_many != NULL
            and self.contract.action_size == 0
            and not self.contract.flags & OCP_NEEDS_GIL
        )

    @property
    def adaptive(self):
        """Whether rewards depend on what the agent did in earlier episodes.

        Examples
        --------
        >>> from ocpfast.systems import Adversary, Chain
        >>> Chain(5).adaptive, Adversary(n_features=5, horizon=10).adaptive
        (False, True)
        """
        return bool(self.contract.flags & OCP_ADAPTIVE)

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
        cdef CountedGenerator counted = self.counting() if bit_generator is None else None
        cdef ocp_bitgen *bitgen = bitgen_of(bit_generator) if counted is None else &counted.bitgen
        cdef int64_t size = self.contract.state_size
        cdef bint is_vector = self.contract.state_kind == OCP_STATE_VECTOR
        cdef _Value state = value_of("state", np.zeros(size) if is_vector else 0, is_vector, size)
        with _NO_LOCK if bit_generator is None else bit_generator.lock:
            code = raised(self.contract.reset(instance, number, bitgen, state.memory))
        if counted is not None and counted.counter.draws != 0:
            raise self._undeclared_draws("reset draws", "random_start=True, or stochastic=True if step draws as well")
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
        cdef CountedGenerator counted = None
        if bit_generator is None or self.contract.flags & OCP_RANDOM_START:
            counted, bit_generator = self.counting(), None
        cdef ocp_bitgen *bitgen = bitgen_of(bit_generator) if counted is None else &counted.bitgen
        with _NO_LOCK if bit_generator is None else bit_generator.lock:
            code = raised(self.contract.step(
                instance, number, following.memory, chosen.memory, bitgen, &reward, &ending
            ))
        if counted is not None and counted.counter.draws != 0:
            raise self._undeclared_draws("step draws", "stochastic=True")
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
            code = raised(self.contract.optimal_value(instance, memory, &value))
        else:
            with nogil:  # it may have to solve the whole system first
                code = self.contract.optimal_value(instance, memory, &value)
        if code != OCP_OK:
            self._fail(code, state, None, 0)
        return None if math.isnan(value) else value

    def __repr__(self):
        if self.arguments is None:
            return f"<{type(self).__name__}: {self._summary()}>"
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
