"""Ctrl-C at random moments, 200 times: an exception or the end, never a crash, a hang, or anything half done."""

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import ocpfast as ocp

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

# how often, and how long after the start of the work at most, in seconds
TIMES = {
    "table": (30, 0.02),
    "features": (35, 0.03),
    "programs": (15, 0.2),
    "save": (25, 0.1),
    "run": (50, 0.05),
    "run in Python": (15, 0.05),
    "learn": (15, 0.05),
    "solve": (15, 0.03),
}


def test_there_are_two_hundred():
    assert sum(times for times, _ in TIMES.values()) == 200


@pytest.mark.parametrize("job", TIMES)
def test_ctrl_c_at_random_moments(job):
    times, longest = TIMES[job]
    moments = random.Random(job)
    script = Path(__file__).with_name("interrupted.py")
    with subprocess.Popen(
        [sys.executable, script, job, str(times)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        hangs = threading.Timer(120, process.kill)  # then there is no line
        hangs.start()
        try:
            sent = 0
            while (line := process.stdout.readline()) == "go\n":
                sent += 1
                time.sleep(moments.uniform(0, longest))
                process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            hangs.cancel()
            process.kill()
    assert (process.returncode, line, sent) == (0, "done\n", times), errors
    print(f"{job}: {sent} times")


def test_nothing_of_the_pool_is_left_when_ctrl_c_comes_through_again(monkeypatch):
    """Else it may come in a callback of a weak reference to one of its threads, where Python drops it."""
    left = []

    class Watched(ocp.executors.Interrupts):
        def __exit__(self, *error):
            left.append([thread.name for thread in list(threading._dangling) if thread.name.startswith("ocpfast")])
            super().__exit__(*error)

    monkeypatch.setattr(ocp.running, "Interrupts", Watched)
    agent = ocp.OCP(ocp.TabulaRasa(20, 2, horizon=20))
    ocp.run(agent, ocp.Chain(20), episodes=5, simulations=8, workers=2, progress=False)
    assert left == [[]]
