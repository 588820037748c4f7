// The agents that ocpfast._core offers.
#pragma once

#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/hypothesis/cells.hpp"
#include "ocpfast/hypothesis/linear.hpp"

using AggregationOcp = ocp::Ocp<ocp::Cells>;
using LinearOcp = ocp::Ocp<ocp::Linear>;
