# cython: language_level=3
"""Declarations for Cython code that uses or extends this system."""

from ocpfast.systems.base cimport System


cdef class LinearQuadratic(System):
    cdef dict _arrays     # A, B, state_cost, action_cost and actions by name, read-only
