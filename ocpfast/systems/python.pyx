# cython: language_level=3
"""Systems that users write in Python."""

from libc.math cimport NAN, isfinite
from libc.stdint cimport int64_t
from libc.string cimport memcpy

import copy
import inspect
import math

import numpy as np

from ocpfast import _check
from ocpfast.randomness import generator
from ocpfast.systems.base cimport (
    OCP_CONTINUES, OCP_NEEDS_GIL, OCP_OK, OCP_STATE_VECTOR, OCP_STOCHASTIC, OCP_TERMINATED, OptimalValueFunction,
    ResetFunction, StepFunction, System, ocp_bitgen,
)
from ocpfast.systems.base import _count

__all__ = ["PythonSystem"]

# What the methods of a subclass may take, beside what they must.
_OPTIONAL = {"reset": ((), ("rng", "episode")), "step": (("state", "action"), ("period", "rng"))}


def _wanted(owner, name, method):
    """Return those of the optional arguments that a user's method takes."""
    needed, optional = _OPTIONAL[name]
    if isinstance(method, (staticmethod, classmethod)) or not callable(method):
        raise TypeError(f"{owner}.{name}: expected a method, got {method!r}")
    parameters = list(inspect.signature(method).parameters.values())[1:]  # without self
    first, rest = parameters[:len(needed)], parameters[len(needed):]
    variadic = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    unknown = [
        one for one in rest if one.name not in optional and one.default is one.empty and one.kind not in variadic
    ]
    if len(first) < len(needed) or unknown or any(one.kind is one.POSITIONAL_ONLY for one in rest):
        expected = ", ".join(("self", *needed))
        raise TypeError(
            f"{owner}.{name}: expected the parameters ({expected}) and, of {' and '.join(optional)}, those that it "
            f"needs, got {inspect.signature(method)}"
        )
    if any(one.kind is one.VAR_KEYWORD for one in rest):
        return optional
    names = {one.name for one in rest}
    return tuple(one for one in optional if one in names)


def _checked_reset(method, wanted):
    def reset(self, rng=None, episode=0):
        number = _count(episode, "episode", 0)
        return (<PythonMethods>self).start_by(method.__get__(self), wanted, (<PythonMethods>self).stream(rng), number)

    return reset


def _checked_step(method, wanted):
    def step(self, state, action, period=0, rng=None):
        cdef PythonMethods system = self
        system.instance()
        number = _check.integer(period, "period", 0, system.contract.horizon - 1)
        before = system.checked_state(state, "state")
        chosen = system.checked_action(action)
        return system.outcome_by(method.__get__(self), wanted, before, chosen, number, system.stream(rng))

    return step


def _remade(cls, description):
    system = cls.__new__(cls)
    PythonMethods.__init__(system, **description)
    return system


# The functions of the contract. `bitgen` is that of self.generator, which `ocpfast.run` gave this copy.

cdef int reset_in_python(void *instance, int64_t episode, ocp_bitgen *bitgen, void *state) except -1:
    cdef PythonMethods self = <PythonMethods>instance
    self.write_state(state, self.start_by(self._own_reset, self._reset_takes, self.generator, episode))
    return OCP_OK


cdef int step_in_python(
    void *instance, int64_t period, void *state, const void *action, ocp_bitgen *bitgen, double *reward, int *ending
) except -1:
    cdef PythonMethods self = <PythonMethods>instance
    following, paid, terminated = self.outcome_by(
        self._own_step, self._step_takes, self.read_state(state), self.read_action(action), period, self.generator
    )
    self.write_state(state, following)
    reward[0] = paid
    ending[0] = OCP_TERMINATED if terminated else OCP_CONTINUES
    return OCP_OK


cdef int optimal_value_in_python(void *instance, const void *state, double *value) except -1:
    cdef PythonMethods self = <PythonMethods>instance
    known = self.optimal_value(self.read_state(state))
    value[0] = NAN if known is None else _check.number(known, f"{type(self).__name__}.optimal_value")
    return OCP_OK


cdef class PythonMethods(System):
    """A contract whose functions call the methods of a `PythonSystem`."""

    cdef object generator     # of the simulation that this copy is for
    cdef dict description     # what __init__ was given

    def __init__(
        self, *, horizon=None, n_states=None, state_size=None, n_actions=None, action_size=None,
        reward_range=(-math.inf, math.inf), stochastic=False, random_start=False, adaptive=False, homogeneous=False,
    ):
        for method in ("reset", "step"):
            if getattr(type(self), f"_own_{method}") is None:
                raise TypeError(f"{type(self).__name__}: expected a subclass of PythonSystem that defines {method}")
        self.description = self._describe(
            horizon=horizon, n_states=n_states, state_size=state_size, n_actions=n_actions, action_size=action_size,
            reward_range=reward_range, stochastic=stochastic, random_start=random_start, adaptive=adaptive,
            homogeneous=homogeneous,
        )
        self.contract.flags |= OCP_NEEDS_GIL
        self.contract.parameters = <void *>self
        # <void *>: Cython warns of functions that need the GIL; whoever calls these has it
        self.contract.reset = <ResetFunction><void *>reset_in_python
        self.contract.step = <StepFunction><void *>step_in_python
        if type(self).optimal_value is not System.optimal_value:
            self.contract.optimal_value = <OptimalValueFunction><void *>optimal_value_in_python

    def _for_simulation(self, rng):
        try:
            twin = copy.deepcopy(self)
        except Exception as error:
            raise TypeError(
                f"system: expected one that can be copied, as each simulation has a copy of its own, got {self!r} "
                f"({type(error).__name__}: {error})"
            ) from error
        (<PythonMethods>twin).generator = rng if self.contract.flags & OCP_STOCHASTIC else None
        return twin

    cdef stream(self, rng):
        self.instance()
        bit_generator = self._bit_generator(rng)
        return None if bit_generator is None else generator(bit_generator)

    cdef start_by(self, method, tuple takes, rng, int64_t episode):
        available = {"rng": rng, "episode": episode}
        return self.checked_state(method(**{name: available[name] for name in takes}), "reset: state")

    cdef tuple outcome_by(self, method, tuple takes, state, action, int64_t period, rng):
        available = {"period": period, "rng": rng}
        outcome = method(state, action, **{name: available[name] for name in takes})
        if not isinstance(outcome, tuple) or len(outcome) != 3:
            raise TypeError(f"step: expected (next_state, reward, terminated), got {outcome!r}")
        following, paid, terminated = outcome
        following = self.checked_state(following, "step: next_state")
        cdef double reward = _check.number(paid, "step: reward", "a finite number")
        if not isfinite(reward):
            raise ValueError(f"step: reward: expected a finite number, got {reward}")
        if not self.contract.reward_min <= reward <= self.contract.reward_max:
            raise ValueError(f"step: reward: expected one in the reward_range {self.reward_range}, got {reward}")
        return following, reward, _check.flag(terminated, "step: terminated")

    cdef checked_state(self, value, str name):
        if self.contract.state_kind == OCP_STATE_VECTOR:
            return vector_of(value, name, self.contract.state_size)
        return _check.integer(value, name, 0, self.contract.state_size - 1)

    cdef checked_action(self, value):
        if self.contract.action_size > 0:
            return vector_of(value, "action", self.contract.action_size)
        return _check.integer(value, "action", 0, self.contract.n_actions - 1)

    cdef read_state(self, const void *memory):
        if self.contract.state_kind == OCP_STATE_VECTOR:
            return copied(memory, self.contract.state_size)
        return (<const int64_t *>memory)[0]

    cdef read_action(self, const void *memory):
        if self.contract.action_size > 0:
            return copied(memory, self.contract.action_size)
        return (<const int64_t *>memory)[0]

    cdef int write_state(self, void *memory, value) except -1:
        cdef const double[::1] numbers
        if self.contract.state_kind == OCP_STATE_VECTOR:
            numbers = value
            memcpy(memory, &numbers[0], self.contract.state_size * sizeof(double))
        else:
            (<int64_t *>memory)[0] = value
        return 0

    def __repr__(self):
        return f"<{type(self).__name__}: {self._summary()}>"

    def __reduce__(self):
        self.instance()
        state = self.__getstate__() if hasattr(self, "__getstate__") else self.__dict__
        return _remade, (type(self), self.description), state


cdef vector_of(value, str name, int64_t size):
    """Return a new float64 array; of states that are not numbers only a hypothesis class can say whether it has them."""
    vector = _check.numeric(value, name, f"{size} numbers")
    if vector.shape != (size,):
        raise ValueError(f"{name}: expected {size} numbers, got shape {vector.shape}")
    return vector


cdef copied(const void *memory, int64_t size):
    vector = np.empty(size)
    cdef double[::1] numbers = vector
    memcpy(&numbers[0], memory, size * sizeof(double))
    return vector


class PythonSystem(PythonMethods):
    """The base of systems in Python, which `ocpfast.run` and `ocpfast.solve` call at Python's speed.

    A subclass defines ``reset(self, rng, episode)``, which returns the initial state of an episode, and
    ``step(self, state, action, period, rng)``, which returns ``(next_state, reward, terminated)``. Of `rng`, `episode`
    and `period` each may leave out what it does not need. `rng` is a `numpy.random.Generator`; None where the system
    is not said to draw random numbers. It may define ``optimal_value(self, state)``, the best that an episode from
    there can give, or None where that is not known.

    What they are called with and what they return is checked, by whomever they are called: as a method, `step` has
    the arguments of any system's, ``step(state, action, period=0, rng=None)``.

    Each simulation of a run has a deep copy of the system, so a system may remember what it likes in its attributes;
    to be sent to an executor's workers, it is pickled with them. Exceptions come out of `ocpfast.run` as they are.

    Parameters
    ----------
    horizon : int
        Number of periods of an episode.
    n_states, state_size : int
        One of them: the number of states, which are then integers, or the number of components of a state vector, a
        float64 array.
    n_actions, action_size : int
        One of them, likewise.
    reward_range : tuple of float, optional
        The smallest and the largest possible reward.
    stochastic : bool, default False
        Whether `step` draws from `rng`; `reset` then may as well.
    random_start : bool, default False
        Whether `reset` draws from `rng`.
    adaptive : bool, default False
        Whether rewards depend on what the agent did in earlier episodes.
    homogeneous : bool, default False
        Whether transitions and rewards are the same in every period.

    See Also
    --------
    CompiledSystem : the same from compiled functions, at full speed.

    Examples
    --------
    A corridor with a door at each end, of which the far one is worth more:

    >>> import ocpfast as ocp
    >>> class Corridor(ocp.PythonSystem):
    ...     def __init__(self, length):
    ...         super().__init__(n_states=length, n_actions=2, horizon=2 * length, homogeneous=True)
    ...         self.length = length
    ...
    ...     def reset(self):
    ...         return 1
    ...
    ...     def step(self, state, action):
    ...         state = min(max(state + (1 if action == 1 else -1), 0), self.length - 1)
    ...         if 0 < state < self.length - 1:
    ...             return state, 0.0, False
    ...         return state, 0.1 if state == 0 else 1.0, True
    >>> corridor = Corridor(10)
    >>> corridor.step(8, 1)
    (9, 1.0, True)
    >>> agent = ocp.OCP(ocp.TabulaRasa(10, 2, horizon=20), replay=True, ties="directed")
    >>> result = ocp.run(agent, corridor, episodes=100, progress=False)
    >>> float(result.rewards[0, -1]), float(ocp.solve(corridor).v[0, 1])
    (1.0, 1.0)
    """

    _own_reset = _own_step = None
    _reset_takes = _step_takes = ()

    # for help() and inspect.signature, which do not see what a cdef class takes
    def __init__(
        self, *, horizon, n_states=None, state_size=None, n_actions=None, action_size=None,
        reward_range=(-math.inf, math.inf), stochastic=False, random_start=False, adaptive=False, homogeneous=False,
    ):
        super().__init__(
            horizon=horizon, n_states=n_states, state_size=state_size, n_actions=n_actions, action_size=action_size,
            reward_range=reward_range, stochastic=stochastic, random_start=random_start, adaptive=adaptive,
            homogeneous=homogeneous,
        )

    def __init_subclass__(cls, **keywords):
        """Let callers find the checked methods, and compiled agents those that the user wrote."""
        super().__init_subclass__(**keywords)
        for name, checked in (("reset", _checked_reset), ("step", _checked_step)):
            method = vars(cls).get(name)
            if method is None:
                continue
            takes = _wanted(cls.__name__, name, method)
            public = checked(method, takes)
            public.__name__, public.__qualname__, public.__module__ = name, f"{cls.__qualname__}.{name}", cls.__module__
            public.__doc__ = method.__doc__
            setattr(cls, name, public)
            setattr(cls, f"_own_{name}", method)
            setattr(cls, f"_{name}_takes", takes)
