"""The README's table of episodes until optimal, cell by cell (but for those that take more than seconds)."""

import re
from pathlib import Path

import numpy as np
import pytest
from dm_walk import walk

gymnasium = pytest.importorskip("gymnasium", minversion="1.3", reason="no Gymnasium 1.3: pip install '.[gym]'")
import ocpfast as ocp  # noqa: E402
from ocpfast.cli import main  # noqa: E402
from ocpfast.environments import AGENTS, TASKS, Measured, Task, deep_sea, lines, measure, toy_text  # noqa: E402

README = Path(__file__).parents[1] / "README.md"
COLUMNS = [*AGENTS, "Q-learning"]
LAKES = "FrozenLake-v1 4x4", "FrozenLake-v1 8x8"
# processor time: 12 s for each of the first two, 1 to 9 s for each of the others
SLOW = {
    ("Taxi-v4", "random", "OCP"),
    ("Taxi-v4", "random", "replay, directed"),
    ("Taxi-v4", "random", "Q-learning"),
    *((lake, "random", agent) for lake in LAKES for agent in ("OCP", "replay, directed", "Q-learning")),
    ("FrozenLake-v1 8x8", "fixed", "Q-learning"),
    *((f"bsuite Deep Sea, size {size}", "fixed", "Q-learning") for size in (10, 20, 30, 50)),
    *((f"bsuite Deep Sea, size {size}", "fixed", "OCP") for size in (20, 30, 50)),
}


def readme_table():
    [text] = re.findall(r"<!-- environments -->\n(.*?)<!-- end of environments -->", README.read_text(), re.DOTALL)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    assert rows[0] == ["environment", "starts", "class", "bounds, discount", *COLUMNS]
    return {(name, starts): cells for name, starts, *cells in rows[2:]}


@pytest.mark.parametrize("make", TASKS, ids=[f"task {i}" for i in range(len(TASKS))])
def test_the_readme_says_what_the_command_measures(make):
    task = make()
    if task.system is None:
        pytest.importorskip("bsuite", reason="no bsuite: pip install '.[bsuite]'")
    table, options, *cells = readme_table()[task.name, task.starts]
    sizes = task.table
    assert table == f"TabulaRasa({sizes.n_states}, {sizes.n_actions}, {sizes.horizon})"
    assert options == "none, 1"
    for agent, cell in zip(COLUMNS, cells, strict=True):
        if (task.name, task.starts, agent) not in SLOW:
            assert str(measure(task, agent)) == cell, agent


def test_the_table_is_complete():
    made = [make() for make in TASKS]
    assert list(readme_table()) == [(task.name, task.starts) for task in made]


def test_the_command_prints_a_line_as_soon_as_it_is_known(capsys, monkeypatch):
    monkeypatch.setattr("ocpfast.environments.TASKS", TASKS[2:3])
    assert main(["gym", "--seeds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("| CliffWalking-v1 | fixed | TabulaRasa(48, 4, 100) | none, 1 | 13,707 (13,720) | ")
    monkeypatch.setattr("ocpfast.environments.TASKS", TASKS[-1:])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["gym"]) == 0
    assert "no bsuite here" in capsys.readouterr().out.splitlines()[2]
    with pytest.raises(SystemExit):
        main(["gym", "--seeds", "0"])
    assert "--seeds: expected an integer >= 1, got 0" in capsys.readouterr().err


def test_starts():
    task = toy_text("CliffWalking-v1", "random", 100)
    env = task.make()
    env.reset(seed=0)
    seen = {}
    for _ in range(600):
        state, info = env.reset()
        seen[state] = info["optimal_value"]
    assert sorted(seen) == list(range(37))  # all but the cliff, from which one falls at once, and the goal
    assert seen[36] == -13.0
    assert all(task.values[state] == value for state, value in seen.items())
    assert env.step(0)[0] != state or state < 12  # the environment itself went there
    fixed = toy_text("Taxi-v4", "fixed", 200)
    assert len({fixed.make().reset()[0] for _ in range(3)}) == 1
    assert np.count_nonzero(toy_text("Taxi-v4", "random", 200).system.initial_state) == 300
    with pytest.raises(ValueError, match="starts: expected 'fixed' or 'random', got 'anywhere'"):
        toy_text("Taxi-v4", "anywhere", 200)


def test_q_learning_without_a_table():
    """An environment of dm_env, as bsuite's are: each is made anew to see whether the greedy policy is optimal."""
    table, episodes = ocp.TabulaRasa(4, 2, horizon=5), {"Q-learning": 200}
    task = Task("walk", "fixed", table, episodes, lambda: walk(first_action=0), optimal=1.0, state_of=int)
    measured = measure(task, "Q-learning", 2)
    assert measured.last is not None and 0 < measured.last <= 200
    never = Task(**{**vars(task), "optimal": 2.0})
    assert measure(never, "Q-learning", 1).last is None


def test_what_is_not_done_says_so():
    task = toy_text("CliffWalking-v1", "fixed", 100)
    short = type(task)(**{**vars(task), "episodes": {"OCP": 2_000, "Q-learning": 10}})
    assert str(measure(short, "OCP")) == str(measure(short, "Q-learning", 1)).replace("10", "2,000") == "> 2,000"
    assert str(Measured(17.6, 25, 200)) == "18 (25)"
    assert str(Measured(None, 1234, 20_000)) == "1,234"


def test_an_old_gymnasium_is_told(monkeypatch):
    monkeypatch.delitem(gymnasium.registry, "Taxi-v4")
    with pytest.raises(ImportError, match=r"^ocpfast gym: needs gymnasium >= 1\.3, for Taxi-v4, got "):
        next(lines())


def test_deep_sea_is_ours():
    """The compiled one with another mapping of actions needs as many."""
    pytest.importorskip("bsuite", reason="no bsuite: pip install '.[bsuite]'")
    task = deep_sea(10)
    for name, options in AGENTS.items():
        result = ocp.run(ocp.OCP(task.table, **options), ocp.DeepSea(10), 500, progress=False)
        assert abs(measure(task, name).suboptimal - result.suboptimal()[0]) <= 1
