"""`ocpfast run`, killed while it computes and while it writes, goes on to the same bits (as `reproduce` does)."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

import ocpfast as ocp
from ocpfast.cli import main

SWEEP = """
episodes = 3000
simulations = 12
seed = 3
[systems.chain]
type = "Chain"
n_states = 30
[systems.short]
type = "Chain"
n_states = 12
[classes.table]
type = "TabulaRasa"
[agents.replay]
type = "OCP"
replay = true
ties = "random"
[agents.q]
type = "QLearning"
exploration = { type = "EpsilonGreedy", epsilon = 0.2 }
"""
KILLS = 8


def contents(folder):
    """All that counts: parts of raw data may be of any size, together they are the same."""
    raw = {}
    for file in sorted((folder / "raw").glob("*.npz")):
        raw[file.name[:-10]] = raw.get(file.name[:-10], b"") + ocp.load_result(file).rewards.tobytes()
    return raw | {name: (folder / name).read_bytes() for name in ("report.md", "totals.csv", "curves.csv")}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_sweep_that_is_killed_again_and_again(tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    assert main(["run", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "whole"), "--quiet"]) == 0
    out = tmp_path / "out"
    # a forked child for each: the interpreter and the modules need not start again
    script = """
import os, sys
from ocpfast.cli import main
import ocpfast.experiments.sweep, ocpfast.experiments.figures, matplotlib.backends.backend_agg
for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        os._exit(main(["run", "sweep.toml", "--out", "out", "--workers", "1", "--quiet", "--resume"]))
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
    moments, codes, parts = random.Random(0), [], []
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:

        def resume(seconds=None):
            process.stdin.write("again\n")
            process.stdin.flush()
            child = int(process.stdout.readline())
            if seconds is not None:
                time.sleep(seconds)
                os.kill(child, signal.SIGKILL)
            code = int(process.stdout.readline())
            parts.append(len(list(out.glob("raw/*.npz"))))
            return code

        while len(codes) < KILLS and 0 not in codes:
            codes.append(resume(moments.uniform(0.02, 0.3)))
        last = resume()
        process.stdin.close()
    print(f"killed {codes.count(-signal.SIGKILL)} times, with {parts} parts of the results there")
    assert codes.count(-signal.SIGKILL) >= 3 and last == 0
    assert contents(out) == contents(tmp_path / "whole")
    left = [name for _, _, names in os.walk(out) for name in names if name.startswith(".ocpfast-")]
    assert left == []
