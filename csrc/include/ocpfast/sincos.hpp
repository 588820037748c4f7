// Sine and cosine, the same bits on every platform and for any number of angles at a time.
#pragma once

#ifdef __FAST_MATH__
#error "ocpfast/sincos.hpp relies on the order of floating-point operations: compile without -ffast-math"
#endif

#include <cstring>

#include "ocpfast/lanes.hpp"

#define OCP_KERNEL "ocpfast/sincos.inl"
#include "ocpfast/for_each_target.inl"
