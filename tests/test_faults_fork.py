"""Fork after use: the child goes on to the same bits and ends as it should, whatever threads the parent had."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")

COMMON = """
    import multiprocessing, os, sys, threading, time
    import highspy
    import numpy as np
    import ocpfast as ocp
    from ocpfast.running import Bar

    rng = np.random.default_rng(0)
    table = ocp.TableSystem(rng.integers(0, 9, (9, 2)), rng.integers(-3, 4, (9, 2)), np.full(9, 1 / 9), horizon=6)
    box = np.vstack([np.eye(3), -np.eye(3)])
    programs = ocp.OCP(ocp.Polytope(rng.normal(size=(9, 2, 3)), box, np.full(6, 50.0), horizon=6, shared=False))
    cells, chain = ocp.OCP(ocp.TabulaRasa(20, 2, horizon=20), ties="random"), ocp.Chain(20)

    def learn(progress=False):
        options = {"rng": 0, "workers": 2, "progress": progress, "keep_agents": True}
        lps = ocp.run(programs, table, 12, 6, **options)
        assert lps.agents[0].statistics()["lps"] > 20
        return [lps.rewards.tobytes(), ocp.run(cells, chain, 50, 8, **options).rewards.tobytes()]

    def in_child():
        sys.exit(0 if learn() == first else 7)

    def fork_and_wait(child=in_child):
        pid = os.fork()
        if pid == 0:
            child()
            os._exit(8)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    first = learn()
"""

CASES = {
    "os.fork": """
        print([fork_and_wait() for _ in range(3)])
    """,
    "multiprocessing": """
        context = multiprocessing.get_context("fork")
        children = [context.Process(target=in_child) for _ in range(3)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        print([child.exitcode for child in children])
    """,
    "after a user's own parallel model": """
        user = highspy.Highs()  # starts three threads, which the child does not have
        for name, value in {"output_flag": False, "threads": 4, "parallel": "on", "presolve": "off"}.items():
            user.setOptionValue(name, value)
        for _ in range(3):
            user.addVar(0.0, 10.0)
        for row in rng.random((4, 3)):
            user.addRow(0.0, 5.0, 3, np.arange(3, dtype=np.int32), row)

        def solve_too():
            assert user.run() == highspy.HighsStatus.kOk
            in_child()

        assert user.run() == highspy.HighsStatus.kOk
        codes = [fork_and_wait(), fork_and_wait(solve_too)]
        assert user.run() == highspy.HighsStatus.kOk and learn() == first
        print([*codes, fork_and_wait()])
    """,
    "during a run in another thread": """
        stop = threading.Event()

        def others():
            while not stop.is_set():
                learn()

        thread = threading.Thread(target=others)
        thread.start()
        codes = []
        for _ in range(3):
            time.sleep(0.05)
            codes.append(fork_and_wait())
        stop.set()
        thread.join()
        print(codes)
    """,
    "while another thread shows its progress": """
        shown, leave = threading.Event(), threading.Event()

        def write():
            with Bar.get_lock():
                shown.set()
                leave.wait()

        thread = threading.Thread(target=write)
        thread.start()
        shown.wait()
        code = fork_and_wait(lambda: sys.exit(0 if learn(progress=True) == first else 7))
        leave.set()
        thread.join()
        print([code, fork_and_wait(), fork_and_wait()])
    """,
    "while another thread loads HiGHS": """
        from ocpfast import _highs

        held, leave = threading.Event(), threading.Event()

        def load():
            with _highs._lock:
                held.set()
                time.sleep(0.5)  # whoever forks waits for it

        thread = threading.Thread(target=load)
        thread.start()
        held.wait()

        def make():
            ocp.Polytope(rng.normal(size=(9, 2, 3)), box, np.full(6, 50.0), horizon=6, shared=False)
            in_child()

        print([fork_and_wait(make), fork_and_wait(make), fork_and_wait()])
        thread.join()
    """,
}


THROUGH_PYTHON = ("after a user's own parallel model", "during a run in another thread")


@pytest.mark.parametrize(
    ("case", "highs"), [(case, "library") for case in CASES] + [(case, "python") for case in THROUGH_PYTHON]
)
def test_fork_after_use(case, highs, tmp_path):
    script = textwrap.dedent(COMMON) + textwrap.dedent(CASES[case])
    with subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "OCPFAST_HIGHS": highs},
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=120)
        finally:
            if process.poll() is None:  # with its children
                os.killpg(process.pid, signal.SIGKILL)
    assert output == "[0, 0, 0]\n" and process.returncode == 0, errors
