# cython: language_level=3
"""The inverted pendulum."""

from libc.stdint cimport int64_t
from libcpp cimport bool as cpp_bool

import os

import numpy as np

from ocpfast import _check
from ocpfast.systems.base cimport System
from ocpfast.systems.contract cimport contract_of
from ocpfast.systems.base import _count, _floats

__all__ = ["InvertedPendulum"]


cdef extern from "ocpfast/sincos.hpp" namespace "ocp::baseline" nogil:
    void sincos(const double& angle, double& sine, double& cosine)

cdef extern from "ocpfast/lanes.hpp" namespace "ocp":
    cppclass Instructions:
        pass
    const char *name_of(Instructions instructions)

cdef extern from "ocpfast/system/pendulum.hpp" namespace "ocp":
    cppclass CppPendulum "ocp::InvertedPendulum":
        CppPendulum(double disturbance, int64_t horizon, cpp_bool runge_kutta, int64_t substeps) except +
        void advance(double *state, double force) nogil
        double max_velocity() nogil
        Instructions instructions()


def _sincos(angles):
    """Return sine and cosine as the compiled integrators compute them."""
    cdef double[::1] x = np.array(angles, dtype=np.float64).reshape(-1)
    sines = np.empty(x.shape[0])
    cosines = np.empty(x.shape[0])
    cdef double[::1] s = sines
    cdef double[::1] c = cosines
    cdef Py_ssize_t i
    with nogil:
        for i in range(x.shape[0]):
            sincos(x[i], s[i], c[i])
    return sines, cosines


cdef class InvertedPendulum(System):
    """InvertedPendulum(disturbance=0.0, horizon=36_000, integrator="rk4", substeps=1)\n--\n
    The paper's inverted pendulum on a cart, to be kept upright for an hour.

    The state is the angle from the vertical, in radians, and the angular velocity. Actions 0, 1 and 2 push
    the cart with -50, 0 and +50 N for 0.1 s. Every step pays the 0.1 s it lasts, also the one in which the
    pendulum falls: it has fallen when the angle is pi/2 or more to either side at the end of a step, which
    terminates the episode; the state then returned is the physical one.

    Parameters
    ----------
    disturbance : float, optional
        Half-width d of the disturbances, in 0..10000: each step adds a force uniform on (-d, d) N, constant
        over the step, and the initial velocity is uniform on (-d, d).
    horizon : int, optional
        Number of steps; the default is one hour.
    integrator : {"rk4", "euler"}, optional
        Classical Runge-Kutta of order 4, or the explicit Euler method.
    substeps : int, optional
        How many steps of the integrator make up 0.1 s.

    Examples
    --------
    >>> from ocpfast.systems import InvertedPendulum
    >>> pendulum = InvertedPendulum()
    >>> state, steps, terminated = pendulum.reset(), 0, False
    >>> while not terminated:
    ...     state, reward, terminated = pendulum.step(state, 2)
    ...     steps += 1
    >>> steps
    6
    """

    def __init__(self, disturbance=0.0, horizon=36_000, integrator="rk4", substeps=1):
        width = float(_floats("disturbance", disturbance, ()))
        if not 0.0 <= width <= 1e4:
            raise ValueError(f"disturbance: expected a number in 0..10000, got {width}")
        integrator = _check.one_of(integrator, "integrator", ("rk4", "euler"))
        wanted = os.environ.get("OCPFAST_INSTRUCTIONS")
        if wanted not in (None, "scalar", "baseline", "avx2", "avx512"):
            raise ValueError(f"OCPFAST_INSTRUCTIONS: expected 'scalar', 'baseline', 'avx2' or 'avx512', got {wanted!r}")
        cdef int64_t periods = _count(horizon, "horizon", 1)
        cdef int64_t parts = _check.integer(substeps, "substeps", 1, 1_000_000)
        self.adopt(contract_of(new CppPendulum(width, periods, integrator == "rk4", parts)))
        self.arguments = {
            "disturbance": width, "horizon": periods, "integrator": str(integrator), "substeps": parts,
        }
        self.state_domain = "|angle| < pi/2 and |angular velocity| <= 10000"

    @property
    def instructions(self):
        """What many simulations are stepped with side by side: "scalar", "baseline" (SSE2), "avx2" or "avx512".

        The widest that the processor has, unless the environment variable OCPFAST_INSTRUCTIONS names less when the
        pendulum is made. All give the same bits.

        Examples
        --------
        >>> from ocpfast.systems import InvertedPendulum
        >>> InvertedPendulum().instructions in ("scalar", "baseline", "avx2", "avx512")
        True
        """
        self.instance()
        return name_of((<CppPendulum *>self.contract.parameters).instructions()).decode()

    def max_velocity(self):
        """Return the largest |angular velocity|, at the 0.1 s steps, of a fall from rest under +50 N.

        The paper grids velocities up to this one. It depends on the integrator and its substeps.

        Returns
        -------
        float
            Radians a second.

        Examples
        --------
        >>> from ocpfast.systems import InvertedPendulum
        >>> round(InvertedPendulum().max_velocity(), 3)
        6.264
        """
        self.instance()
        return (<CppPendulum *>self.contract.parameters).max_velocity()

    def partition(self):
        """Return the paper's 962 partitions of the states, for `ocpfast.StateAggregation`.

        31 intervals of the angle times 31 of the velocity (29 between plus and minus `max_velocity`, two open
        ones), and label 0 for the fallen pendulum.

        Returns
        -------
        ocpfast.Grid
            The partition.

        Examples
        --------
        >>> from ocpfast.systems import InvertedPendulum
        >>> InvertedPendulum().partition().n_labels
        962
        """
        from ocpfast.hypothesis import Grid

        limit = self.max_velocity()
        angles = np.linspace(-np.pi / 2, np.pi / 2, 32)[1:-1]
        return Grid([angles, np.linspace(-limit, limit, 30)], extra=1)

    def advance(self, states, forces):
        """Move many pendulums on by 0.1 s each, without disturbance and whether fallen or not.

        Parameters
        ----------
        states : array_like, shape (n, 2)
            Angles, in -1e5..1e5 radians, and angular velocities, in -1e4..1e4 radians a second.
        forces : array_like, shape (n,)
            Forces on the carts in Newtons, in -1e6..1e6, constant over the 0.1 s.

        Returns
        -------
        numpy.ndarray, shape (n, 2)
            The states that follow.

        Examples
        --------
        >>> from ocpfast.systems import InvertedPendulum
        >>> InvertedPendulum().advance([[0.0, 0.0], [0.0, 0.0]], [0.0, -50.0]).round(4)
        array([[0.    , 0.    ],
               [0.0447, 0.9073]])
        """
        self.instance()
        result = _floats("states", states)
        if result.ndim != 2 or result.shape[1] != 2:
            raise ValueError(f"states: expected shape (n, 2), got {result.shape}")
        pushes = _floats("forces", forces, (len(result),))
        for name, values, limit in (
            ("states[:, 0]", result[:, 0], 1e5), ("states[:, 1]", result[:, 1], 1e4), ("forces", pushes, 1e6),
        ):
            beyond = values[np.abs(values) > limit]
            if beyond.size:
                raise ValueError(f"{name}: expected numbers in {-limit}..{limit}, got {beyond[0]}")
        cdef double[:, ::1] state = result
        cdef const double[::1] force = pushes
        cdef CppPendulum *pendulum = <CppPendulum *>self.contract.parameters
        cdef Py_ssize_t i
        with nogil:
            for i in range(state.shape[0]):
                pendulum.advance(&state[i, 0], force[i])
        return result
