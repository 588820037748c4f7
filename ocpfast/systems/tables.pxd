# cython: language_level=3
"""Declarations for Cython code that uses or extends these systems."""

from ocpfast.systems.base cimport System


cdef class Chain(System):
    pass


cdef class DeepSea(System):
    cdef object _mapping


cdef class TableSystem(System):
    cdef object _next_state
    cdef object _reward
    cdef object _initial_state
    cdef object _cumulative
