# cython: language_level=3, cdivision=True
"""A system of one's own as a Cython class. `python setup.py build_ext --inplace` builds it."""

from libc.math cimport M_PI_2, cos, fabs, isfinite, sin
from libc.stdint cimport int64_t

from ocpfast.systems cimport (
    OCP_CONTINUES, OCP_HOMOGENEOUS, OCP_OK, OCP_OVERFLOW, OCP_STATE_VECTOR, OCP_STOCHASTIC, OCP_TERMINATED, System,
    ocp_bitgen,
)


cdef inline double acceleration(double angle, double velocity, double force) noexcept nogil:
    """The paper's equation."""
    cdef double g = 9.8, m = 2.0, l = 0.5, alpha = 1.0 / (2.0 + 8.0), s = sin(angle), c = cos(angle)
    return (g * s - alpha * m * l * velocity * velocity * s * c - alpha * c * force) / (
        4.0 / 3.0 * l - alpha * m * l * c * c
    )


cdef inline double noise(double disturbance, ocp_bitgen *bitgen) noexcept nogil:
    return disturbance * (2.0 * bitgen.next_double(bitgen.state) - 1.0)


# `api`: scipy.LowLevelCallable.from_cython finds them too
cdef api int reset(void *instance, int64_t episode, ocp_bitgen *bitgen, void *state) noexcept nogil:
    cdef double disturbance = (<double *>instance)[0]
    cdef double *x = <double *>state
    x[0] = 0.0
    x[1] = noise(disturbance, bitgen) if disturbance > 0 else 0.0
    return OCP_OK


cdef api int step(
    void *instance, int64_t period, void *state, const void *action, ocp_bitgen *bitgen, double *reward, int *ending
) noexcept nogil:
    """One step of the Runge-Kutta method, of 0.1 s."""
    cdef double disturbance = (<double *>instance)[0], h = 0.1
    cdef double *x = <double *>state
    cdef double angle = x[0], v1 = x[1], force = 50.0 * ((<const int64_t *>action)[0] - 1)
    if disturbance > 0:
        force += noise(disturbance, bitgen)
    cdef double a1 = acceleration(angle, v1, force), v2 = v1 + h / 2 * a1
    cdef double a2 = acceleration(angle + h / 2 * v1, v2, force), v3 = v1 + h / 2 * a2
    cdef double a3 = acceleration(angle + h / 2 * v2, v3, force), v4 = v1 + h * a3
    cdef double a4 = acceleration(angle + h * v3, v4, force)
    x[0] = angle + h / 6 * (v1 + 2 * (v2 + v3) + v4)
    x[1] = v1 + h / 6 * (a1 + 2 * (a2 + a3) + a4)
    if not (isfinite(x[0]) and isfinite(x[1])):
        return OCP_OVERFLOW
    reward[0] = h
    ending[0] = OCP_CONTINUES if fabs(x[0]) < M_PI_2 else OCP_TERMINATED
    return OCP_OK


cdef class Pendulum(System):
    """The paper's inverted pendulum."""

    cdef double disturbance

    def __init__(self, double disturbance=0.0, int64_t horizon=36_000):
        self.disturbance = disturbance
        self.contract.flags = OCP_HOMOGENEOUS | (OCP_STOCHASTIC if disturbance > 0 else 0)
        self.contract.state_kind = OCP_STATE_VECTOR
        self.contract.state_size = 2
        self.contract.n_actions = 3
        self.contract.horizon = horizon
        self.contract.reward_min = self.contract.reward_max = 0.1
        self.contract.parameters = &self.disturbance
        self.contract.reset = reset
        self.contract.step = step
        self.arguments = {"disturbance": disturbance, "horizon": horizon}
