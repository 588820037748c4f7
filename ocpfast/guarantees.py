"""One row a hypothesis class: how many episodes were suboptimal, and how many Theorem 1 allows.

`ocpfast guarantees` prints the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import ocpfast as ocp
from ocpfast.hypothesis import Hypothesis
from ocpfast.systems import System

__all__ = ["EXPERIMENTS", "Experiment", "Measured", "lines", "measure"]

Array: TypeAlias = NDArray[np.float64]
Pair: TypeAlias = tuple[Hypothesis, System]


@dataclass(frozen=True)
class Experiment:
    """A hypothesis class, and a system whose Q* is in it."""

    class_name: str
    system_name: str
    make: Callable[[np.random.Generator], Pair]
    episodes: int
    options: dict[str, Any]  # of plain OCP


@dataclass(frozen=True)
class Measured:
    """What came of an experiment, without and with replay and directed exploration."""

    bound: int  # Theorem 1: the eluder dimension
    suboptimal: int
    seconds: float
    suboptimal_directed: int
    seconds_directed: float


def measure(experiment: Experiment, seed: int = 0) -> Measured:
    """Run an experiment.

    Parameters
    ----------
    experiment : Experiment
        One of `EXPERIMENTS`, or one's own.
    seed : int, default 0
        Of the system and its features.

    Returns
    -------
    Measured
        Suboptimal episodes, beside the bound, and seconds.

    Examples
    --------
    >>> from ocpfast.guarantees import EXPERIMENTS, measure
    >>> measured = measure(EXPERIMENTS[0])
    >>> measured.suboptimal <= measured.bound
    True
    """
    hypothesis, system = experiment.make(np.random.default_rng(seed))
    counts, seconds = [], []
    directed = {"replay": True, "ties": "directed"}
    for improvements in ({}, directed if hypothesis.n_actions is not None else {"replay": True}):
        agent = ocp.OCP(hypothesis, **experiment.options, **improvements)
        started = time.perf_counter()
        result = ocp.run(agent, system, experiment.episodes, rng=seed, progress=False)
        seconds.append(time.perf_counter() - started)
        counts.append(int(result.suboptimal(epsilon=1e-6)[0]))
    return Measured(hypothesis.eluder_dimension(), counts[0], seconds[0], counts[1], seconds[1])


def _with_noise(known: Array, n_features: int, rng: np.random.Generator) -> Array:
    """Features [known, 1, Gaussian, ...]."""
    phi = rng.standard_normal((*known.shape, n_features))
    phi[..., 0] = known
    phi[..., 1] = 1.0
    return phi


def _system_with(q: Array, rng: np.random.Generator) -> ocp.TableSystem:
    """A system with random transitions whose Q* is the one given: rewards make up for what follows."""
    horizon, n_states, _ = q.shape
    next_state = rng.integers(0, n_states, q.shape)
    reward = q.copy()
    for t in range(horizon - 1):
        reward[t] -= q[t + 1].max(axis=1)[next_state[t]]
    return ocp.TableSystem(next_state, reward, initial_state=np.arange(n_states))


_CHAIN = ocp.Chain(50)


@cache
def _chain_q() -> Array:
    return ocp.solve(_CHAIN).q


def _tabula_rasa(rng: np.random.Generator) -> Pair:
    return ocp.TabulaRasa(50, 2, horizon=50), _CHAIN


def _aggregation(rng: np.random.Generator) -> Pair:
    """Triples of a period that have the same value are one cell."""
    cells = [np.unique(q, return_inverse=True)[1].reshape(q.shape) for q in _chain_q()]
    return ocp.StateAggregation(np.stack(cells), n_actions=2), _CHAIN


def _linear(rng: np.random.Generator) -> Pair:
    return ocp.LinearFeatures(_with_noise(_chain_q(), 20, rng)), _CHAIN


def _polytope(rng: np.random.Generator) -> Pair:
    """One theta for all periods, known to lie in a box."""
    phi, theta = rng.standard_normal((20, 30, 4, 10)), rng.uniform(-1, 1, 10)
    box = np.vstack([np.eye(10), -np.eye(10)])
    return ocp.Polytope(phi, box, np.ones(20)), _system_with(phi @ theta, rng)


def _sigmoid(rng: np.random.Generator) -> Pair:
    """Grades at the end, of which some are exactly 0 or 1."""
    reward = np.zeros((8, 30, 3))
    reward[-1] = rng.uniform(-0.1, 1.1, (30, 3)).clip(0, 1)
    system = ocp.TableSystem(rng.integers(0, 30, reward.shape), reward, initial_state=np.arange(30))
    logits = ocp.Sigmoid(np.ones((1, 1, 1)), horizon=1).logits(ocp.solve(system).q)
    return ocp.Sigmoid(_with_noise(logits, 10, rng)), system


def _finite(rng: np.random.Generator) -> Pair:
    """Of 100,000 candidates one is right, and each of the others is it but for a quarter of its values."""
    right = rng.standard_normal((20, 10, 2)).astype(np.float32)
    tables = np.broadcast_to(right, (100_000, *right.shape)).copy()
    wrong = rng.random(tables.shape, dtype=np.float32) < 0.25
    wrong[rng.integers(len(tables))] = False
    tables[wrong] += rng.standard_normal(int(wrong.sum()), dtype=np.float32)
    return ocp.FiniteClass(tables), _system_with(right.astype(np.float64), rng)


def _sparse_chain(n_features: int, sparsity: int) -> Callable[[np.random.Generator], Pair]:
    def make(rng: np.random.Generator) -> Pair:
        return ocp.SparseLinear(_with_noise(_chain_q(), n_features, rng), sparsity), _CHAIN

    return make


def _sparse_table(n_features: int, sparsity: int) -> Callable[[np.random.Generator], Pair]:
    def make(rng: np.random.Generator) -> Pair:
        phi = rng.standard_normal((10, 40, 3, n_features))
        theta = np.zeros((10, n_features, 1))
        for theta_t in theta:
            theta_t[rng.choice(n_features, sparsity, replace=False), 0] = rng.standard_normal(sparsity)
        q = (phi.reshape(10, -1, n_features) @ theta).reshape(phi.shape[:3])
        return ocp.SparseLinear(phi, sparsity), _system_with(q, rng)

    return make


def _quadratic(rng: np.random.Generator) -> Pair:
    n_state, n_action, horizon = 4, 2, 8
    a = rng.standard_normal((n_state, n_state))
    a /= np.abs(np.linalg.eigvals(a)).max()
    b = rng.standard_normal((n_state, n_action))
    system = ocp.LinearQuadratic(
        a, b, np.eye(n_state), np.eye(n_action), horizon, initial_state=rng.standard_normal((50, n_state))
    )
    return ocp.Quadratic(n_state, n_action, horizon), system


def _adversary(rng: np.random.Generator) -> Pair:
    system = ocp.Adversary(n_features=20, horizon=10, reward_bound=1.0)
    return system.hypothesis(), system


_ALL, _ELUDER = {"selection": "all"}, {"selection": "eluder"}

EXPERIMENTS = (
    Experiment("TabulaRasa", "Chain(50)", _tabula_rasa, 5_000, _ALL),
    Experiment("StateAggregation, equal values", "Chain(50)", _aggregation, 1_500, _ALL),
    Experiment("LinearFeatures, K=20", "Chain(50)", _linear, 1_500, _ALL),
    Experiment("SparseLinear, K=20, K0=2", "Chain(50)", _sparse_chain(20, 2), 1_500, _ELUDER),
    Experiment("SparseLinear, K=60, K0=3", "Chain(50)", _sparse_chain(60, 3), 1_500, _ELUDER),
    Experiment("SparseLinear, K=20, K0=2", "table, 40 states, H=10", _sparse_table(20, 2), 500, _ELUDER),
    Experiment("SparseLinear, K=60, K0=3", "table, 40 states, H=10", _sparse_table(60, 3), 500, _ELUDER),
    Experiment("Polytope, d=10", "table, 30 states, H=20", _polytope, 500, _ALL),
    Experiment("Sigmoid, K=10", "graded table, 30 states, H=8", _sigmoid, 1_000, _ELUDER),
    Experiment("FiniteClass, 100,000 float32", "table, 10 states, H=20", _finite, 500, _ALL),
    Experiment("Quadratic, continuous actions", "LinearQuadratic, n=4, m=2, H=8", _quadratic, 500, _ELUDER),
    Experiment("LinearFeatures, K=20, one theta", "Adversary, H=10", _adversary, 100, _ALL),
)


def lines(seed: int = 0) -> Iterator[str]:
    """Measure all experiments; the lines of a Markdown table, each as soon as it is known.

    Parameters
    ----------
    seed : int, default 0
        Of the systems and their features.

    Yields
    ------
    str
        A line.

    Examples
    --------
    >>> from ocpfast.guarantees import lines
    >>> print(next(lines()))
    | class | system | episodes | bound | suboptimal | seconds | with replay and directed | seconds |
    """
    yield "| class | system | episodes | bound | suboptimal | seconds | with replay and directed | seconds |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for one in EXPERIMENTS:
        measured = measure(one, seed)
        yield (
            f"| {one.class_name} | {one.system_name} | {one.episodes:,} | {measured.bound:,} | {measured.suboptimal:,} "
            f"| {measured.seconds:.3f} | {measured.suboptimal_directed:,} | {measured.seconds_directed:.3f} |"
        )
