/* The contract between systems and agents: one plain C struct.
 *
 * A system is anything that can fill in `ocp_system`: the built-in ones (ocpfast/systems/), a user's
 * Cython, C or C++ code, a numba cfunc. Agents are compiled against this header alone and never see Python,
 * in the way that NumPy's `bitgen_t` joins bit generators and distributions.
 *
 * Systems travel through Python in a PyCapsule named OCP_SYSTEM_CAPSULE that points to an `ocp_system`.
 */
#ifndef OCPFAST_SYSTEM_H
#define OCPFAST_SYSTEM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OCP_SYSTEM_ABI 1u /* raised whenever a field changes its meaning; new fields only extend struct_size */
#define OCP_SYSTEM_CAPSULE "ocpfast.system"

/* The memory layout of NumPy's bitgen_t, so that a NumPy bit generator can be used as it is. */
typedef struct ocp_bitgen {
    void* state;
    uint64_t (*next_uint64)(void* state);
    uint32_t (*next_uint32)(void* state);
    double (*next_double)(void* state); /* uniform on [0, 1) */
    uint64_t (*next_raw)(void* state);
} ocp_bitgen;

enum ocp_system_flags {
    OCP_STOCHASTIC = 1,   /* reset or step draws from the bit generator */
    OCP_ADAPTIVE = 2,     /* rewards depend on what the agent did in earlier episodes */
    OCP_HOMOGENEOUS = 4,  /* transitions and rewards do not depend on the period */
    OCP_NEEDS_GIL = 8,    /* the functions below call into Python: with the GIL held; what they raise is raised */
    OCP_RANDOM_START = 16 /* with OCP_STOCHASTIC: only reset draws, steps are deterministic */
};

enum ocp_state_kind {
    OCP_STATE_INDEX = 0, /* one int64_t in 0 .. state_size - 1 */
    OCP_STATE_VECTOR = 1 /* state_size doubles */
};

enum ocp_ending {
    OCP_CONTINUES = 0,
    OCP_TERMINATED = 1, /* no value after this transition */
    OCP_TRUNCATED = 2   /* the clock stopped a system that would have gone on */
};

enum ocp_error {
    OCP_OK = 0,
    OCP_BAD_STATE = 1,
    OCP_BAD_ACTION = 2,
    OCP_BAD_PERIOD = 3,
    OCP_NO_MEMORY = 4,
    OCP_FAILED = 5,  /* anything else */
    OCP_OVERFLOW = 6 /* a state or a reward beyond the range of doubles; numbers from 100 on are the system's own */
};

typedef struct ocp_system {
    uint32_t abi_version; /* OCP_SYSTEM_ABI */
    uint32_t struct_size; /* sizeof(ocp_system) as the system was compiled */
    uint32_t flags;       /* of ocp_system_flags */
    uint32_t state_kind;  /* of ocp_state_kind */
    int64_t state_size;   /* number of states, or number of doubles */
    int64_t n_actions;    /* |A|; 0 where actions are vectors */
    int64_t action_size;  /* doubles of an action vector; 0 where actions are indices */
    int64_t horizon;      /* H */
    double reward_min;    /* every reward lies in [reward_min, reward_max]; infinite where unknown */
    double reward_max;

    /* What the functions below get as `instance`. Where clone is NULL the system has no memory and all
     * simulations share `parameters`; else each simulation gets a clone of its own and destroys it. */
    void* parameters;
    void* (*clone)(const void* parameters); /* NULL on failure */
    void (*destroy)(void* instance);

    /* Writes the initial state of an episode. Returns of ocp_error. */
    int (*reset)(void* instance, int64_t episode, ocp_bitgen* bitgen, void* state);

    /* Replaces state by the next one and writes reward and ending. `action` points to an int64_t, or to
     * action_size doubles. The horizon is the caller's business: a step never truncates at it. */
    int (*step)(void* instance, int64_t period, void* state, const void* action, ocp_bitgen* bitgen, double* reward,
                int* ending);

    /* One step of `lanes` independent simulations, in structure-of-arrays layout: component i of lane k is
     * states[i * lanes + k]; each lane has its own period and bit generator. In a lane that fails the ending
     * is -error, and the function returns the error of one of these lanes. NULL: the caller loops. */
    int (*step_many)(void* const* instances, int64_t lanes, const int64_t* periods, void* states, const void* actions,
                     ocp_bitgen* const* bitgens, double* rewards, int* endings);

    /* V*_0(state) into value. NULL where it is not known. */
    int (*optimal_value)(void* instance, const void* state, double* value);

    /* The memory of an instance as bytes: save returns their number (and writes them if `bytes` is not
     * NULL), load restores them. NULL where there is no memory. */
    int64_t (*save)(const void* instance, void* bytes);
    int (*load)(void* instance, const void* bytes, int64_t size);
} ocp_system;

#ifdef __cplusplus
}
#endif
#endif
