"""HiGHS: its library and highspy's Python API alike, and the user's own models beside ours."""

import itertools
import random
import re
import shutil
import signal
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import highspy
import numpy as np
import pytest
from commands import ROOT, call
from highs_learning import PARTS, learn

import ocpfast as ocp
from ocpfast import _core

KINDS = ("library", "python")
BLOCKS, CASES = 4, 10


@contextmanager
def through(kind):
    """What is made inside solves its programs through HiGHS's library, or through highspy's Python API."""
    before = _core.highs_in_use()
    if kind == "python":
        _core.use_highspy()
    else:
        _core.load_highs(highspy._core.__file__)
    try:
        yield
    finally:
        if before not in (None, "highspy"):
            _core.load_highs(before)


# random polytopes


class Case:
    """A random system, and a polytope class over it that knows nothing of it; small integers throughout."""

    def __init__(self, seed):
        self.seed = seed
        rng = random.Random(seed)
        self.shape = n_states, n_actions, horizon = rng.randint(2, 4), rng.randint(2, 3), rng.randint(1, 3)
        self.d = d = rng.randint(2, 4)

        def integers(most, *shape):
            return np.array([rng.randint(-most, most) for _ in range(int(np.prod(shape)))], dtype=float).reshape(shape)

        self.phi = integers(2, horizon, n_states, n_actions, d)
        rows = integers(2, 3, d)
        self.a_ub = np.vstack([np.eye(d), -np.eye(d), rows])
        self.b_ub = np.concatenate([np.full(2 * d, 4.0), rows @ integers(1, d) + rng.randint(0, 2)])
        self.next_state = np.abs(integers(n_states - 1, horizon, n_states, n_actions)).astype(int)
        self.reward = integers(4, horizon, n_states, n_actions) / 4
        self.shared = rng.random() < 0.5
        self.options = rng.choice(
            [{}, {"replay": True}, {"selection": "window", "window": 2}, {"update": "period"}, {"ties": "directed"}]
        )

    def agent(self, **more):
        return ocp.OCP(ocp.Polytope(self.phi, self.a_ub, self.b_ub, shared=self.shared), **{**self.options, **more})

    def system(self):
        return ocp.TableSystem(self.next_state, self.reward, initial_state=list(range(self.shape[0])))

    def values(self, agent):
        n_states, n_actions, horizon = self.shape
        places = [(x, a, t) for t, x, a in np.ndindex(horizon, n_states, n_actions)]
        return [(agent.lower(*place), agent.upper(*place)) for place in places]

    def episode(self, agent, number):
        x = number % self.shape[0]
        for t in range(self.shape[2]):
            a = agent.act(x)
            x = int(self.next_state[t, x, a])
            assert agent.observe(x, float(self.reward[t, x, a])) == (t == self.shape[2] - 1)

    def play(self, agent, before_each_call=lambda: None, episodes=6):
        """All values after each episode, and how many programs that took."""
        values = []
        for episode in range(episodes):
            x = episode % self.shape[0]
            for t in range(self.shape[2]):
                before_each_call()
                a = agent.act(x)
                x, r = int(self.next_state[t, x, a]), float(self.reward[t, x, a])
                before_each_call()
                agent.observe(x, r)
            before_each_call()
            values.append(self.values(agent))
        statistics = agent.statistics()
        return np.array(values), {name: statistics[name] for name in ("lps", "pivots", "cold_lps")}


# the library and Python


@pytest.mark.parametrize("block", range(BLOCKS))
def test_python_gives_the_values_of_the_library(block, compared):
    """To the last bit: the same HiGHS is told the same things in the same order."""
    lps = 0
    for seed in range(block * CASES, (block + 1) * CASES):
        case, played = Case(seed), {}
        for kind in KINDS:
            with through(kind):
                played[kind] = case.play(case.agent())
        values, statistics = played["library"]
        np.testing.assert_array_equal(played["python"][0], values, err_msg=f"seed {seed}")
        assert played["python"][1] == statistics, f"seed {seed}"
        lps += statistics["lps"]
    assert lps > 50 * CASES
    compared("programs: HiGHS by its library = by Python", CASES)


@pytest.mark.parametrize("workers", [1, 4])
def test_python_in_the_compiled_runner(learned, workers, tmp_path):
    """It runs without the GIL, which every call has to take, in all workers at once."""
    answer = learn(cwd=tmp_path, workers=workers, OCPFAST_HIGHS="python")
    assert answer["highs"] == "highspy"
    assert answer["warnings"] == []  # it was asked for
    assert [answer[part] for part in PARTS] == [learned[part] for part in PARTS]


# loading fails


@pytest.fixture(scope="module")
def crippled(tmp_path_factory):
    """A directory with a highspy that works in Python, but whose library lacks a function of the C API."""
    folder = tmp_path_factory.mktemp("crippled")
    shutil.copytree(Path(highspy.__file__).parent, folder / "highspy", ignore=shutil.ignore_patterns("__pycache__"))
    renamed = 0
    for file in (folder / "highspy").iterdir():
        if file.is_file() and file.read_bytes()[:4] == b"\x7fELF":
            content = file.read_bytes()
            renamed += content.count(b"\0Highs_clearSolver\0")
            file.write_bytes(content.replace(b"\0Highs_clearSolver\0", b"\0Highs_clearSoLver\0"))
    assert renamed
    return folder


def test_where_loading_fails_python_is_used_and_it_is_said_what_was_tried(learned, crippled, tmp_path):
    answer = learn(cwd=tmp_path, PYTHONPATH=str(crippled), OCPFAST_HIGHS="")
    assert answer["highs"] == "highspy"
    [(category, message, filename)] = answer["warnings"]  # once, for eight classes and agents
    assert category == "RuntimeWarning"
    assert filename == "<string>"  # the user's code
    assert message.startswith(f"no usable HiGHS library in {crippled / 'highspy'}; tried ")
    for file in (crippled / "highspy").glob("libhighs*"):
        assert f"{file.name}: HiGHS: no Highs_clearSolver in {file}" in message
    assert f"{Path(highspy._core.__file__).name}: HiGHS: no Highs_clearSolver in " in message
    assert "Python API" in message and "slower" in message and "OCPFAST_HIGHS=python" in message
    assert [answer[part] for part in PARTS] == [learned[part] for part in PARTS]


MAKE = """
import numpy as np, ocpfast as ocp
try:
    ocp.OCP(ocp.LinearFeatures(np.ones((2, 3, 2, 2))))
except Exception as error:
    print(type(error).__name__, error)
"""


def test_the_library_can_be_demanded(crippled, tmp_path):
    said = call(sys.executable, "-c", MAKE, cwd=tmp_path, PYTHONPATH=str(crippled), OCPFAST_HIGHS="library")
    assert said.startswith(f"ImportError no usable HiGHS library in {crippled / 'highspy'}; tried ")
    assert said.strip().endswith("(OCPFAST_HIGHS=library)")


def test_the_variable_is_checked(tmp_path):
    said = call(sys.executable, "-c", MAKE, cwd=tmp_path, OCPFAST_HIGHS="fast")
    assert said.strip() == ("ValueError OCPFAST_HIGHS: expected 'library' or 'python', or no such variable, got 'fast'")


def test_files_that_are_no_library_are_refused(tmp_path):
    (tmp_path / "libhighs.so").write_text("no library")
    before = _core.highs_in_use()
    for name in ("libhighs.so", "missing.so"):
        with pytest.raises(RuntimeError, match=f"HiGHS: .*{re.escape(name)}"):
            _core.load_highs(str(tmp_path / name))
    assert _core.highs_in_use() == before


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_integers_of_another_size_are_refused(tmp_path):
    """A library with all functions, of a build with 64-bit integers."""
    header = (ROOT / "csrc/include/ocpfast/lp/highs_api.hpp").read_text()
    functions = set(re.findall(r"(Highs_\w+)\)", header)) - {"Highs_getSizeofHighsInt"}
    assert len(functions) > 15
    lines = [f"void* {name}(void) {{ return 0; }}" for name in sorted(functions)]
    (tmp_path / "wide.c").write_text("\n".join([*lines, "int Highs_getSizeofHighsInt(const void* h) { return 8; }\n"]))
    call("cc", "-shared", "-fPIC", "-o", "libhighs.so", "wide.c", cwd=tmp_path)
    before = _core.highs_in_use()
    with pytest.raises(RuntimeError, match="HiGHS: its integers have 8 bytes, expected 4"):
        _core.load_highs(str(tmp_path / "libhighs.so"))
    assert _core.highs_in_use() == before


# Python fails

CASE = Case(3)


def shown(unraisable):
    return f"{unraisable.exc_type.__name__}: {unraisable.exc_value}"


@pytest.fixture
def unraised(monkeypatch):
    """Exceptions that were shown because nobody could catch them."""
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: seen.append(shown(unraisable)))
    return seen


def test_models_that_cannot_be_made(unraised, monkeypatch):
    with through("python"):
        agent = CASE.agent()
    expected = CASE.play(agent.copy())[0]
    with monkeypatch.context() as patch:
        patch.delattr(highspy, "Highs")
        with pytest.raises(RuntimeError, match="HiGHS could not make a model"):
            CASE.play(agent.copy())
        assert "has no attribute 'Highs'" in unraised[-1]
        with pytest.raises(RuntimeError, match="HiGHS could not make a model"):  # from a worker, without the GIL
            ocp.run(agent, CASE.system(), episodes=20, simulations=4, rng=0, workers=2, progress=False)
    np.testing.assert_array_equal(CASE.play(agent.copy())[0], expected)


class Faulty:
    """A method of highspy.Highs that raises an exception in some of its calls, counted from 1."""

    def __init__(self, method, fails, error):
        self.method, self.fails, self.error, self.calls = method, fails, error, 0

    def __get__(self, highs, owner):
        def method(*arguments):
            self.calls += 1
            if self.calls in self.fails:
                raise self.error
            return self.method(highs, *arguments)

        return method


def break_method(patch, method, fails, error=None):
    faulty = Faulty(getattr(highspy.Highs, method), fails, error or ArithmeticError(f"{method} is out of order"))
    patch.setattr(highspy.Highs, method, faulty, raising=False)
    return faulty


class Errors:
    """Counts what HiGHS's failures raise, and goes on."""

    count = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is RuntimeError and "HiGHS" in str(error):
            self.count += 1
            return True
        return False


def make_store(kind, **options):
    """Twelve features over a box with corners cut off, and no model of it yet."""
    rng = np.random.default_rng(2)
    a_ub = np.vstack([np.eye(3), -np.eye(3), rng.standard_normal((4, 3))])
    with through(kind):
        features, b_ub = rng.integers(-2, 3, (12, 3)) + 0.5, np.append(np.full(6, 4.0), np.ones(4))
        return _core.LinearStore(features, a_ub, b_ub, **options)


def questions(store):
    yield lambda: store.infimum_of_maximum(list(range(12)))
    for i in range(12):
        yield lambda i=i: store.upper(i)
        yield lambda i=i: store.lower(i)
    yield lambda: store.infimum_of_maximum([0, 1, 2])


SOLVING = ["run", "passModel", "changeColsCost", "changeColBounds", "changeRowBounds", "changeCoeff", "getSolution",
           "getModelStatus"]  # fmt: skip


@pytest.mark.parametrize("fails", [{1}, {3}, range(1, 10**6)], ids=["first", "third", "all"])
@pytest.mark.parametrize("method", SOLVING)
def test_an_exception_is_an_error_or_mended_but_no_wrong_value(method, fails, unraised, monkeypatch):
    if method == "passModel" and fails == {3}:
        fails = {1}  # called once for each model
    expected = [question() for question in questions(make_store("library"))]
    store = make_store("python")
    errors = 0
    with monkeypatch.context() as patch:
        break_method(patch, method, fails)
        for question, value in zip(questions(store), expected, strict=True):
            try:
                assert question() == pytest.approx(value, abs=1e-7)
            except RuntimeError as error:
                assert "HiGHS" in str(error)
                errors += 1
    assert unraised and set(unraised) == {f"ArithmeticError: {method} is out of order"}
    assert errors <= len(unraised)
    if len(fails) > 1:
        assert errors > 0  # nothing can mend that
    assert [question() for question in questions(store)] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("method", ["addCol", "addRow", "changeRowBounds"])
def test_a_change_of_the_rows_that_fails_is_made_up_for(method, unraised, monkeypatch):
    """No error either: the next question is put to a new model."""
    features = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]])
    stores = []
    for kind in ("library", "python"):
        with through(kind):
            stores.append(_core.LinearStore(features, np.empty((0, 3)), np.empty(0)))
        for i, upper in enumerate((1.0, 2.0, 2.5)):  # more than a box, so that it takes a model
            stores[-1].insert(i, 0.0, upper)
        assert stores[-1].upper(2) == pytest.approx(2.5)
        assert stores[-1].lps > 0
    expected, store = stores
    with monkeypatch.context() as patch:
        break_method(patch, method, {1})
        store.insert(3, -2.0, 3.0)
    assert unraised == [f"ArithmeticError: {method} is out of order"]
    expected.insert(3, -2.0, 3.0)
    for i in range(4):
        assert (store.lower(i), store.upper(i)) == pytest.approx((expected.lower(i), expected.upper(i)))
    assert store.kept() == expected.kept()


def test_an_answer_of_another_type_is_an_error(unraised, monkeypatch):
    store = make_store("python")
    expected = make_store("library").upper(0)
    with monkeypatch.context() as patch:
        patch.setattr(highspy.Highs, "getSolution", lambda highs: SimpleNamespace(col_value=["many"]))
        with pytest.raises(RuntimeError, match="HiGHS"):
            store.upper(0)
    assert unraised and all(one.startswith("RuntimeError: Unable to cast Python instance") for one in unraised)
    assert store.upper(0) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("method", ["getBasis", "setBasis"])
def test_a_model_that_cannot_go_on_from_its_basis_starts_afresh(method, unraised, monkeypatch):
    """Every 64 questions it is made again."""
    expected, store = make_store("library"), make_store("python")
    with monkeypatch.context() as patch:
        faulty = break_method(patch, method, range(1, 10**6))
        for i in range(200):
            some = random.Random(i).sample(range(12), 3)
            assert store.infimum_of_maximum(some) == pytest.approx(expected.infimum_of_maximum(some), abs=1e-7)
    assert faulty.calls > 0 and set(unraised) == {f"ArithmeticError: {method} is out of order"}


@pytest.mark.parametrize("fails", [{1}, {3}, range(1, 10**6)], ids=["first", "third", "all"])
@pytest.mark.parametrize("method", ["passModel", "changeColIntegrality", "run", "getInfoValue", "getSolution"])
def test_sparse_programs_that_fail_give_no_wrong_value(method, fails, unraised, monkeypatch):
    phi = np.random.default_rng(0).standard_normal((1, 4, 2, 6))
    q = phi @ [0.5, 0, 0, -1.0, 0, 0]
    with through("python"):
        agent = ocp.OCP(ocp.SparseLinear(phi, 2, theta_bound=1.0, enumerate_up_to=0), selection="eluder")
    errors = Errors()
    with monkeypatch.context() as patch:
        faulty = break_method(patch, method, fails)
        for x in (0, 1, 2, 3, 0):
            with errors:
                a = agent.act(x)
                agent.observe(0, q[0, x, a])
            agent.begin_episode()
        for (_, x, a), value in np.ndenumerate(q):
            with errors:
                assert agent.lower(x, a) - 1e-6 <= value <= agent.upper(x, a) + 1e-6
    assert faulty.calls > 3 and unraised
    if len(fails) > 1:  # without a bound or a solution less is known, but that is right
        assert (errors.count > 0) == (method in ("passModel", "changeColIntegrality", "run"))
    for x in range(4):  # all is well again
        a = agent.act(x)
        agent.observe(0, q[0, x, a])
    for (_, x, a), value in np.ndenumerate(q):
        assert agent.lower(x, a) - 1e-6 <= value <= agent.upper(x, a) + 1e-6
    assert agent.statistics()["contradictions"] == 0


@pytest.mark.parametrize("wrong", [{1}, {3}, {1, 2}], ids=str)
@pytest.mark.parametrize("part", ["col_value", "row_dual"])
def test_a_wrong_solution_is_noticed(part, wrong, monkeypatch):
    """Each optimum is checked, and solved again if it is none."""
    expected = [question() for question in questions(make_store("library"))]
    store, steady = make_store("python"), make_store("python")
    solution, calls = highspy.Highs.getSolution, []

    def lying(highs):
        calls.append(solution(highs))
        parts = {
            name: np.array(getattr(calls[-1], name)) for name in ("col_value", "col_dual", "row_value", "row_dual")
        }
        if len(calls) in wrong:
            parts[part] += 1.0
        return SimpleNamespace(**parts)

    monkeypatch.setattr(highspy.Highs, "getSolution", lying)
    assert [question() for question in questions(store)] == pytest.approx(expected, abs=1e-7)
    looked = len(calls)
    assert [question() for question in questions(steady)] == pytest.approx(expected, abs=1e-7)
    assert looked == len(calls) - looked + len(wrong)  # as often as without lies, and once more for each


@pytest.mark.parametrize("block", range(5))
def test_a_solver_that_fails_once_leaves_the_store_as_it_was(block, unraised, monkeypatch):
    """Conflicting constraints, each tried again until it is in: in the end the same are kept as without failures."""
    rng = np.random.default_rng(block)
    subjects, lows = rng.integers(12, size=40).tolist(), rng.integers(-6, 6, 40).tolist()
    constraints = [(i, low, low + 1) for i, low in zip(subjects, lows, strict=True)]
    steady = make_store("library")
    for constraint in constraints:
        steady.insert(*constraint)
    assert len(steady.rejected()) > 10
    errors = 0
    for first in range(1, 400, 4):
        shaken = make_store("python")
        with monkeypatch.context() as patch:
            break_method(patch, "run", range(first, first + 6))  # a program is tried three times, each time twice
            for constraint in constraints:
                try:
                    shaken.insert(*constraint)
                except RuntimeError as error:
                    assert "HiGHS" in str(error)
                    errors += 1
                    shaken.insert(*constraint)
        assert [row[1:] for row in shaken.kept()] == [row[1:] for row in steady.kept()], first
        assert [shaken.upper(i) for i in range(12)] == pytest.approx([steady.upper(i) for i in range(12)], abs=1e-6)
    assert errors > 10


@pytest.mark.parametrize("block", range(5))
def test_what_came_in_while_a_solver_failed_leaves_with_its_window(block, unraised, monkeypatch):
    rng = np.random.default_rng(block)
    constraints = list(zip(rng.integers(12, size=24).tolist(), rng.integers(-6, 6, 24).tolist(), strict=True))
    errors = Errors()
    for first in range(1, 200, 3):
        store = make_store("python", window=2)
        with monkeypatch.context() as patch:
            break_method(patch, "run", range(first, first + 6))
            for number, (i, low) in enumerate(constraints, 1):
                with errors:
                    store.insert(i, low, low + 1)
                if number % 4 == 0:
                    with errors:
                        store.end_episode()
        for _ in range(2):
            assert store.kept()
            store.end_episode()
        assert not store.kept() + store.rejected(), first
    assert errors.count > 10


def test_of_identical_constraints_one_is_held_though_a_solver_failed(unraised, monkeypatch):
    """One comes in again that was rejected, pushes others out, and the solver fails on the rest of the walk."""
    errors = Errors()
    for seed, first in itertools.product(range(4), range(1, 160, 5)):
        rng = np.random.default_rng(seed)
        store = make_store("python")
        with monkeypatch.context() as patch:
            break_method(patch, "run", range(first, first + 6))
            for i, low in zip(rng.integers(6, size=40).tolist(), rng.integers(-2, 3, 40).tolist(), strict=True):
                with errors:
                    store.insert(i, low, low + 1)
                held = [row[1:] for row in store.kept() + store.rejected()]
                assert len(set(held)) == len(held), (seed, first)
    assert errors.count > 10


def test_a_transition_owns_one_constraint_though_a_solver_failed(unraised, monkeypatch):
    errors = Errors()
    for seed, first in itertools.product(range(8), range(1, 60, 4)):
        case = Case(seed)
        with through("python"):
            agent = case.agent(replay=True, selection="all", window=None)
        with monkeypatch.context() as patch:
            break_method(patch, "run", range(first, first + 6))
            for episode in range(8):
                with errors:
                    case.episode(agent, episode)
                agent.begin_episode()
        statistics = agent.statistics()
        assert statistics["constraints"] <= statistics["transitions"]
    assert errors.count > 10


@pytest.mark.parametrize("first", [1, 4, 9, 20, 40])
def test_an_agent_whose_solver_failed_begins_the_next_episode(first, unraised, monkeypatch):
    errors = 0
    for seed in range(6):
        case = Case(seed)
        with through("python"):
            agent = case.agent()
        with monkeypatch.context() as patch:
            break_method(patch, "run", range(first, first + 12))
            for episode in range(8):
                try:
                    case.episode(agent, episode)
                except RuntimeError as error:
                    assert "HiGHS" in str(error)
                    errors += 1
                    agent.begin_episode()
                assert agent.period == 0
        values = case.values(agent)
        assert all(low <= high + 1e-6 for low, high in values)
    assert errors > 0


def test_ctrl_c_is_not_lost(unraised, monkeypatch):
    store = make_store("python")
    break_method(monkeypatch, "run", range(1, 10**6), KeyboardInterrupt())
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs start with it ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            try:
                store.upper(0)
            finally:
                time.sleep(1)  # where Python gets to see it
    finally:
        signal.signal(signal.SIGINT, before)


# the user's own models


class UserModel:
    """A linear program of the user's; with parallel="on" by HiGHS's parallel simplex, slow where cores are few."""

    def __init__(self, threads, parallel="on"):
        rng = np.random.default_rng(0)
        n, m = 3, 4
        self.highs = highs = highspy.Highs()
        options = {"output_flag": False, "threads": threads, "parallel": parallel, "presolve": "off"}
        for name, value in options.items():
            assert highs.setOptionValue(name, value) == highspy.HighsStatus.kOk
        for _ in range(n):
            highs.addVar(0.0, 10.0)
        for j in range(n):
            highs.changeColCost(j, -1.0)
        for row in rng.random((m, n)):
            highs.addRow(0.0, 5.0, n, np.arange(n, dtype=np.int32), row)

    def run(self):
        """The optimum, from scratch; None where HiGHS refuses."""
        self.highs.clearSolver()
        if self.highs.run() != highspy.HighsStatus.kOk:
            return None
        return self.highs.getObjectiveValue()


@pytest.fixture
def own_scheduler():
    """HiGHS's scheduler of this thread, at the start of the test and for the tests that follow: none."""
    highspy.Highs.resetGlobalScheduler(True)
    yield
    highspy.Highs.resetGlobalScheduler(True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_users_models_with_several_threads_in_our_thread(kind, own_scheduler):
    """In the user's thread HiGHS then refuses any other number of threads, ours too."""
    lps = 0
    for seed in range(8):
        case = Case(seed)
        with through(kind):
            hypothesis = ocp.Polytope(case.phi, case.a_ub, case.b_ub, shared=case.shared)
            expected, statistics = case.play(ocp.OCP(hypothesis, **case.options))
            agent = ocp.OCP(hypothesis, **case.options)
        lps += statistics["lps"]
        optimum = UserModel(threads=4).run()
        assert optimum is not None, "ours came first, and left a scheduler behind"
        assert UserModel(threads=1).run() is None  # what ours has to cope with
        user = UserModel(threads=4, parallel="off")

        def solve(user=user, optimum=optimum):
            assert user.run() == pytest.approx(optimum)

        values, _ = case.play(agent, before_each_call=solve)
        np.testing.assert_array_equal(values, expected, err_msg=f"seed {seed}")
        solve()
        highspy.Highs.resetGlobalScheduler(True)
    assert lps > 300  # HiGHS is asked


@pytest.mark.parametrize("kind", KINDS)
def test_our_models_leave_the_scheduler_as_it_was(kind, own_scheduler):
    """Whatever the user runs next is not the first that HiGHS runs in this thread, but must not notice."""
    store = make_store(kind)
    users = [UserModel(threads) for threads in (4, 3, 1, 2)]
    for i, user in enumerate(users):
        store.upper(3 * i)  # without a scheduler of the user's
        optimum = user.run()
        assert optimum is not None
        store.upper(3 * i + 1)  # with it: as many threads as it has
        store.upper(3 * i + 2)
        if i != 2:
            assert UserModel(threads=1).run() is None  # it is still there
        assert user.run() == optimum
        highspy.Highs.resetGlobalScheduler(True)  # the user's, who wants another number of threads next
    assert store.lps == 3 * len(users)


@pytest.mark.parametrize("kind", KINDS)
def test_a_users_models_in_the_threads_of_run(kind):
    """The user's function that makes the agents is called in the workers, and runs models of its own there."""
    case = Case(11)
    with through(kind):
        prototype = case.agent()
    optima = []

    def make(rng):
        optima.append(UserModel(threads=4).run())
        return prototype.copy()

    options = {"episodes": 10, "simulations": 12, "rng": 0, "workers": 2, "progress": False, "keep_agents": True}
    alone = ocp.run(lambda rng: prototype.copy(), case.system(), **options)
    beside = ocp.run(make, case.system(), **options)
    np.testing.assert_array_equal(beside.rewards, alone.rewards)
    assert [case.values(agent) for agent in beside.agents] == [case.values(agent) for agent in alone.agents]
    assert len(optima) == 12 and None not in optima and len(set(optima)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_users_models_in_other_threads(kind):
    case = Case(11)
    with through(kind):
        agent = case.agent()
    options = {"episodes": 10, "simulations": 12, "rng": 0, "workers": 2, "progress": False}
    alone = ocp.run(agent, case.system(), **options)
    done, optima = threading.Event(), []

    def solve():
        user = UserModel(threads=4)
        optima.append(user.run())
        while not done.is_set():
            optima.append(user.run())

    threads = [threading.Thread(target=solve) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            beside = ocp.run(agent, case.system(), **options)
            np.testing.assert_array_equal(beside.rewards, alone.rewards)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert len(optima) >= 2 and None not in optima and len(set(optima)) == 1
