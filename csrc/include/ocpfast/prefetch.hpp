// Asks for memory before it is needed, so that several waits become one.
#pragma once

namespace ocp {

inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#endif
}

}  // namespace ocp
