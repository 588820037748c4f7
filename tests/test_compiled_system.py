"""CompiledSystem: functions from ctypes, SciPy and numba; parameters and memory; signatures, errors, pickling."""

import copy
import ctypes
import gc
import pickle
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from commands import call
from own_systems import compile_library
from scipy import LowLevelCallable

import ocpfast as ocp
from ocpfast.signatures import FEATURES, OPTIMAL_VALUE, RESET, STEP, STEP_MANY, Signature

SOURCE = """
#include <math.h>
#include <ocpfast/system.h>

/* ocp.Chain; instance points to the number of states */
int chain_reset(void* instance, int64_t episode, ocp_bitgen* bitgen, void* state) {
    (void)instance, (void)episode, (void)bitgen;
    *(int64_t*)state = 0;
    return OCP_OK;
}
int chain_step(void* instance, int64_t period, void* state, const void* action, ocp_bitgen* bitgen, double* reward,
               int* ending) {
    const int64_t last = *(const int64_t*)instance - 1, x = *(int64_t*)state, a = *(const int64_t*)action;
    (void)period, (void)bitgen;
    *reward = x == last;
    *ending = OCP_CONTINUES;
    *(int64_t*)state = x == last ? x : a == 1 ? x + 1 : x > 0 ? x - 1 : 0;
    return OCP_OK;
}
int chain_step_many(void* const* instances, int64_t lanes, const int64_t* periods, void* states, const void* actions,
                    ocp_bitgen* const* bitgens, double* rewards, int* endings) {
    for (int64_t k = 0; k < lanes; ++k) {
        chain_step(instances[k], periods[k], (int64_t*)states + k, (const int64_t*)actions + k, bitgens[k],
                   &rewards[k], &endings[k]);
    }
    return OCP_OK;
}
int chain_value(void* instance, const void* state, double* value) {
    *value = *(const int64_t*)state == 0 && instance ? 1.0 : NAN;
    return OCP_OK;
}

/* instance points to a counter of episodes, whose value is the reward */
int counting_reset(void* instance, int64_t episode, ocp_bitgen* bitgen, void* state) {
    (void)episode, (void)bitgen;
    ++*(int64_t*)instance;
    *(int64_t*)state = 0;
    return OCP_OK;
}
int counting_step(void* instance, int64_t period, void* state, const void* action, ocp_bitgen* bitgen, double* reward,
                  int* ending) {
    (void)period, (void)state, (void)action, (void)bitgen;
    *reward = (double)*(const int64_t*)instance;
    *ending = OCP_TERMINATED;
    return OCP_OK;
}

/* instance points to {in reset?, code, next state}: what goes wrong */
int faulty_reset(void* instance, int64_t episode, ocp_bitgen* bitgen, void* state) {
    const int64_t* fault = instance;
    (void)episode, (void)bitgen;
    *(int64_t*)state = 0;
    return fault[0] ? (int)fault[1] : OCP_OK;
}
int faulty_step(void* instance, int64_t period, void* state, const void* action, ocp_bitgen* bitgen, double* reward,
                int* ending) {
    const int64_t* fault = instance;
    (void)period, (void)action, (void)bitgen;
    *(int64_t*)state = fault[2];
    *reward = fault[2] == 1 ? NAN : 0.0;
    *ending = OCP_CONTINUES;
    return (int)fault[1];
}

int faulty_value(void* instance, const void* state, double* value) {
    (void)instance, (void)state, (void)value;
    return 142;
}

/* vector states and actions, and random numbers: x' = x + u + noise */
int line_reset(void* instance, int64_t episode, ocp_bitgen* bitgen, void* state) {
    (void)instance;
    ((double*)state)[0] = (double)episode;
    ((double*)state)[1] = bitgen->next_double(bitgen->state);
    return OCP_OK;
}
int line_step(void* instance, int64_t period, void* state, const void* action, ocp_bitgen* bitgen, double* reward,
              int* ending) {
    double* x = state;
    const double* u = action;
    (void)instance;
    for (int i = 0; i < 2; ++i) x[i] += u[i] + bitgen->next_double(bitgen->state);
    *reward = x[0] + (double)period;
    *ending = x[1] > 2.0 ? OCP_TERMINATED : OCP_CONTINUES;
    return OCP_OK;
}
"""


NO_MEMORY = """
import resource
from pathlib import Path
import numpy as np
import ocpfast as ocp
from ocpfast.signatures import RESET, STEP

step = STEP.ctypes(lambda *arguments: 0)
reset = RESET.ctypes(lambda *arguments: 0)
size = 2**28
parameters = np.zeros(size, dtype=np.uint8)
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + size * 7 // 4,) * 2)
try:
    ocp.CompiledSystem(step, reset, n_states=2, n_actions=2, horizon=3, parameters=parameters)
except MemoryError as error:
    assert str(error) == f"parameters: no memory for {size} bytes", error
else:
    raise AssertionError("there was memory")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "systems.c").write_text(SOURCE)
    return ctypes.CDLL(str(compile_library(folder, "systems.c")))


@pytest.fixture
def chain_of(library):
    """The chain in C, with some arguments changed."""

    def make(n_states=7, **changes):
        arguments = {
            "step": STEP.ctypes(("chain_step", library)),
            "reset": RESET.ctypes(("chain_reset", library)),
            "n_states": n_states,
            "n_actions": 2,
            "horizon": n_states,
            "reward_range": (0.0, 1.0),
            "homogeneous": True,
            "parameters": np.array([n_states]),
        }
        return ocp.CompiledSystem(**{**arguments, **changes})

    return make


def numba_chain():
    numba = pytest.importorskip("numba", reason="numba: pip install '.[test]', where it has a wheel")

    @numba.cfunc(RESET.numba(instance="int64_t", state="int64_t"))
    def reset(n_states, episode, bitgen, state):
        state[0] = 0
        return 0

    @numba.cfunc(STEP.numba(instance="int64_t", state="int64_t", action="int64_t"))
    def step(n_states, period, state, action, bitgen, reward, ending):
        last = n_states[0] - 1
        reward[0] = 1.0 if state[0] == last else 0.0
        ending[0] = 0
        if state[0] != last:
            state[0] = state[0] + 1 if action[0] == 1 else max(state[0] - 1, 0)
        return 0

    return {"step": step, "reset": reset}


def agent(n_states=7, n_actions=2, horizon=7, **options):
    return ocp.OCP(ocp.TabulaRasa(n_states, n_actions, horizon), **options)


def rewards(system, **options):
    learner = agent(ties="random", replay=True)
    return ocp.run(learner, system, 60, simulations=5, rng=0, progress=False, **options).rewards


class TestTheSameChain:
    """Exact, whoever brings the functions."""

    def changes(self, way, library):
        if way == "ctypes":
            return {}
        if way == "numba":
            return numba_chain()
        step, reset = STEP.ctypes(("chain_step", library)), RESET.ctypes(("chain_reset", library))
        if way == "lowlevel":
            return {"step": LowLevelCallable(step), "reset": LowLevelCallable(reset)}
        if way == "user data":
            data = ctypes.cast(ctypes.pointer(ctypes.c_int64(7)), ctypes.c_void_p)
            callables = {"step": LowLevelCallable(step, data), "reset": LowLevelCallable(reset, data)}
            return {**callables, "parameters": None}
        return {"step_many": STEP_MANY.ctypes(("chain_step_many", library))}

    @pytest.mark.parametrize("workers", [1, 2])
    @pytest.mark.parametrize("way", ["ctypes", "lowlevel", "user data", "numba", "step_many"])
    def test_learning(self, chain_of, library, way, workers):
        system = chain_of(**self.changes(way, library))
        assert system.steps_many == (way == "step_many")
        assert np.array_equal(rewards(system, workers=workers), rewards(ocp.Chain(7)))

    def test_steps(self, chain_of):
        own, ours = chain_of(), ocp.Chain(7)
        for x, a in np.ndindex(7, 2):
            assert own.step(x, a) == ours.step(x, a)
        for name in ("n_states", "n_actions", "horizon", "reward_range", "homogeneous", "stochastic", "adaptive"):
            assert getattr(own, name) == getattr(ours, name)

    def test_solving(self, chain_of):
        assert np.array_equal(ocp.solve(chain_of()).q, ocp.solve(ocp.Chain(7)).q)

    def test_the_optimal_value(self, chain_of, library):
        own = chain_of(optimal_value=OPTIMAL_VALUE.ctypes(("chain_value", library)))
        assert (own.optimal_value(0), own.optimal_value(1)) == (1.0, None)
        assert chain_of().optimal_value(0) is None
        with pytest.raises(RuntimeError, match="CompiledSystem: its function failed with code 142"):
            chain_of(optimal_value=OPTIMAL_VALUE.ctypes(("faulty_value", library))).optimal_value(0)
        regrets = [ocp.run(agent(), system, 50, rng=0, progress=False).regret() for system in (own, ocp.Chain(7))]
        assert np.array_equal(*regrets)

    def test_functions_live_as_long_as_the_system(self, chain_of):
        arguments = numba_chain()
        system = chain_of(**arguments)
        gone = weakref.ref(arguments["step"])
        del arguments
        gc.collect()
        assert np.array_equal(rewards(system), rewards(ocp.Chain(7)))
        del system
        gc.collect()
        assert gone() is None

    def test_a_callback_of_ctypes(self, chain_of):
        """Python behind a C function: it takes the GIL by itself."""

        def step(instance, period, state, action, bitgen, reward, ending):
            x, a = (ctypes.c_int64.from_address(place) for place in (state, action))
            reward[0], ending[0] = float(x.value == 6), 0
            if x.value != 6:
                x.value = x.value + 1 if a.value == 1 else max(x.value - 1, 0)
            return 0

        assert np.array_equal(rewards(chain_of(step=STEP.ctypes(step)), workers=2), rewards(ocp.Chain(7)))


def test_vectors_and_random_numbers(library):
    line = ocp.CompiledSystem(
        STEP.ctypes(("line_step", library)),
        RESET.ctypes(("line_reset", library)),
        horizon=4,
        state_size=2,
        action_size=2,
        stochastic=True,
    )
    assert (line.state_size, line.action_size, line.horizon, line.stochastic) == (2, 2, 4, True)
    first, second = np.random.default_rng(3).random(2)
    assert line.reset(rng=3, episode=5).tolist() == [5.0, first]
    following, reward, terminated = line.step([0.0, 1.5], [1.0, 0.25], period=2, rng=3)
    assert following.tolist() == [1.0 + first, 1.75 + second]
    assert (reward, terminated) == (1.0 + first + 2, 1.75 + second > 2)


def test_numba_draws_random_numbers():
    numba = pytest.importorskip("numba", reason="numba: pip install '.[test]', where it has a wheel")
    next_double = ocp.CompiledSystem.next_double

    @numba.cfunc(RESET.numba(state="int64_t"))
    def reset(instance, episode, bitgen, state):
        state[0] = int(3 * next_double(bitgen))
        return 0

    @numba.cfunc(STEP.numba(state="int64_t"))
    def step(instance, period, state, action, bitgen, reward, ending):
        reward[0], ending[0] = 0.0, 1
        return 0

    system = ocp.CompiledSystem(step, reset, horizon=1, n_states=3, n_actions=1, random_start=True)
    assert (system.stochastic, system.deterministic_steps) == (True, True)
    assert [system.reset(seed) for seed in range(50)] == [
        int(3 * np.random.default_rng(seed).random()) for seed in range(50)
    ]


class TestParameters:
    @pytest.fixture
    def counting(self, library):
        def make(**changes):
            functions = STEP.ctypes(("counting_step", library)), RESET.ctypes(("counting_reset", library))
            arguments = {"n_states": 1, "n_actions": 1, "horizon": 1, "adaptive": True, "mutable": True}
            return ocp.CompiledSystem(*functions, **{**arguments, "parameters": np.array([0]), **changes})

        return make

    def test_each_simulation_has_a_memory_of_its_own(self, counting):
        count = np.array([10])
        system = counting(parameters=count)
        system.reset(), system.reset()
        assert system.step(0, 0) == (0, 12.0, True)
        for workers in (1, 3):
            result = ocp.run(ocp.RandomPolicy(n_actions=1), system, 4, simulations=3, workers=workers, progress=False)
            assert result.rewards.tolist() == [[11.0, 12.0, 13.0, 14.0]] * 3
        assert system.step(0, 0)[1] == 12.0
        assert count.tolist() == [10]
        assert copy.copy(system).step(0, 0)[1] == 10.0

    def test_memory_is_saved_and_loaded(self, counting):
        """Through the C struct: what an instance remembers, as bytes."""

        class Struct(ctypes.Structure):
            pointers = ("parameters", "clone", "destroy", "reset", "step", "step_many", "optimal_value", "save", "load")
            _fields_ = (
                *((name, ctypes.c_uint32) for name in ("abi_version", "struct_size", "flags", "state_kind")),
                *((name, ctypes.c_int64) for name in ("state_size", "n_actions", "action_size", "horizon")),
                *((name, ctypes.c_double) for name in ("reward_min", "reward_max")),
                *((name, ctypes.c_void_p) for name in pointers),
            )

        system = counting(parameters=np.array([10, 3]))
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        struct = Struct.from_address(get(system.capsule, b"ocpfast.system"))
        instance = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(struct.clone)(struct.parameters)
        assert instance != struct.parameters
        save = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(struct.save)
        load = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(struct.load)
        memory = (ctypes.c_int64 * 2)()
        assert save(instance, None) == 16 == save(instance, memory)
        assert list(memory) == [10, 3]
        memory[0] = 99
        assert load(instance, memory, 8) == 5  # OCP_FAILED, and nothing is changed
        assert load(instance, memory, 16) == 0
        assert (ctypes.c_int64 * 2).from_address(instance)[:] == [99, 3]
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(struct.destroy)(instance)

    def test_they_are_copied(self, chain_of):
        number = np.array([7])
        system = chain_of(parameters=number)
        number[0] = 3
        assert system.step(3, 1) == (4, 0.0, False)

    @pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
    def test_no_memory_for_them(self, tmp_path):
        """A process that may take three quarters of their size once more, after the copy that Python makes."""
        call(sys.executable, "-c", NO_MEMORY, cwd=tmp_path)

    def test_what_they_may_be(self, chain_of):
        class Parameters(ctypes.Structure):
            _fields_ = (("n_states", ctypes.c_int64), ("more", ctypes.c_double))

        record = np.zeros(1, dtype=[("n_states", np.int64), ("more", float)])
        record["n_states"] = 7
        for given in (Parameters(7, 1.0), record, (7).to_bytes(8, sys.byteorder), bytearray((7).to_bytes(8, "little")),
                      memoryview(np.array([7, 9, 9, 9])[::2]), ctypes.c_int64(7)):  # fmt: skip
            system = chain_of(parameters=given)
            assert system.step(6, 0) == (6, 1.0, False)
            assert copy.deepcopy(system).step(6, 0) == (6, 1.0, False)

    @pytest.mark.parametrize(
        "changes, error, message",
        [
            (
                {"parameters": 2.5},
                TypeError,
                "parameters: expected bytes, a NumPy array or a ctypes structure, got 2.5 (f",
            ),
            (
                {"parameters": {"n": 1}},
                TypeError,
                "parameters: expected bytes, a NumPy array or a ctypes structure, got {",
            ),
            (
                {"parameters": np.array(["a", None])},
                TypeError,
                "parameters: expected plain memory, got an array of Python",
            ),
            ({"parameters": None, "mutable": True}, ValueError, "mutable: expected False without parameters, got True"),
            ({"mutable": 1}, TypeError, "mutable: expected True or False, got 1"),
            ({"horizon": 0}, ValueError, "horizon: expected an integer >= 1, got 0"),
            (
                {"n_states": None},
                ValueError,
                "n_states, state_size: expected one of them, got n_states=None, state_size=",
            ),
            ({"state_size": 2}, ValueError, "n_states, state_size: expected one of them, got n_states=1, state_size=2"),
            (
                {"n_actions": None},
                ValueError,
                "n_actions, action_size: expected one of them, got n_actions=None, action_",
            ),
            ({"n_states": 0}, ValueError, "n_states: expected an integer >= 1, got 0"),
            ({"n_states": None, "state_size": 0}, ValueError, "state_size: expected an integer in 1..1048576, got 0"),
            (
                {"reward_range": (1, 0)},
                ValueError,
                "reward_range: expected the smallest reward and the largest, got (1, 0)",
            ),
            ({"factory": print}, TypeError, "factory: expected 'module:function', got <built-in function print>"),
            ({"factory_arguments": 3}, TypeError, "factory_arguments: expected a dict, got 3"),
        ],
    )
    def test_bad_arguments(self, counting, changes, error, message):
        with pytest.raises(error) as caught:
            counting(**changes)
        assert str(caught.value).startswith(message)

    def test_the_horizon_is_needed(self, library):
        with pytest.raises(TypeError, match=r"^horizon: expected an integer >= 1, got None$"):
            ocp.CompiledSystem(
                STEP.ctypes(("chain_step", library)), RESET.ctypes(("chain_reset", library)), n_states=1, n_actions=1
            )

    def test_user_data(self, chain_of, library):
        step, reset = STEP.ctypes(("chain_step", library)), RESET.ctypes(("chain_reset", library))
        kept = [ctypes.c_int64(7), ctypes.c_int64(8)]
        one, other = (ctypes.cast(ctypes.pointer(number), ctypes.c_void_p) for number in kept)
        callables = {"step": LowLevelCallable(step, one), "reset": LowLevelCallable(reset, other)}
        with pytest.raises(
            ValueError, match="step, reset: expected LowLevelCallables with the same user data, got diff"
        ):
            chain_of(**callables, parameters=None)
        with pytest.raises(ValueError, match="parameters: expected None, as the LowLevelCallables have user data"):
            chain_of(step=LowLevelCallable(step, one))
        assert chain_of(step=LowLevelCallable(step, one), parameters=None).step(6, 0) == (6, 1.0, False)

    def test_it_cannot_be_made_a_second_time(self, chain_of, library):
        system = chain_of()
        with pytest.raises(RuntimeError, match=r"^CompiledSystem.__init__ was called a second time$"):
            functions = STEP.ctypes(("chain_step", library)), RESET.ctypes(("chain_reset", library))
            system.__init__(*functions, horizon=3, n_states=1, n_actions=1)
        assert system.step(5, 1) == (6, 0.0, False)


class TestErrors:
    @pytest.fixture
    def faulty(self, library):
        def make(in_reset=0, code=0, following=0):
            functions = STEP.ctypes(("faulty_step", library)), RESET.ctypes(("faulty_reset", library))
            return ocp.CompiledSystem(
                *functions, horizon=3, n_states=2, n_actions=2, parameters=np.array([in_reset, code, following])
            )

        return make

    @pytest.mark.parametrize("in_reset", [0, 1])
    @pytest.mark.parametrize(
        "code, error, by_hand, in_run",
        [
            (142, RuntimeError, "CompiledSystem: its function failed with code 142", "error 142"),
            (1, ValueError, "state: expected a state that the system allows, got", "error 1 (a state that it does not"),
            (2, ValueError, "action: expected one that the system allows, got", "error 2 (an action that it does not"),
            (4, MemoryError, "CompiledSystem: out of memory", "error 4 (no memory)"),
            (
                6,
                OverflowError,
                "CompiledSystem: the next state or the reward is beyond",
                "error 6 (a state or a reward be",
            ),
            (-1, RuntimeError, "CompiledSystem: its function failed with code -1", "error -1"),
        ],
    )
    def test_codes(self, faulty, in_reset, code, error, by_hand, in_run):
        system = faulty(in_reset, code)
        with pytest.raises(error) as caught:
            system.reset() if in_reset else system.step(0, 1)
        assert str(caught.value).startswith(by_hand)
        with pytest.raises(RuntimeError) as caught:
            ocp.run(agent(2, 2, 3), system, 5, simulations=2, workers=1, progress=False)
        place = f"simulation 0, episode 0, period {-1 if in_reset else 0}"
        assert str(caught.value).startswith(f"{place}: the system returned {in_run}")

    def test_states_and_rewards(self, faulty):
        with pytest.raises(
            RuntimeError, match="period 1: the system is in a state that the hypothesis class has no place"
        ):
            ocp.run(agent(2, 2, 3), faulty(following=2), 5, progress=False)
        with pytest.raises(RuntimeError, match="period 0: the system paid a reward of nan, expected a finite number"):
            ocp.run(agent(2, 2, 3), faulty(following=1), 5, progress=False)


class TestSignatures:
    def test_other_signatures_are_refused(self, chain_of, library):
        wrong = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double)(("chain_step", library))
        float_reward = (*STEP.ctypes._argtypes_[:5], ctypes.POINTER(ctypes.c_float), *STEP.ctypes._argtypes_[6:])
        for function, described in [
            (wrong, "int (double)"),
            (RESET.ctypes(("chain_reset", library)), "int (void*, int64_t, void*, void*)"),
            (ctypes.CFUNCTYPE(None, *STEP.ctypes._argtypes_)(("chain_step", library)), "void (void*, int64_t, "),
            (
                ctypes.CFUNCTYPE(ctypes.c_int, *float_reward)(("chain_step", library)),
                "int (void*, int64_t, void*, void*, void*, c_float*, int*)",
            ),
            (
                library.chain_step,
                "int (), without argtypes: use signature.ctypes((name, library)) of ocpfast.signatures",
            ),
        ]:
            with pytest.raises(ValueError) as caught:
                chain_of(step=function)
            assert str(caught.value).startswith(f"step: expected the signature {STEP.c!r}, got {described!r}"[:-1])

    def test_of_low_level_callables(self, chain_of, library):
        wrong = LowLevelCallable(RESET.ctypes(("chain_reset", library)))
        with pytest.raises(
            ValueError, match=r"step: expected the signature 'int \(void \*instance, .*, got 'int \(void"
        ):
            chain_of(step=wrong)

    def test_of_numba(self, chain_of):
        numba = pytest.importorskip("numba", reason="numba: pip install '.[test]', where it has a wheel")

        @numba.cfunc(numba.types.intc(numba.types.int64))
        def wrong(x):
            return 0

        with pytest.raises(ValueError, match=r"reset: expected the signature .* got 'int \(int64_t\)'"):
            chain_of(reset=wrong)

        @numba.njit
        def not_a_cfunc(x):
            return 0

        with pytest.raises(
            TypeError, match=r"step: expected a scipy.LowLevelCallable, a numba cfunc or a ctypes funct"
        ):
            chain_of(step=not_a_cfunc)

    def test_python_functions_are_told_where_to_go(self, chain_of):
        for name in ("step", "reset", "step_many", "optimal_value"):
            with pytest.raises(TypeError, match=rf"^{name}: expected a scipy.LowLevelCallable, .* from PythonSystem$"):
                chain_of(**{name: lambda *arguments: 0})
        with pytest.raises(TypeError, match=r"^step: expected a scipy.LowLevelCallable, a numba .*got None; a system"):
            chain_of(step=None)

    def test_null(self, chain_of):
        with pytest.raises(ValueError, match=r"^step: expected a function, got a pointer that is NULL$"):
            chain_of(step=STEP.ctypes(0))

    def test_spellings(self):
        assert STEP.ctypes._argtypes_[5:] == (ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int))
        assert repr(OPTIMAL_VALUE) == f"Signature({OPTIMAL_VALUE.c!r})"
        for given, agrees in {
            "int (int64_t, void const *, int64_t, double *, void *)": True,
            "int32_t(long,double*,long long,double*,void*)": True,
            "int (long, const int64_t *state, long action, double *x, void *data)": True,
            "double (long, double *, long, double *, void *)": False,
            "int (int, double *, long, double *, void *)": False,
            "int (long, double *, long, float *, void *)": False,
            "int (long, double, long, double *, void *)": False,
            "int (long, double *, long, double *)": False,
            "nonsense": False,
        }.items():
            function = LowLevelCallable(FEATURES.ctypes(lambda *arguments: 0))
            capsule = renamed(tuple.__getitem__(function, 0), given.encode())
            relabelled = tuple.__new__(LowLevelCallable, (capsule, function.function, None))
            if agrees:
                assert FEATURES.address_of(relabelled, "phi")[0] != 0
            else:
                with pytest.raises(ValueError, match="phi: expected the signature"):
                    FEATURES.address_of(relabelled, "phi")

    def test_a_signature_that_is_none(self):
        for text in ("", "int", "int (int64_t", "int (unsigned long x)"):
            with pytest.raises(ValueError, match="expected a C signature, got"):
                Signature(text)

    def test_without_numba(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "numba", None)
        with pytest.raises(ImportError, match=r"^numba: it is not installed; pip install numba$"):
            STEP.numba(state="double", action="int64_t")

    def test_numba_spelling(self):
        numba = pytest.importorskip("numba", reason="numba: pip install '.[test]', where it has a wheel")
        types = numba.types
        assert OPTIMAL_VALUE.numba(state="double") == types.intc(
            types.voidptr, types.CPointer(types.float64), types.CPointer(types.float64)
        )
        with pytest.raises(TypeError, match="period: expected one of instance, state, action, of 'int "):
            STEP.numba(period="double")
        with pytest.raises(ValueError, match="state: expected one of 'int', 'int64_t', 'double', got 'float'"):
            STEP.numba(state="float")


def renamed(capsule, name):
    """The same pointer in a capsule of another name, which lives as long as this module."""
    renamed.kept.append(name)
    get, make = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_New
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(get(capsule, get_name(capsule)), name, None)


renamed.kept = []


class TestPickling:
    """What works stands in test_own_systems.py."""

    def test_without_a_factory(self, chain_of):
        with pytest.raises(
            TypeError, match=r"^cannot pickle <CompiledSystem: 7 states, 2 actions, H=7>: functions in "
        ):
            pickle.dumps(chain_of())
        twin = copy.deepcopy(chain_of())
        assert np.array_equal(rewards(twin), rewards(ocp.Chain(7)))

    @pytest.mark.parametrize(
        "factory", ["ocpfast", "ocpfast:", ":run", "no_such_module:make", "ocpfast:no_such_function", "ocpfast:__all__"]
    )
    def test_factories_that_are_not_there(self, chain_of, factory):
        with pytest.raises(ValueError, match=f"^factory: expected 'module:function', .* got '{factory}'"):
            pickle.dumps(chain_of(factory=factory))

    def test_a_factory_of_something_else(self, chain_of):
        sent = pickle.dumps(chain_of(factory="ocpfast:Chain", factory_arguments={"n_states": 7}))
        with pytest.raises(
            TypeError, match=r"^factory: expected 'ocpfast:Chain' to make a CompiledSystem, got Chain\("
        ):
            pickle.loads(sent)

    def test_a_factory_of_another_system(self, chain_of, monkeypatch):
        sent = pickle.dumps(chain_of(factory="ocpfast:Chain"))
        monkeypatch.setattr(ocp, "Chain", lambda: chain_of(8))
        with pytest.raises(ValueError, match=r"^factory: 'ocpfast:Chain' makes another system, .*'n_states': 8"):
            pickle.loads(sent)
        monkeypatch.setattr(ocp, "Chain", lambda: chain_of(7, factory="ocpfast:Chain"))
        assert pickle.loads(sent) == chain_of(7, factory="ocpfast:Chain")

    def test_equality(self, chain_of):
        assert chain_of() == chain_of()
        assert hash(chain_of()) == hash(chain_of())
        assert chain_of() != chain_of(8)
        assert chain_of() != chain_of(homogeneous=False)
        assert chain_of() != ocp.Chain(7)
        assert chain_of(factory="a:b") != chain_of(factory="a:c")
        assert repr(chain_of(factory="a:b")) == "<CompiledSystem a:b: 7 states, 2 actions, H=7>"

    def test_a_copy_of_a_subclass(self, library):
        class Own(ocp.CompiledSystem):
            def __init__(self, n):
                self.n = n
                functions = STEP.ctypes(("chain_step", library)), RESET.ctypes(("chain_reset", library))
                super().__init__(*functions, n_states=n, n_actions=2, horizon=n, parameters=np.array([n]))

        twin = copy.copy(Own(7))
        assert (type(twin), twin.n, twin.step(6, 0)) == (Own, 7, (6, 1.0, False))
