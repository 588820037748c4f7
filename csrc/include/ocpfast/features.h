/* Features of states, computed by a user's compiled function: plain C, so that it can come from Cython, C, C++, a numba
 * cfunc or a scipy.LowLevelCallable.
 */
#ifndef OCPFAST_FEATURES_H
#define OCPFAST_FEATURES_H

#include <stdint.h>

/* Writes phi(t, x, a), as many numbers as the class has features. `state` points to the doubles of a vector state, or
 * to the int64_t of an index. Returns 0, or a number of the function's own that the error message will name. It is
 * called from several threads at once. */
typedef int (*ocp_feature_function)(int64_t period, const void* state, int64_t action, double* features,
                                    void* user_data);

#endif
