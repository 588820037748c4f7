// The agents that ocpfast._core offers.
#pragma once

#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/hypothesis/cells.hpp"

using AggregationOcp = ocp::Ocp<ocp::Cells>;
