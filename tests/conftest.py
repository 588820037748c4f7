"""What several test files share: the package as it is built and shipped, made once."""

import shutil
import sys

import pytest
from commands import ROOT, call


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
def built(source):
    """`python -m build`: the source distribution, and the wheel made from it."""
    call(sys.executable, "-m", "build", "--outdir", "built", cwd=source)
    return source / "built"
