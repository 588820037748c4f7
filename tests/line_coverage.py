"""Which lines of Python, Cython and C++ does the suite never reach?

    python tests/line_coverage.py FOLDER                     # builds there once (minutes), then runs the suite
    python tests/line_coverage.py FOLDER tests/test_store.py # only this, whole; lines that were reached before stay so

Prints a line for each file that is not covered as a whole, with the numbers of what was not reached, and the totals.
Programs that the tests build count as well: every compiler that they find writes down which lines it compiled (gcov).
Without arguments twelve cases of each test are run. Not a test itself, as it takes half an hour.
"""

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]

# No optimisation, so that every line is one; counters that threads share; a test that builds a wheel builds it as ever.
COMPILER = """#!/bin/sh
exec {compiler} "$@" -O0 --coverage -fprofile-update=atomic -fprofile-abs-path
"""
# Compiled without optimisation whole experiments take hours, and packages are built as ever; other tests reach the same
# lines. Ctrl-C at random moments leaves a lock of coverage itself taken; instructions are not lines.
LEFT_OUT = ["test_experiments.py", "test_packaging.py", "test_benchmarks.py", "test_types.py", "test_leaks.py"]
LEFT_OUT += ["test_faults_interrupt.py", "test_kernels.py"]
LEFT_OUT += [  # whole experiments as well, and what measures time
    "test_reproduce.py::test_killed_at_any_moment_it_goes_on_to_the_same_bits",
    "test_reproduce.py::test_lsvi_falls_by_its_random_actions",
    "test_reproduce.py::test_the_chain_is_reproduced",
    "test_reproduce.py::test_the_forecast_counts_what_is_left_and_is_near_the_truth",
    "test_own_systems.py::test_compiled_systems_are_as_fast_as_those_that_come_with_ocpfast",
    "test_running.py::test_a_long_replay_is_cut_into_pieces",
]
# Cython says of each statement which line it is, the compiler then counts on: so say it again before every line of C++
# (but not where a macro goes on).
CYTHONIZE = """import Cython.Build

def cythonize(*arguments, **options):
    modules = Cython.Build.cythonize(*arguments, emit_linenums=True, **options)
    for source in (source for module in modules for source in module.sources):
        written, directive, goes_on = [], "", False
        for line in Path(source).read_text().splitlines():
            if line.startswith("#line"):
                directive = line
            elif written and written[-1] != directive and not goes_on:
                written.append(directive)
            written.append(line)
            goes_on = line.endswith("\\\\")
        Path(source).write_text("\\n".join(written))
    return modules
"""
PYTHON_LINES = """[run]
parallel = true
patch = subprocess
source_pkgs = ocpfast
data_file = {folder}/python-lines
[report]
show_missing = true
skip_covered = true
exclude_also =
    if TYPE_CHECKING:
    @overload
    @abc.abstractmethod
"""


def build(folder: Path) -> None:
    """An install of what is committed, in which compiled lines count."""
    source = folder / "source"
    subprocess.run(["git", "clone", "--quiet", ROOT, source], check=True)
    setup = source / "setup.py"
    setup.write_text(setup.read_text().replace("from Cython.Build import cythonize", CYTHONIZE))
    assert CYTHONIZE in setup.read_text()
    (folder / "bin").mkdir()
    for name, compiler in (("gcc", "gcc"), ("g++", "g++"), ("clang", "gcc"), ("clang++", "g++")):  # gcov is of GCC
        wrapper = folder / "bin" / name
        wrapper.write_text(COMPILER.format(compiler=shutil.which(compiler)))
        wrapper.chmod(0o755)
    (folder / "coveragerc").write_text(PYTHON_LINES.format(folder=folder))
    venv.create(folder / "venv", with_pip=True)
    pip = [folder / "venv/bin/pip", "install", "--quiet"]
    requirements = ["setuptools>=77", "cython>=3.1", "pybind11>=3.0", "coverage>=7.10", "gcovr>=8"]
    subprocess.run([*pip, *requirements], check=True)
    # objects stay in the source tree, where what they count is written beside them
    subprocess.run([*pip, "--no-build-isolation", f"{source}[test]"], env=compilers(folder), check=True)
    subprocess.run([*pip, "bsuite"], check=True)  # as in CI


def compilers(folder: Path) -> dict[str, str]:
    """An environment with compilers that count, and the plugin `thinned`."""
    path = os.pathsep.join([str(folder / "bin"), str(folder / "venv/bin"), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "CC": "gcc", "CXX": "g++", "PYTHONPATH": str(folder / "source/tests")}


def main() -> int:
    """Build, test and tell; what pytest returned."""
    parser = argparse.ArgumentParser(description="Which lines does the suite never reach?")
    parser.add_argument("folder", type=Path)
    parser.add_argument("arguments", nargs="*", help="of pytest; nearly all tests if there are none")
    given = parser.parse_args()
    folder = given.folder.absolute()
    if not (folder / "venv").exists():
        build(folder)
    source, bin_folder = folder / "source", folder / "venv/bin"
    environment = {**compilers(folder), "COVERAGE_RCFILE": str(folder / "coveragerc")}
    # processes of our own: the workers of pytest-xdist end without writing down what they counted
    files = sorted(path.name for path in (source / "tests").glob("test_*.py") if path.name not in LEFT_OUT)
    parts = [given.arguments] if given.arguments else [[f"tests/{name}" for name in files[i::2]] for i in range(2)]
    deselected = [f"--deselect=tests/{name}" for name in LEFT_OUT if "::" in name]
    thinned = ["-p", "thinned", "--most-cases=12", *deselected] if not given.arguments else []
    command = ["coverage", "run", bin_folder / "pytest", "-q", "-p", "no:cacheprovider", *thinned, "--durations=40"]
    running = [
        subprocess.Popen([*command, f"--basetemp={folder}/programs{number}", *part], cwd=source, env=environment)
        for number, part in enumerate(parts)
    ]
    code = max(abs(process.wait()) for process in running)  # one that a signal ended has a negative code
    subprocess.run(["coverage", "combine", "--append", "--quiet"], cwd=source, env=environment)
    subprocess.run(["coverage", "report"], cwd=source, env=environment)
    ours = ["--filter", "csrc/", "--filter", "ocpfast/systems/.*pyx", "--exclude", "csrc/examples"]
    merged = ["--merge-mode-functions", "merge-use-line-min", "--merge-lines", "--include-internal-functions"]
    # a brace, and arguments' names in the middle of a statement that was reached, are what is left of its exceptions
    nothing = ["--exclude-noncode-lines", "--exclude-lines-by-pattern", r" *py::(arg|kw_only)\(.*"]
    gcovr = [bin_folder / "gcovr", "--root", source, *ours, *merged, *nothing]
    lenient = ["--gcov-ignore-errors=all", "--gcov-ignore-parse-errors=all", "--gcov-suspicious-hits-threshold=0"]
    subprocess.run([*gcovr, *lenient, "-j", "2", folder], cwd=source, env=environment, check=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
