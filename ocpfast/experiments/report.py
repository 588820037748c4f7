"""What an experiment leaves for a reader: figures, tables and a report that says what was reproduced."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import ocpfast as ocp
from ocpfast.experiments import claims as claims_module
from ocpfast.experiments.claims import Claim
from ocpfast.experiments.jobs import Folder
from ocpfast.results import write_atomically

__all__ = ["write_report", "write_tables"]


def write_tables(results: Mapping[str, ocp.Result], folder: Path) -> list[Path]:
    """Two CSV files: the total reward of every simulation, and mean and error of the cumulative reward by episode.

    Parameters
    ----------
    results : mapping of str to Result
        By the names of the jobs.
    folder : Path
        Where to.

    Returns
    -------
    list of Path
        The files.
    """
    totals, curves = io.StringIO(), io.StringIO()
    writer = csv.writer(totals, lineterminator="\n")
    writer.writerow(["job", "simulation", "total_reward"])
    for name, result in results.items():
        writer.writerows([name, i, repr(float(total))] for i, total in enumerate(result.rewards.sum(axis=1)))
    writer = csv.writer(curves, lineterminator="\n")
    writer.writerow(["job", "episode", "mean_cumulative_reward", "standard_error"])
    for name, result in results.items():
        cumulative = result.rewards.cumsum(axis=1)
        n = len(cumulative)
        errors = cumulative.std(axis=0, ddof=1) / n**0.5 if n > 1 else np.full(cumulative.shape[1], np.nan)
        for episode in range(9, cumulative.shape[1], 10):
            writer.writerow(
                [name, episode + 1, repr(float(cumulative[:, episode].mean())), repr(float(errors[episode]))]
            )
    files = [folder / "totals.csv", folder / "curves.csv"]
    for file, text in zip(files, (totals, curves), strict=True):
        content = text.getvalue().encode()
        write_atomically(file, lambda out, content=content: out.write(content))  # type: ignore[misc]
    return files


def write_report(folder: Folder, command: str, sections: Sequence[tuple[str, Sequence[Claim], Sequence[Path]]]) -> Path:
    """A Markdown report.

    Parameters
    ----------
    folder : Folder
        Where to, and the settings that go into it.
    command : str
        What repeats it.
    sections : sequence of (title, claims, figures)
        A section for each experiment.

    Returns
    -------
    Path
        The file.
    """
    lines = ["# What was reproduced", ""]
    every = [one for _, made, _ in sections for one in made]
    lines += [f"{sum(one.reproduced for one in every)} of {len(every)} claims. ± is the standard error.", ""]
    for title, made, figures in sections:
        lines += [f"## {title}", "", claims_module.table(made), ""]
        lines += [f"![{title}]({figure.name})" for figure in figures if figure.suffix == ".png"] + [""]
    lines += [
        "## To repeat it",
        "",
        f"`{command}`",
        "",
        "Every simulation of every job is in `raw/` (`ocpfast.load_result` reads it), totals and curves are in",
        "`totals.csv` and `curves.csv`. Results depend on the seed alone: not on the number of workers, not on",
        "interruptions.",
        "",
        "```json",
        json.dumps(folder.settings, indent=2, sort_keys=True),
        "```",
        "",
    ]
    file = folder.path / "report.md"
    content = "\n".join(lines).encode()
    write_atomically(file, lambda out: out.write(content))
    return file
