# cython: language_level=3
"""Declarations for Cython code that uses the systems or adds its own: see `System`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t


cdef extern from "ocpfast/system.h":
    const char *OCP_SYSTEM_CAPSULE
    const uint32_t OCP_SYSTEM_ABI

    ctypedef struct ocp_bitgen:
        void *state
        uint64_t (*next_uint64)(void *state) noexcept nogil
        uint32_t (*next_uint32)(void *state) noexcept nogil
        double (*next_double)(void *state) noexcept nogil
        uint64_t (*next_raw)(void *state) noexcept nogil

    enum:
        OCP_STOCHASTIC
        OCP_ADAPTIVE
        OCP_HOMOGENEOUS
        OCP_NEEDS_GIL
        OCP_RANDOM_START

    enum:
        OCP_STATE_INDEX
        OCP_STATE_VECTOR

    enum:
        OCP_CONTINUES
        OCP_TERMINATED
        OCP_TRUNCATED

    enum:
        OCP_OK
        OCP_BAD_STATE
        OCP_BAD_ACTION
        OCP_BAD_PERIOD
        OCP_NO_MEMORY
        OCP_FAILED
        OCP_OVERFLOW

    ctypedef struct ocp_system:
        uint32_t abi_version
        uint32_t struct_size
        uint32_t flags
        uint32_t state_kind
        int64_t state_size
        int64_t n_actions
        int64_t action_size
        int64_t horizon
        double reward_min
        double reward_max
        void *parameters
        void *(*clone)(const void *parameters) noexcept nogil
        void (*destroy)(void *instance) noexcept nogil
        int (*reset)(void *instance, int64_t episode, ocp_bitgen *bitgen, void *state) noexcept nogil
        int (*step)(void *instance, int64_t period, void *state, const void *action, ocp_bitgen *bitgen,
                    double *reward, int *ending) noexcept nogil
        int (*step_many)(void *const *instances, int64_t lanes, const int64_t *periods, void *states,
                         const void *actions, ocp_bitgen *const *bitgens, double *rewards,
                         int *endings) noexcept nogil
        int (*optimal_value)(void *instance, const void *state, double *value) noexcept nogil
        int64_t (*save)(const void *instance, void *bytes) noexcept nogil
        int (*load)(void *instance, const void *bytes, int64_t size) noexcept nogil


# The functions of the struct, for casts: of addresses, or of Cython functions that need the GIL and may raise.
ctypedef int (*ResetFunction)(void *, int64_t, ocp_bitgen *, void *) noexcept nogil
ctypedef int (*StepFunction)(void *, int64_t, void *, const void *, ocp_bitgen *, double *, int *) noexcept nogil
ctypedef int (*StepManyFunction)(void *const *, int64_t, const int64_t *, void *, const void *, ocp_bitgen *const *,
                                 double *, int *) noexcept nogil
ctypedef int (*OptimalValueFunction)(void *, const void *, double *) noexcept nogil


cdef struct Counter:
    ocp_bitgen *source
    int64_t draws


cdef class CountedGenerator:
    cdef object source
    cdef Counter counter
    cdef ocp_bitgen bitgen          # whose state is the counter


cdef class System:
    cdef ocp_system contract        # filled in by the subclass's __init__, then constant
    cdef bint owns_parameters       # contract.destroy(contract.parameters) when the object goes
    cdef dict arguments             # of the constructor: what repr, ==, hash and pickling go by; or None
    cdef str state_domain           # "expected <this>", said of states that the functions reject
    cdef void *own_instance         # of systems with memory: the one that reset and step here act on
    cdef object own_generator       # used where rng is None
    cdef CountedGenerator counted   # used where nothing should be drawn

    cdef int adopt(self, ocp_system contract) except -1
    cdef void *instance(self) except? NULL
    cdef CountedGenerator counting(self)
