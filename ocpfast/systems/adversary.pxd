# cython: language_level=3
"""Declarations for Cython code that uses or extends this system."""

from ocpfast.systems.base cimport System


cdef class Adversary(System):
    pass
