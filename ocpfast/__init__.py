"""Reinforcement learning in deterministic systems by optimistic constraint propagation (OCP).

The agent keeps a class of candidates for the optimal value function Q*, cut down by what it saw, and acts on the most
optimistic one left. If Q* is in the class, the number of suboptimal episodes is bounded, whatever the system.

>>> import ocpfast as ocp
>>> system = ocp.Chain(20)                                 # what to act on
>>> hypothesis = ocp.TabulaRasa(20, 2, horizon=20)         # what Q* may be
>>> agent = ocp.OCP(hypothesis, replay=True, ties="directed")
>>> result = ocp.run(agent, system, episodes=200, simulations=3, rng=0, progress=False)
>>> result.regret()[:, -1]
array([38., 38., 38.])

Where to look: `OCP` for what an agent can do, one step at a time or in `run`; `LSVI`, `QLearning` and `RandomPolicy` to
compare it with. Hypothesis classes: `TabulaRasa`, `StateAggregation` (of labels or a `Grid`), `LinearFeatures`,
`Polytope`, `SparseLinear`, `Sigmoid`, `FiniteClass`, `Quadratic`. Systems: `Chain`, `DeepSea`, `TableSystem`,
`InvertedPendulum`, `LinearQuadratic`, `Adversary`; your own in Python (`PythonSystem`) or compiled (`CompiledSystem`,
`signatures`). `solve` finds Q* of small systems, `theory` computes the paper's bounds. ``help(ocpfast.OCP)`` and the
other docstrings are the reference.
"""

from importlib.metadata import version as _version
from pathlib import Path as _Path

from ocpfast import signatures, theory
from ocpfast.agent import Agent
from ocpfast.agents import OCP
from ocpfast.baselines import LSVI, QLearning, RandomPolicy
from ocpfast.certificates import Certificate
from ocpfast.exploration import Boltzmann, EpsilonGreedy
from ocpfast.features import FeatureFunction
from ocpfast.finite import FiniteClass
from ocpfast.hypothesis import Grid, Hypothesis, StateAggregation, TabulaRasa
from ocpfast.learning import learn
from ocpfast.linear import LinearFeatures, Polytope
from ocpfast.quadratic import Quadratic
from ocpfast.randomness import simulation_streams
from ocpfast.results import Result, load_result
from ocpfast.running import ExecutorError, Interrupted, run
from ocpfast.saving import load_agent
from ocpfast.sigmoid import Sigmoid
from ocpfast.solving import Solution, solve
from ocpfast.sparse import SparseLinear
from ocpfast.systems import (
    Adversary,
    Chain,
    CompiledSystem,
    DeepSea,
    InvertedPendulum,
    LinearQuadratic,
    PythonSystem,
    System,
    TableSystem,
)

__version__ = _version("ocpfast")

__all__ = [
    "LSVI",
    "OCP",
    "Adversary",
    "Agent",
    "Boltzmann",
    "Certificate",
    "Chain",
    "CompiledSystem",
    "DeepSea",
    "EpsilonGreedy",
    "ExecutorError",
    "FeatureFunction",
    "FiniteClass",
    "Grid",
    "Hypothesis",
    "Interrupted",
    "InvertedPendulum",
    "LinearFeatures",
    "LinearQuadratic",
    "Polytope",
    "PythonSystem",
    "QLearning",
    "Quadratic",
    "RandomPolicy",
    "Result",
    "Sigmoid",
    "Solution",
    "SparseLinear",
    "StateAggregation",
    "System",
    "TableSystem",
    "TabulaRasa",
    "get_cmake_dir",
    "get_include",
    "learn",
    "load_agent",
    "load_result",
    "run",
    "signatures",
    "simulation_streams",
    "solve",
    "theory",
]


def __dir__() -> list[str]:
    """What there is for users: modules of this package are for it alone, but for those in __all__."""
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])


def get_include() -> str:
    """Directory of the C and C++ headers, for compiling against them.

    Returns
    -------
    str
        The path that ``#include <ocpfast/system.h>`` is relative to.

    Examples
    --------
    >>> import os, ocpfast
    >>> os.path.exists(os.path.join(ocpfast.get_include(), "ocpfast", "system.h"))
    True
    """
    return _installed("include")


def get_cmake_dir() -> str:
    """Directory of the CMake package, for C++ and C programs that use the headers without Python.

    Returns
    -------
    str
        The path that ``find_package(ocpfast)`` takes as ``ocpfast_DIR``, as in
        ``cmake -Docpfast_DIR=$(python -c "import ocpfast; print(ocpfast.get_cmake_dir())")``.

    Examples
    --------
    >>> import os, ocpfast
    >>> os.path.exists(os.path.join(ocpfast.get_cmake_dir(), "ocpfastConfig.cmake"))
    True
    """
    return _installed("cmake")


def _installed(name: str) -> str:
    here = _Path(__file__).parent
    installed = here / name
    # an editable install leaves the files where they are in the repository
    return str(installed if installed.is_dir() else here.parent / "csrc" / name)
