/* The paper's inverted pendulum as a system of one's own, in C: reset and step of ocpfast/system.h.
 *
 *     cc -O2 -shared -fPIC -I$(python -c "import ocpfast; print(ocpfast.get_include())") pendulum.c -o libpendulum.so
 * -lm
 *
 * by_ctypes.py and by_lowlevel.py make a system of it.
 */
#include <math.h>
#include <ocpfast/system.h>

typedef struct parameters {
    double disturbance; /* Newtons; 0 for none */
} parameters;

/* The paper's equation. */
static double acceleration(double angle, double velocity, double force) {
    const double g = 9.8, m = 2.0, l = 0.5, alpha = 1.0 / (2.0 + 8.0);
    const double s = sin(angle), c = cos(angle);
    return (g * s - alpha * m * l * velocity * velocity * s * c - alpha * c * force) /
           (4.0 / 3.0 * l - alpha * m * l * c * c);
}

static double noise(const parameters* given, ocp_bitgen* bitgen) {
    return given->disturbance * (2.0 * bitgen->next_double(bitgen->state) - 1.0);
}

int reset(void* instance, int64_t episode, ocp_bitgen* bitgen, void* state) {
    const parameters* given = instance;
    double* x = state;
    (void)episode;
    x[0] = 0.0;
    x[1] = given->disturbance > 0.0 ? noise(given, bitgen) : 0.0;
    return OCP_OK;
}

/* One step of the Runge-Kutta method, of 0.1 s. */
int step(void* instance, int64_t period, void* state, const void* action, ocp_bitgen* bitgen, double* reward,
         int* ending) {
    const parameters* given = instance;
    const double h = 0.1;
    double* x = state;
    const double angle = x[0], v1 = x[1];
    double force = 50.0 * (double)(*(const int64_t*)action - 1);
    (void)period;
    if (given->disturbance > 0.0) force += noise(given, bitgen);
    const double a1 = acceleration(angle, v1, force);
    const double v2 = v1 + h / 2 * a1, a2 = acceleration(angle + h / 2 * v1, v2, force);
    const double v3 = v1 + h / 2 * a2, a3 = acceleration(angle + h / 2 * v2, v3, force);
    const double v4 = v1 + h * a3, a4 = acceleration(angle + h * v3, v4, force);
    x[0] = angle + h / 6 * (v1 + 2 * (v2 + v3) + v4);
    x[1] = v1 + h / 6 * (a1 + 2 * (a2 + a3) + a4);
    if (!isfinite(x[0]) || !isfinite(x[1])) return OCP_OVERFLOW;
    *reward = h;
    *ending = fabs(x[0]) < acos(0.0) ? OCP_CONTINUES : OCP_TERMINATED;
    return OCP_OK;
}
