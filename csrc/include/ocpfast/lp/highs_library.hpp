// HiGHS from a shared library found at run time, say the one inside highspy: nothing of it is needed to compile or
// link. Where dlopen is in a library of its own (glibc before 2.34) the program is linked with it: CMake's
// CMAKE_DL_LIBS.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

#if defined(_WIN32)
#error "HiGHS is loaded with dlopen, which this platform does not have: link with it, lp/highs_linked.hpp"
#endif
#include <dlfcn.h>

#include "ocpfast/lp/highs_api.hpp"

namespace ocp {

// The library stays loaded. In a Python process it must be the one that Python imported, so that its threads'
// schedulers are shared.
inline HighsApi load_highs(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(std::string("HiGHS: ") + dlerror());
    const auto find = [&](auto& function, const char* name) {
        void* symbol = dlsym(library, name);
        if (symbol == nullptr) throw std::runtime_error(std::string("HiGHS: no ") + name + " in " + path);
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
    };
    HighsApi api;
#define OCP_FIND(field, name) find(api.field, #name);
    OCP_FOR_EACH_HIGHS_FUNCTION(OCP_FIND)
#undef OCP_FIND
    check_integers(api);
    return api;
}

}  // namespace ocp
