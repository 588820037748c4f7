"""`ocpfast reproduce`: what it leaves, and that nothing but the seed decides it."""

import csv
import dataclasses
import json
import random
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from commands import ROOT, call

import ocpfast as ocp
from ocpfast.cli import main
from ocpfast.experiments import jobs as jobs_module
from ocpfast.experiments import pendulum
from ocpfast.experiments.claims import Claim, Estimate, all_of
from ocpfast.experiments.claims import table as claims_table
from ocpfast.experiments.figures import Curve, Panel, draw
from ocpfast.experiments.jobs import Folder, Job, run_jobs
from ocpfast.running import Interrupted

LASTING = ("report.md", "totals.csv", "curves.csv", "chain.png", "chain.svg")


def contents(folder):
    """All that counts: parts of raw data may be of any size, together they are the same."""
    raw = {}
    for file in sorted((folder / "raw").glob("*.npz")):
        raw[file.name[:-10]] = raw.get(file.name[:-10], b"") + ocp.load_result(file).rewards.tobytes()
    return raw | {name: (folder / name).read_bytes() for name in LASTING}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chain") / "out"
    assert main(["reproduce", "chain", "--out", str(folder), "--workers", "1", "--quiet"]) == 0
    return folder


def test_the_chain_is_reproduced(uninterrupted):
    report = (uninterrupted / "report.md").read_text()
    # the paper's 3e-12 is a slip: its own formula gives 2.0e-9
    assert "6 of 7 claims were reproduced. " in report
    [row] = [line for line in report.splitlines() if "**not reproduced**" in line]
    assert "1,500 - 3e-12 | the paper's formula gives 1,500 - 2.0e-09 |" in row
    assert '"seed": 0' in report and ocp.__version__ in report
    with open(uninterrupted / "totals.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["job"] for row in rows} >= {"chain-ocp-k20", "chain-lsvi-epsilon-0.1-k20"}
    assert [row["total_reward"] for row in rows if row["job"] == "chain-lsvi-boltzmann-1-k20"] == ["0.0"] * 10
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
    assert b"loses seconds: --resume goes on." in output
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


def test_the_pendulum_leaves_a_report(tmp_path, monkeypatch, capsys):
    """Thirty episodes: too few to reproduce anything, enough to run every line."""
    monkeypatch.setattr(pendulum, "_EPISODES", 30)
    assert main(["reproduce", "pendulum", "--out", str(tmp_path / "out")]) == 0
    report = (tmp_path / "out" / "report.md").read_text()
    assert capsys.readouterr().out.endswith(f"{report}\nreport: {tmp_path / 'out' / 'report.md'}\n")
    assert report.count("| δ=") == 8 and report.count("| (beyond the paper) δ=2.5: ") == 3
    assert (tmp_path / "out" / "pendulum.svg").stat().st_size > 10_000
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["experiments"] == "pendulum" and set(settings["versions"]) >= {"ocpfast", "numpy"}


def test_the_pendulum_in_full_also_tries_what_the_paper_leaves_open(tmp_path, monkeypatch):
    """Five episodes of it."""
    monkeypatch.setattr(pendulum, "_EPISODES", 5)
    jobs = pendulum.jobs(quick=False)
    assert max(job.simulations for job in jobs) == 100
    folder = Folder(tmp_path, {}, resume=False)
    run_jobs([dataclasses.replace(job, simulations=2) for job in jobs], folder, seed=0, progress=False)
    results = {job.name: folder.result(dataclasses.replace(job, simulations=2)) for job in jobs}
    claimed = [claim.claim for claim in pendulum.claims(results)]
    for how in ("ties to the first", "20 sweeps", "Euler steps"):
        assert f"δ=0: LSVI's hours and best ε as above, with {how}" in claimed


def test_lsvi_falls_by_its_random_actions():
    """The report gives this as the reason why the smallest epsilon is the best."""
    system = ocp.InvertedPendulum(0.0)
    agent = ocp.LSVI(ocp.StateAggregation(system.partition(), n_actions=3), ocp.EpsilonGreedy(0.15))
    result = ocp.run(agent, system, 1000, 3, rng=1, progress=False, keep_agents=True)
    assert result.rewards[:, -200:].mean() < 10  # seconds
    for learned in result.agents:
        state, terminated = system.reset(), False
        for _ in range(3600):
            assert not terminated
            state, _, terminated = system.step(state, learned.act(state, learn=False))


def pendulum_job(name, episodes, simulations):
    system = ocp.InvertedPendulum(2.5)
    agent = ocp.OCP(ocp.StateAggregation(system.partition(), n_actions=3), ties="random")
    return Job(name, agent, system, episodes, simulations)


def test_a_job_does_not_depend_on_its_parts_or_neighbours(tmp_path, monkeypatch):
    results, n_files = [], []
    for i, (workers, seconds, lanes, neighbours) in enumerate(
        [(1, 0.0, 1, 0), (2, 0.0, 1, 1), (3, 60.0, 1, 2), (1, 0.0, 4, 0), (2, 0.0, 4, 1)]
    ):
        monkeypatch.setattr(jobs_module, "_SECONDS_OF_A_PART", seconds)
        monkeypatch.setattr(jobs_module, "_LANES", lanes)
        job = pendulum_job("one", episodes=20, simulations=7)
        others = [pendulum_job(f"other-{k}", 5, 1) for k in range(neighbours)]
        folder = Folder(tmp_path / str(i), {}, resume=False)
        run_jobs([*others, job], folder, seed=3, workers=workers, progress=False)
        results.append(folder.result(job).rewards.tobytes())
        n_files.append(len(list(folder.path.glob("raw/one-*.npz"))))
    assert len(set(results)) == 1
    assert n_files == [7, 4, 2, 2, 1]


def test_the_forecast_counts_what_is_left_and_is_near_the_truth(tmp_path):
    """Forecast and truth are measured one after the other, so that another's load makes them differ: three attempts."""
    for attempt in range(3):
        folder = Folder(tmp_path / str(attempt), {}, resume=False)
        agent = ocp.OCP(ocp.TabulaRasa(50, 2, horizon=50))
        jobs = [Job(f"{episodes}", agent, ocp.Chain(50), episodes, 16) for episodes in (30_000, 60_000)]
        timing = run_jobs(jobs, folder, seed=0, workers=2, progress=False)
        again = run_jobs(jobs, folder, seed=0, workers=2, progress=False)
        assert again.forecast == 0
        more = [*jobs, pendulum_job("3", 3, 20)]
        assert 0 < run_jobs(more, folder, seed=0, workers=2, progress=False).forecast < 0.1 * timing.forecast
        if 0.5 < timing.forecast / timing.took < 2:
            return
    pytest.fail(f"forecast {timing.forecast:.2f} s, took {timing.took:.2f} s")


def test_of_an_interrupted_part_the_beginning_is_kept(tmp_path, monkeypatch):
    job = pendulum_job("one", episodes=10, simulations=12)
    whole = Folder(tmp_path / "whole", {}, resume=False)
    run_jobs([job], whole, seed=0, progress=False)
    run = ocp.run

    def interrupted(*arguments, first_simulation, **options):
        result = run(*arguments, first_simulation=first_simulation, **options)
        if first_simulation == 0:
            return result
        raise Interrupted(ocp.Result(result.rewards[[0, 1, 3]]), [0, 1, 3])

    monkeypatch.setattr(jobs_module.ocp, "run", interrupted)
    folder = Folder(tmp_path / "part", {}, resume=False)
    with pytest.raises(KeyboardInterrupt):
        run_jobs([job], folder, seed=0, workers=1, progress=False)
    assert folder.left(job) == 6  # of four, and of eight that were interrupted, two
    monkeypatch.setattr(jobs_module.ocp, "run", run)
    run_jobs([job], folder, seed=0, progress=False)
    assert folder.result(job).rewards.tobytes() == whole.result(job).rewards.tobytes()


@pytest.mark.parametrize("workers", [0, -1])
def test_workers_are_checked(workers, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "chain", "--out", str(tmp_path / "out"), "--quiet", "--workers", str(workers)])
    assert f"workers: expected an integer >= 1, got {workers}" in capsys.readouterr().err


def test_verdicts_are_no_surer_than_the_simulations():
    two = Estimate(2.0, 0.1)
    assert (two.below(2.31), two.below(2.29), two.below(1.71), two.below(1.69)) == (True, None, None, False)
    assert (two.less(Estimate(2.5, 0.1)), two.less(Estimate(2.4, 0.1)), two.less(Estimate(1.5, 0.1))) == (
        True, None, False,
    )  # fmt: skip
    assert (two.within(1.6, 2.4), two.within(1.8, 2.4), two.within(2.4, 3.0)) == (True, None, False)
    assert all_of([True, None]) is None and all_of([None, False]) is False and all_of([True, True]) is True
    assert Estimate.of(np.array([1.0, 2.0, 3.0])) == Estimate(2.0, pytest.approx(3**-0.5))
    shown = [Estimate(509.3, 14.2), Estimate(0.24961, 0.00134), Estimate(-3.0, 0.18), Estimate(860.0, 1e-13)]
    assert [str(one) for one in shown] == ["509 ± 14", "0.2496 ± 0.0013", "-3.00 ± 0.18", "860"]
    ratio = Estimate(4.0, 0.3) / Estimate(2.0, 0.2)
    assert ratio.mean == 2.0 and ratio.error == pytest.approx(2 * np.hypot(0.075, 0.1))
    rows = claims_table([Claim("a", "b", None, "c"), Claim("a", "b", True, "c"), Claim("a", "b", False, "c")])
    verdicts = [row.split(" | ")[2] for row in rows.splitlines()[2:]]
    assert verdicts == ["too few simulations to tell |", "reproduced |", "**not reproduced**: c |"]


def test_three_panels_leave_a_place_empty(tmp_path):
    panel = Panel("title", "x", "y", [Curve("line", np.arange(3.0), np.arange(3.0))])
    written = draw([panel] * 3, tmp_path / "three")
    assert written == [tmp_path / "three.png", tmp_path / "three.svg"]
    assert written[1].read_text().count("<!-- title -->") == 3


def test_without_matplotlib_there_is_a_report_without_figures(uninterrupted, tmp_path):
    """Beside a folder in which matplotlib cannot be found."""
    code = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'matplotlib' else find(name, *rest)\n"
        "sys.modules['matplotlib'] = None\n"
        "from ocpfast.cli import main\n"
        f"main(['reproduce', 'chain', '--resume', '--quiet', '--out', {str(tmp_path / 'out')!r}])"
    )
    shutil.copytree(uninterrupted, tmp_path / "out", ignore=shutil.ignore_patterns("*.png", "*.svg", "*.md"))
    call(sys.executable, "-c", code, cwd=tmp_path)
    report = (tmp_path / "out" / "report.md").read_text()
    assert "No figure: there is no matplotlib here (`pip install 'ocpfast[plot]'`)." in report and "![" not in report
    assert not list((tmp_path / "out").glob("*.png"))


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="needs the source tree")
def test_the_readme_shows_what_the_command_wrote():
    publish = runpy.run_path(str(ROOT / "docs" / "publish.py"))
    shown = (ROOT / "README.md").read_text().split("<!-- claims -->\n")[1].split("<!-- end of claims -->")[0]
    assert shown == publish["block"]((ROOT / "docs" / "reproduction" / "report.md").read_text())
    for figure in re.findall(r"\]\((.*?)\)", shown):
        assert (ROOT / figure).stat().st_size > 10_000


@pytest.mark.parametrize(
    "seconds, words", [(0.2, "1 seconds"), (89, "89 seconds"), (600, "10 minutes"), (9000, "2.5 hours")]
)
def test_forecasts(seconds, words):
    assert jobs_module._duration(seconds) == words


def test_info(capsys):
    assert main(["info"]) == 0
    shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert shown["ocpfast"] == ocp.__version__ and int(shown["cores"]) >= 1 and "highs" in shown["HiGHS"].lower()
