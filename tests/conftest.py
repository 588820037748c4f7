"""What several test files share: the package as it is built and shipped, made once; counts of compared cases."""

import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import highspy
import hypothesis
import pytest
from commands import ROOT, call
from highs_learning import learn

# of the source tree: what was built in it
UNWANTED = shutil.ignore_patterns(".git", ".venv*", "build", "dist", "*.egg-info", "*.so", "__pycache__", ".*_cache")

# The same examples in every run, and no time limit for one. --hypothesis-profile=long tries new ones, for hours.
hypothesis.settings.register_profile("suite", derandomize=True, deadline=None)
hypothesis.settings.register_profile("long", deadline=None, max_examples=10_000)
hypothesis.settings.load_profile("suite")


# Files that take minutes, most of them compiling: begun first, so that no process is left alone with one at the end.
LONG = (
    "test_packaging",
    "test_experiments",
    "test_core_program",
    "test_cpp",
    "test_fuzz",
    "test_c_api",
    "test_kernels",
    "test_saving",
    "test_saving_damaged",
    "test_finite",
)


def pytest_collection_modifyitems(items):
    order = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.path.stem, len(LONG)))


@pytest.fixture
def compared(record_property):
    """compared("one = other", 100): so many random cases were compared, for the table at the end of the output."""

    def count(what, cases):
        record_property("compared", [what, cases])

    return count


def pytest_terminal_summary(terminalreporter):
    cases = Counter()
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:  # pytest-xdist sends these from its workers
            if name == "compared":
                cases[value[0]] += value[1]
    if cases:
        terminalreporter.section(f"{cases.total():,} random cases compared")
        for what, n in sorted(cases.items()):
            terminalreporter.write_line(f"{n:8,}  {what}")


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """A copy of the tracked files, so that nothing is built in the source tree."""
    copy = tmp_path_factory.mktemp("source") / "ocpfast"
    shutil.copytree(ROOT, copy, ignore=UNWANTED)
    return copy


# A compiler that does not optimise, and hands out again what it made of a file before: setuptools compiles for an
# editable install in a new folder, although the wheel was made of the same files (170 s of one core).
UNOPTIMISED = """#!/bin/sh
for argument; do
    case $argument in
        *.cpp) source=$argument ;;
        *.o) object=$argument ;;
    esac
done
[ -n "$source" ] || exec "$@"
kept=$(dirname "$0")/$(echo "$source" | tr / -).o
if [ -e "$kept" ]; then
    cp "$kept" "$object"
else
    "$@" -O0 && cp "$object" "$kept"
fi
"""


@pytest.fixture(scope="session")
def unoptimised(tmp_path_factory):
    """The environment of compilers that do not optimise and so take half the time; Clang, where it is there, a third.

    What is built here is looked at, installed and tried; the optimised build is the one that all tests run on. Results
    are the same bits, as nothing may change the order of floating-point operations.
    """
    if sys.platform == "win32":
        return {}
    wrapper = tmp_path_factory.mktemp("unoptimised") / "compile"
    wrapper.write_text(UNOPTIMISED)
    wrapper.chmod(0o755)
    compilers = {"CC": "clang", "CXX": "clang++"} if shutil.which("clang++") else {"CC": "cc", "CXX": "c++"}
    return {name: f"{wrapper} {os.environ.get(name, default)}" for name, default in compilers.items()}


@pytest.fixture(scope="session")
def built(source, unoptimised):
    """`python -m build`: the source distribution, and the wheel made from it.

    In this environment, which spares 40 s; that build dependencies are declared, the install for these tests has shown.
    """
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", "built", cwd=source, **unoptimised)
    return source / "built"


@pytest.fixture(scope="session")
def learned(tmp_path_factory):
    """What the learning run gives in this environment, through the library."""
    answer = learn(cwd=tmp_path_factory.mktemp("learned"), OCPFAST_HIGHS="library")
    assert Path(answer["highs"]).parent == Path(highspy.__file__).parent
    return answer
