# The targets, for find_package and add_subdirectory alike:
#   ocpfast::ocpfast             the C++17 headers; nothing is linked
#   ocpfast::highs_at_run_time   with what lp/highs_library.hpp needs to open HiGHS's library
#   ocpfast_c, ocpfast::c        the C API, compiled from its source (where C++ is enabled)
if(NOT TARGET ocpfast::ocpfast)
  add_library(ocpfast::ocpfast INTERFACE IMPORTED GLOBAL)
  target_include_directories(ocpfast::ocpfast INTERFACE "${ocpfast_INCLUDE_DIR}")
  target_compile_features(ocpfast::ocpfast INTERFACE cxx_std_17)
  # With fused multiply-add (-march=native, ARM) results would have other bits than elsewhere. This holds for all that a
  # target compiles that links with this one.
  target_compile_options(
    ocpfast::ocpfast INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-ffp-contract=off>
                               $<$<COMPILE_LANG_AND_ID:CXX,MSVC>:/fp:precise>)

  add_library(ocpfast::highs_at_run_time INTERFACE IMPORTED GLOBAL)
  target_link_libraries(ocpfast::highs_at_run_time INTERFACE ocpfast::ocpfast ${CMAKE_DL_LIBS})
endif()

if(NOT TARGET ocpfast::c AND CMAKE_CXX_COMPILER_LOADED AND ocpfast_C_SOURCE)
  if(OCPFAST_C_INSTALLS)
    add_library(ocpfast_c "${ocpfast_C_SOURCE}") # static or shared as BUILD_SHARED_LIBS says
  else()
    add_library(ocpfast_c STATIC EXCLUDE_FROM_ALL "${ocpfast_C_SOURCE}")
  endif()
  add_library(ocpfast::c ALIAS ocpfast_c)
  target_link_libraries(ocpfast_c PRIVATE ocpfast::highs_at_run_time)
  target_compile_definitions(ocpfast_c PRIVATE OCPFAST_VERSION="${ocpfast_VERSION}" OCPFAST_C_BUILDS)
  target_include_directories(ocpfast_c PUBLIC "$<BUILD_INTERFACE:${ocpfast_INCLUDE_DIR}>")
  set_target_properties(
    ocpfast_c
    PROPERTIES OUTPUT_NAME ocpfast
               EXPORT_NAME c
               POSITION_INDEPENDENT_CODE ON
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON)
  get_target_property(_ocpfast_type ocpfast_c TYPE)
  if(_ocpfast_type STREQUAL SHARED_LIBRARY)
    target_compile_definitions(ocpfast_c PUBLIC OCPFAST_C_SHARED)
    set_target_properties(ocpfast_c PROPERTIES VERSION ${ocpfast_VERSION} SOVERSION ${ocpfast_VERSION})
  endif()
endif()
