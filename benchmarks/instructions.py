"""The guard against slower kernels: instructions, counted by callgrind, beside those of the committed baseline.

    python benchmarks/instructions.py            # fails where a kernel takes 2 % more or less than its baseline
    python benchmarks/instructions.py --update   # after a change that was meant: writes the baseline anew

Counts do not depend on how busy the machine is, nor on its processor: only instructions of the program itself are
counted, since those of the C library are chosen at run time. They do depend on the compiler, so they are compared with
a baseline from the same one alone.
"""

import argparse
import ast
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
BASELINE = HERE / "instructions.json"
TOLERANCE = 0.02

# Kernels of kernels.cpp, and how many episodes are counted (of the store: insertions). The first ones belong to
# learning, the last ones mostly not; a second or two each under callgrind.
EPISODES = {
    "chain": 2_000,
    "table": 200,
    "replay": 1_000,
    "pendulum": 450,
    "pendulum-replay": 270,
    "pendulum-lanes": 300,
    "linear": 1_000,
    "finite": 300,
    "store": 500,
}


class GuardError(Exception):
    """The counts cannot be made; the message says why."""


def compiler():
    """The command of the C++ compiler."""
    command = os.environ.get("CXX", "g++").split()
    if shutil.which(command[0]) is None:
        raise GuardError(f"CXX: no compiler {command[0]!r} here")
    return command


def compiler_version():
    """What the compiler calls itself, such as "gcc 12.2.0 x86_64"."""
    done = subprocess.run([*compiler(), "-dM", "-E", "-x", "c++", "-"], input="", capture_output=True, text=True)
    if done.returncode != 0:
        raise GuardError(f"{' '.join(compiler())}: {done.stderr}")
    macros = dict(re.findall(r"^#define (\w+) (.*)$", done.stdout, re.MULTILINE))
    name = "clang" if "__clang__" in macros else "gcc"
    parts = ("__clang_major__", "__clang_minor__", "__clang_patchlevel__")
    if name == "gcc":
        parts = ("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__")
    return f"{name} {'.'.join(macros[part] for part in parts)} {platform.machine()}"


def flags():
    """Those that setup.py compiles the package with."""
    setup = (HERE.parent / "setup.py").read_text()
    return ast.literal_eval(re.search(r'compile_args = (\["-.*\])', setup)[1])


def build(folder, *sources, options=()):
    """The path of the program, compiled into a folder; of the kernels where no sources are given."""
    sources = sources or (HERE / "kernels.cpp",)
    compiled = [Path(folder, source.stem).with_suffix(".o") for source in sources]
    include = f"-I{HERE.parent / 'csrc' / 'include'}"
    steps = [
        [*flags(), *options, include, "-c", source, "-o", made] for source, made in zip(sources, compiled, strict=True)
    ]
    program = compiled[0].with_suffix("")
    for step in (*steps, [*compiled, "-o", program, "-ldl"]):
        subprocess.run([*compiler(), *step], check=True)
    return program


def play(program, kernel, before, episodes, prefix=()):
    """What the program says of a kernel: periods, sum, allocations."""
    command = [*prefix, program, kernel, str(before), str(episodes)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise GuardError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def count(program, kernel):
    """Instructions of a kernel, as many as the program itself has of them, and the sum of its results."""
    if shutil.which("valgrind") is None:
        raise GuardError("valgrind: not installed (apt-get install valgrind); without it nothing is guarded")
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder, "profile")
        valgrind = ["valgrind", "--tool=callgrind", "--toggle-collect=measured", "--compress-strings=no"]
        valgrind += ["--compress-pos=no", f"--callgrind-out-file={profile}"]
        played = play(program, kernel, 0, EPISODES[kernel], valgrind)
        return {"instructions": own_instructions(profile.read_text(), program), "sum": played["sum"]}


def own_instructions(profile, program):
    """The sum over a callgrind profile's functions that are in the program's own file."""
    total, inside, inclusive = 0, False, False
    for line in profile.splitlines():
        if line.startswith("ob="):
            inside = Path(line[3:]).name == program.name
        elif line.startswith("calls="):
            inclusive = True  # the next line is what the call cost; the callee has lines of its own
        elif line[:1].isdigit():
            if inside and not inclusive:
                total += int(line.split()[1])
            inclusive = False
    return total


def compare(counts, baseline):
    """Whether all is as it was, and a line for each kernel."""
    lines, same = [], set(counts) == set(baseline)
    for kernel in sorted({*counts, *baseline}):
        if kernel not in counts or kernel not in baseline:
            lines.append(f"{kernel:16} is {'new' if kernel in counts else 'gone'}: commit what --update writes")
            continue
        now, then = (side[kernel]["instructions"] for side in (counts, baseline))
        change, verdict = now / then - 1, ""
        if abs(change) > TOLERANCE:
            verdict = "  TOO MANY" if change > 0 else "  fewer: well done, commit what --update writes"
        results = [side[kernel]["sum"] for side in (counts, baseline)]
        if results[0] != results[1]:
            verdict = f"  ANOTHER RESULT: {results[0]!r}, baseline {results[1]!r}"
        same &= not verdict
        lines.append(f"{kernel:16} {now:12,} instructions, baseline {then:12,}: {100 * change:+.2f} %{verdict}")
    return same, lines


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write the baseline instead of comparing with it")
    parser.add_argument("--baseline", type=Path, default=BASELINE)
    options = parser.parse_args(arguments)
    try:
        version = compiler_version()
        baseline = None if options.update else json.loads(options.baseline.read_text())
        if baseline and baseline["compiler"] != version:
            print(f"baseline is for {baseline['compiler']}; counts from {version} not compared")
            return 0
        with tempfile.TemporaryDirectory() as folder:
            program = build(folder)
            counts = {kernel: count(program, kernel) for kernel in EPISODES}
    except GuardError as error:
        print(error, file=sys.stderr)
        return 2
    if options.update:
        options.baseline.write_text(json.dumps({"compiler": version, "kernels": counts}, indent=4) + "\n")
        return 0
    same, lines = compare(counts, baseline["kernels"])
    print(*lines, sep="\n")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
