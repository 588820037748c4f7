"""The table of the README: every class within the theorem's bound, and the counts as printed there."""

import re
from pathlib import Path

import pytest

from ocpfast.cli import main
from ocpfast.guarantees import EXPERIMENTS, measure

README = Path(__file__).parents[1] / "README.md"


def number(cell):
    return int(cell.replace(",", ""))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: f"{e.class_name} in {e.system_name}")
def test_every_class_keeps_to_the_theorem(experiment, seed):
    measured = measure(experiment, seed)
    assert 0 < measured.suboptimal <= measured.bound
    assert 0 < measured.suboptimal_directed <= measured.suboptimal
    sparse = re.fullmatch(r"SparseLinear, K=\d+, K0=(\d)", experiment.class_name)
    if sparse and "table" in experiment.system_name:  # Gaussian features: full rank with probability 1
        assert measured.suboptimal <= 2 * int(sparse[1]) * 10
    if seed == 0:
        rows = [line.split("|")[1:-1] for line in README.read_text().splitlines() if line.startswith("| ")]
        [row] = [
            [cell.strip() for cell in cells]
            for cells in rows
            if [cell.strip() for cell in cells[:2]] == [experiment.class_name, experiment.system_name]
        ]
        counts = measured.bound, measured.suboptimal, measured.suboptimal_directed
        assert (number(row[3]), number(row[4]), number(row[6])) == counts, row


def test_the_command_prints_a_line_as_soon_as_it_is_known(capsys, monkeypatch):
    monkeypatch.setattr("ocpfast.guarantees.EXPERIMENTS", EXPERIMENTS[:2])
    assert main(["guarantees", "--seed", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert re.fullmatch(
        r"\| TabulaRasa \| Chain\(50\) \| 5,000 \| 5,000 \| 2,499 \| [\d.]+ \| 98 \| [\d.]+ \|", lines[2]
    )
