# cython: language_level=3
"""What Cython code gets by ``from ocpfast.systems cimport ...``."""

from ocpfast.systems.adversary cimport Adversary
from ocpfast.systems.base cimport *
from ocpfast.systems.linear_quadratic cimport LinearQuadratic
from ocpfast.systems.pendulum cimport InvertedPendulum
from ocpfast.systems.tables cimport Chain, DeepSea, TableSystem
