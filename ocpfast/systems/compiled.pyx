# cython: language_level=3
"""Systems of a user's own compiled functions."""

from libc.stdint cimport int64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import ctypes
import importlib
import math

from ocpfast import _check
from ocpfast.signatures import OPTIMAL_VALUE, RESET, STEP, STEP_MANY
from ocpfast.systems.base cimport (
    OCP_FAILED, OCP_OK, OptimalValueFunction, ResetFunction, StepFunction, StepManyFunction, System, ocp_bitgen,
)

__all__ = ["CompiledSystem"]


# Parameters are copied to where their number of bytes stands before them, as far before as malloc aligns: whoever
# clones them is told nothing but where they are.
cdef enum:
    HEADER = 16


cdef void *stored(const void *bytes, int64_t size) noexcept nogil:
    cdef char *block = <char *>malloc(HEADER + size)
    if block == NULL:
        return NULL
    (<int64_t *>block)[0] = size
    memcpy(block + HEADER, bytes, size)
    return block + HEADER


cdef int64_t size_of(const void *instance) noexcept nogil:
    return (<const int64_t *>(<const char *>instance - HEADER))[0]


cdef void *clone(const void *parameters) noexcept nogil:
    return stored(parameters, size_of(parameters))


cdef void destroy(void *instance) noexcept nogil:
    free(<char *>instance - HEADER)


cdef int64_t save(const void *instance, void *bytes) noexcept nogil:
    if bytes != NULL:
        memcpy(bytes, instance, size_of(instance))
    return size_of(instance)


cdef int load(void *instance, const void *bytes, int64_t size) noexcept nogil:
    if size != size_of(instance):
        return OCP_FAILED
    memcpy(instance, bytes, size)
    return OCP_OK


cdef double draw(ocp_bitgen *bitgen) noexcept nogil:
    return bitgen.next_double(bitgen.state)


cdef _bytes_of(parameters):
    try:
        view = memoryview(parameters)
    except TypeError:
        raise TypeError(
            "parameters: expected bytes, a NumPy array or a ctypes structure, "
            f"got {parameters!r} ({type(parameters).__name__})"
        ) from None
    if "O" in view.format:
        raise TypeError(f"parameters: expected plain memory, got an array of Python objects, {parameters!r}")
    return view.tobytes()


def _made_by(factory):
    """Return the function that "module:function" names."""
    module, colon, name = factory.partition(":")
    expected = f"factory: expected 'module:function', a function that makes the system, got {factory!r}"
    if not (module and colon and name):
        raise ValueError(expected)
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{expected} ({error})") from error
    if not callable(found):
        raise ValueError(f"{expected}, which is {found!r}")
    return found


def _made_again(factory, arguments, description):
    system = _made_by(factory)(**arguments)
    if not isinstance(system, CompiledSystem):
        raise TypeError(f"factory: expected {factory!r} to make a CompiledSystem, got {system!r}")
    made = (<CompiledSystem>system).description
    if made != description:
        raise ValueError(f"factory: {factory!r} makes another system, {made}, expected {description}")
    return system


cdef class CompiledSystem(System):
    """CompiledSystem(step, reset, *, horizon, n_states=None, state_size=None, n_actions=None, action_size=None, \
reward_range=(-math.inf, math.inf), parameters=None, mutable=False, stochastic=False, random_start=False, \
adaptive=False, homogeneous=False, step_many=None, optimal_value=None, factory=None, factory_arguments=None)\n--\n
    A system of your own compiled functions, as fast as those that come with ocpfast.

    Functions come as a `scipy.LowLevelCallable`, a numba cfunc or a ctypes function, with the signatures of the header
    ``ocpfast/system.h``, which says what they do; `ocpfast.signatures` spells them for numba and ctypes. They return 0,
    or an error that ends the run: one of the header's, or a number of their own from 100 on. They are called from
    several threads at once and without Python.

    Parameters
    ----------
    step : function
        ``int (void *instance, int64_t period, void *state, const void *action, ocp_bitgen *bitgen, double *reward,
        int *ending)`` replaces the state by the next one, and writes reward and ending: 0, or 1 where the episode has
        terminated. A state is an ``int64_t`` or `state_size` doubles, an action likewise.
    reset : function
        ``int (void *instance, int64_t episode, ocp_bitgen *bitgen, void *state)`` writes the initial state.
    horizon : int
        Number of periods of an episode.
    n_states, state_size : int
        One of them: the number of states, or the number of components of a state vector.
    n_actions, action_size : int
        One of them: the number of actions, or the number of components of an action vector.
    reward_range : tuple of float, optional
        The smallest and the largest possible reward.
    parameters : bytes, NumPy array, ctypes structure or any buffer, optional
        What `instance` points to: a copy of this memory. By default the user data of the `LowLevelCallable`, or NULL.
    mutable : bool, default False
        Whether the functions write to `parameters`, as those of a system with a memory do: every simulation then has
        a copy of its own, and `step` and `reset` of this object another.
    stochastic : bool, default False
        Whether `step` draws from `bitgen`; `reset` then may as well. A function that draws and does not say so is an
        error, when it is stepped by hand, in `ocpfast.solve` and in `ocpfast.run`.
    random_start : bool, default False
        Whether `reset` draws from `bitgen`.
    adaptive : bool, default False
        Whether rewards depend on what the agent did in earlier episodes.
    homogeneous : bool, default False
        Whether transitions and rewards are the same in every period.
    step_many : function, optional
        One step of many simulations side by side; see the header.
    optimal_value : function, optional
        ``int (void *instance, const void *state, double *value)`` writes the best that an episode from there can give.
    factory : str, optional
        ``"module:function"``, a function that makes this system, for pickling: functions in memory cannot be sent to
        the workers of an executor, but made there again.
    factory_arguments : dict, optional
        What `factory` is called with.

    Attributes
    ----------
    next_double : ctypes function
        ``double (ocp_bitgen *bitgen)`` draws a number uniform on [0, 1): for numba, which cannot call the function
        pointers in `bitgen`, but can call this.

    See Also
    --------
    PythonSystem : a system in Python, at Python's speed.

    Examples
    --------
    A step with numba, that tosses a coin for its reward::

        next_double = ocp.CompiledSystem.next_double

        @numba.cfunc(ocp.signatures.STEP.numba(state="int64_t", action="int64_t"))
        def step(instance, period, state, action, bitgen, reward, ending):
            reward[0] = 1.0 if next_double(bitgen) < 0.5 else -1.0
            ending[0] = 0
            return 0

    A function of a library, by ctypes, is ``ocp.signatures.STEP.ctypes(("step", ctypes.CDLL("./mine.so")))``. Without
    a compiler at hand, ctypes makes a C function of a Python one, which is slow but shows the rest:

    >>> import ctypes
    >>> import ocpfast as ocp
    >>> def step(instance, period, state, action, bitgen, reward, ending):
    ...     reward[0] = ctypes.c_double.from_address(instance).value
    ...     ending[0] = 0
    ...     return 0
    >>> def reset(instance, episode, bitgen, state):
    ...     ctypes.c_int64.from_address(state).value = 0
    ...     return 0
    >>> system = ocp.CompiledSystem(
    ...     step=ocp.signatures.STEP.ctypes(step),
    ...     reset=ocp.signatures.RESET.ctypes(reset),
    ...     n_states=1, n_actions=2, horizon=5, parameters=ctypes.c_double(0.25),
    ... )
    >>> system.step(0, 1)
    (0, 0.25, False)
    """

    cdef dict description     # sizes and flags
    cdef dict functions       # by name, as they were given: kept alive
    cdef bytes memory         # the parameters; None where the functions brought their own
    cdef bint is_mutable
    cdef object kept          # what parameters were given, as they may hold addresses of what is theirs
    cdef str factory
    cdef dict factory_arguments

    next_double = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(<uintptr_t>&draw)

    def __init__(
        self, step, reset, *, horizon=None, n_states=None, state_size=None, n_actions=None, action_size=None,
        reward_range=(-math.inf, math.inf), parameters=None, mutable=False, stochastic=False, random_start=False,
        adaptive=False, homogeneous=False, step_many=None, optimal_value=None, factory=None, factory_arguments=None,
    ):
        self.description = self._describe(
            horizon=horizon, n_states=n_states, state_size=state_size, n_actions=n_actions, action_size=action_size,
            reward_range=reward_range, stochastic=stochastic, random_start=random_start, adaptive=adaptive,
            homogeneous=homogeneous,
        )
        if factory is not None and not isinstance(factory, str):
            raise TypeError(f"factory: expected 'module:function', got {factory!r}")
        if factory_arguments is not None and not isinstance(factory_arguments, dict):
            raise TypeError(f"factory_arguments: expected a dict, got {factory_arguments!r}")
        self.factory = factory
        self.factory_arguments = dict(factory_arguments or {})
        self.functions = {"step": step, "reset": reset, "step_many": step_many, "optimal_value": optimal_value}
        addresses = self._addresses()
        self._set_parameters(parameters, mutable, {data for _, data in addresses.values() if data != 0})
        cdef uintptr_t address = addresses["reset"][0]
        self.contract.reset = <ResetFunction>address
        if step_many is not None:
            address = addresses["step_many"][0]
            self.contract.step_many = <StepManyFunction>address
        if optimal_value is not None:
            address = addresses["optimal_value"][0]
            self.contract.optimal_value = <OptimalValueFunction>address
        address = addresses["step"][0]
        self.contract.step = <StepFunction>address

    def _addresses(self):
        """Return address and user data of each function that was given."""
        found = {}
        for signature, name in ((STEP, "step"), (RESET, "reset"), (STEP_MANY, "step_many"),
                                (OPTIMAL_VALUE, "optimal_value")):
            function = self.functions[name]
            if function is None and name in ("step_many", "optimal_value"):
                continue
            found[name] = signature.address_of(function, name)
            if found[name] is None:
                raise TypeError(
                    f"{name}: expected a scipy.LowLevelCallable, a numba cfunc or a ctypes function, got {function!r}; "
                    "a system in Python derives from PythonSystem"
                )
        return found

    def _set_parameters(self, parameters, mutable, user_data):
        """Let the contract point to a copy of the parameters, or to what the functions brought themselves."""
        self.is_mutable = _check.flag(mutable, "mutable")
        cdef uintptr_t address
        if parameters is None:
            if self.is_mutable:
                raise ValueError("mutable: expected False without parameters, got True")
            if len(user_data) > 1:
                raise ValueError("step, reset: expected LowLevelCallables with the same user data, got different ones")
            address = max(user_data, default=0)
            self.contract.parameters = <void *>address
            return
        if user_data:
            raise ValueError("parameters: expected None, as the LowLevelCallables have user data, got both")
        self.kept = parameters
        self.memory = _bytes_of(parameters)
        self.contract.parameters = stored(<const char *>self.memory, len(self.memory))
        if self.contract.parameters == NULL:
            raise MemoryError(f"parameters: no memory for {len(self.memory)} bytes")
        self.contract.destroy = destroy
        self.owns_parameters = True
        if self.is_mutable:
            self.contract.clone = clone
            self.contract.save = save
            self.contract.load = load

    def __copy__(self):
        twin = type(self).__new__(type(self))
        CompiledSystem.__init__(
            twin, **self.functions, **self.description, parameters=self.memory, mutable=self.is_mutable,
            factory=self.factory, factory_arguments=self.factory_arguments,
        )
        (<CompiledSystem>twin).kept = self.kept
        if hasattr(self, "__dict__"):
            twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce__(self):
        self.instance()
        if self.factory is None:
            raise TypeError(
                f"cannot pickle {self!r}: functions in memory cannot be sent, but made again; "
                "factory='module:function' says by what"
            )
        _made_by(self.factory)  # here, where the user sees it, rather than in a worker
        return _made_again, (self.factory, self.factory_arguments, self.description)

    def __eq__(self, other):
        if not isinstance(other, CompiledSystem):
            return NotImplemented
        return self._identity() == (<CompiledSystem>other)._identity()

    def __hash__(self):
        return hash((self.factory, self.contract.horizon, self.contract.state_size))

    def _identity(self):
        """Return what tells systems apart: by whom they are made; else where their functions and parameters are."""
        if self.factory is not None:
            return self.factory, self.factory_arguments, self.description
        brought = <uintptr_t>(NULL if self.owns_parameters else self.contract.parameters)
        addresses = [address for address, _ in self._addresses().values()]
        return addresses, self.memory, brought, self.is_mutable, self.description

    def __repr__(self):
        factory = "" if self.factory is None else f" {self.factory}"
        return f"<{type(self).__name__}{factory}: {self._summary()}>"
