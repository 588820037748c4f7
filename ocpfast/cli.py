"""The `ocpfast` command."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import ocpfast as ocp

__all__ = ["main"]

_AGENTS = {
    "first": {"ties": "first"},
    "random": {"ties": "random"},
    "first, replay": {"ties": "first", "replay": True},
    "random, replay": {"ties": "random", "replay": True},
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.

    Returns
    -------
    int
        The exit status.

    Examples
    --------
    >>> import os, tempfile
    >>> from ocpfast.cli import main
    >>> figure = os.path.join(tempfile.mkdtemp(), "pendulum.png")
    >>> main(["demo", "--simulations", "1", "--episodes", "10", "--quiet", "--out", figure])
    0
    """
    parser = argparse.ArgumentParser(prog="ocpfast", description="Optimistic constraint propagation.")
    parser.add_argument("--version", action="version", version=f"ocpfast {ocp.__version__}")
    commands = parser.add_subparsers(required=True)
    demo = commands.add_parser(
        "demo", help="learn to balance the paper's inverted pendulum, print the hours upright and plot them"
    )
    demo.add_argument("--simulations", type=int, default=4)
    demo.add_argument("--episodes", type=int, default=1000)
    demo.add_argument("--disturbance", type=float, default=2.5, help="in Newtons, either way (default: 2.5)")
    demo.add_argument("--seed", type=int, default=0)
    demo.add_argument("--workers", type=int, help="threads (default: one for each core)")
    demo.add_argument("--out", default="pendulum.png", help="where the figure goes (default: pendulum.png)")
    demo.add_argument("--quiet", action="store_true", help="print nothing")
    demo.set_defaults(run=_demo)
    guarantees = commands.add_parser(
        "guarantees", help="for each hypothesis class, count suboptimal episodes beside the theorem's bound"
    )
    guarantees.add_argument("--seed", type=int, default=0)
    guarantees.set_defaults(run=_guarantees)
    reproduce = commands.add_parser(
        "reproduce", help="run the paper's experiments and leave figures, tables, raw data and a report"
    )
    reproduce.add_argument("which", choices=["chain", "pendulum", "all"], nargs="?", default="all")
    size = reproduce.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a few simulations of each: about two minutes (default)")
    size.add_argument("--full", action="store_true", help="100 simulations of each, as in the paper")
    reproduce.add_argument("--out", default="reproduction", help="the folder for it all (default: reproduction)")
    reproduce.add_argument("--workers", type=int, help="threads (default: one for each core)")
    reproduce.add_argument("--seed", type=int, default=0)
    reproduce.add_argument("--resume", action="store_true", help="go on with what is in the folder")
    reproduce.add_argument("--quiet", action="store_true", help="print nothing")
    reproduce.set_defaults(run=_reproduce)
    sweep = commands.add_parser("run", help="run every agent on every class on every system of a TOML file")
    sweep.add_argument("config", help="the file; help(ocpfast.experiments.config.load) says what is in it")
    sweep.add_argument("--out", default="results", help="the folder for it all (default: results)")
    sweep.add_argument("--workers", type=int, help="threads (default: one for each core)")
    sweep.add_argument("--resume", action="store_true", help="go on with what is in the folder")
    sweep.add_argument("--quiet", action="store_true", help="print nothing")
    sweep.set_defaults(run=_run)
    info = commands.add_parser(
        "info", help="versions, cores and where HiGHS comes from: what a report of a fault needs"
    )
    info.set_defaults(run=_info)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except (ValueError, OSError, ImportError) as error:
        parser.exit(1, f"ocpfast: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "ocpfast: interrupted\n")
    return 0


def _reproduce(options: argparse.Namespace) -> None:
    from ocpfast.experiments.reproduce import reproduce

    report = reproduce(
        options.which,
        not options.full,
        Path(options.out),
        options.workers,
        options.seed,
        options.resume,
        options.quiet,
    )
    if not options.quiet:
        print(report.read_text())
        print(f"report: {report}")


def _run(options: argparse.Namespace) -> None:
    from ocpfast.experiments.config import load
    from ocpfast.experiments.jobs import Folder, run_jobs
    from ocpfast.experiments.report import write_tables

    sweep = load(options.config)
    folder = Folder(options.out, {"configuration": Path(options.config).read_text()}, options.resume)
    run_jobs(sweep.jobs, folder, sweep.seed, options.workers, not options.quiet)
    results = {job.name: folder.result(job) for job in sweep.jobs}
    tables = write_tables(results, folder.path)
    if not options.quiet:
        for name, result in results.items():
            print(f"{name}: mean reward of an episode {result.rewards.mean():.6g}")
        print("tables:", *tables)


def _info(options: argparse.Namespace) -> None:
    from ocpfast import _core, _highs
    from ocpfast.executors import available_cores
    from ocpfast.experiments.jobs import versions

    _highs.load()
    for name, value in {**versions(), "cores": available_cores(), "HiGHS": _core.highs_in_use()}.items():
        print(f"{name:8} {value}")


def _guarantees(options: argparse.Namespace) -> None:
    from ocpfast.guarantees import lines

    for line in lines(options.seed):
        print(line, flush=True)


def _demo(options: argparse.Namespace) -> None:
    axes = ocp.Result([[0.0]]).plot(options.out)  # find out now, not after minutes, whether a figure can be saved
    axes.clear()
    pendulum = ocp.InvertedPendulum(options.disturbance)
    hypothesis = ocp.StateAggregation(pendulum.partition(), n_actions=3)
    if not options.quiet:
        print(f"Inverted pendulum, disturbance {options.disturbance} N, {options.simulations} simulations, seed "
              f"{options.seed}: hours upright in {options.episodes} episodes of at most an hour")  # fmt: skip
        print(f"{'OCP':16} {'hours':>7} {'error':>6} {'ns/step':>8}")
    for name, settings in _AGENTS.items():
        started = time.perf_counter()
        result = ocp.run(
            ocp.OCP(hypothesis, **settings),  # type: ignore[arg-type]
            pendulum,
            episodes=options.episodes,
            simulations=options.simulations,
            rng=options.seed,
            workers=options.workers,
            progress=not options.quiet,
        )
        seconds = time.perf_counter() - started
        hours = result.rewards.sum(axis=1) / 3600
        error = hours.std(ddof=1) / len(hours) ** 0.5 if len(hours) > 1 else float("nan")
        nanoseconds = 1e9 * seconds / (result.rewards.sum() / 0.1)
        if not options.quiet:
            print(f"{name:16} {hours.mean():7.1f} {error:6.1f} {nanoseconds:8.1f}", flush=True)
        ocp.Result(result.rewards / 3600).plot(label=name, axes=axes)
    axes.set_ylabel("hours upright, cumulative")
    axes.set_title(f"Inverted pendulum, disturbance {options.disturbance} N")
    axes.figure.savefig(options.out, dpi=150)
    if not options.quiet:
        print(f"figure: {options.out}")
