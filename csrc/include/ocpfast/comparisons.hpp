// Magnitudes and comparisons of numbers side by side; see lanes.hpp.
#pragma once

#include <cstring>

#include "ocpfast/lanes.hpp"

#define OCP_KERNEL "ocpfast/comparisons.inl"
#include "ocpfast/for_each_target.inl"
