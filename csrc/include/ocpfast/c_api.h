/* The learner for programs that cannot take C++ headers: plain C99, one opaque handle.
 *
 *     ocp_description description;
 *     ocp_describe(&description);                      the defaults
 *     description.n_states = 50;
 *     description.n_actions = 2;
 *     description.horizon = 50;
 *     ocp_agent* agent = NULL;
 *     if (ocp_agent_create(&description, &agent) != OCP_OK) puts(ocp_last_error());
 *
 *     ocp_agent_act(agent, ocp_index(state), &action);
 *     ...                                              the system's business
 *     ocp_agent_observe(agent, ocp_index(next_state), reward, OCP_CONTINUES, &ended);
 *
 * Every argument is checked. A function that fails says why in ocp_last_error and returns one of ocp_error (system.h)
 * or ocp_agent_error; the agent is then what it was before, and so is what the function would have written. (Where
 * HiGHS, a feature function or memory fails in the midst of learning, the episode is lost: ocp_agent_begin_episode.)
 * No C++ exception comes out. Threads may use different agents at the same time, but not one agent.
 *
 * Files are those of Agent.save and ocpfast.load_agent in Python: what is trained there can be used here, and back.
 * Compile it with CMake's target ocpfast::c, or csrc/c_api/c_api.cpp with a C++17 compiler.
 */
#ifndef OCPFAST_C_API_H
#define OCPFAST_C_API_H

#include <stddef.h>
#include <stdint.h>

#include "ocpfast/features.h"
#include "ocpfast/system.h"

#if defined(OCPFAST_C_SHARED) && defined(_WIN32)
#if defined(OCPFAST_C_BUILDS)
#define OCPFAST_C_API __declspec(dllexport)
#else
#define OCPFAST_C_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define OCPFAST_C_API __attribute__((visibility("default")))
#else
#define OCPFAST_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Beside those of ocp_error. */
enum ocp_agent_error {
    OCP_BAD_ARGUMENT = 16, /* NULL where something is needed, a number or an option out of range */
    OCP_BAD_REWARD = 17,
    OCP_BAD_ORDER = 18, /* act twice without observe, or observe without act */
    OCP_BAD_FILE = 19   /* it cannot be read or written, is damaged, or of another kind */
};

/* ---- what an agent is made from ------------------------------------------------------------------------------- */

enum ocp_hypothesis {
    OCP_TABULA_RASA = 0,       /* every Q_t(x, a) is a parameter of its own */
    OCP_STATE_AGGREGATION = 1, /* one for each label of `labels`, or for each cell of a grid, and each action */
    OCP_LINEAR_FEATURES = 2    /* linear in features: of `phi`, or of a function of vector states */
};
enum ocp_selection { OCP_SELECT_ALL = 0, OCP_SELECT_ELUDER = 1, OCP_SELECT_FIRST = 2, OCP_SELECT_WINDOW = 3 };
enum ocp_ties { OCP_TIES_FIRST = 0, OCP_TIES_RANDOM = 1, OCP_TIES_LEAST_VISITED = 2, OCP_TIES_DIRECTED = 3 };
enum ocp_replay { OCP_REPLAY_OFF = 0, OCP_REPLAY_ON = 1, OCP_REPLAY_STATIONARY = 2 };
enum ocp_update { OCP_UPDATE_EPISODE = 0, OCP_UPDATE_PERIOD = 1 };

/* The arguments of Python's OCP and of its hypothesis classes, whose documentation says what they mean. Arrays are
 * copied. Begin with ocp_describe: it sets everything to its default. */
typedef struct ocp_description {
    size_t struct_size; /* sizeof(ocp_description) as the caller was compiled */

    int32_t hypothesis;  /* of ocp_hypothesis */
    int64_t n_states;    /* where states are indices 0 .. n_states - 1 */
    int64_t n_actions;   /* actions are 0 .. n_actions - 1 */
    int64_t horizon;     /* periods of an episode; 0: time-homogeneous, the episode ends when the caller says so */
    int32_t track_lower; /* 1: ocp_agent_lower is known (tables and aggregation; linear classes know it anyway) */

    /* State aggregation over indices: a label for each state; with label_axes 2 for each (state, action), and with 3
     * for each (period, state, action), the last index fastest. Labels are 0 .. K-1, each of them used. */
    const int64_t* labels;
    int32_t label_axes;

    /* State aggregation over vectors of n_dimensions numbers: dimension i has n_edges[i] edges, which stand one
     * dimension after the other. n edges make n + 1 bins. extra: labels for special states; one with a NaN in it gets
     * the first. */
    int64_t n_dimensions; /* 0: labels */
    const int64_t* n_edges;
    const double* edges;
    int64_t extra;

    /* Linear features. phi has n_features numbers for each (state, action), the actions of a state one after the other;
     * with by_period that for each of the periods. Instead, a function of vector states of state_size numbers. */
    int64_t n_features;
    const double* phi;
    int32_t by_period;
    int32_t shared; /* one theta for all periods */
    ocp_feature_function function;
    void* user_data; /* of the function; the caller keeps it alive */
    int64_t state_size;
    double scale; /* about how large the function's features are; default 1 */

    int32_t selection;               /* of ocp_selection; linear features without HiGHS: OCP_SELECT_ELUDER */
    int64_t window;                  /* episodes, with OCP_SELECT_WINDOW */
    int32_t ties;                    /* of ocp_ties */
    int32_t replay;                  /* of ocp_replay */
    int32_t update;                  /* of ocp_update */
    double discount;                 /* in (0, 1]; default 1 */
    double lower_bound, upper_bound; /* every Q_t(x, a) lies between; default -INFINITY and INFINITY */
    double reward_bound;             /* rewards are at most this large in size; default NAN: not known */
    int64_t replay_sweeps;           /* default 36000 */
    int64_t replay_capacity;         /* default 10000 */
    uint64_t seed;                   /* of ties at random: numpy.random.default_rng(seed)'s numbers; default 0 */
} ocp_description;

OCPFAST_C_API void ocp_describe(ocp_description* description);

/* ---- states -------------------------------------------------------------------------------------------------------
 */

/* An index, or a vector of so many numbers: the functions check that it is what the agent expects. */
typedef struct ocp_state {
    const double* vector; /* NULL: an index */
    int64_t number;       /* the index, or how many numbers */
} ocp_state;

static inline ocp_state ocp_index(int64_t index) {
    ocp_state state;
    state.vector = NULL;
    state.number = index;
    return state;
}
static inline ocp_state ocp_vector(const double* numbers, int64_t size) {
    ocp_state state;
    state.vector = numbers;
    state.number = size;
    return state;
}

/* ---- agents -------------------------------------------------------------------------------------------------------
 */

typedef struct ocp_agent ocp_agent;

OCPFAST_C_API int ocp_agent_create(const ocp_description* description, ocp_agent** agent);
OCPFAST_C_API void ocp_agent_destroy(ocp_agent* agent); /* NULL is fine */

/* Chooses an action; observe follows. */
OCPFAST_C_API int ocp_agent_act(ocp_agent* agent, ocp_state state, int64_t* action);
/* Takes in its outcome; `ending` is of ocp_ending. next_state is not looked at after OCP_TERMINATED. *ended (which may
 * be NULL) becomes 1 if this closed the episode, else 0. */
OCPFAST_C_API int ocp_agent_observe(ocp_agent* agent, ocp_state next_state, double reward, int ending, int* ended);
/* Drops an unfinished episode. */
OCPFAST_C_API int ocp_agent_begin_episode(ocp_agent* agent);
/* The action that is best as far as is known; records nothing, and no observe follows. */
OCPFAST_C_API int ocp_agent_greedy(ocp_agent* agent, ocp_state state, int64_t period, int64_t* action);

/* Upper and lower value of (state, action) in a period, and whether the upper one rests on what was observed alone. */
OCPFAST_C_API int ocp_agent_upper(ocp_agent* agent, ocp_state state, int64_t action, int64_t period, double* value);
OCPFAST_C_API int ocp_agent_lower(ocp_agent* agent, ocp_state state, int64_t action, int64_t period, double* value);
OCPFAST_C_API int ocp_agent_determined(ocp_agent* agent, ocp_state state, int64_t action, int64_t period,
                                       int* determined);

/* Constraints held; the period of the present episode; episodes observed. */
OCPFAST_C_API int ocp_agent_n_constraints(const ocp_agent* agent, int64_t* n);
OCPFAST_C_API int ocp_agent_period(const ocp_agent* agent, int64_t* period);
OCPFAST_C_API int ocp_agent_n_episodes(const ocp_agent* agent, int64_t* n);

/* A file that is complete or not there. The loaded agent goes on as the saved one, to the last bit, in the middle of
 * its episode if it was saved there. `hypothesis` may be NULL, except for features of a function, which no file has:
 * then its fields down to `scale` are taken, and the others come from the file. */
OCPFAST_C_API int ocp_agent_save(const ocp_agent* agent, const char* path);
OCPFAST_C_API int ocp_agent_load(const char* path, const ocp_description* hypothesis, ocp_agent** agent);

/* ---- the rest -----------------------------------------------------------------------------------------------------
 */

/* HiGHS, for linear features with another selection than OCP_SELECT_ELUDER: the path of its shared library. Once,
 * before the agents that need it are made. */
OCPFAST_C_API int ocp_load_highs(const char* path);

/* What the last function of this thread that failed has to say; "" where none did. Valid until the next one fails. */
OCPFAST_C_API const char* ocp_last_error(void);
OCPFAST_C_API const char* ocp_version(void);

#ifdef __cplusplus
}
#endif
#endif
