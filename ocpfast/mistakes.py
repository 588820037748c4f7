"""Errors for arguments that are something else of ours: each says what to write instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocpfast import _check
from ocpfast.hypothesis import Grid, Hypothesis
from ocpfast.systems import System


def not_a_hypothesis(given: Any, expected: str) -> TypeError:
    """The error of an agent that is given something else as its hypothesis class."""
    remedy = _check.hint(given, "hypothesis")
    if isinstance(given, Grid):
        remedy = "; StateAggregation(grid, n_actions) is a class of its cells"
    elif isinstance(given, System):
        remedy = f"; {_class_for(given)} would be one for this system"
    elif isinstance(given, np.ndarray):
        remedy = "; StateAggregation(labels, n_actions) takes an array of labels, LinearFeatures(phi) one of features"
    elif hasattr(given, "hypothesis"):
        remedy = "; an agent's own is agent.hypothesis"
    return TypeError(f"hypothesis: expected {expected}, got {given!r}{remedy}")


def _class_for(system: System) -> str:
    if system.action_size is not None:
        return f"Quadratic({system.state_size}, {system.action_size}, horizon={system.horizon})"
    if system.n_states is None:
        cells = "system.partition()" if hasattr(system, "partition") else "Grid(edges)"
        return f"StateAggregation({cells}, n_actions={system.n_actions})"
    return f"TabulaRasa({system.n_states}, {system.n_actions}, horizon={system.horizon})"


def not_a_system(given: Any, caller: str) -> TypeError:
    """The error of `run` or `solve` where the system is something else."""
    remedy = _check.hint(given, "system")
    if isinstance(given, type):
        pass
    elif isinstance(given, Hypothesis):
        remedy = "; a hypothesis class belongs into an agent, OCP(hypothesis)"
    elif hasattr(given, "observe") and caller == "run()":
        remedy = "; the order is run(agent, system)"
    elif isinstance(given, str) or (hasattr(given, "reset") and hasattr(given, "step")):
        remedy = "; learn(agent, env, episodes) takes Gymnasium's environments"
    return TypeError(f"system: expected a System such as Chain, got {given!r}{remedy}")


def not_an_agent(given: Any, expected: str, order: str = "run(agent, system)") -> TypeError:
    """The error of `run` or `learn` where the agent is something else; `order` is that of their arguments."""
    remedy = _check.hint(given, "agent")
    if isinstance(given, Hypothesis):
        remedy = "; OCP(hypothesis) is an agent that learns it"
    elif isinstance(given, System) or (hasattr(given, "reset") and hasattr(given, "step")):
        remedy = f"; the order is {order}"
    return TypeError(f"agent: expected {expected}, got {given!r}{remedy}")
