"""Long runs that survive: many simulations in parts, each saved whole or not at all."""

from __future__ import annotations

import json
import math
import platform
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ocpfast as ocp
from ocpfast import _check
from ocpfast.executors import available_cores
from ocpfast.files import write_atomically
from ocpfast.results import load_result
from ocpfast.running import AgentSource, Bar, Interrupted
from ocpfast.systems import System

__all__ = ["Folder", "Job", "Timing", "run_jobs"]

_SETTINGS = "settings.json"
# What is lost at most when the power fails. A part ends when its slowest simulation does and other workers wait for
# it, so parts should hold several simulations: those of the pendulum take up to 4 s.
_SECONDS_OF_A_PART = 10.0
# Simulations of a worker side by side, in systems that step many: each takes little longer than it would among more
# (37 ns a step of the pendulum instead of 34), and alone three times as long.
_LANES = 4


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
    """

    name: str
    agent: AgentSource
    system: System
    episodes: int
    simulations: int


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

    def part_file(self, job: Job, first: int) -> Path:
        """The file of a job's simulations first, first + 1, ..."""
        return self.path / "raw" / f"{job.name}-{first:05d}.npz"

    def parts(self, job: Job) -> Iterator[ocp.Result]:
        """What there is of a job, from its first simulation on; parts may have any size."""
        done = 0
        while done < job.simulations and (file := self.part_file(job, done)).exists():
            part = load_result(file)
            yield part
            done += len(part.rewards)

    def left(self, job: Job) -> int:
        """How many simulations of a job are still to be run."""
        return job.simulations - sum(len(part.rewards) for part in self.parts(job))

    def result(self, job: Job) -> ocp.Result:
        """All simulations of a job, which must be complete."""
        parts = list(self.parts(job))
        optimal = [part.optimal for part in parts]
        return ocp.Result(
            np.concatenate([part.rewards for part in parts]),
            None if any(o is None for o in optimal) else np.concatenate(optimal),  # type: ignore[arg-type]
        )


class Timing(NamedTuple):
    """How many seconds something should take, and took."""

    forecast: float
    took: float


def run_jobs(
    jobs: Sequence[Job],
    folder: Folder,
    seed: int,
    workers: int | None = None,
    progress: bool = True,
) -> Timing:
    """Run what is not there yet. Whatever interrupts it, what was saved stays and the results are the same.

    First a simulation of each job for each worker (a few, where they go side by side): the time that they take tells
    how long the rest will take.

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
        Say how long it will take, and show bars with the time left.

    Returns
    -------
    Timing
        How long what was left after the first simulations should have taken, and did.
    """
    n_workers = available_cores() if workers is None else _check.integer(workers, "workers", 1)
    left = {job.name: folder.left(job) for job in jobs}
    unfinished = [job for job in jobs if left[job.name]]
    seconds: dict[str, float] = {}  # what a simulation takes while all workers are busy

    def at_once(job: Job) -> int:
        return n_workers * (_LANES if job.system.steps_many else 1)

    def advance(job: Job, size: int, bar: Bar, worth: float) -> float:
        """Run and save the next simulations of a job and move the bar by their worth; the seconds that each took."""
        before, goal = bar.n, bar.n + worth
        bar.set_description_str(job.name)
        first = job.simulations - left[job.name]
        file = folder.part_file(job, first)
        started = time.perf_counter()
        try:
            result = ocp.run(
                job.agent,
                job.system,
                job.episodes,
                size,
                rng=_seed_of(job, seed),
                workers=workers,
                progress=lambda done: bar.update(before + worth * done / (size * job.episodes) - bar.n),
                first_simulation=first,
            )
        except Interrupted as interruption:
            _save_beginning(interruption, file)
            raise
        took = time.perf_counter() - started
        result.save(file)
        left[job.name] -= size
        bar.update(goal - bar.n)
        return took / size

    if progress and unfinished:
        print(f"First some simulations of each job with {n_workers} workers, to see how long the rest will take.")
        print("Ctrl-C, or a power cut, loses seconds: --resume goes on.", flush=True)
    with Bar(total=len(unfinished), disable=not progress or not unfinished, bar_format=_BAR, smoothing=0) as bar:
        for job in unfinished:
            seconds[job.name] = advance(job, min(at_once(job), left[job.name]), bar, 1.0)
    whole = sum(seconds[job.name] * left[job.name] for job in unfinished)
    if progress and whole:
        print(f"About {_duration(whole)} to go with {n_workers} workers.", flush=True)
    started = time.perf_counter()
    with Bar(total=whole, disable=not progress or not whole, bar_format=_BAR, smoothing=0) as bar:
        for job in unfinished:
            rounds = max(1, math.floor(_SECONDS_OF_A_PART / (seconds[job.name] * at_once(job))))
            while left[job.name]:
                size = min(rounds * at_once(job), left[job.name])
                advance(job, size, bar, seconds[job.name] * size)
    return Timing(whole, time.perf_counter() - started)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} seconds"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    return f"{seconds / 3600:.1f} hours"


_BAR = "{percentage:3.0f}%|{bar:30}| {elapsed} done, {remaining} left  {desc}"


def _save_beginning(interruption: Interrupted, file: Path) -> None:
    """Of an interrupted part, the first simulations as far as they are complete without a gap."""
    complete = sum(1 for i, simulation in enumerate(interruption.simulations) if i == simulation)
    if complete:
        result = interruption.result
        ocp.Result(result.rewards[:complete], None if result.optimal is None else result.optimal[:complete]).save(file)


def _seed_of(job: Job, seed: int) -> np.random.SeedSequence:
    # by name, so that a job's results do not depend on which others there are
    return np.random.SeedSequence(seed, spawn_key=(zlib.crc32(job.name.encode()),))


def versions() -> dict[str, str]:
    """What computed the results."""
    names = ("ocpfast", "numpy", "highspy")
    return {"python": platform.python_version(), "machine": platform.machine(), **{n: version(n) for n in names}}
