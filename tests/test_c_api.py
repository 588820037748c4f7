"""The C API: a C program, and the library called from here, beside the Python agents."""

import ctypes
import math
import shutil
import subprocess
import sys
import threading
import zlib
from ctypes import POINTER, byref, c_double, c_int, c_int64, c_void_p
from pathlib import Path

import highspy
import numpy as np
import pytest
from c_library import (
    BAD_ACTION,
    BAD_ARGUMENT,
    BAD_FILE,
    BAD_ORDER,
    BAD_PERIOD,
    BAD_REWARD,
    BAD_STATE,
    FAILED,
    NO_MEMORY,
    OK,
    TERMINATED,
    TRUNCATED,
    ApiError,
    CAgent,
    Description,
    Library,
    State,
    numbers,
)  # fmt: skip
from commands import ROOT, call
from embedding import COMPILERS, EXAMPLES, INSTALLED, STRICT, build, compiler, default_compiler, install
from saving_cases import rewritten
from scipy import sparse
from test_cpp import assert_same_agent, between_the_marks
from test_cpp import in_python as in_python  # a fixture

import ocpfast as ocp

pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="needs the source tree")

NO_HIGHS = "selection: expected OCP_SELECT_ELUDER for linear features without HiGHS, got 0; ocp_load_highs loads it"


# ---- C programs


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Headers and the C API as a shared library."""
    return install(tmp_path_factory.mktemp("prefix"))


def run_program(program, folder, in_python):
    agent, lengths, code = in_python
    text = call(program, "tanks.ocp", cwd=folder)
    assert text.startswith(f"ocpfast {ocp.__version__}\n")
    assert between_the_marks(text) == (round(np.mean(lengths[:20]), 1), 500.0)
    assert f"actions: {code:016x}\n" in text  # action for action
    assert_same_agent(ocp.load_agent(folder / "tanks.ocp"), agent)


def test_the_example_against_the_installed_wheel(tmp_path, in_python):
    """Compiled with another compiler than the library below, where there are two."""
    folder = build(EXAMPLES / "tanks_in_c", tmp_path, INSTALLED, name=default_compiler())
    run_program(folder / "tanks_in_c", tmp_path, in_python)


def test_the_example_without_a_cpp_compiler(prefix, tmp_path, in_python):
    options = ("-DCOMPILE_OCPFAST=OFF", f"-DCMAKE_PREFIX_PATH={prefix}")
    folder = build(EXAMPLES / "tanks_in_c", tmp_path, *options, languages=("C",))
    run_program(folder / "tanks_in_c", tmp_path, in_python)


def library_of(prefix):
    [library] = prefix.glob("lib*/libocpfast.so")
    return library


def compile_c(prefix, source, program, name, standard="c99"):
    """Without CMake: a compiler, a header, a library."""
    folder = library_of(prefix).parent
    flags = [f"-std={standard}", *STRICT.split(), f"-I{prefix / 'include'}"]
    call(name, *flags, source, "-o", program, f"-L{folder}", f"-Wl,-rpath,{folder}", "-locpfast", "-lm", cwd=ROOT)


@pytest.mark.parametrize("name", COMPILERS)
def test_the_c_program(name, prefix, tmp_path):
    compile_c(prefix, ROOT / "tests" / "c_api.c", tmp_path / "c_api", compiler(name))
    assert call(tmp_path / "c_api", cwd=tmp_path) == "all is well\n"


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind here")
def test_the_c_program_under_valgrind(prefix, tmp_path):
    compile_c(prefix, ROOT / "tests" / "c_api.c", tmp_path / "c_api", default_compiler())
    valgrind = ("valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=all")
    # the sets of instructions that valgrind knows
    assert call(*valgrind, tmp_path / "c_api", cwd=tmp_path, OCPFAST_INSTRUCTIONS="scalar") == "all is well\n"


def test_what_a_callback_throws(prefix, tmp_path):
    compile_c(
        prefix, ROOT / "tests" / "c_api_throwing.cpp", tmp_path / "throwing", COMPILERS[default_compiler()], "c++17"
    )
    assert call(tmp_path / "throwing", cwd=tmp_path) == "all is well\n"


def test_nothing_but_the_api_is_exported(prefix):
    if shutil.which("nm") is None:
        pytest.skip("no nm here")
    lines = call("nm", "-D", "--defined-only", library_of(prefix), cwd=ROOT).splitlines()
    names = {line.split()[-1] for line in lines}
    header = (prefix / "include" / "ocpfast" / "c_api.h").read_text()
    assert len(names) == 18 and all(f" {name}(" in header or f"*{name}(" in header for name in names), names


# ---- the library called from here


@pytest.fixture(scope="module")
def library(prefix):
    return Library(library_of(prefix))


S, A, H, K = 6, 3, 4, 2
RNG = np.random.default_rng(0)
PHI = RNG.integers(-3, 4, (H, S, A, K)).astype(float)
LABELS = np.array([0, 2, 1, 1, 0, 2])
JOINT = np.arange(S * A).reshape(S, A) // 2
BY_PERIOD = np.stack([RNG.permutation(S * A).reshape(S, A) // 3 for _ in range(H)])
EDGES = [[-0.5, 0.0, 0.7], [], [0.2]]


@ctypes.CFUNCTYPE(c_int, c_int64, POINTER(c_double), c_int64, POINTER(c_double), c_void_p)
def features_of_state(period, state, action, features, user_data):
    if state[0] > 50:
        return 7
    features[0] = 1 + action
    features[1] = state[0] * (action == 1)
    features[2] = state[1]
    return 0


def in_c(name):
    """The hypothesis class of a case, as fields of a description."""
    sizes = {"n_states": S, "n_actions": A}
    match name.split(",")[0]:
        case "table":
            return {**sizes, "horizon": H}
        case "endless table":
            return sizes
        case "labels":
            return {**sizes, "hypothesis": 1, "horizon": H, "labels": numbers(LABELS, c_int64), "track_lower": 1}
        case "joint labels":
            return {**sizes, "hypothesis": 1, "horizon": H, "labels": numbers(JOINT, c_int64), "label_axes": 2}
        case "labels by period":
            return {**sizes, "hypothesis": 1, "horizon": H, "labels": numbers(BY_PERIOD, c_int64), "label_axes": 3}
        case "grid":
            return {
                "n_actions": A, "hypothesis": 1, "n_dimensions": 3, "n_edges": numbers([3, 0, 1], c_int64),
                "edges": numbers([*EDGES[0], *EDGES[2]], c_double), "extra": 1,
            }  # fmt: skip
        case "features":
            return {
                **sizes,
                "hypothesis": 2,
                "horizon": H,
                "n_features": K,
                "phi": numbers(PHI, c_double),
                "by_period": 1,
            }
        case "features alike":
            return {**sizes, "hypothesis": 2, "horizon": H, "n_features": K, "phi": numbers(PHI[0], c_double)}
        case "function":
            return {
                "n_actions": A, "hypothesis": 2, "horizon": H, "n_features": 3, "state_size": 2, "scale": 3.0,
                "function": ctypes.cast(features_of_state, c_void_p).value,
            }  # fmt: skip
    raise AssertionError(name)


def in_py(name):
    return {
        "table": lambda: ocp.TabulaRasa(S, A, H),
        "endless table": lambda: ocp.TabulaRasa(S, A, None),
        "labels": lambda: ocp.StateAggregation(LABELS, A, H, lower="exact"),
        "joint labels": lambda: ocp.StateAggregation(JOINT, A, H),
        "labels by period": lambda: ocp.StateAggregation(BY_PERIOD, A, H),
        "grid": lambda: ocp.StateAggregation(ocp.Grid(EDGES, extra=1), A),
        "features": lambda: ocp.LinearFeatures(PHI),
        "features alike": lambda: ocp.LinearFeatures(PHI[0], horizon=H),
        "function": lambda: ocp.LinearFeatures(
            ocp.FeatureFunction(features_of_state, n_features=3, n_actions=A, state_size=2, scale=3.0), horizon=H
        ),
    }[name.split(",")[0]]()


# the options of an agent in Python, and in C
OPTIONS = {
    "table": ({}, {}),
    "table, random, replay": (
        {"ties": "random", "replay": True, "rng": 5},
        {"ties": 1, "replay": 1, "seed": 5},
    ),
    "table, stationary, directed": (
        {"ties": "directed", "replay": "stationary", "update": "period"},
        {"ties": 3, "replay": 2, "update": 1},
    ),
    "table, window": (
        {"selection": "window", "window": 3, "ties": "least_visited"},
        {"selection": 3, "window": 3, "ties": 2},
    ),
    "table, rewards": ({"reward_bound": 1.1}, {"reward_bound": 1.1}),
    "endless table, discounted": (
        {"discount": 0.9, "reward_bound": 2.0, "replay": True, "replay_sweeps": 50},
        {"discount": 0.9, "reward_bound": 2.0, "replay": 1, "replay_sweeps": 50},
    ),
    "labels, bounds": ({"bounds": (-1.0, math.inf)}, {"lower_bound": -1.0}),
    "joint labels, first": ({"selection": "first"}, {"selection": 2}),
    "labels by period": ({"replay": True}, {"replay": 1}),
    "grid": ({"ties": "random", "rng": 2**63}, {"ties": 1, "seed": 2**63}),
    "features, eluder": ({"selection": "eluder", "replay": True}, {"selection": 1, "replay": 1}),
    "features alike, eluder": (
        {"selection": "eluder", "ties": "random", "rng": 3},
        {"selection": 1, "ties": 1, "seed": 3},
    ),
    "function, eluder": (
        {"selection": "eluder", "replay": True, "replay_capacity": 30},
        {"selection": 1, "replay": 1, "replay_capacity": 30},
    ),
}
VECTORS = {"grid": 3, "function": 2}


def states_of(name, rng):
    """States that the class takes, again and again the same few."""
    size = VECTORS.get(name.split(",")[0])
    if size is None:
        return list(range(S))
    states = rng.uniform(-1, 1, (8, size)).tolist()
    if size == 3:
        states[0][1] = math.nan  # the extra label's
    return states


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


def play_both(agent, twin, name, seed, steps=600):
    """The same transitions for both, from a random table; they must act alike and know the same."""
    rng = np.random.default_rng(seed)
    states = states_of(name, np.random.default_rng(1))
    n = len(states)
    table = np.random.default_rng(2)
    following, reward = table.integers(0, n, (n, A)), table.integers(0, 5, (n, A)) / 4
    here = 0
    for _ in range(steps):
        action = agent.act(states[here])
        assert twin.act(states[here]) == action
        paid = float(reward[here, action])
        here = int(following[here, action])
        ending = int(rng.choice(3, p=[0.9, 0.05, 0.05]))
        ended = agent.observe(states[here], paid, terminated=ending == 1, truncated=ending == 2)
        assert twin.observe(states[here], paid, ending) == ended
        if ended:
            here = int(rng.integers(n))
        elif rng.random() < 0.01:
            agent.begin_episode()
            twin.begin_episode()
    periods = range(agent.hypothesis.horizon or 1)
    for state in states:
        for period in periods:
            assert twin.greedy(state, period) == agent.act(state, learn=False, period=period)
            for action in range(A):
                assert twin.upper(state, action, period) == agent.upper(state, action, period)
                assert twin.determined(state, action, period) == agent.determined(state, action, period)
                if "bounds" in name or "first" in name or "eluder" in name:
                    assert same(twin.lower(state, action, period), agent.lower(state, action, period))
    assert twin.n_constraints == agent.n_constraints
    assert twin.period == agent.period
    assert twin.n_episodes == agent.statistics()["episodes"] > 50


@pytest.mark.filterwarnings("ignore:a time-homogeneous class without bounds")
@pytest.mark.parametrize("name", OPTIONS)
def test_action_for_action(name, library, tmp_path):
    """C and Python agree, also after each has gone on with what the other saved."""
    for_python, for_c = OPTIONS[name]
    hypothesis = in_py(name)
    agent = ocp.OCP(hypothesis, **for_python)
    twin = CAgent.create(library, **in_c(name), **for_c)
    play_both(agent, twin, name, seed=0)

    agent.save(tmp_path / "python.ocp")
    twin.save(tmp_path / "c.ocp")
    if name.startswith("function"):
        given = library.describe(**in_c(name))
        agent = ocp.load_agent(tmp_path / "c.ocp", hypothesis=hypothesis)
        twin = CAgent.load(library, tmp_path / "python.ocp", given)
        with pytest.raises(ApiError, match="expected to be given the hypothesis class, which is not in the file"):
            CAgent.load(library, tmp_path / "python.ocp")
    else:
        assert_same_agent(ocp.load_agent(tmp_path / "c.ocp"), agent) if "rng" in for_python else None
        agent = ocp.load_agent(tmp_path / "c.ocp")
        twin = CAgent.load(library, tmp_path / "python.ocp")
    assert repr(agent).removeprefix("<").startswith(repr(ocp.OCP(hypothesis, **for_python)))
    if "random" in for_python.values():
        assert agent._rng.bit_generator.state["state"] != np.random.PCG64(for_python["rng"]).state["state"]
    play_both(agent, twin, name, seed=1)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"struct_size": 8}, "description: expected struct_size"),
        ({"n_actions": 0}, "n_actions: expected an integer >= 1, got 0"),
        ({"n_states": -3}, "n_states: expected an integer >= 1, got -3"),
        ({"horizon": -1}, "horizon: expected an integer >= 0, got -1"),
        (
            {"n_states": 2**62, "n_actions": 2**62},
            "n_states, n_actions, horizon: expected at most 1073741824 parameters",
        ),
        ({"hypothesis": 3}, "hypothesis: expected an integer in 0..2, got 3"),
        ({"selection": 4}, "selection: expected an integer in 0..3, got 4"),
        ({"ties": -1}, "ties: expected an integer in 0..3, got -1"),
        ({"replay": 3}, "replay: expected an integer in 0..2, got 3"),
        ({"update": 2}, "update: expected an integer in 0..1, got 2"),
        ({"track_lower": 2}, "track_lower: expected an integer in 0..1, got 2"),
        ({"discount": 0.0}, "discount: expected a number in (0, 1], got 0"),
        ({"discount": math.nan}, "discount: expected a number in (0, 1], got nan"),
        ({"discount": 0.5}, "discount: expected bounds or reward_bound with it if it is below 1, got 0.5"),
        ({"lower_bound": 2.0, "upper_bound": 1.0}, "bounds: expected lower <= upper, got (2, 1)"),
        ({"upper_bound": math.nan}, "bounds: expected lower <= upper"),
        ({"upper_bound": 1.0, "reward_bound": 1.0}, "bounds, reward_bound: expected at most one of them, got both"),
        ({"reward_bound": -1.0}, "reward_bound: expected a finite number >= 0, got -1"),
        ({"reward_bound": 2e80}, "reward_bound: expected a number of at most 1e80 in size, got 2e+80"),
        ({"lower_bound": -2e100}, "bounds: expected infinities and numbers of at most 1e100 in size, got -2e+100"),
        ({"reward_bound": 1.0, "horizon": 0}, "reward_bound: expected discount < 1 with it, or a horizon, got 1"),
        ({"window": 2}, "window: expected 0 if selection is not window, got 2"),
        ({"selection": 3}, "window: expected an integer >= 1, got 0"),
        ({"selection": 3, "window": 1, "replay": 1}, "replay: expected none with selection window, got it"),
        ({"replay_sweeps": 0}, "replay_sweeps: expected an integer >= 1, got 0"),
        ({"replay_capacity": 2**40}, "replay_capacity: expected at most 1073741824, got 1099511627776"),
        ({"hypothesis": 1}, "labels: expected a pointer, got NULL"),
        (
            {"hypothesis": 1, "labels": numbers([0] * 6, c_int64), "label_axes": 4},
            "label_axes: expected 1, 2 or 3, got 4",
        ),
        (
            {"hypothesis": 1, "labels": numbers([0, 1, 2, 0, 1, 4], c_int64)},
            "labels: expected every label of 0..4 to be used, got no 3",
        ),
        ({"hypothesis": 1, "labels": numbers([0, 1, 2, 0, 1, 6], c_int64)}, "labels: expected labels in 0..5, got 6"),
        ({"hypothesis": 1, "labels": numbers([0, 1, 2, 0, 1, -1], c_int64)}, "labels: expected labels in 0..5, got -1"),
        ({"hypothesis": 1, "n_dimensions": 1}, "n_edges: expected a pointer, got NULL"),
        ({"hypothesis": 1, "n_dimensions": -1}, "n_dimensions: expected an integer >= 1, got -1"),
        ({"hypothesis": 1, "n_dimensions": 1, "n_edges": numbers([2], c_int64)}, "edges: expected a pointer, got NULL"),
        (
            {"hypothesis": 1, "n_dimensions": 1, "n_edges": numbers([-2], c_int64)},
            "n_edges: expected an integer >= 1, got -2",
        ),
        (
            {"hypothesis": 1, "n_dimensions": 1, "n_edges": numbers([2], c_int64), "edges": numbers([1, 1], c_double)},
            "edges[0]: expected finite, strictly increasing numbers, got 1",
        ),
        (
            {
                "hypothesis": 1,
                "n_dimensions": 1,
                "n_edges": numbers([1], c_int64),
                "edges": numbers([math.inf], c_double),
            },
            "edges[0]: expected finite, strictly increasing numbers, got inf",
        ),
        ({"hypothesis": 2, "n_features": 1}, "phi: expected a pointer, got NULL"),
        (
            {"hypothesis": 2, "n_features": 0, "phi": numbers([1] * 18, c_double)},
            "n_features: expected an integer >= 1, got 0",
        ),
        (
            {"hypothesis": 2, "n_features": 1, "phi": numbers([1] * 17 + [math.nan], c_double), "selection": 1},
            "phi: expected finite numbers, got nan",
        ),
        (
            {"hypothesis": 2, "n_features": 1, "phi": numbers([1] * 18, c_double), "selection": 2},
            "selection: expected all, eluder or window for features, got first",
        ),
        (
            {"hypothesis": 2, "n_features": 1, "phi": numbers([1] * 18, c_double), "shared": 1, "selection": 1},
            "horizon: expected 0 where features do not depend on the period",
        ),
        ({"hypothesis": 2, "n_features": 1, "phi": numbers([1] * 18, c_double)}, NO_HIGHS),
        (
            {"hypothesis": 2, "n_features": 3, "function": 1, "selection": 1},
            "state_size: expected an integer >= 1, got 0",
        ),
        (
            {"hypothesis": 2, "n_features": 3, "function": 1, "state_size": 2, "scale": 0.0, "selection": 1},
            "scale: expected a positive, finite number, got 0",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_descriptions_that_are_wrong(options, message, library):
    with pytest.raises(ApiError) as error:
        CAgent.create(library, **{"n_states": S, "n_actions": A, "horizon": H, **options})
    assert error.value.code == BAD_ARGUMENT
    assert str(error.value).startswith(message)


def test_a_description_too_large_for_memory(library):
    """An error, not an exception that ends the program."""
    try:
        import resource
    except ImportError:
        pytest.skip("no resource limits here")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, before[1]))
    try:
        with pytest.raises(ApiError) as error:
            CAgent.create(library, n_states=2**29, n_actions=2, horizon=1)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert (error.value.code, str(error.value)) == (NO_MEMORY, "no memory")


def fails(code, message, work):
    with pytest.raises(ApiError) as error:
        work()
    assert (error.value.code, str(error.value)) == (code, message)


def test_calls_that_are_wrong_change_nothing(library, tmp_path):
    agent = CAgent.create(library, n_states=S, n_actions=A, horizon=H)
    twin = CAgent.create(library, n_states=S, n_actions=A, horizon=H)

    def wrong():
        for state in (-1, S, 2**62):
            fails(BAD_STATE, f"state: expected an integer in 0..5, got {state}", lambda s=state: agent.upper(s, 0))
        fails(BAD_STATE, "state: expected an index (ocp_index), got a vector", lambda: agent.upper([1.0], 0))
        fails(BAD_ACTION, "action: expected an integer in 0..2, got 3", lambda: agent.upper(0, 3))
        fails(BAD_ACTION, "action: expected an integer in 0..2, got -1", lambda: agent.determined(0, -1))
        fails(BAD_PERIOD, "period: expected an integer in 0..3, got 4", lambda: agent.upper(0, 0, 4))
        fails(BAD_PERIOD, "period: expected an integer in 0..3, got -1", lambda: agent.greedy(0, -1))
        fails(BAD_ARGUMENT, "lower: not tracked; set track_lower in the description", lambda: agent.lower(0, 0))
        fails(BAD_ARGUMENT, "path: expected a pointer, got NULL", lambda: library.agent_save(agent._handle, None))

    wrong()
    fails(BAD_ORDER, "observe: there is no action to observe; call ocp_agent_act first", lambda: agent.observe(0, 1.0))
    fails(BAD_STATE, "state: expected an integer in 0..5, got 6", lambda: agent.act(6))
    assert agent.act(0) == twin.act(0)
    wrong()
    fails(BAD_ORDER, "act: called twice in period 0 without observe", lambda: agent.act(0))
    fails(BAD_REWARD, "reward: expected a finite number, got nan", lambda: agent.observe(0, math.nan))
    fails(BAD_REWARD, "reward: expected a finite number, got inf", lambda: agent.observe(0, math.inf))
    fails(BAD_REWARD, "reward: expected a number of at most 1e80 in size, got -2e+80", lambda: agent.observe(0, -2e80))
    fails(BAD_ARGUMENT, "ending: expected an integer in 0..2, got 3", lambda: agent.observe(0, 1.0, 3))
    fails(BAD_STATE, "next_state: expected an integer in 0..5, got -1", lambda: agent.observe(-1, 1.0))
    assert agent.observe(-1, 1.0, TERMINATED) is twin.observe(0, 1.0, TERMINATED) is True
    agent.save(tmp_path / "agent.ocp")
    twin.save(tmp_path / "twin.ocp")
    assert (tmp_path / "agent.ocp").read_bytes() == (tmp_path / "twin.ocp").read_bytes()


def test_vectors_that_are_wrong(library):
    agent = CAgent.create(library, **{**in_c("grid"), "extra": 0})
    fails(BAD_STATE, "state: expected 3 numbers (ocp_vector), got 2", lambda: agent.act([1.0, 2.0]))
    fails(BAD_STATE, "state: expected 3 numbers (ocp_vector), got an index, or NULL", lambda: agent.act(0))
    message = "state: expected numbers, got NaN among them; a grid with extra >= 1 has a label for it"
    fails(BAD_STATE, message, lambda: agent.act([1.0, math.nan, 2.0]))
    agent = CAgent.create(library, **in_c("function"), selection=1)
    fails(BAD_STATE, "state: expected numbers, got NaN among them", lambda: agent.act([math.nan, 0.0]))
    with pytest.raises(ApiError, match="7") as error:  # what the user's function returned
        agent.act([51.0, 0.0])
    assert error.value.code == FAILED
    assert agent.act([0.0, 0.0]) in range(A)


def test_null(library):
    null, state, out = c_void_p(), State(None, 0), c_int64()
    number, flag = c_double(), c_int()
    for work in (
        lambda: library.agent_act(null, state, byref(out)),
        lambda: library.agent_observe(null, state, 0.0, 0, byref(flag)),
        lambda: library.agent_begin_episode(null),
        lambda: library.agent_greedy(null, state, 0, byref(out)),
        lambda: library.agent_upper(null, state, 0, 0, byref(number)),
        lambda: library.agent_lower(null, state, 0, 0, byref(number)),
        lambda: library.agent_determined(null, state, 0, 0, byref(flag)),
        lambda: library.agent_n_constraints(null, byref(out)),
        lambda: library.agent_period(null, byref(out)),
        lambda: library.agent_n_episodes(null, byref(out)),
        lambda: library.agent_save(null, b"x"),
        lambda: library.agent_create(byref(library.describe()), None),
        lambda: library.agent_load(b"x", None, None),
    ):
        fails(BAD_ARGUMENT, "agent: expected a pointer, got NULL", work)
    handle = c_void_p()
    fails(BAD_ARGUMENT, "description: expected a pointer, got NULL", lambda: library.agent_create(None, byref(handle)))
    fails(BAD_ARGUMENT, "path: expected a pointer, got NULL", lambda: library.agent_load(None, None, byref(handle)))
    fails(BAD_ARGUMENT, "path: expected a pointer, got NULL", lambda: library.load_highs(None))
    assert handle.value is None
    library.destroy(null)
    agent = CAgent.create(library, n_states=1, n_actions=1)
    fails(BAD_ARGUMENT, "action: expected a pointer, got NULL", lambda: library.agent_act(agent._handle, state, None))


def test_files_that_are_wrong(library, tmp_path):
    path = tmp_path / "agent.ocp"
    elsewhere = ": make it in C++, and let Checkpoint::restore read what was learned"
    for wrong, message in {
        ocp.QLearning(5, 2, horizon=5): "expected an OCP agent, got QLearning",
        ocp.OCP(ocp.FiniteClass(np.zeros((2, 1, 1, 2)))): (
            "expected TabulaRasa, StateAggregation or LinearFeatures, got FiniteClass" + elsewhere
        ),
        ocp.OCP(ocp.LinearFeatures(PHI)): NO_HIGHS,
    }.items():
        wrong.save(path)
        code = BAD_ARGUMENT if message.startswith("selection") else BAD_FILE
        fails(code, message, lambda: CAgent.load(library, path))
    fails(
        BAD_FILE,
        f"{tmp_path / 'missing'}: No such file or directory",
        lambda: CAgent.load(library, tmp_path / "missing"),
    )
    agent = CAgent.create(library, n_states=1, n_actions=1)
    with pytest.raises(ApiError, match="No such file or directory") as error:
        agent.save(tmp_path / "missing" / "agent.ocp")
    assert error.value.code == BAD_FILE


def test_headers_that_somebody_made_up(library, tmp_path):
    path = tmp_path / "agent.ocp"
    ocp.OCP(ocp.TabulaRasa(2, 2, 3)).save(path)
    content = path.read_bytes()
    for change, message in (
        (lambda header: header["arguments"].update(ties="no such"), "damaged: an option"),
        (lambda header: header["arguments"].update(discount={"$float": "much"}), "damaged: a number"),
        (lambda header: header["rng"]["$dict"].pop(1), "damaged: the generator has no state"),
    ):
        path.write_bytes(rewritten(content, change))
        fails(BAD_FILE, message, lambda: CAgent.load(library, path))
    ocp.OCP(ocp.LinearFeatures(sparse.csr_array(np.eye(4)), n_actions=2, horizon=2), selection="eluder").save(path)
    fails(
        BAD_FILE,
        "expected features as an array, got sparse rows: make the class in C++, and let Checkpoint::restore read what "
        "was learned",
        lambda: CAgent.load(library, path),
    )


def test_bytes_that_somebody_made_up(library, tmp_path):
    """Any byte of the header changed, with a checksum that is right: an error or an agent, never a crash."""
    twin = CAgent.create(library, **in_c("grid"))
    for _ in range(5):
        twin.act([0.0, 0.0, 0.0])
        twin.observe([0.1, 0.0, 0.0], 1.0, TRUNCATED)
    path = tmp_path / "agent.ocp"
    twin.save(path)
    content = path.read_bytes()
    outcomes = set()
    rng = np.random.default_rng(0)
    for _ in range(1500):
        changed = bytearray(content[:-4])
        for place in rng.integers(28, len(changed), rng.integers(1, 4)):
            changed[place] = rng.choice(list(b'0123456789,.:[]{}"en-t')) if rng.random() < 0.8 else rng.integers(256)
        path.write_bytes(bytes(changed) + zlib.crc32(changed).to_bytes(4, "little"))
        try:
            agent = CAgent.load(library, path)
            agent.begin_episode()
            outcomes.add(OK)
        except ApiError as error:
            outcomes.add(error.code)
    assert {OK, BAD_FILE} <= outcomes <= {OK, BAD_FILE, BAD_ARGUMENT, NO_MEMORY}


HIGHS = """
import sys
sys.path[:0] = {paths!r}
from test_c_api import *
library = Library({library!r})
library.load_highs({highs!r}.encode())
fails(BAD_ORDER, "HiGHS: it is loaded already", lambda: library.load_highs(b"x"))
agent = ocp.OCP(ocp.LinearFeatures(PHI), bounds=(-5.0, 5.0))
twin = CAgent.create(library, **in_c("features"), lower_bound=-5.0, upper_bound=5.0)
play_both(agent, twin, "features", seed=0, steps=200 * 4)
print(agent.statistics()["lps"])
"""


def test_with_highs(prefix, tmp_path):
    """Linear programs, in a process of its own: HiGHS stays loaded."""
    [highs] = sorted(Path(highspy.__file__).parent.glob("libhighs.so.?"))[:1] or pytest.skip("no library of HiGHS here")
    paths = [str(ROOT / "tests"), str(ROOT / "benchmarks")]
    code = HIGHS.format(paths=paths, library=str(library_of(prefix)), highs=str(highs))
    assert int(call(sys.executable, "-c", code, cwd=tmp_path)) > 0


def test_the_last_error_is_the_threads_own(library):
    fails(BAD_ARGUMENT, "path: expected a pointer, got NULL", lambda: library.load_highs(None))
    said = []
    thread = threading.Thread(target=lambda: said.append(library.last_error()))
    thread.start()
    thread.join()
    assert said == [""]
    assert library.last_error() == "path: expected a pointer, got NULL"


def test_the_layout_is_the_headers(prefix, tmp_path):
    """What ctypes was told here is what the compiler makes of the header."""
    fields = [name for name, _ in Description._fields_]
    lines = "".join(f'printf("%zu ", offsetof(ocp_description, {name}));' for name in fields)
    text = f"#include <stdio.h>\n#include <ocpfast/c_api.h>\nint main(void) {{ {lines} return 0; }}\n"
    (tmp_path / "layout.c").write_text(text)
    compile_c(prefix, tmp_path / "layout.c", tmp_path / "layout", default_compiler())
    done = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True)
    assert list(map(int, done.stdout.split())) == [getattr(Description, name).offset for name in fields]
