"""The `ocpfast` command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import ocpfast as ocp

__all__ = ["main"]


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
    >>> from ocpfast.cli import main
    >>> main(["info"])
    python   ...
    0
    """
    parser = argparse.ArgumentParser(prog="ocpfast", description="Optimistic constraint propagation.")
    parser.add_argument("--version", action="version", version=f"ocpfast {ocp.__version__}")
    commands = parser.add_subparsers(required=True)
    guarantees = commands.add_parser(
        "guarantees", help="for each hypothesis class, count suboptimal episodes beside the theorem's bound"
    )
    guarantees.add_argument("--seed", type=int, default=0)
    guarantees.set_defaults(run=_guarantees)
    gym = commands.add_parser("gym", help="count episodes until optimal in Gymnasium's toy texts and bsuite's Deep Sea")
    gym.add_argument("--seeds", type=int, default=5, help="how many times each (default: 5)")
    gym.set_defaults(run=_gym)
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
        "info", help="versions, cores, where HiGHS comes from and where headers are: what a report of a fault needs"
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
    from ocpfast.experiments.sweep import run_sweep

    report = run_sweep(Path(options.config), Path(options.out), options.workers, options.resume, options.quiet)
    if not options.quiet:
        print(report.read_text())
        print(f"report: {report}")


def _info(options: argparse.Namespace) -> None:
    from ocpfast import _core, _highs
    from ocpfast.executors import available_cores
    from ocpfast.experiments.jobs import versions

    _highs.load()
    places = {"headers": ocp.get_include(), "CMake": ocp.get_cmake_dir()}
    for name, value in {**versions(), "cores": available_cores(), "HiGHS": _core.highs_in_use(), **places}.items():
        print(f"{name:8} {value}")


def _guarantees(options: argparse.Namespace) -> None:
    from ocpfast.guarantees import lines

    for line in lines(options.seed):
        print(line, flush=True)


def _gym(options: argparse.Namespace) -> None:
    from ocpfast._check import integer
    from ocpfast.environments import lines

    for line in lines(integer(options.seeds, "--seeds", 1)):
        print(line, flush=True)
