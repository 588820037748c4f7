"""Fuzzing: builds the targets with Clang's libFuzzer and sanitisers, runs their corpus, and searches on.

    python tests/fuzz/run.py                     # every target for 30 seconds, two at a time
    python tests/fuzz/run.py store grid --seconds 300
    python tests/fuzz/run.py --long              # an hour each; what is new joins the corpus

Ends with 1 where something crashed, was too slow or took too much memory, and says how to make it a test. What is
built is in build/fuzz.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILT = ROOT / "build" / "fuzz"
TARGETS = {  # and how long inputs may become; those that take longest to compile come first
    "c_api": 600,
    "checkpoint": 8_000,
    "store": 400,
    "cells": 400,
    "grid": 400,
}
COMPILE = ["-std=c++17", "-O1", "-gline-tables-only", "-D_GLIBCXX_ASSERTIONS", '-DOCPFAST_VERSION="fuzz"']
COMPILE += ["-ffp-contract=off"]  # as everything that uses the headers: instruction sets give the same bits
SANITISE = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]
# A reader that trusted a size in a file would allocate more than this at once; the agents here are small.
MOST_MEGABYTES_AT_ONCE = 64
LIMITS = ["-timeout=20", "-rss_limit_mb=2000", f"-malloc_limit_mb={MOST_MEGABYTES_AT_ONCE}"]


class FuzzError(Exception):
    """Nothing can be run; the message says why."""


def compiler():
    """The command of Clang's C++ compiler."""
    names = ["clang++", *(f"clang++-{version}" for version in range(25, 13, -1))]
    for name in names:
        if shutil.which(name):
            return name
    raise FuzzError("clang++: not installed (apt-get install clang); libFuzzer comes with it")


def call(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise FuzzError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")


def build(target):
    """Compiles a target, and the mutator of its own if it has one."""
    objects = []
    for source in (HERE / f"{target}.cpp", HERE / f"{target}_mutator.cpp"):
        if not source.exists():
            continue
        objects.append(BUILT / f"{source.stem}.o")
        call(compiler(), *COMPILE, *SANITISE, f"-I{ROOT / 'csrc' / 'include'}", "-c", source, "-o", objects[-1])
    call(compiler(), *SANITISE, *objects, "-o", BUILT / target)


def fuzz(target, seconds):
    """Builds and runs a target; whether all went well, and what there is to tell."""
    build(target)
    new, faults = BUILT / f"{target}.new", BUILT / f"{target}.faults"
    shutil.rmtree(new, ignore_errors=True)
    for folder in (new, faults):
        folder.mkdir(exist_ok=True)
    known = [folder for folder in (HERE / "corpus" / target, HERE / "crashes" / target) if folder.exists()]
    command = [BUILT / target, f"-max_total_time={seconds}", f"-max_len={TARGETS[target]}", *LIMITS]
    command += [f"-artifact_prefix={faults}/", "-print_final_stats=1", new, *known]
    environment = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=16:allocator_may_return_null=1"}
    log = BUILT / f"{target}.log"
    with log.open("w") as out:
        done = subprocess.run([str(part) for part in command], stdout=out, stderr=out, env=environment)
    text = log.read_text(errors="replace")
    executions = re.findall(r"stat::number_of_executed_units: (\d+)", text) or re.findall(
        r"^#(\d+)", text, re.MULTILINE
    )
    coverage = re.findall(r"cov: (\d+) ft: (\d+)", text)
    line = f"{target}: {executions[-1] if executions else 0} executions, "
    line += f"{coverage[-1][0] if coverage else 0} edges, {coverage[-1][1] if coverage else 0} features, "
    line += f"{len(list(new.iterdir()))} new units"
    if done.returncode == 0:
        return True, line
    written = re.findall(r"Test unit written to (\S+)", text)
    where = written[-1] if written else "(no input was written)"
    return False, (
        f"{line}\n{text[-6000:]}\n{target} failed on {where}; all it said is in {log}.\n"
        f"To see it again: {BUILT / target} {where}\n"
        f"To make it a test: copy it to {HERE / 'crashes' / target}/, with a name that says what was wrong;\n"
        "tests/test_fuzz.py replays what is there."
    )


def merge(target):
    """Adds what is new to the corpus, as much of it as covers something new."""
    corpus = HERE / "corpus" / target
    before = len(list(corpus.iterdir()))
    call(BUILT / target, "-merge=1", f"-max_len={TARGETS[target]}", corpus, BUILT / f"{target}.new")
    return f"{target}: {len(list(corpus.iterdir())) - before} units joined the corpus"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "targets", nargs="*", metavar="target", help=f"of {', '.join(TARGETS)}; all of them if none is named"
    )
    parser.add_argument("--seconds", type=int, help="for each target (30; with --long 3600)")
    parser.add_argument("--jobs", type=int, default=2, help="targets at a time (2)")
    parser.add_argument("--long", action="store_true", help="an hour each, and what is new joins the corpus")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"target: expected some of {', '.join(TARGETS)}, got {', '.join(sorted(unknown))}")
    targets = options.targets or list(TARGETS)
    seconds = options.seconds or (3600 if options.long else 30)
    try:
        compiler()
        BUILT.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(options.jobs) as pool:
            good = True
            for passed, line in pool.map(lambda target: fuzz(target, seconds), targets):
                print(line, flush=True)
                good &= passed
            if options.long and good:
                print(*pool.map(merge, targets), sep="\n")
    except FuzzError as error:
        sys.exit(str(error))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
