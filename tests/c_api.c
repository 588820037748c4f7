/* The C API from C: a chain that is learned, every function, every way to go wrong. tests/test_c_api.py compiles and
 * runs it, also under valgrind. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ocpfast/c_api.h>

enum { N = 8 };

static int n_line;

#define EXPECT(holds)                                                        \
    do {                                                                     \
        if (!(holds)) {                                                      \
            printf("line %d: %s; %s\n", __LINE__, #holds, ocp_last_error()); \
            exit(1);                                                         \
        }                                                                    \
    } while (n_line < 0)
#define FAILS(call, code, message) EXPECT((call) == (code) && strstr(ocp_last_error(), message) != NULL)

/* The paper's chain: action 1 goes on, action 0 back; the last state pays 1. Returns the total of an episode. */
static double play(ocp_agent* agent) {
    int64_t state = 0, action = 0;
    double total = 0;
    int ended = 0;
    while (!ended) {
        EXPECT(ocp_agent_act(agent, ocp_index(state), &action) == OCP_OK);
        const double reward = state == N - 1 ? 1 : 0;
        if (state < N - 1) state = action == 1 ? state + 1 : state > 0 ? state - 1 : 0;
        EXPECT(ocp_agent_observe(agent, ocp_index(state), reward, OCP_CONTINUES, &ended) == OCP_OK);
        total += reward;
    }
    return total;
}

static int indicator(int64_t period, const void* state, int64_t action, double* features, void* user_data) {
    const double x = ((const double*)state)[0];
    ++*(int*)user_data;
    features[0] = action == 0 ? 1 : x;
    features[1] = (double)period;
    return isfinite(x) ? 0 : 1;
}

int main(void) {
    ocp_description description;
    ocp_describe(&description);
    ocp_describe(NULL);
    EXPECT(description.discount == 1 && isnan(description.reward_bound) && description.upper_bound == INFINITY);
    EXPECT(strcmp(ocp_last_error(), "") == 0 && strlen(ocp_version()) > 0);

    /* learn, and stay learned in a file */
    ocp_agent* agent = NULL;
    FAILS(ocp_agent_create(&description, &agent), OCP_BAD_ARGUMENT, "n_actions: expected an integer >= 1, got 0");
    EXPECT(agent == NULL);
    description.n_states = N;
    description.n_actions = 2;
    description.horizon = N;
    description.replay = OCP_REPLAY_ON;
    description.ties = OCP_TIES_DIRECTED;
    description.track_lower = 1;
    EXPECT(ocp_agent_create(&description, &agent) == OCP_OK);
    double total = 0;
    for (int episode = 0; episode < 40; ++episode) total = play(agent);
    EXPECT(total == 1);
    double upper = 0, lower = 0;
    int determined = 0;
    int64_t n = 0, action = -1;
    EXPECT(ocp_agent_upper(agent, ocp_index(0), 1, 0, &upper) == OCP_OK && upper == 1);
    EXPECT(ocp_agent_lower(agent, ocp_index(0), 1, 0, &lower) == OCP_OK && lower == 1);
    EXPECT(ocp_agent_determined(agent, ocp_index(0), 1, 0, &determined) == OCP_OK && determined == 1);
    EXPECT(ocp_agent_greedy(agent, ocp_index(0), 0, &action) == OCP_OK && action == 1);
    EXPECT(ocp_agent_n_episodes(agent, &n) == OCP_OK && n == 40);
    EXPECT(ocp_agent_n_constraints(agent, &n) == OCP_OK && n > 0);

    EXPECT(ocp_agent_act(agent, ocp_index(0), &action) == OCP_OK);
    EXPECT(ocp_agent_save(agent, "chain.ocp") == OCP_OK);
    ocp_agent* loaded = NULL;
    EXPECT(ocp_agent_load("chain.ocp", NULL, &loaded) == OCP_OK);
    FAILS(ocp_agent_act(loaded, ocp_index(0), &action), OCP_BAD_ORDER, "act: called twice in period 0");
    EXPECT(ocp_agent_observe(loaded, ocp_index(1), 0, OCP_CONTINUES, NULL) == OCP_OK);
    EXPECT(ocp_agent_period(loaded, &n) == OCP_OK && n == 1);
    EXPECT(ocp_agent_begin_episode(loaded) == OCP_OK && play(loaded) == 1);
    ocp_agent_destroy(loaded);

    /* what is wrong is said, and changes nothing */
    FAILS(ocp_agent_act(NULL, ocp_index(0), &action), OCP_BAD_ARGUMENT, "agent: expected a pointer, got NULL");
    FAILS(ocp_agent_observe(agent, ocp_index(N), 0, OCP_CONTINUES, NULL), OCP_BAD_STATE, "next_state: expected");
    FAILS(ocp_agent_observe(agent, ocp_index(1), NAN, OCP_CONTINUES, NULL), OCP_BAD_REWARD,
          "reward: expected a finite");
    FAILS(ocp_agent_observe(agent, ocp_index(1), 0, 7, NULL), OCP_BAD_ARGUMENT, "ending: expected");
    FAILS(ocp_agent_upper(agent, ocp_index(0), 2, 0, &upper), OCP_BAD_ACTION, "action: expected");
    FAILS(ocp_agent_upper(agent, ocp_index(0), 0, N, &upper), OCP_BAD_PERIOD, "period: expected");
    FAILS(ocp_agent_upper(agent, ocp_vector(&upper, 1), 0, 0, &upper), OCP_BAD_STATE, "expected an index");
    FAILS(ocp_agent_load("nowhere.ocp", NULL, &loaded), OCP_BAD_FILE, "nowhere.ocp");
    FAILS(ocp_agent_load("c_api", NULL, &loaded), OCP_BAD_FILE, "expected a checkpoint");
    FAILS(ocp_load_highs("nowhere.so"), OCP_FAILED, "nowhere.so");
    EXPECT(ocp_agent_begin_episode(agent) == OCP_OK && play(agent) == 1);
    ocp_agent_destroy(agent);
    ocp_agent_destroy(NULL);

    /* features of vector states */
    int n_calls = 0;
    ocp_describe(&description);
    description.hypothesis = OCP_LINEAR_FEATURES;
    description.n_actions = 2;
    description.horizon = 2;
    description.n_features = 2;
    description.function = indicator;
    description.user_data = &n_calls;
    description.state_size = 1;
    description.selection = OCP_SELECT_ELUDER;
    EXPECT(ocp_agent_create(&description, &agent) == OCP_OK);
    double state = 0.5;
    int ended = 1;
    EXPECT(ocp_agent_act(agent, ocp_vector(&state, 1), &action) == OCP_OK && n_calls > 0);
    state = INFINITY;
    FAILS(ocp_agent_observe(agent, ocp_vector(&state, 1), 1, OCP_CONTINUES, &ended), OCP_FAILED, "1");
    state = 0.25;
    EXPECT(ocp_agent_observe(agent, ocp_vector(&state, 1), 1, OCP_CONTINUES, &ended) == OCP_OK && !ended);
    EXPECT(ocp_agent_save(agent, "features.ocp") == OCP_OK);
    ocp_agent_destroy(agent);
    FAILS(ocp_agent_load("features.ocp", NULL, &agent), OCP_BAD_FILE, "expected to be given the hypothesis class");
    EXPECT(ocp_agent_load("features.ocp", &description, &agent) == OCP_OK);
    EXPECT(ocp_agent_period(agent, &n) == OCP_OK && n == 1);
    ocp_agent_destroy(agent);
    remove("features.ocp");
    remove("chain.ocp");
    puts("all is well");
    return 0;
}
