"""Systems: what an agent acts on.

Each is a Cython class around one C struct, `ocp_system` of ``ocpfast/system.h``. Cython code can
``from ocpfast.systems cimport System`` and fill in that struct for a system of its own; `CompiledSystem` does so with
functions from elsewhere, `PythonSystem` with methods in Python.
"""

from ocpfast.systems import adversary, base, compiled, lanes, linear_quadratic, pendulum, python, tables
from ocpfast.systems.adversary import Adversary
from ocpfast.systems.base import System
from ocpfast.systems.compiled import CompiledSystem
from ocpfast.systems.linear_quadratic import LinearQuadratic
from ocpfast.systems.pendulum import InvertedPendulum
from ocpfast.systems.python import PythonSystem
from ocpfast.systems.tables import Chain, DeepSea, TableSystem

__all__ = [
    "Adversary",
    "Chain",
    "CompiledSystem",
    "DeepSea",
    "InvertedPendulum",
    "LinearQuadratic",
    "PythonSystem",
    "System",
    "TableSystem",
]


def __dir__() -> list[str]:
    """What there is for users, without the modules where it is defined."""
    return sorted([*__all__, "__test__"])


# Doctest looks here for the examples of compiled classes and of their methods; by itself it finds none of them.
__test__ = {name: globals()[name].__doc__ for name in __all__} | {
    f"{module.__name__}.{place}": text
    for module in (adversary, base, compiled, lanes, linear_quadratic, pendulum, python, tables)
    for place, text in module.__test__.items()
}
