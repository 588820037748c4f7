"""ocpfast: reinforcement learning in deterministic systems by optimistic constraint propagation."""

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
from ocpfast.hypothesis import Grid, StateAggregation, TabulaRasa
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
