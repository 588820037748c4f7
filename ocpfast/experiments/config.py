"""A user's own sweep from a TOML file: every agent on every class on every system."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ocpfast as ocp
from ocpfast import _check
from ocpfast.experiments.jobs import Job
from ocpfast.systems import System

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Sweep", "load"]

_SYSTEMS = ("Adversary", "Chain", "DeepSea", "InvertedPendulum", "LinearQuadratic", "TableSystem")
_CLASSES = (
    "FiniteClass", "LinearFeatures", "Polytope", "Quadratic", "Sigmoid", "SparseLinear", "StateAggregation",
    "TabulaRasa",
)  # fmt: skip
_AGENTS = ("LSVI", "OCP", "QLearning", "RandomPolicy")
_EXPLORATIONS = ("Boltzmann", "EpsilonGreedy")
_WITHOUT_CLASS = ("QLearning", "RandomPolicy")
_KEYS = {"episodes", "simulations", "seed", "systems", "classes", "agents"}


@dataclass(frozen=True)
class Sweep:
    """What a configuration asks for.

    Attributes
    ----------
    systems : dict
        By the system's name, jobs by the names of class and agent.
    seed : int
        The source of all randomness.
    """

    systems: dict[str, dict[str, Job]]
    seed: int

    @property
    def jobs(self) -> list[Job]:
        """All jobs."""
        return [job for jobs in self.systems.values() for job in jobs.values()]


def load(path: str | Path) -> Sweep:
    r"""Read a configuration.

    Parameters
    ----------
    path : path-like
        A TOML file with ``episodes``, ``simulations`` and ``seed``, and tables ``[systems.NAME]``, ``[classes.NAME]``
        and ``[agents.NAME]``, each with a ``type`` and the arguments of that type. Sizes that follow from the system
        (n_states, n_actions, horizon) may be left out; arrays may be names of ``.npy`` files beside the configuration;
        ``partition = "system"`` takes the system's own.

    Returns
    -------
    Sweep
        A job for every agent on every class on every system, and the seed.

    Examples
    --------
    >>> import os, tempfile
    >>> from ocpfast.experiments.config import load
    >>> file = os.path.join(tempfile.mkdtemp(), "sweep.toml")
    >>> with open(file, "w") as out:
    ...     print('episodes = 100', '[systems.chain]', 'type = "Chain"', 'n_states = 10', '[classes.table]',
    ...           'type = "TabulaRasa"', '[agents.ocp]', 'type = "OCP"', 'replay = true', sep="\n", file=out)
    >>> [job.name for job in load(file).jobs]
    ['chain-table-ocp']
    """
    file = Path(path)
    try:
        with open(file, "rb") as source:
            content = tomllib.load(source)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: {error}") from None
    unknown = sorted(set(content) - _KEYS)
    if unknown:
        raise ValueError(f"{file}: expected {', '.join(sorted(_KEYS))}, got {unknown[0]!r}")
    episodes = _check.integer(content.get("episodes", 1000), "episodes", 1)
    simulations = _check.integer(content.get("simulations", 1), "simulations", 1)
    seed = _check.integer(content.get("seed", 0), "seed", 0)
    systems: dict[str, dict[str, Job]] = {}
    for system_name, system_table in _tables(content, "systems").items():
        system = _make(system_table, f"systems.{system_name}", _SYSTEMS, file.parent)
        jobs = systems[system_name] = {}
        for agent_name, agent_table in _tables(content, "agents").items():
            where = f"agents.{agent_name}"
            if agent_table.get("type") in _WITHOUT_CLASS:
                agent = _make(agent_table, where, _AGENTS, file.parent, system)
                jobs[agent_name] = Job(f"{system_name}-{agent_name}", agent, system, episodes, simulations)
                continue
            for class_name, class_table in _tables(content, "classes").items():
                hypothesis = _make(class_table, f"classes.{class_name}", _CLASSES, file.parent, system)
                agent = _make(agent_table, where, _AGENTS, file.parent, hypothesis=hypothesis)
                name = f"{class_name}-{agent_name}"
                jobs[name] = Job(f"{system_name}-{name}", agent, system, episodes, simulations)
    _check_names(systems)
    return Sweep(systems, seed)


def _check_names(systems: Mapping[str, Mapping[str, Job]]) -> None:
    """A job's name is that of its files: [systems.a-b] with [agents.c] must not meet [systems.a] with [classes.b]."""
    owner: dict[str, tuple[str, str]] = {}
    for system, jobs in systems.items():
        for rest, job in jobs.items():
            other = owner.setdefault(job.name, (system, rest))
            if other != (system, rest):
                raise ValueError(f"systems: {other} and {(system, rest)} have one name, {job.name!r}; rename one")


def _tables(content: Mapping[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    tables = content.get(kind)
    if not isinstance(tables, dict) or not tables or not all(isinstance(one, dict) for one in tables.values()):
        raise ValueError(f"{kind}: expected at least one table [{kind}.NAME], got {tables!r}")
    for name in tables:
        if not name.replace("-", "").replace("_", "").isalnum():
            raise ValueError(f"{kind}: expected names of letters, digits, - and _, got {name!r}")
    return tables


def _make(
    table: Mapping[str, Any],
    where: str,
    types: tuple[str, ...],
    folder: Path,
    system: System | None = None,
    hypothesis: Any = None,
) -> Any:
    """The object that a table describes; errors name the table."""
    arguments = dict(table)
    kind = arguments.pop("type", None)
    if kind not in types:
        raise ValueError(f"{where}.type: expected one of {', '.join(types)}, got {kind!r}")
    make: Callable[..., Any] = getattr(ocp, kind)
    # systems are compiled and have no signature: their own errors must do
    known = {} if types is _SYSTEMS else inspect.signature(make).parameters
    for name, value in arguments.items():
        if known and name not in known:
            raise ValueError(f"{where}: expected arguments of {kind} ({', '.join(known)}), got {name!r}")
        if isinstance(value, str) and value.endswith(".npy"):
            arguments[name] = np.load(folder / value, allow_pickle=False)
        elif isinstance(value, dict):
            arguments[name] = _make(value, f"{where}.{name}", _EXPLORATIONS, folder)
    if arguments.get("partition") == "system":
        if not isinstance(system, ocp.InvertedPendulum):
            raise ValueError(f"{where}.partition: expected labels or a file, as the system has none, got 'system'")
        arguments["partition"] = system.partition()
    if hypothesis is not None:
        arguments["hypothesis"] = hypothesis
    if system is not None:
        for name in ("n_states", "n_actions", "horizon"):
            if name in known and name not in arguments and known[name].default is inspect.Parameter.empty:
                arguments[name] = getattr(system, name)
    try:
        return make(**arguments)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None
