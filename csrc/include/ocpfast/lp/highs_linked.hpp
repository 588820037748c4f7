// HiGHS as a library that the program is linked with (CMake: ocpfast::highs). Its headers are not needed; where they
// are included as well, the compiler sees that these declarations are theirs.
#pragma once

#include <type_traits>

#include "ocpfast/lp/highs_api.hpp"

extern "C" {
#define OCP_DECLARE(field, name) std::remove_pointer_t<decltype(ocp::HighsApi::field)> name;
OCP_FOR_EACH_HIGHS_FUNCTION(OCP_DECLARE)
#undef OCP_DECLARE
}

namespace ocp {

inline HighsApi linked_highs() {
    HighsApi api;
#define OCP_LINK(field, name) api.field = name;
    OCP_FOR_EACH_HIGHS_FUNCTION(OCP_LINK)
#undef OCP_LINK
    check_integers(api);
    return api;
}

}  // namespace ocp
