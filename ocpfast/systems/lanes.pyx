# cython: language_level=3
"""Many simulations of one system, stepped together: what vector environments are made of."""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint8_t
from libcpp.vector cimport vector

import numpy as np

from ocpfast import _check
from ocpfast.systems.base cimport (
    OCP_NEEDS_GIL, OCP_OK, OCP_RANDOM_START, OCP_STATE_VECTOR, OCP_STOCHASTIC, OCP_TERMINATED, CountedGenerator, System,
    ocp_bitgen, ocp_system
)
from ocpfast.systems.base import _floats

__all__ = ["Lanes"]


cdef class Lanes:
    """Lanes(system, n)\n--\n
    Simulations of one system side by side, each with its own period, episode, memory and generator.

    A step of them is one compiled call, by the system's own kernel for many where it has one. States that follow are
    kept only if no lane failed.

    Parameters
    ----------
    system : System
        What is simulated, with functions that are compiled and do not call Python.
    n : int
        How many simulations.

    Examples
    --------
    >>> import numpy as np
    >>> from ocpfast.systems import Chain
    >>> from ocpfast.systems.lanes import Lanes
    >>> lanes = Lanes(Chain(3), 2)
    >>> lanes.reset(np.array([True, True]))
    >>> lanes.step(np.array([1, 0]), np.array([True, True]))
    (array([0., 0.]), array([False, False]), array([False, False]))
    >>> lanes.states
    array([1, 0])
    """

    cdef System system
    cdef int64_t n
    cdef int64_t words              # of a state, 8 bytes each: one index, or state_size doubles
    cdef object array               # states: (n,) of int64, or (n, words) of float64
    cdef int64_t[::1] memory        # the same, as words
    cdef list generators            # kept alive: bitgens points into them
    cdef vector[ocp_bitgen *] bitgens
    cdef CountedGenerator counted   # for functions that are said to draw nothing
    cdef vector[void *] instances
    cdef void (*destroy)(void *instance) noexcept nogil  # of the lanes' own instances; NULL where they share one
    cdef vector[int64_t] periods    # the horizon where no episode is under way
    cdef vector[int64_t] episodes
    cdef bint busy                  # a step is under way, perhaps in another thread
    # of the lanes that take part in a step, one after the other
    cdef vector[int64_t] chosen
    cdef vector[int64_t] moved
    cdef vector[int64_t] moved_periods
    cdef vector[int64_t] moved_actions
    cdef vector[void *] moved_instances
    cdef vector[ocp_bitgen *] moved_bitgens
    cdef vector[double] moved_rewards
    cdef vector[int] moved_endings

    def __cinit__(self, System system not None, n):
        self.system = system
        self.n = _check.integer(n, "n", 1, 2**31 - 1)
        cdef void *shared = system.instance()
        if system.contract.flags & OCP_NEEDS_GIL:
            raise TypeError(
                f"system: expected compiled functions, got {type(system).__name__}, whose functions call Python; "
                "gymnasium.vector.SyncVectorEnv takes many ocpfast.gym.SystemEnv of it"
            )
        cdef void *instance
        is_vector = system.contract.state_kind == OCP_STATE_VECTOR
        self.words = system.contract.state_size if is_vector else 1
        self.array = np.zeros((self.n, self.words)) if is_vector else np.zeros(self.n, dtype=np.int64)
        self.memory = self.array.reshape(-1).view(np.int64)
        self.generators = [None] * self.n
        self.counted = CountedGenerator(np.random.PCG64())
        cdef ocp_bitgen *unseeded = &self.counted.bitgen
        if system.contract.flags & OCP_STOCHASTIC:
            unseeded = NULL
        self.bitgens.resize(self.n, unseeded)
        self.periods.resize(self.n, system.contract.horizon)
        self.episodes.resize(self.n)
        if system.contract.clone != NULL:
            self.destroy = system.contract.destroy
        for _ in range(self.n):
            instance = shared
            if self.destroy != NULL:
                instance = system.contract.clone(system.contract.parameters)
                if instance == NULL:
                    raise MemoryError(f"{type(system).__name__}: could not be cloned")
            self.instances.push_back(instance)

    def __dealloc__(self):
        if self.destroy != NULL:
            for instance in self.instances:
                self.destroy(instance)

    @property
    def states(self):
        """The states: a new array of shape (n,), or (n, state_size)."""
        return self.array.copy()

    @property
    def knows_optimum(self):
        """Whether the system can tell optimal values."""
        return self.system.contract.optimal_value != NULL

    def seed(self, int64_t lane, bit_generator):
        """Let a lane draw from a NumPy bit generator."""
        _check.integer(lane, "lane", 0, self.n - 1)
        self.generators[lane] = bit_generator
        if self.system.contract.flags & OCP_STOCHASTIC:
            self.bitgens[lane] = <ocp_bitgen *>PyCapsule_GetPointer(bit_generator.capsule, "BitGenerator")

    def reset(self, mask, state=None):
        """Begin the next episode in some lanes: where the system starts it, or in `state`."""
        cdef const uint8_t[::1] wanted = self._checked(mask)
        cdef int64_t lane
        cdef int code
        if self.busy:
            raise RuntimeError("lanes: another thread is stepping them")
        if state is not None:
            state = (
                _check.integer(state, "state", 0, self.system.contract.state_size - 1)
                if self.system.contract.state_kind != OCP_STATE_VECTOR
                else _floats("state", state, (self.words,))
            )
        for lane in range(self.n):
            if not wanted[lane]:
                continue
            if self.system.contract.flags & OCP_STOCHASTIC and self.bitgens[lane] == NULL:
                self.seed(lane, np.random.PCG64())
            self.periods[lane] = self.system.contract.horizon  # no episode is under way if this fails
            if state is not None:
                self.array[lane] = state
            else:
                code = self.system.contract.reset(
                    self.instances[lane], self.episodes[lane], self.bitgens[lane], &self.memory[lane * self.words]
                )
                self._check_draws("reset draws", "random_start=True, or stochastic=True if step draws as well")
                if code != OCP_OK:
                    self.system._fail(code, None, None, 0)
            self.periods[lane] = 0
            self.episodes[lane] += 1

    def _check_draws(self, who, remedy):
        if self.counted.counter.draws != 0:
            self.counted.counter.draws = 0
            raise self.system._undeclared_draws(who, remedy)

    def _checked(self, mask):
        array = np.asarray(mask)
        if array.dtype != bool or array.shape != (self.n,):
            raise ValueError(f"mask: expected {self.n} bools, got {mask!r}")
        return np.ascontiguousarray(array).view(np.uint8)

    def step(self, actions, mask):
        """Take an action in each of some lanes, which have been reset; those of the others have no effect.

        Returns
        -------
        rewards, terminated, truncated : ndarrays of shape (n,)
            What came of it, and whether it was the horizon's last period; 0 and False in the other lanes.
        """
        cdef const uint8_t[::1] wanted = self._checked(mask)
        cdef const ocp_system *contract = &self.system.contract
        cdef int64_t action_words = contract.action_size or 1
        given = np.asarray(actions)
        if contract.action_size == 0 and given.dtype.kind not in "iu":
            raise TypeError(f"actions: expected integers, got dtype {given.dtype}")
        shape = (self.n, *((action_words,) if contract.action_size else ()))
        if given.shape != shape:
            raise ValueError(f"actions: expected shape {shape}, got {given.shape}")
        if contract.action_size:
            given = _floats("actions", given)
        else:
            given = np.ascontiguousarray(given, dtype=np.int64)
        cdef const int64_t[::1] action = given.reshape(-1).view(np.int64)
        rewards = np.zeros(self.n)
        terminated, truncated = np.zeros(self.n, dtype=bool), np.zeros(self.n, dtype=bool)
        cdef double[::1] reward = rewards
        cdef uint8_t[::1] over = terminated.view(np.uint8), cut = truncated.view(np.uint8)
        cdef int64_t k, lane
        cdef int code
        for lane in range(self.n):
            if wanted[lane] and self.periods[lane] >= contract.horizon:
                raise RuntimeError(f"step: no episode is under way in lane {lane}; reset it first")
            if contract.action_size == 0 and not 0 <= action[lane] < contract.n_actions:
                raise ValueError(f"actions: expected integers in 0..{contract.n_actions - 1}, got {action[lane]}")
        if self.busy:
            raise RuntimeError("lanes: another thread is stepping them")
        self.busy = True
        try:
            with nogil:
                code = self._step(wanted, action, action_words)
            self._check_draws("step draws", "stochastic=True")
            if code != OCP_OK:
                self._fail(given)
            for k in range(<int64_t>self.chosen.size()):
                lane = self.chosen[k]
                self._put(lane, k)
                self.periods[lane] += 1
                reward[lane] = self.moved_rewards[k]
                over[lane] = self.moved_endings[k] == OCP_TERMINATED
                cut[lane] = not over[lane] and self.periods[lane] >= contract.horizon
                if over[lane]:
                    self.periods[lane] = contract.horizon
        finally:
            self.busy = False
        return rewards, terminated, truncated

    cdef bint _in_columns(self) noexcept nogil:
        """Whether component i of lane k is moved[i * lanes + k], as step_many has it, or moved[k * words + i]."""
        return self.system.contract.step_many != NULL and self.system.contract.action_size == 0

    cdef int _step(self, const uint8_t[::1] wanted, const int64_t[::1] actions, int64_t action_words) noexcept nogil:
        """Step the wanted lanes in memory of their own; what came of it lies in moved_*."""
        cdef const ocp_system *contract = &self.system.contract
        cdef int64_t lane, k, i, lanes
        cdef int code, error = OCP_OK
        cdef bint only_reset_draws = contract.flags & OCP_RANDOM_START
        self.chosen.clear()
        self.moved_actions.clear()
        for lane in range(self.n):
            if wanted[lane]:
                self.chosen.push_back(lane)
                for i in range(action_words):
                    self.moved_actions.push_back(actions[lane * action_words + i])
        lanes = self.chosen.size()
        self.moved.resize(lanes * self.words)
        self.moved_periods.resize(lanes)
        self.moved_instances.resize(lanes)
        self.moved_bitgens.resize(lanes)
        self.moved_rewards.resize(lanes)
        self.moved_endings.resize(lanes)
        for k in range(lanes):
            lane = self.chosen[k]
            self.moved_periods[k] = self.periods[lane]
            self.moved_instances[k] = self.instances[lane]
            self.moved_bitgens[k] = &self.counted.bitgen if only_reset_draws else self.bitgens[lane]
            for i in range(self.words):
                self.moved[i * lanes + k if self._in_columns() else k * self.words + i] = self.memory[
                    lane * self.words + i
                ]
        if lanes == 0:
            return OCP_OK
        if self._in_columns():
            return contract.step_many(
                self.moved_instances.data(), lanes, self.moved_periods.data(), self.moved.data(),
                self.moved_actions.data(), self.moved_bitgens.data(), self.moved_rewards.data(),
                self.moved_endings.data(),
            )
        for k in range(lanes):
            code = contract.step(
                self.moved_instances[k], self.moved_periods[k], &self.moved[k * self.words],
                &self.moved_actions[k * action_words], self.moved_bitgens[k], &self.moved_rewards[k],
                &self.moved_endings[k],
            )
            if code != OCP_OK:
                self.moved_endings[k] = -code
                error = code
        return error

    cdef void _put(self, int64_t lane, int64_t k) noexcept nogil:
        """The state that follows becomes the lane's state."""
        cdef int64_t i, lanes = self.chosen.size()
        for i in range(self.words):
            self.memory[lane * self.words + i] = self.moved[
                i * lanes + k if self._in_columns() else k * self.words + i
            ]

    def _fail(self, actions):
        for k in range(<int64_t>self.chosen.size()):
            if self.moved_endings[k] < 0:
                lane = self.chosen[k]
                self.system._fail(-self.moved_endings[k], self.array[lane], actions[lane], self.periods[lane])
