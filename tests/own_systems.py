"""The examples of csrc/examples/own_system, built; and one pendulum from each of them."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import ROOT, call

import ocpfast as ocp

COMPILED = ("cython", "ctypes", "lowlevel", "numba", "lanes")
WAYS = (*COMPILED, "python")
_MODULES = {"cython": "pendulum", "python": "by_python"}
_NEEDED = {"cython": "Cython", "lowlevel": "scipy", "numba": "numba"}


def compile_library(folder, source):
    """A shared library of a C or C++ file, with all warnings of the file itself."""
    flags = ["-shared", "-fPIC", "-isystem", ocp.get_include(), "-Wall", "-Wextra", "-Werror"]
    if source.endswith(".cpp"):
        command = [os.environ.get("CXX", "c++"), "-std=c++17", "-O3", "-ffp-contract=off", *flags]
    else:
        command = [os.environ.get("CC", "cc"), "-O2", *flags]
    library = folder / f"lib{Path(source).stem}.so"
    subprocess.run([*command, source, "-o", library.name, "-lm"], cwd=folder, check=True)
    return library


def built_examples(folder):
    """A copy of the examples where what must be compiled is compiled, and where modules are found."""
    place = shutil.copytree(ROOT / "csrc" / "examples" / "own_system", folder / "own_system")
    compile_library(place, "pendulum.c")
    compile_library(place, "side_by_side.cpp")
    call(sys.executable, "setup.py", "build_ext", "--inplace", cwd=place / "cython")
    return place


def pendulum(way, **arguments):
    """The pendulum of an example; the folder is in sys.path."""
    if way in _NEEDED:
        pytest.importorskip(_NEEDED[way], reason=f"{way}: pip install '.[test]', where it has a wheel")
    module = importlib.import_module(_MODULES.get(way, f"by_{way}"))
    return getattr(module, "Pendulum" if way == "cython" else "pendulum")(**arguments)
