"""Programs that use the headers without Python, built with CMake as users build them."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from commands import ROOT, call

import ocpfast as ocp

EXAMPLES = ROOT / "csrc" / "examples"
STRICT = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
COMPILERS = {"gcc": "g++", "clang": "clang++"}  # C and C++
# as a user has it who knows only the wheel
INSTALLED = f"-Docpfast_DIR={ocp.get_cmake_dir()}"


def compiler(name):
    """The name of a C compiler, where it and its C++ twin are here."""
    for needed in (name, COMPILERS[name]):
        if shutil.which(needed) is None:
            pytest.skip(f"no {needed} here (apt-get install {name})")
    return name


def default_compiler():
    """GCC if it is here, else Clang."""
    return compiler("gcc" if shutil.which("g++") else "clang")


def quick_compiler():
    """Clang if it is here, which takes 0.6 of GCC's time where it does not optimise; else GCC."""
    return "clang" if all(map(shutil.which, ("clang", "clang++"))) else default_compiler()


def cmake(*arguments, cwd):
    """CMake, from the PATH or from the wheel that the test extra brings."""
    beside_python = shutil.which("cmake", path=str(Path(sys.executable).parent))
    command = beside_python or shutil.which("cmake")
    if command is None:
        pytest.skip("no cmake here (pip install cmake)")
    # nothing that this environment knows of ocpfast may help
    environment = {name: "" for name in ("CMAKE_PREFIX_PATH", "CPATH", "CPLUS_INCLUDE_PATH", "ocpfast_DIR")}
    return call(command, *map(str, arguments), cwd=cwd, timeout=600, **environment)


def build(source, folder, *options, name=None, languages=("C", "CXX"), optimised="-O0", targets=("all",)):
    """Builds a project with warnings as errors, and without optimisation, which would take twice as long."""
    name = name or quick_compiler()
    compilers = {"C": name, "CXX": COMPILERS[name]}
    flags = [f"-DCMAKE_{language}_COMPILER={compilers[language]}" for language in languages]
    flags += [f"-DCMAKE_{language}_FLAGS={optimised} {STRICT}" for language in languages]
    cmake("-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=None", *flags, *options, cwd=ROOT)
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "2")
    cmake("--build", folder, "--parallel", jobs, "--target", *targets, cwd=ROOT)
    return folder


def install(folder, *options):
    """`cmake --install`, then moved elsewhere: everything in it must be found from there."""
    built = build(ROOT / "csrc", folder / "build", *options, languages=("CXX",))
    cmake("--install", built, "--prefix", folder / "first", cwd=ROOT)
    for path in built.rglob("*"):
        if path.is_file() and path.suffix != ".gcno":  # which tests/line_coverage.py needs
            path.unlink()
    (folder / "first").rename(folder / "moved")
    return folder / "moved"
