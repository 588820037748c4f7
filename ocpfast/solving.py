"""Dynamic programming: the optimal value functions of systems with finitely many states."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocpfast import _check, _core
from ocpfast.running import check_system
from ocpfast.systems import System
from ocpfast.systems.base import CountedGenerator

__all__ = ["Solution", "solve"]


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """What `solve` found: the optimal value functions, as read-only arrays.

    Attributes
    ----------
    q : ndarray of shape (H, S, A)
        Q*_t(x, a): the largest sum of rewards from period t on, if action a is taken in state x.
    v : ndarray of shape (H, S)
        V*_t(x), the largest of Q*_t(x, .).

    Examples
    --------
    >>> import ocpfast as ocp
    >>> solution = ocp.solve(ocp.Chain(4))
    >>> solution
    <Solution: H=4, 4 states, 2 actions>
    >>> solution.q.shape, solution.v.shape
    ((4, 4, 2), (4, 4))
    """

    q: NDArray[np.float64]
    v: NDArray[np.float64]

    def __post_init__(self) -> None:
        self.q.flags.writeable = False
        self.v.flags.writeable = False

    def __repr__(self) -> str:
        horizon, n_states, n_actions = self.q.shape
        return f"<Solution: H={horizon}, {n_states} states, {n_actions} actions>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Solution, (self.q, self.v)


def solve(system: System) -> Solution:
    """Solve a deterministic system with finitely many states, by finite-horizon dynamic programming.

    Every action is tried in every state of every period, or once for all periods where the system is homogeneous: some
    nanoseconds each if it is compiled. Where episodes start, also if that is random, makes no difference.

    Parameters
    ----------
    system : System
        A `Chain`, `DeepSea` or `TableSystem`, or a system of one's own over states that are indices, whose
        steps draw no random numbers and whose rewards do not adapt to the agent.

    Returns
    -------
    Solution
        The optimal value functions: ``q`` of shape (H, S, A) and ``v`` of shape (H, S).

    Examples
    --------
    >>> import ocpfast as ocp
    >>> solution = ocp.solve(ocp.Chain(4))
    >>> solution.v
    array([[1., 2., 3., 4.],
           [0., 1., 2., 3.],
           [0., 0., 1., 2.],
           [0., 0., 0., 1.]])
    >>> solution.q[0, 0]  # in the first period only action 1 still gets to the end
    array([0., 1.])
    """
    check_system(system, "solve()")
    n_states, n_actions = system.n_states, system.n_actions
    if n_states is None:
        raise ValueError(f"system: expected finitely many states, got vectors of {system.state_size} numbers")
    if n_actions is None:
        raise ValueError("system: expected finitely many actions, got vectors")
    if not system.deterministic_steps:
        raise ValueError("system: expected deterministic steps, got a system that draws random numbers in them")
    shape = system.horizon, n_states, n_actions
    entries = system.horizon * n_states * n_actions
    if entries > min(_check.MAX_CELLS, _physical_memory() // 16):  # half of it, of 8 bytes each
        raise MemoryError(
            f"system: Q* of {shape[0]} periods x {shape[1]} states x {shape[2]} actions is more than fits into memory"
        )
    q, v = np.empty(shape), np.empty(shape[:2])
    alone = system._for_simulation(None)  # kept alive: the capsule points into it
    counted = CountedGenerator(np.random.PCG64())
    _core.solve(alone.capsule, counted.capsule, q, v)
    if counted.draws:
        raise system._undeclared_draws("step draws", "stochastic=True")
    return Solution(q, v)


def _physical_memory() -> int:
    """Bytes of memory; as much as there can be, where the operating system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2**63
