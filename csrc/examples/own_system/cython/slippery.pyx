# cython: language_level=3
"""A Cython class that is made of another system: any one, cimported, whose steps now and then go wrong."""

from libc.stdint cimport int64_t

from ocpfast.systems cimport OCP_RANDOM_START, OCP_STOCHASTIC, System, ocp_bitgen, ocp_system

cdef struct Parameters:
    ocp_system *inner
    double probability


cdef int reset(void *instance, int64_t episode, ocp_bitgen *bitgen, void *state) noexcept nogil:
    cdef ocp_system *inner = (<Parameters *>instance).inner
    return inner.reset(inner.parameters, episode, bitgen, state)


cdef int step(
    void *instance, int64_t period, void *state, const void *action, ocp_bitgen *bitgen, double *reward, int *ending
) noexcept nogil:
    cdef Parameters *own = <Parameters *>instance
    cdef int64_t taken = (<const int64_t *>action)[0]
    if bitgen.next_double(bitgen.state) < own.probability:
        taken = own.inner.n_actions - 1 - taken
    return own.inner.step(own.inner.parameters, period, state, &taken, bitgen, reward, ending)


cdef class Slippery(System):
    """A system without memory, over a number of actions; with some probability the opposite action is taken."""

    cdef System inner
    cdef Parameters parameters

    def __init__(self, System inner, double probability):
        if inner.contract.clone != NULL or inner.contract.n_actions == 0:
            raise ValueError(f"inner: expected a system without memory, over a number of actions, got {inner!r}")
        self.inner = inner  # kept alive
        self.parameters.inner = &inner.contract
        self.parameters.probability = probability
        self.contract = inner.contract
        self.contract.flags = (inner.contract.flags & ~OCP_RANDOM_START) | OCP_STOCHASTIC
        self.contract.parameters = &self.parameters
        self.contract.destroy = NULL
        self.contract.reset = reset
        self.contract.step = step
        self.contract.step_many = NULL
        self.contract.optimal_value = NULL
        self.arguments = {"inner": inner, "probability": probability}
