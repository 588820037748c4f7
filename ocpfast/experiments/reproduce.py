"""`ocpfast reproduce`: the paper's experiments, from nothing to a report."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from ocpfast.experiments import chain, pendulum
from ocpfast.experiments.jobs import Folder, run_jobs
from ocpfast.experiments.report import write_report, write_tables

__all__ = ["EXPERIMENTS", "reproduce"]

EXPERIMENTS: dict[str, tuple[str, ModuleType]] = {
    "chain": ("The chain (paper, figure 4)", chain),
    "pendulum": ("The inverted pendulum (paper, figure 5)", pendulum),
}


def reproduce(
    which: str, quick: bool, out: Path, workers: int | None, seed: int, resume: bool, quiet: bool = False
) -> Path:
    """Run experiments and write figures, tables and the report.

    Parameters
    ----------
    which : {"chain", "pendulum", "all"}
        Which of them.
    quick : bool
        A few simulations of each instead of the paper's 100.
    out : Path
        The folder.
    workers : int or None
        Threads; None: one for each core.
    seed : int
        The source of all randomness.
    resume : bool
        Whether to go on with what is in the folder.
    quiet : bool, default False
        Print nothing.

    Returns
    -------
    Path
        The report.
    """
    chosen = list(EXPERIMENTS) if which == "all" else [which]
    folder = Folder(out, {"experiments": which, "quick": quick, "seed": seed}, resume)
    jobs = {name: EXPERIMENTS[name][1].jobs(quick) for name in chosen}
    run_jobs([job for made in jobs.values() for job in made], folder, seed, workers, not quiet)

    results = {job.name: folder.result(job) for made in jobs.values() for job in made}
    write_tables(results, folder.path)
    sections = []
    for name in chosen:
        title, experiment = EXPERIMENTS[name]
        sections.append((title, experiment.claims(results), experiment.figures(results, folder.path)))
    command = f"ocpfast reproduce {which} {'--quick' if quick else '--full'} --seed {seed}"
    return write_report(folder, command, sections)
