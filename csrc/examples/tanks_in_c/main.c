/* The tanks of csrc/examples/tanks in C: a loop of one's own, a checkpoint in the middle of an episode.
 *
 *     tanks_in_c FILE
 *
 * prints how long the tanks were between the marks and a hash of all actions; the C++ program and Python do the same.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <ocpfast/c_api.h>

enum { EPISODES = 400, HORIZON = 500, N_EDGES = 17 };

/* ---- the system: see the C++ program --------------------------------------------------------------------------- */

static void reset(int64_t episode, double levels[2]) {
    levels[0] = levels[1] = 9 + 0.2 * (double)(episode * 7 % 11);
}

/* Whether the second level is still between the marks. */
static int step(double levels[2], int64_t action) {
    const double inflow = action == 1 ? 0.6 : 0.0;
    for (int i = 0; i < 10; ++i) {
        const double between = 0.1 * sqrt(levels[0]), out = 0.1 * sqrt(levels[1]);
        levels[0] = fmax(levels[0] + 0.5 * (inflow - between), 0);
        levels[1] = fmax(levels[1] + 0.5 * (between - out), 0);
    }
    return levels[1] > 8 && levels[1] < 12;
}

/* ---- the learner ---------------------------------------------------------------------------------------------------
 */

/* Whatever fails says why. */
static void check(int status) {
    if (status == OCP_OK) return;
    fprintf(stderr, "tanks_in_c: error %d: %s\n", status, ocp_last_error());
    exit(1);
}

static void put_edges(double* edges, double first, double last) {
    for (int i = 0; i < N_EDGES; ++i) edges[i] = first + (last - first) * i / (N_EDGES - 1);
}

static ocp_agent* make_agent(void) {
    double edges[2 * N_EDGES];
    const int64_t n_edges[2] = {N_EDGES, N_EDGES};
    put_edges(edges, 4, 20);
    put_edges(edges + N_EDGES, 8, 12);

    ocp_description description;
    ocp_describe(&description);
    description.hypothesis = OCP_STATE_AGGREGATION;
    description.n_actions = 2;
    description.n_dimensions = 2;
    description.n_edges = n_edges;
    description.edges = edges;
    description.ties = OCP_TIES_RANDOM;
    description.replay = OCP_REPLAY_ON;
    description.seed = 1;
    ocp_agent* agent = NULL;
    check(ocp_agent_create(&description, &agent));
    return agent;
}

int main(int n_arguments, char** arguments) {
    if (n_arguments != 2) {
        fprintf(stderr, "usage: tanks_in_c FILE\n");
        return 2;
    }
    ocp_agent* agent = make_agent();
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, of the actions */
    double first = 0, last = 0;
    for (int64_t episode = 0; episode < EPISODES; ++episode) {
        double levels[2];
        int ended = 0;
        reset(episode, levels);
        for (int64_t period = 0; !ended; ++period) {
            if (episode == EPISODES / 2 && period == 3) { /* save, forget, load, and go on */
                check(ocp_agent_save(agent, arguments[1]));
                ocp_agent_destroy(agent);
                agent = NULL;
                check(ocp_agent_load(arguments[1], NULL, &agent));
            }
            int64_t action = 0;
            check(ocp_agent_act(agent, ocp_vector(levels, 2), &action));
            hash = (hash ^ (uint64_t)action) * 0x100000001b3u;
            const int inside = step(levels, action);
            if (episode < 20) first += inside;
            if (episode >= EPISODES - 20) last += inside;
            const int ending = !inside ? OCP_TERMINATED : period == HORIZON - 1 ? OCP_TRUNCATED : OCP_CONTINUES;
            check(ocp_agent_observe(agent, ocp_vector(levels, 2), inside, ending, &ended));
        }
    }
    int64_t n_constraints = 0;
    check(ocp_agent_n_constraints(agent, &n_constraints));
    printf("ocpfast %s\n", ocp_version());
    printf("between the marks: %.1f periods in the first 20 episodes, %.1f in the last 20\n", first / 20, last / 20);
    printf("constraints: %lld\n", (long long)n_constraints);
    printf("actions: %016llx\n", (unsigned long long)hash);
    check(ocp_agent_save(agent, arguments[1]));
    ocp_agent_destroy(agent);
    return last == 20 * HORIZON ? 0 : 1;
}
