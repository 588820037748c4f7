"""The table, the fits and the plot of `python -m benchmarks`, from results as pytest-benchmark writes them."""

import json
import subprocess
import sys

import pytest
import ratios
from commands import ROOT


def result(group, best, **info):
    return {"group": group, "stats": {"min": best}, "extra_info": info}


RESULTS = [
    result("a job", 1.0, who="NumPy", per=10, unit="step"),
    result("a job", 2e-3, who="ocpfast", per=1000, unit="step"),
    result("alone", 3.0, who="ocpfast", unit="run"),
    result("not in the table", 1.0),
    *(result("growth: H", 1e-3 * size**1.5, growth="H", size=size) for size in (40, 10, 20)),
]


def test_ratios():
    rows = ratios.ratios(RESULTS)
    assert rows == [
        ("a job", "step", 2e-6, "NumPy", 0.1, pytest.approx(50_000)),
        ("alone", "run", 3.0, None, None, None),
    ]
    assert ratios.markdown(rows).splitlines()[2:] == [
        "| a job | step | 2.00 µs | NumPy | 100 ms | 50,000 × |",
        "| alone | run | 3.00 s | | | |",
    ]


def test_growth():
    [line] = ratios.growth_lines(ratios.growth(RESULTS))
    assert line.startswith("time ~ (H)^1.50: 31.6 ms at 10, 89.4 ms at 20, ")


@pytest.mark.parametrize(
    "seconds, text", [(9.94e-9, "9.94 ns"), (9.996e-9, "10.0 ns"), (9.996e-7, "1.00 µs"), (1e3, "1000 s")]
)
def test_durations(seconds, text):
    assert ratios.duration(seconds) == text


def test_the_command(tmp_path):
    saved, plot = tmp_path / "results.json", tmp_path / "speed.png"
    saved.write_text(json.dumps({"benchmarks": RESULTS}))
    command = [sys.executable, "-m", "benchmarks", "--json", saved, "--plot", plot]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "| a job | step | 2.00 µs | NumPy | 100 ms | 50,000 × |" in done.stdout
    assert "time ~ (H)^1.50" in done.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")
