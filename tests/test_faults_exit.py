"""The interpreter's exit while a run goes on in another thread: soon, with its own exit code, and without a crash."""

import os
import subprocess
import sys
import textwrap
import time

import pytest

SCRIPT = """
    import os, sys, threading, time
    import numpy as np
    import ocpfast as ocp

    kind, daemon, leave = sys.argv[1], sys.argv[2] == "daemon", sys.argv[3]
    rng = np.random.default_rng(0)
    system = ocp.TableSystem(rng.integers(0, 9, (9, 2)), rng.integers(-3, 4, (9, 2)), np.full(9, 1 / 9), horizon=6)

    class Corridor(ocp.PythonSystem):
        def __init__(self):
            super().__init__(n_states=9, n_actions=2, horizon=6)

        def reset(self):
            return 1

        def step(self, state, action):
            return (state + action) % 9, float(state == 8), False

    def features(state, action):
        return [1.0, state[0], state[1] * action]

    if kind == "compiled":
        agent = ocp.OCP(ocp.TabulaRasa(9, 2, horizon=6))
    elif kind == "lanes":
        system = ocp.InvertedPendulum()
        agent = ocp.OCP(ocp.StateAggregation(system.partition(), n_actions=3))
    elif kind == "Python system":
        system, agent = Corridor(), ocp.OCP(ocp.TabulaRasa(9, 2, horizon=6))
    elif kind == "Python features":
        system = ocp.InvertedPendulum(horizon=6)
        function = ocp.FeatureFunction(features, n_features=3, n_actions=3, state_size=2)
        agent = ocp.OCP(ocp.LinearFeatures(function, horizon=6, shared=False))
    else:
        box = np.vstack([np.eye(3), -np.eye(3)])
        agent = ocp.OCP(ocp.Polytope(rng.normal(size=(9, 2, 3)), box, np.full(6, 50.0), horizon=6, shared=False))

    def run():
        try:
            ocp.run(agent, system, episodes=10**7, simulations=4, workers=2, progress=lambda done: going.set())
        except ocp.Interrupted:
            os.write(1, b"interrupted\\n")  # at once: a daemon may be gone between a line and its end

    going = threading.Event()
    thread = threading.Thread(target=run, daemon=daemon)
    thread.start()
    going.wait()
    print("leaving", flush=True)
    if leave == "sys.exit":
        sys.exit(3)
    if leave == "raise":
        raise LookupError("nothing to do with it")
"""
CODES = {"end": 0, "sys.exit": 3, "raise": 1}
KINDS = ["compiled", "lanes", "Python system", "Python features", "programs", "programs in Python"]
WAYS = [("daemon", "end"), ("plain", "sys.exit"), ("daemon", "raise")]


@pytest.mark.parametrize(
    ("kind", "daemon", "leave"),
    [(kind, *WAYS[i % 3]) for i, kind in enumerate(KINDS)]
    + [(kind, *WAYS[(i + 1) % 3]) for i, kind in enumerate(KINDS)],
)
def test_the_interpreter_exits_during_a_run(kind, daemon, leave, tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), kind, daemon, leave]
    environment = {**os.environ, "OCPFAST_HIGHS": "python" if kind.endswith("in Python") else ""}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
    )
    try:
        assert process.stdout.readline() == "leaving\n"
        told = time.monotonic()
        output, errors = process.communicate(timeout=60)  # the runs would take hours
        took = time.monotonic() - told
    finally:
        process.kill()
    print(f"{kind}, {daemon}, {leave}: {took:.2f} s")
    assert process.returncode == CODES[leave], errors
    # a daemon may be gone before it can say so
    assert output == "interrupted\n" or (daemon == "daemon" and output == "")
    assert ("LookupError: nothing to do with it" in errors) == (leave == "raise")
    assert "Exception in thread" not in errors and "Fatal" not in errors and "terminate" not in errors


def test_a_run_that_begins_when_the_interpreter_exits(tmp_path):
    """In an atexit function there are no threads to be had any more, and it says so."""
    script = """
        import atexit
        import ocpfast as ocp

        @atexit.register
        def late():
            try:
                ocp.run(ocp.OCP(ocp.TabulaRasa(9, 2, horizon=9)), ocp.Chain(9), progress=False)
            except ocp.Interrupted as error:
                print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert done.stdout == "interrupted after 0 complete simulations\n" and done.returncode == 0, done.stderr


def test_the_interpreter_exits_during_a_run_of_processes(tmp_path):
    """Whose pool was imported after ocpfast. The exit waits for the parts that its workers have begun."""
    script = """
        import sys, threading
        import ocpfast as ocp
        from concurrent.futures import ProcessPoolExecutor

        def tell(done):
            if done:
                going.set()

        def run():
            agent = ocp.OCP(ocp.TabulaRasa(9, 2, horizon=9))
            try:
                ocp.run(agent, ocp.Chain(9), 5_000, 2_000, executor=executor, progress=tell)
            except ocp.Interrupted as error:
                print(0 < len(error.simulations) < 2_000)

        if __name__ == "__main__":
            executor, going = ProcessPoolExecutor(1), threading.Event()
            threading.Thread(target=run).start()
            going.wait()
            sys.exit(3)
    """
    (tmp_path / "script.py").write_text(textwrap.dedent(script))
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert (done.stdout, done.returncode) == ("True\n", 3), done.stderr
