"""Systems that users compile with Cython from the installed .pxd and headers, right ones and faulty ones."""

import sys

import pytest
from commands import call


@pytest.fixture(scope="module")
def own_system(tmp_path_factory):
    """A directory with a system that a user compiled from the installed .pxd and headers, with Cython."""
    pytest.importorskip("Cython")
    folder = tmp_path_factory.mktemp("own_system")
    (folder / "coin.pyx").write_text(
        """
# distutils: language = c++
from libc.math cimport NAN
from libc.stdint cimport int64_t
from ocpfast.systems cimport (OCP_CONTINUES, OCP_NEEDS_GIL, OCP_OK, OCP_STOCHASTIC, OCP_TERMINATED,
                              OptimalValueFunction, StepFunction, System, ocp_bitgen)

cdef int reset(void *instance, int64_t episode, ocp_bitgen *bitgen, void *state) noexcept nogil:
    (<int64_t *>state)[0] = 99 if <size_t>instance == 1 else 0
    return 4242 if <size_t>instance == 2 else OCP_OK

cdef int step(void *instance, int64_t period, void *state, const void *action, ocp_bitgen *bitgen, double *reward,
              int *ending) noexcept nogil:
    reward[0] = 1.0 if (<const int64_t *>action)[0] == 2 else -1.0
    ending[0] = OCP_TERMINATED if bitgen.next_double(bitgen.state) < 0.5 else OCP_CONTINUES
    if <size_t>instance == 3:
        reward[0] = NAN
    elif <size_t>instance == 4:
        (<int64_t *>state)[0] = -7
        ending[0] = OCP_CONTINUES
    elif <size_t>instance == 5:
        return 4243
    elif <size_t>instance == 17:
        return 3 if period == 2 else OCP_OK
    elif <size_t>instance == 13:
        (<int64_t *>state)[0] = -7 if period == 3 else 0
        ending[0] = OCP_CONTINUES
    return OCP_OK

cdef void *clone(const void *parameters) noexcept nogil:
    return NULL

cdef int64_t alive = 0, most_alive = 1000

def instances():
    return alive

def allow(most):
    global most_alive
    most_alive = most

cdef void *counted(const void *parameters) noexcept nogil:
    global alive
    if alive == most_alive:
        return NULL
    alive += 1
    return <void *>parameters

cdef void forgotten(void *instance) noexcept nogil:
    global alive
    alive -= 1

cdef int raising(void *instance, int64_t period, void *state, const void *action, ocp_bitgen *bitgen, double *reward,
                 int *ending) except -1:
    raise RuntimeError(f"raised with the GIL in period {period}")

cdef int value(void *instance, const void *state, double *value) except -1:
    if <size_t>instance == 19:
        raise RuntimeError("raised with the GIL, by optimal_value")
    value[0] = len("four")
    return OCP_OK

cdef class Coin(System):
    def __init__(self, fault=0):
        self.contract.flags = OCP_STOCHASTIC
        self.contract.state_size = 1
        self.contract.n_actions = 3
        self.contract.horizon = 4
        self.contract.reset = reset
        self.contract.step = step
        self.contract.parameters = <void *><size_t>fault
        if fault == 6:
            self.contract.abi_version = 77
        elif fault == 7:
            self.contract.struct_size = 8
        elif fault == 8:
            self.contract.flags |= OCP_NEEDS_GIL
            self.contract.step = <StepFunction><void *>raising
        elif fault in (14, 15):
            self.contract.flags |= OCP_NEEDS_GIL
            self.contract.clone = counted
            self.contract.destroy = forgotten
            if fault == 15:
                self.contract.step = <StepFunction><void *>raising
        elif fault == 16:
            self.contract.clone = counted
            self.contract.destroy = forgotten
        elif fault in (18, 19):
            self.contract.flags |= OCP_NEEDS_GIL
            self.contract.optimal_value = <OptimalValueFunction><void *>value
        elif fault == 9:
            self.contract.clone = clone
        elif fault == 10:
            self.contract.horizon = 0
        elif fault == 11:
            self.contract.action_size = 1
        elif fault == 12:
            self.contract.step = NULL
        self.arguments = {"fault": fault}

cdef class Nameless(Coin):
    def __init__(self):
        Coin.__init__(self)
        self.arguments = None
"""
    )
    (folder / "setup.py").write_text(
        "import ocpfast\n"
        "from Cython.Build import cythonize\n"
        "from setuptools import Extension, setup\n"
        "coin = Extension('coin', ['coin.pyx'], include_dirs=[ocpfast.get_include()])\n"
        "setup(name='coin', ext_modules=cythonize([coin]))\n"
    )
    call(sys.executable, "setup.py", "build_ext", "--inplace", cwd=folder)
    return folder


def use(own_system, code):
    start = """
import gc
import ocpfast as ocp
from coin import Coin, Nameless, allow, instances
from ocpfast.systems.lanes import Lanes
def said(function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
        print("no error")
    except Exception as error:
        print(type(error).__name__, error, sep=": ")
def run(fault=0):
    agent = ocp.OCP(ocp.TabulaRasa(1, 3, horizon=4))
    return ocp.run(agent, Coin(fault), episodes=200, rng=0, progress=False)
"""
    return call(sys.executable, "-c", start + code, cwd=own_system)


def test_users_can_compile_a_system_of_their_own(own_system):
    code = "assert run().rewards[0, -50:].min() >= 1.0\nprint(repr(Coin()), Coin().step(0, 2, rng=1)[1])"
    assert use(own_system, code).split() == ["Coin(fault=0)", "1.0"]


def test_a_system_that_needs_the_gil_has_its_clones(own_system):
    """One for each simulation, also where a step raises; and none is left."""
    code = """
assert (run(14).rewards == run().rewards).all() and instances() == 0
said(run, 15)
gc.collect()  # tracebacks refer to each other
print(instances())
"""
    assert use(own_system, code) == "RuntimeError: raised with the GIL in period 0\n0\n"


def test_a_system_that_cannot_be_cloned(own_system):
    """By hand, side by side, and in a run, where the first one is there; what was cloned is destroyed."""
    code = """
allow(0)
coin = Coin(16)
said(coin.reset, rng=0)
said(Lanes, coin, 2)
allow(2)
coin.reset(rng=0)
said(Lanes, coin, 2)
allow(1)
said(ocp.run, ocp.OCP(ocp.TabulaRasa(1, 3, horizon=4)), coin, episodes=2, rng=0, progress=False)
del coin
gc.collect()  # tracebacks refer to each other
print(instances())
"""
    expected = ["MemoryError: Coin: could not be cloned"] * 3
    expected += ["RuntimeError: simulation 0, episode 0, period 0: no memory for the system", "0"]
    assert use(own_system, code).splitlines() == expected


def test_errors_of_lanes(own_system):
    """A lane whose reset failed has no episode under way, not even that of before."""
    code = """
import numpy as np
both, none = np.array([True, True]), np.array([False, False])
lanes = Lanes(Coin(2), 2)
lanes.reset(both, state=0)
print(lanes.step([0, 0], none))
said(lanes.reset, both)
said(lanes.step, [0, 0], both)
lanes = Lanes(Coin(5), 2)
lanes.reset(both)
said(lanes.step, [0, 0], both)
print(lanes.states)
"""
    assert use(own_system, code).splitlines() == [
        "(array([0., 0.]), array([False, False]), array([False, False]))",
        "RuntimeError: Coin: its function failed with code 4242",
        "RuntimeError: step: no episode is under way in lane 0; reset it first",
        "RuntimeError: Coin: its function failed with code 4243",
        "[0 0]",
    ]


def test_what_it_tells_by_hand(own_system):
    code = """
said(Coin(17).step, 0, 1, period=2, rng=0)
print(Coin(18).optimal_value(0))
said(Coin(19).optimal_value, 0)
one, other = Nameless(), Nameless()
print(one, len({one, other, one}), one == other)
said(run, 17)
"""
    assert use(own_system, code).splitlines() == [
        "ValueError: period: expected one that the system allows, got 2",
        "4.0",
        "RuntimeError: raised with the GIL, by optimal_value",
        "<Nameless: 1 states, 3 actions, H=4> 2 False",
        "RuntimeError: simulation 0, episode 0, period 2: the system returned error 3 "
        "(a period that it does not allow)",
    ]


def test_what_a_faulty_system_does_is_said(own_system):
    """Never a crash: one message for each way in which a user's system can go wrong."""
    place = "simulation 0, episode 0, period"
    expected = {
        1: f"{place} 0: the system is in a state that the hypothesis class has no place for",
        2: f"{place} -1: the system returned error 4242",
        3: f"{place} 0: the system paid a reward of nan, expected a finite number",
        4: f"{place} 1: the system is in a state that the hypothesis class has no place for",
        5: f"{place} 0: the system returned error 4243",
        6: "system: it was compiled for version 77 (",
        7: "system: it was compiled for version 1 (8 bytes) of ocpfast/system.h, this is version 1 (",
        8: "raised with the GIL in period 0",
        9: "Coin: contract.clone needs contract.destroy",
        10: "Coin: expected contract.horizon and contract.state_size >= 1, got 0 and 1",
        11: "Coin: expected one of contract.n_actions and contract.action_size >= 1, got 3 and 1",
        12: "Coin.__init__ has not filled in the contract",
        13: f"{place} 4: the system is in a state that the hypothesis class has no place for",
    }
    code = """
for fault in range(1, 14):
    said(run, fault)
"""
    lines = use(own_system, code).splitlines()
    assert len(lines) == len(expected)
    for line, (fault, message) in zip(lines, expected.items(), strict=True):
        error = "ValueError" if fault in (6, 7) else "RuntimeError"
        assert line.startswith(f"{error}: {message}"), fault
