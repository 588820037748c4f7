"""Long runs that survive: many simulations in chunks, each saved whole or not at all."""

from __future__ import annotations

import json
import platform
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import ocpfast as ocp
from ocpfast.results import load_result, write_atomically
from ocpfast.running import AgentSource, Bar
from ocpfast.systems import System

__all__ = ["Folder", "Job", "calibration", "run_jobs"]

_SETTINGS = "settings.json"


@dataclass(frozen=True)
class Job:
    """One curve of a figure: an agent in a system, so many times.

    Attributes
    ----------
    name : str
        Unique in its experiment; the name of its files and the source, with the seed, of its randomness.
    agent : agent or callable
        As `ocpfast.run` takes it.
    system : System
        What it acts on.
    episodes, simulations : int
        How much.
    seconds : float
        What a simulation takes on one core of the machine on which this was written, roughly: for the time left.
    chunk : int
        How many simulations are saved together.
    """

    name: str
    agent: AgentSource
    system: System
    episodes: int
    simulations: int
    seconds: float = 1.0
    chunk: int = 4


class Folder:
    """Where an experiment's settings and raw results are.

    Parameters
    ----------
    path : path-like
        Made if it does not exist.
    settings : mapping
        What the results depend on; together with the versions of what computed them it is kept beside them.
    resume : bool
        Whether results that are there already are used; they must come from the same settings.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any], resume: bool) -> None:
        self.path = Path(path)
        self.settings = {**settings, "versions": versions()}
        file = self.path / _SETTINGS
        if file.exists():
            self._check_settings(file, resume)
            return
        (self.path / "raw").mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.settings, indent=2, sort_keys=True) + "\n"
        write_atomically(file, lambda out: out.write(text.encode()))

    def _check_settings(self, file: Path, resume: bool) -> None:
        if not resume:
            raise ValueError(
                f"out: {self.path} holds results already; --resume goes on with them, or choose another folder"
            )
        try:
            found = json.loads(file.read_text())
        except ValueError:
            raise ValueError(f"out: {file} is not what this program wrote") from None
        different = sorted(k for k in {*found, *self.settings} if found.get(k) != self.settings.get(k))
        if different:
            raise ValueError(
                "resume: the results in {} were made with other settings: {}".format(
                    self.path,
                    "; ".join(f"{k} was {found.get(k)!r}, now {self.settings.get(k)!r}" for k in different),
                )
            )

    def chunk_file(self, job: Job, first: int) -> Path:
        """The file of simulations first, first + 1, ... of a job."""
        return self.path / "raw" / f"{job.name}-{first:05d}.npz"

    def result(self, job: Job) -> ocp.Result:
        """All simulations of a job, which must be complete."""
        parts = [load_result(self.chunk_file(job, first)) for first in _firsts(job)]
        optimal = [part.optimal for part in parts]
        return ocp.Result(
            np.concatenate([part.rewards for part in parts]),
            None if any(o is None for o in optimal) else np.concatenate(optimal),  # type: ignore[arg-type]
        )


def run_jobs(jobs: Sequence[Job], folder: Folder, seed: int, workers: int | None = None, progress: bool = True) -> None:
    """Run what is not there yet. Whatever interrupts it, what was saved stays and the results are the same.

    Parameters
    ----------
    jobs : sequence of Job
        What to run.
    folder : Folder
        Where results are and go.
    seed : int
        Together with the names of the jobs and the numbers of the simulations, the source of all randomness.
    workers : int, optional
        Threads; by default one for each core.
    progress : bool, default True
        Show a bar with the time left.
    """
    whole = sum(job.seconds * job.simulations for job in jobs)
    with Bar(total=whole, disable=not progress, bar_format=_BAR) as bar:
        for job in jobs:
            bar.set_description_str(job.name)
            for first in _firsts(job):
                size = min(job.chunk, job.simulations - first)
                before = bar.n
                file = folder.chunk_file(job, first)
                if not file.exists():

                    def show(done: int, job: Job = job, before: float = before) -> None:
                        bar.update(before + job.seconds * done / job.episodes - bar.n)

                    result = ocp.run(
                        job.agent,
                        job.system,
                        job.episodes,
                        size,
                        rng=_seed_of(job, seed),
                        workers=workers,
                        progress=show,
                        first_simulation=first,
                    )
                    result.save(file)
                bar.update(before + job.seconds * size - bar.n)


_BAR = "{percentage:3.0f}%|{bar:30}| {elapsed} done, {remaining} left  {desc}"


def _firsts(job: Job) -> Iterable[int]:
    return range(0, job.simulations, job.chunk)


def _seed_of(job: Job, seed: int) -> np.random.SeedSequence:
    # by name, so that a job's results do not depend on which others there are
    return np.random.SeedSequence(seed, spawn_key=(zlib.crc32(job.name.encode()),))


def versions() -> dict[str, str]:
    """What computed the results."""
    names = ("ocpfast", "numpy", "highspy")
    return {"python": platform.python_version(), "machine": platform.machine(), **{n: version(n) for n in names}}


def calibration() -> float:
    """How many times slower this machine is than the one that the seconds of jobs were measured on."""
    agent = ocp.OCP(ocp.TabulaRasa(50, 2, horizon=50))
    took = []
    for _ in range(3):
        started = time.perf_counter()
        ocp.run(agent, ocp.Chain(50), 40_000, progress=False, workers=1)
        took.append(time.perf_counter() - started)
    return min(took) / _CALIBRATION_SECONDS


_CALIBRATION_SECONDS = 0.055
