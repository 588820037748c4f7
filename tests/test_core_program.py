"""The core's own test program (tests/core), which needs no Python: built with the assertions of the standard library,
and run, also under valgrind. tests/sanitize.py runs it under sanitizers."""

import re
import shutil
import subprocess
from pathlib import Path

import highspy
import pytest
from commands import ROOT
from embedding import build, default_compiler

CORE = ROOT / "tests" / "core"
# -O0 would take a quarter less to compile, but all of it and a twentieth under valgrind take 100 s to run then
CHECKED = "-O1 -g1 -D_GLIBCXX_ASSERTIONS"
pytestmark = pytest.mark.skipif(not CORE.exists(), reason="needs the source tree")


def highs_library():
    """Where linear programs are solved; older highspy have it inside the binding."""
    folder = Path(highspy.__file__).parent
    return next(iter(sorted(folder.glob("libhighs*"))), Path(highspy._core.__file__))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place, name = tmp_path_factory.mktemp("core"), default_compiler()  # sanitize.py takes Clang
    return build(CORE, place, name=name, optimised=CHECKED, targets=("core", "faults"))


def run(program, *arguments, code=0):
    done = subprocess.run([program, *arguments], cwd=program.parent, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_the_core(folder):
    text = run(folder / "core", "--highs", highs_library())
    assert int(re.search(r"(\d+) cases, HiGHS /", text)[1]) > 1_000_000
    assert int(re.search(r"(\d+) passed, 0 failed\n$", text)[1]) >= 40


def test_a_part_of_it(folder):
    """A twentieth of the cases, without HiGHS; some tests by name; and names that are none."""
    whole, brief = (run(folder / "core", *brief, "store_insertions", "layer_set") for brief in ((), ("--brief",)))
    counts = [int(re.search(r"(\d+) cases, HiGHS not there", text)[1]) for text in (whole, brief)]
    assert counts[1] < counts[0] / 10
    assert brief.endswith("\n2 passed, 0 failed\n")
    run(folder / "core", "store", code=2)
    run(folder / "core", "--nothing", code=2)
    run(folder / "core", "--highs", "nowhere.so", code=2)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind here")
class TestUnderValgrind:
    MEMCHECK = ("valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full",
                "--show-leak-kinds=definite,possible", "--errors-for-leak-kinds=definite,possible")  # fmt: skip

    def test_a_part_of_it_without_an_error(self, folder):
        done = subprocess.run([*self.MEMCHECK, folder / "core", "--brief"], cwd=folder, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert int(re.search(r"(\d+) passed, 0 failed\n$", done.stdout)[1]) >= 40

    @pytest.mark.parametrize(
        ("fault", "words"), [("uninitialised", "depends on uninitialised"), ("leak", "definitely lost")]
    )
    def test_faults_on_purpose_are_seen(self, fault, words, folder):
        done = subprocess.run([*self.MEMCHECK, folder / "faults", fault], capture_output=True, text=True)
        assert done.returncode == 9
        assert words in done.stderr
