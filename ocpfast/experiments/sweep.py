"""`ocpfast run`: a user's own sweep, from a TOML file to a report."""

from __future__ import annotations

import shlex
from pathlib import Path

from ocpfast.experiments.config import load
from ocpfast.experiments.jobs import Folder, run_jobs
from ocpfast.experiments.report import write_sweep_report, write_tables

__all__ = ["run_sweep"]


def run_sweep(config: Path, out: Path, workers: int | None, resume: bool, quiet: bool = False) -> Path:
    """Run every agent on every class on every system and write figures, tables and a report.

    Parameters
    ----------
    config : Path
        The file; `ocpfast.experiments.config.load` says what is in it.
    out : Path
        The folder.
    workers : int or None
        Threads; None: one for each core.
    resume : bool
        Whether to go on with what is in the folder.
    quiet : bool, default False
        Print nothing.

    Returns
    -------
    Path
        The report.
    """
    sweep, text = load(config), config.read_text()
    folder = Folder(out, {"configuration": text}, resume)
    run_jobs(sweep.jobs, folder, sweep.seed, workers, not quiet)
    results = {
        system: {name: folder.result(job) for name, job in jobs.items()} for system, jobs in sweep.systems.items()
    }
    write_tables(
        {job.name: results[system][name] for system, jobs in sweep.systems.items() for name, job in jobs.items()},
        folder.path,
    )
    return write_sweep_report(folder, f"ocpfast run {shlex.quote(config.name)}", text, results)
