"""`ocpfast reproduce`: what it leaves, and that nothing but the seed decides it."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

import ocpfast as ocp
from ocpfast.cli import main
from ocpfast.experiments import pendulum
from ocpfast.experiments.jobs import Folder, Job, run_jobs

LASTING = ("report.md", "totals.csv", "curves.csv", "chain.png", "chain.svg")


def contents(folder):
    raw = {file.name: ocp.load_result(file).rewards.tobytes() for file in (folder / "raw").glob("*.npz")}
    return raw | {name: (folder / name).read_bytes() for name in LASTING}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chain") / "out"
    assert main(["reproduce", "chain", "--out", str(folder), "--workers", "1", "--quiet"]) == 0
    return folder


def test_the_chain_is_reproduced(uninterrupted):
    report = (uninterrupted / "report.md").read_text()
    assert "6 of 6 claims" in report and "**not reproduced**" not in report
    assert '"seed": 0' in report and ocp.__version__ in report
    with open(uninterrupted / "totals.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["job"] for row in rows} >= {"chain-ocp-k20", "chain-lsvi-epsilon-0.1-k20"}
    assert [row["total_reward"] for row in rows if row["job"] == "chain-lsvi-boltzmann-1-k20"] == ["0.0"] * 2
    assert (uninterrupted / "chain.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (uninterrupted / "chain.svg").read_bytes()


def test_killed_at_any_moment_it_goes_on_to_the_same_bits(uninterrupted, tmp_path):
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "ocpfast", "reproduce", "chain", "--out", str(folder), "--resume", "--quiet"]
    moments = random.Random(0)
    killed = 0
    for _ in range(6):
        process = subprocess.Popen(command, cwd=tmp_path)
        time.sleep(moments.uniform(0.7, 2.5))
        process.kill()
        killed += process.wait() == -signal.SIGKILL
    assert killed >= 3
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert contents(folder) == contents(uninterrupted)


def test_ctrl_c_keeps_what_is_done(tmp_path):
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "ocpfast", "reproduce", "pendulum", "--out", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not list(folder.glob("raw/*.npz")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert b"interrupted" in errors
    assert b" workers; --resume goes on after an interruption" in output
    assert list(folder.glob("raw/*.npz")) and not (folder / "report.md").exists()


def test_results_of_other_settings_are_not_mixed(uninterrupted, capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "chain", "--out", str(uninterrupted), "--quiet"])
    assert "holds results already; --resume goes on with them" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["reproduce", "chain", "--out", str(uninterrupted), "--quiet", "--resume", "--seed", "1"])
    assert "made with other settings: seed was 0, now 1" in capsys.readouterr().err


def test_a_folder_of_something_else(tmp_path, capsys):
    (tmp_path / "settings.json").write_text("not json")
    with pytest.raises(SystemExit):
        main(["reproduce", "chain", "--out", str(tmp_path), "--quiet", "--resume"])
    assert "is not what this program wrote" in capsys.readouterr().err


def test_the_pendulum_leaves_a_report(tmp_path, monkeypatch):
    """Thirty episodes: too few to reproduce anything, enough to run every line."""
    monkeypatch.setattr(pendulum, "_EPISODES", 30)
    assert main(["reproduce", "pendulum", "--out", str(tmp_path / "out"), "--quiet"]) == 0
    report = (tmp_path / "out" / "report.md").read_text()
    assert report.count("| δ=") == 8 and "OCP, replay" not in report.split("##")[0]
    assert (tmp_path / "out" / "pendulum.svg").stat().st_size > 10_000
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["experiments"] == "pendulum" and set(settings["versions"]) >= {"ocpfast", "numpy"}


def test_a_job_does_not_depend_on_its_chunks_or_neighbours(tmp_path):
    system = ocp.InvertedPendulum(2.5)
    agent = ocp.OCP(ocp.StateAggregation(system.partition(), n_actions=3), ties="random")
    results = []
    for chunk, neighbours in ((1, 0), (2, 1), (5, 2)):
        job = Job("one", agent, system, 20, 5, chunk=chunk)
        others = [Job(f"other-{i}", agent, system, 5, 1) for i in range(neighbours)]
        folder = Folder(tmp_path / str(chunk), {}, resume=False)
        run_jobs([*others, job], folder, seed=3, workers=2, progress=False)
        results.append(folder.result(job).rewards.tobytes())
    assert len(set(results)) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path, capsys):
    tmp_path.chmod(0o500)
    with pytest.raises(SystemExit):
        main(["reproduce", "chain", "--out", str(tmp_path / "out"), "--quiet"])
    assert "Permission denied" in capsys.readouterr().err


def test_info(capsys):
    assert main(["info"]) == 0
    shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert shown["ocpfast"] == ocp.__version__ and int(shown["cores"]) >= 1 and "highs" in shown["HiGHS"].lower()
