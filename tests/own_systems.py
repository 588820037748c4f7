"""The examples of csrc/examples/own_system, built; and one pendulum from each of them."""

import importlib
import os
import shutil
import subprocess
import sys

import pytest
from commands import ROOT, call

import ocpfast as ocp

COMPILED = ("cython", "ctypes", "lowlevel", "numba")
WAYS = (*COMPILED, "python")
_MODULES = {"cython": "pendulum", "python": "by_python"}
_NEEDED = {"cython": "Cython", "lowlevel": "scipy", "numba": "numba"}


def compile_c(folder, source):
    """A shared library, with all warnings."""
    flags = ["-O2", "-shared", "-fPIC", f"-I{ocp.get_include()}", "-Wall", "-Wextra", "-Werror"]
    library = folder / f"lib{source.removesuffix('.c')}.so"
    subprocess.run([os.environ.get("CC", "cc"), *flags, source, "-o", library.name, "-lm"], cwd=folder, check=True)
    return library


def built_examples(folder):
    """A copy of the examples where what must be compiled is compiled, and where modules are found."""
    place = shutil.copytree(ROOT / "csrc" / "examples" / "own_system", folder / "own_system")
    compile_c(place, "pendulum.c")
    call(sys.executable, "setup.py", "build_ext", "--inplace", cwd=place / "cython")
    return place


def pendulum(way, **arguments):
    """The pendulum of an example; the folder is in sys.path."""
    if way in _NEEDED:
        pytest.importorskip(_NEEDED[way], reason=f"{way}: pip install '.[test]', where it has a wheel")
    module = importlib.import_module(_MODULES.get(way, f"by_{way}"))
    return getattr(module, "Pendulum" if way == "cython" else "pendulum")(**arguments)
