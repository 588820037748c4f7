"""What several test files share: the package as it is built and shipped, made once."""

import os
import shutil
import sys
from pathlib import Path

import highspy
import pytest
from commands import ROOT, call
from highs_learning import learn


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """A copy of the tracked files, so that nothing is built in the source tree."""
    copy = tmp_path_factory.mktemp("source") / "ocpfast"
    unwanted = shutil.ignore_patterns(
        ".git", ".venv*", "build", "dist", "*.egg-info", "*.so", "__pycache__", ".*_cache"
    )
    shutil.copytree(ROOT, copy, ignore=unwanted)
    return copy


@pytest.fixture(scope="session")
def unoptimised(tmp_path_factory):
    """The environment of compilers that do not optimise and so take half the time.

    What is built here is looked at, installed and tried; the optimised build is the one that all tests run on. Results
    are the same bits, as nothing may change the order of floating-point operations.
    """
    if sys.platform == "win32":
        return {}
    wrapper = tmp_path_factory.mktemp("unoptimised") / "compile"
    wrapper.write_text('#!/bin/sh\nexec "$@" -O0\n')
    wrapper.chmod(0o755)
    return {name: f"{wrapper} {os.environ.get(name, default)}" for name, default in (("CC", "cc"), ("CXX", "c++"))}


@pytest.fixture(scope="session")
def built(source, unoptimised):
    """`python -m build`: the source distribution, and the wheel made from it."""
    call(sys.executable, "-m", "build", "--outdir", "built", cwd=source, **unoptimised)
    return source / "built"


@pytest.fixture(scope="session")
def learned(tmp_path_factory):
    """What the learning run gives in this environment, through the library."""
    answer = learn(cwd=tmp_path_factory.mktemp("learned"), OCPFAST_HIGHS="library")
    assert Path(answer["highs"]).parent == Path(highspy.__file__).parent
    return answer
