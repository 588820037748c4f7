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
from ocpfast.experiments.claims import SURE, Claim, Estimate
from ocpfast.experiments.figures import Curve, Panel, draw
from ocpfast.experiments.jobs import Folder
from ocpfast.files import write_atomically

__all__ = ["write_report", "write_sweep_report", "write_tables"]


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
    """What was reproduced, as Markdown.

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
    every = [one.reproduced for _, made, _ in sections for one in made]
    undecided = every.count(None)
    lines = [
        "# What was reproduced",
        "",
        f"{every.count(True)} of {len(every)} claims were reproduced"
        + (f"; for {undecided} the simulations are too few to tell" if undecided else "")
        + f". ± is the standard error; what differs by less than {SURE:g} of them is not told apart.",
        "",
    ]
    for title, made, figures in sections:
        lines += [f"## {title}", "", claims_module.table(made), "", *_shown(title, figures), ""]
    return _write(folder, [*lines, *_to_repeat(command), "```json", _json(folder.settings), "```"])


def write_sweep_report(
    folder: Folder, command: str, configuration: str, systems: Mapping[str, Mapping[str, ocp.Result]]
) -> Path:
    """What a sweep of one's own measured, as Markdown, with a figure of a panel for each system.

    Parameters
    ----------
    folder : Folder
        Where to, and the versions that go into it.
    command : str
        What repeats it.
    configuration : str
        The TOML text.
    systems : mapping of str to mapping of str to Result
        By the system's name, results by the names of class and agent.

    Returns
    -------
    Path
        The file.
    """
    lines = [
        "# What was measured",
        "",
        "± is the standard error over simulations, bands in the figure are twice that.",
        "",
    ]
    panels = []
    for system, results in systems.items():
        known = all(result.optimal is not None for result in results.values())
        lines += [f"## {system}", "", f"| agent | reward of an episode |{' regret |' if known else ''}"]
        lines += ["|---|--:|" + ("--:|" if known else "")]
        for name, result in results.items():
            row = f"| {name} | {Estimate.of(result.rewards.mean(axis=1))} |"
            lines.append(row + (f" {Estimate.of(result.regret()[:, -1])} |" if known else ""))
        lines.append("")
        curves = [
            Curve(name, np.arange(1.0, result.rewards.shape[1] + 1),
                  result.regret() if known else result.rewards.cumsum(axis=1))
            for name, result in results.items()
        ]  # fmt: skip
        panels.append(Panel(system, "episodes", "regret" if known else "cumulative reward", curves))
    lines += [*_shown("Every agent on every system", draw(panels, folder.path / "sweep")), "", *_to_repeat(command)]
    lines += ["```toml", configuration.strip(), "```", "", "```json", _json(folder.settings["versions"]), "```"]
    return _write(folder, lines)


def _shown(title: str, figures: Sequence[Path]) -> list[str]:
    pictures = [f"![{title}]({figure.name})" for figure in figures if figure.suffix == ".png"]
    return pictures or ["No figure: there is no matplotlib here (`pip install 'ocpfast[plot]'`)."]


def _to_repeat(command: str) -> list[str]:
    return [
        "## To repeat it",
        "",
        f"`{command}`",
        "",
        "Every simulation of every job is in `raw/` (`ocpfast.load_result` reads it), totals and curves are in",
        "`totals.csv` and `curves.csv`. Results depend on the seed alone: not on the number of workers, not on",
        "interruptions.",
        "",
    ]


def _json(settings: Mapping[str, object]) -> str:
    return json.dumps(settings, indent=2, sort_keys=True)


def _write(folder: Folder, lines: Sequence[str]) -> Path:
    file = folder.path / "report.md"
    content = ("\n".join(lines) + "\n").encode()
    write_atomically(file, lambda out: out.write(content))
    return file
