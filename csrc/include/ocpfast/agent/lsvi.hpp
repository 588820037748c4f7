// Least-squares value iteration: after each episode, fit r + max_a Q_{t+1}(x', a) to all that was seen.
//
// `Fit` is what is fitted: hypothesis/averages.hpp for cells, hypothesis/least_squares.hpp for linear features. Within
// an episode it is frozen.
#pragma once

#include "ocpfast/agent/value_agent.hpp"

namespace ocp {

template <class Fit>
using Lsvi = ValueAgent<Fit>;

}  // namespace ocp
