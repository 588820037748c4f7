"""Everything compiled under sanitizers.

    python tests/sanitize.py [address] [thread] [python] [leak]      all of them without arguments
    python tests/sanitize.py python --most-cases 1000                the Python suite whole, for an hour

address     the core's test program (tests/core), threads and C API under ASan and UBSan, with leaks
thread      simulations in threads under TSan
python      the extension modules, built with ASan and UBSan into a folder of their own, under the Python suite
leak        10,000 rounds of each kind of agent and system (tests/leaks.py): flat memory

The first two commit faults on purpose (tests/core/faults.cpp) to see that they are found. It needs Clang and the
test extra. valgrind is part of the suite (tests/test_core_program.py), as its program is built there anyway.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from commands import ROOT
from conftest import UNWANTED
from embedding import build
from test_core_program import CORE, highs_library

# Clang compiles these in two thirds of the time that GCC 12 takes: linear_agents.cpp with -O1 in 62 s, not 92.
ASAN = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
# What its reports may say of HiGHS, which is not ours and not instrumented: its scheduler lives as long as the process.
LEAKS_OF_OTHERS = "leak:libhighs\n"

# Test files, and tests, that are left out under Python, and why.
LEFT_OUT = {
    "build packages or programs, or run compilers, which the preloaded runtime would slow down and abort": [
        "test_benchmarks.py",
        "test_c_api.py",
        "test_core_program.py",
        "test_cpp.py",
        "test_fuzz.py",
        "test_kernels.py",
        "test_lanes.py::test_kernels",
        "test_own_systems.py",
        "test_packaging.py",
        "test_types.py",
    ],
    "whole experiments or commands, or clusters, of which everything compiled is in other files": [
        "test_executor.py",
        "test_experiments.py",
        "test_guarantees.py",
        "test_reproduce.py",
        "test_config.py",
        "test_environments.py",
    ],
    "nothing compiled of ours": ["test_plotting.py", "test_reference.py", "test_reference_linear.py", "test_help.py"],
    "look at the memory of the process or limit it, and the sanitizer needs terabytes of addresses": [
        "test_features.py::test_a_forgotten_transition_leaves_no_trace",
        "test_leaks.py",
        "test_running.py::test_a_million_short_episodes_do_not_grow_the_process",
        "test_running.py::test_memory_does_not_grow_with_the_number_of_simulations",
    ],
    "measure time, or send Ctrl-C after so much of it, and all takes longer there": [
        "test_python_system.py::TestRunning::test_others_get_their_turn",
        "test_running.py::test_a_long_replay_is_cut_into_pieces",
    ],
    "do the same so often that they take from ten seconds to three minutes each": [
        "test_adversary.py::TestOcpMeetsIt::test_large",
        "test_differential.py::test_stores_of_a_box",
        "test_edges.py::test_36_000_periods",
        "test_edges.py::test_ten_million_episodes",
        "test_linear_input.py::test_values_that_grow_without_end_are_no_failure",
        "test_faults_resume.py::test_a_sweep_that_is_killed_again_and_again",
        "test_highs.py::test_a_solver_that_fails_once_leaves_the_store_as_it_was",
        "test_highs.py::test_a_transition_owns_one_constraint_though_a_solver_failed",
        "test_highs.py::test_of_identical_constraints_one_is_held_though_a_solver_failed",
        "test_lsvi.py::TestExperiments::test_the_pendulum_is_balanced_for_seconds_not_hours",
        "test_lsvi.py::test_pendulum_fits_are_those_of_plain_sweeps",
        "test_running.py::test_the_progress_bar_counts_episodes_and_leaves_no_thread",
        "test_sigmoid.py::test_it_is_the_linear_class_of_logits",
        "test_sigmoid.py::test_theorem_1",
        "test_sparse.py::test_eluder_dimension_is_the_l_rank",
        "test_sparse.py::test_programs_agree_with_enumeration",
        "test_sparse.py::test_programs_beyond_enumeration",
        "test_theorems.py::test_proposition_redundant_episodes_lose_little",
    ],
}


def say(text):
    print(f"== {text}", flush=True)


def run(*command, **environment):
    """A command whose output is seen; fails where it does."""
    subprocess.run(list(map(str, command)), env={**os.environ, **environment}, check=True)


def expect_fault(command, words, **environment):
    """A fault on purpose that must be found."""
    done = subprocess.run(list(map(str, command)), env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode == 0 or words not in done.stdout + done.stderr:
        sys.exit(f"{' '.join(map(str, command))}: expected {words!r}, got\n{done.stdout}{done.stderr}")


def address(folder):
    flags = f"-O0 -gline-tables-only -D_GLIBCXX_ASSERTIONS {ASAN}"  # -O1 takes three times as long to compile
    build(CORE, folder, name="clang", optimised=flags)
    for fault, words in (("after_the_end", "heap-buffer-overflow"), ("overflow", "signed integer overflow")):
        expect_fault([folder / "faults", fault], words)
    expect_fault([folder / "faults", "leak"], "detected memory leaks")
    suppressions = folder / "leaks.txt"
    suppressions.write_text(LEAKS_OF_OTHERS)
    options = {
        "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
        "LSAN_OPTIONS": f"suppressions={suppressions}:print_suppressions=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    run(folder / "core", "--folder", folder, "--highs", highs_library(), **options)
    run(folder / "threads", "--folder", folder, **options)
    subprocess.run([folder / "c_api"], cwd=folder, env={**os.environ, **options}, check=True)


def thread(folder):
    build(
        CORE, folder, name="clang", optimised="-O1 -gline-tables-only -fsanitize=thread", targets=("threads", "faults")
    )
    expect_fault([folder / "faults", "race"], "data race")
    run(folder / "threads", "--folder", folder, TSAN_OPTIONS="halt_on_error=1")


def compile_python(folder):
    """A copy of the source tree with sanitized extension modules; the runtime that must be preloaded."""
    source = folder / "source"
    if not source.exists():
        shutil.copytree(ROOT, source, ignore=UNWANTED)
    wrapper = folder / "compile"
    # After all that setup.py says. Without optimisation and debugging information, as compiling takes longest:
    # linear_agents.cpp 25 s, with -O1 62 s. vptr: the types of other modules, which hide theirs.
    flags = f"-O0 -g0 {ASAN} -fno-sanitize=vptr -shared-libasan"
    wrapper.write_text(f'#!/bin/sh\nexec "$@" {flags}\n')
    wrapper.chmod(0o755)
    cache = "ccache " if shutil.which("ccache") else ""
    run(
        "env", "-C", source, sys.executable, "setup.py", "--quiet", "build_ext", "--inplace",
        CC=f"{wrapper} {cache}clang", CXX=f"{wrapper} {cache}clang++",
    )  # fmt: skip
    for module in source.glob("ocpfast/**/*.so"):
        if b"__asan_init" not in module.read_bytes():
            sys.exit(f"{module}: expected a module with a sanitizer in it")
    runtime = subprocess.run(
        ["clang", "-print-file-name=libclang_rt.asan-x86_64.so"], capture_output=True, text=True, check=True
    )
    return source, runtime.stdout.strip()


def python(folder, most_cases=1):
    source, runtime = compile_python(folder)
    options = {
        "LD_PRELOAD": runtime,
        "PYTHONPATH": f"{source}{os.pathsep}{source / 'tests'}",
        # CPython and its packages keep what they have until the process ends; the leaks part looks for ours
        # and what is too large is an error of NumPy's, as without a sanitizer, not the end of the process
        "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    names = [name for group in LEFT_OUT.values() for name in group]
    left_out = [f"--deselect=tests/{name}" if "::" in name else f"--ignore=tests/{name}" for name in names]
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile"]
    # without optimisation compiled code takes six times as long (the core's test program: 20 s, not 3.6)
    pytest += ["-p", "thinned", f"--most-cases={most_cases}", "--durations=15"]
    run("env", "-C", source, *pytest, *left_out, "tests", **options)


def leak(folder):
    run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", ROOT / "tests" / "test_leaks.py",
        OCPFAST_LEAK_ROUNDS="10000")  # fmt: skip


PARTS = {part.__name__: part for part in (address, thread, python, leak)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--folder", type=Path, help="where to build, and to find what was built before")
    parser.add_argument("--most-cases", type=int, default=1, help="of each test of the Python suite (1, as in CI)")
    given = parser.parse_args()
    parts = {**PARTS, "python": partial(python, most_cases=given.most_cases)}
    for name in given.parts:
        if name not in PARTS:
            parser.error(f"PART: expected one of {', '.join(PARTS)}, got {name!r}")
    with tempfile.TemporaryDirectory() as temporary:
        for name in given.parts or PARTS:
            folder = (given.folder or Path(temporary)).resolve() / name
            folder.mkdir(parents=True, exist_ok=True)
            say(name)
            start = time.monotonic()
            parts[name](folder)
            say(f"{name}: {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
