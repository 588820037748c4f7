"""`ocpfast run`: a user's own sweep from a TOML file."""

import csv

import numpy as np
import pytest

import ocpfast as ocp
from ocpfast.cli import main
from ocpfast.experiments.config import load

SWEEP = """
episodes = 60
simulations = 3
seed = 5

[systems.short]
type = "Chain"
n_states = 6

[systems.long]
type = "Chain"
n_states = 9

[classes.table]
type = "TabulaRasa"

[agents.plain]
type = "OCP"

[agents.directed]
type = "OCP"
replay = true
ties = "directed"

[agents.lsvi]
type = "LSVI"
exploration = { type = "EpsilonGreedy", epsilon = 0.2 }

[agents.q]
type = "QLearning"

[agents.random]
type = "RandomPolicy"
"""


def write(folder, text):
    file = folder / "sweep.toml"
    file.write_text(text)
    return str(file)


def test_every_agent_on_every_class_on_every_system(tmp_path, capsys):
    file, out = write(tmp_path, SWEEP), tmp_path / "out"
    assert main(["run", file, "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    with open(out / "totals.csv") as table:
        totals = {(row["job"], row["simulation"]): float(row["total_reward"]) for row in csv.DictReader(table)}
    names = {job for job, _ in totals}
    assert names == {
        f"{system}-{rest}"
        for system in ("short", "long")
        for rest in ("table-plain", "table-directed", "table-lsvi", "q", "random")
    }
    assert len(totals) == 3 * len(names) and shown.count("| table-plain | ") == 2
    assert totals["short-table-directed", "0"] > totals["short-table-plain", "0"] > 0
    assert totals["short-q", "0"] == totals["short-table-plain", "0"]  # what the paper's appendix says

    report = (out / "report.md").read_text()
    assert report.count("| table-directed | ") == 2 and "## short" in report and "n_states = 9" in report
    assert (
        "| agent | reward of an episode | regret |" in report and "![Every agent on every system](sweep.png)" in report
    )
    assert (out / "sweep.png").read_bytes().startswith(b"\x89PNG")
    drawn = (out / "sweep.svg").read_text()
    assert all(f"<!-- {text} -->" in drawn for text in ("short", "long", "table-lsvi", "regret", "random", "q"))

    before = (out / "totals.csv").read_bytes()
    assert main(["run", file, "--out", str(out), "--resume", "--quiet"]) == 0
    assert (out / "totals.csv").read_bytes() == before
    with pytest.raises(SystemExit):
        main(["run", write(tmp_path, SWEEP.replace("seed = 5", "seed = 6")), "--out", str(out), "--resume"])
    assert "made with other settings" in capsys.readouterr().err


def test_where_the_optimum_is_not_known_rewards_are_drawn(tmp_path):
    text = """
    episodes = 30
    simulations = 2
    [systems.pendulum]
    type = "InvertedPendulum"
    [classes.cells]
    type = "StateAggregation"
    partition = "system"
    """ + "".join(f'[agents.a{i}]\ntype = "OCP"\nties = "random"\n' for i in range(9))
    assert main(["run", write(tmp_path, text), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    report = (tmp_path / "out" / "report.md").read_text()
    assert "| agent | reward of an episode |\n" in report and "regret" not in report
    drawn = (tmp_path / "out" / "sweep.svg").read_text()
    assert "<!-- cumulative reward -->" in drawn
    assert all(f"<!-- cells-a{i} -->" in drawn for i in range(9))  # more curves than colours, and none is left out


def test_names_that_meet_in_one_file_are_refused(tmp_path):
    text = '[agents.y]\ntype = "OCP"\n'
    text += "".join(f'[systems.{name}]\ntype = "Chain"\nn_states = 3\n' for name in ("a", "a-b"))
    text += "".join(f'[classes.{name}]\ntype = "TabulaRasa"\n' for name in ("x", "b-x"))
    with pytest.raises(ValueError, match="have one name, 'a-b-x-y'; rename one"):
        load(write(tmp_path, text))


def test_arrays_come_from_files_and_partitions_from_the_system(tmp_path):
    q = ocp.solve(ocp.Chain(5)).q
    np.save(tmp_path / "phi.npy", np.stack([q, np.ones_like(q)], axis=-1))
    text = """
    [systems.chain]
    type = "Chain"
    n_states = 5
    [classes.features]
    type = "LinearFeatures"
    phi = "phi.npy"
    [agents.ocp]
    type = "OCP"
    """
    [job] = load(write(tmp_path, text)).jobs
    assert job.agent.hypothesis.n_features == 2
    pendulum = """
    [systems.pendulum]
    type = "InvertedPendulum"
    disturbance = 2.5
    [classes.cells]
    type = "StateAggregation"
    partition = "system"
    [agents.ocp]
    type = "OCP"
    """
    [job] = load(write(tmp_path, pendulum)).jobs
    assert job.agent.hypothesis.homogeneous and job.agent.hypothesis.eluder_dimension() == 2886


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("episodes = 60", "episodes = 0", "episodes: expected an integer >= 1, got 0"),
        ("episodes = 60", "epsiodes = 60", "got 'epsiodes'"),
        ("replay = true", "replai = true", r"expected arguments of OCP \(.*, got 'replai'"),
        ("episodes = 60", "episodes = = 60", "Invalid value"),
        ('type = "QLearning"', 'type = "Q"', r"agents\.q\.type: expected one of .*, got 'Q'"),
        ("n_states = 6", "n_state = 6", r"systems\.short: .*'?n_state'?"),
        ("n_states = 6", "n_states = -1", r"systems\.short: n_states: expected an integer"),
        ("epsilon = 0.2", "epsilon = 2", r"agents\.lsvi\.exploration: "),
        ("[systems.short]", '[systems."a/b"]', "expected names of letters, digits, - and _, got 'a/b'"),
        ('[classes.table]\ntype = "TabulaRasa"', "", r"classes: expected at least one table \[classes\.NAME\]"),
        ("replay = true", 'selection = "some"', r"agents\.directed: selection: expected one of"),
        ('type = "TabulaRasa"', 'type = "StateAggregation"\npartition = "system"', "as the system has none"),
    ],
)
def test_what_is_wrong_is_named(old, new, message, tmp_path):
    assert old in SWEEP
    with pytest.raises((ValueError, TypeError), match=message):
        load(write(tmp_path, SWEEP.replace(old, new, 1)))


def test_a_file_that_is_not_there(capsys):
    with pytest.raises(SystemExit):
        main(["run", "nowhere.toml"])
    assert "nowhere.toml" in capsys.readouterr().err
