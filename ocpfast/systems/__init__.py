"""Systems: what an agent acts on.

Each is a Cython class around one C struct, `ocp_system` of ``ocpfast/system.h``. Cython code can
``from ocpfast.systems cimport System`` and fill in that struct for a system of its own.
"""

from ocpfast.systems import base, pendulum, tables
from ocpfast.systems.base import System
from ocpfast.systems.pendulum import InvertedPendulum
from ocpfast.systems.tables import Chain, DeepSea, TableSystem

__all__ = ["Chain", "DeepSea", "InvertedPendulum", "System", "TableSystem"]

# Where doctest looks for the examples of compiled modules, in which it finds none by itself.
__test__ = {
    f"{module.__name__}.{place}": text for module in (base, pendulum, tables) for place, text in module.__test__.items()
}
