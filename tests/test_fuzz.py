"""The fuzz targets of tests/fuzz on their corpus and on what once made them fail, with the ordinary compiler."""

import importlib.util
import os
import subprocess
import sys

import pytest
from commands import ROOT, call
from embedding import COMPILERS, EXAMPLES, quick_compiler

import ocpfast as ocp

pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="needs the source tree")

FUZZ = ROOT / "tests" / "fuzz"


def script(name):
    """One of the scripts beside the targets, as a module."""
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", FUZZ / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run, seeds = script("run"), script("seeds")


def compile_command():
    """The compiler and flags that make a fault end the program, without a sanitiser's library."""
    checks = [
        "-D_GLIBCXX_ASSERTIONS",
        "-fsanitize=signed-integer-overflow,bounds",
        "-fsanitize-undefined-trap-on-error",
    ]
    same_bits = "-ffp-contract=off"
    return [COMPILERS[quick_compiler()], "-std=c++17", "-O0", same_bits, *checks, '-DOCPFAST_VERSION="fuzz"']


def inputs(target):
    """The corpus of a target, and its former crashes."""
    return sorted(path for kind in ("corpus", "crashes") for path in (FUZZ / kind / target).glob("*"))


@pytest.mark.parametrize("target", run.TARGETS)
def test_no_input_shows_a_fault(target, tmp_path):
    program = tmp_path / target
    call(
        *compile_command(),
        f"-I{ROOT / 'csrc' / 'include'}",
        FUZZ / "main.cpp",
        FUZZ / f"{target}.cpp",
        "-o",
        program,
        cwd=ROOT,
    )
    assert len(inputs(target)) > 20
    call(program, *inputs(target), cwd=tmp_path, timeout=100)


@pytest.mark.parametrize("steps", seeds.STEPS)
@pytest.mark.parametrize("name", seeds.AGENTS)
def test_seeds_are_what_is_saved_today(name, steps):
    """Else fuzzing begins with files that are refused: tests/fuzz/seeds.py writes new ones."""
    agent = seeds.made(name, steps)
    given = agent.hypothesis if name.startswith("function") else None
    loaded = ocp.load_agent(seeds.CORPUS / f"{name}_{steps}", hypothesis=given)
    assert loaded._core.state() == agent._core.state()


def test_former_crashes_are_refused_for_what_is_wrong_with_them():
    for path in (FUZZ / "crashes" / "checkpoint").iterdir():
        with pytest.raises(ValueError, match="damaged: a number"):
            ocp.load_agent(path)


def test_a_fault_is_seen(tmp_path):
    """A library that is broken: a value on an edge belongs to the bin below it."""
    include = tmp_path / "include"
    call("cp", "-r", ROOT / "csrc" / "include", include, cwd=ROOT)
    header = include / "ocpfast" / "hypothesis" / "grid.hpp"
    right = "std::upper_bound(first"
    assert right in header.read_text()
    header.write_text(header.read_text().replace(right, "std::lower_bound(first"))
    program = tmp_path / "grid"
    call(*compile_command(), f"-I{include}", FUZZ / "main.cpp", FUZZ / "grid.cpp", "-o", program, cwd=ROOT)
    done = subprocess.run([program, *inputs("grid")], capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stderr.endswith("fault: a label\n")


def test_the_corpus_is_small():
    for target in run.TARGETS:
        files = inputs(target)
        assert len(files) <= 200
        assert sum(path.stat().st_size for path in files) < 100_000


def test_what_to_install():
    environment = {**os.environ, "PATH": os.devnull}
    done = subprocess.run([sys.executable, FUZZ / "run.py"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "apt-get install clang" in done.stderr


def test_a_target_that_is_none():
    done = subprocess.run([sys.executable, FUZZ / "run.py", "none"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "expected some of c_api, checkpoint, store, cells, grid, got none" in done.stderr
