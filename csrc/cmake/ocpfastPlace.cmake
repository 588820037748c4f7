# Which version this is and where its headers and the source of the C API are: in the source tree, whose version stands in
# pyproject.toml. `cmake --install` and setup.py write another file of this name.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../../pyproject.toml" _ocpfast_line REGEX "^version = \"[0-9.]+")
string(REGEX MATCH "[0-9]+(\\.[0-9]+)*" ocpfast_VERSION "${_ocpfast_line}")
get_filename_component(ocpfast_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../include" ABSOLUTE)
get_filename_component(ocpfast_C_SOURCE "${CMAKE_CURRENT_LIST_DIR}/../c_api/c_api.cpp" ABSOLUTE)
