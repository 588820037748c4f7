# cython: language_level=3
"""How a system in C++ becomes a contract; apart from `base`, which users may also compile as plain C."""

from ocpfast.systems.base cimport ocp_system


cdef extern from "ocpfast/system/contract.hpp" namespace "ocp":
    ocp_system contract_of[T](T *system)
