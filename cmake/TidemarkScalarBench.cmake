# Benchmarks of the scalar type. bench/scalar/ is one program, bench_scalar, next to whichever peers are found; of
# bench/gradbench/ each file beside the protocol is a program gradbench_NAME, of its folder tensors/ gradbench_tensors_NAME.
# None is part of `all`: `tidemark_benches` and `tidemark_gradbench` make them. What uses scalars is compiled for the machine
# that it is built on, peers too.

# Where CppAD's headers and library are if not in the system: the folder cmeel.prefix of the wheel cmeel-cppad.
set(TIDEMARK_CPPAD "" CACHE PATH "CppAD's prefix, for bench/scalar")

set(_tm_native -O3 -march=native)

# _tm_peer(NAME HEADER PACKAGE where [SUFFIXES folder...] [LIBRARY name] [HINT prefix]): compiles tools/NAME.cc into
# bench_scalar and says so in a definition, if header and library are there; else names the package.
# BESIDE is a package's header that the peer's own headers include, in a folder BESIDE_SUFFIX.
function(_tm_peer name header)
  cmake_parse_arguments(ARG "" "LIBRARY;HINT;PACKAGE;BESIDE;BESIDE_SUFFIX" "SUFFIXES" ${ARGN})
  string(TOUPPER "${name}" upper)
  find_path(TIDEMARK_${upper}_INCLUDE "${header}" HINTS "${ARG_HINT}/include" PATH_SUFFIXES ${ARG_SUFFIXES})
  mark_as_advanced(TIDEMARK_${upper}_INCLUDE)
  if(ARG_LIBRARY)
    find_library(TIDEMARK_${upper}_LIBRARY "${ARG_LIBRARY}" HINTS "${ARG_HINT}/lib")
    mark_as_advanced(TIDEMARK_${upper}_LIBRARY)
  endif()
  if(ARG_BESIDE)
    find_path(TIDEMARK_${upper}_BESIDE "${ARG_BESIDE}" PATH_SUFFIXES ${ARG_BESIDE_SUFFIX})
    mark_as_advanced(TIDEMARK_${upper}_BESIDE)
  endif()
  if(NOT TIDEMARK_${upper}_INCLUDE OR (ARG_LIBRARY AND NOT TIDEMARK_${upper}_LIBRARY)
     OR (ARG_BESIDE AND NOT TIDEMARK_${upper}_BESIDE))
    message(STATUS "bench/scalar is built without ${name}, which was not found (${ARG_PACKAGE})")
    return()
  endif()
  set(source "${PROJECT_SOURCE_DIR}/bench/scalar/tools/${name}.cc")
  target_sources(bench_scalar PRIVATE "${source}")
  target_include_directories(bench_scalar SYSTEM PRIVATE "${TIDEMARK_${upper}_INCLUDE}" ${TIDEMARK_${upper}_BESIDE})
  target_compile_definitions(bench_scalar PRIVATE TIDEMARK_BENCH_${upper})
  if(ARG_LIBRARY)
    target_link_libraries(bench_scalar PRIVATE "${TIDEMARK_${upper}_LIBRARY}")
  endif()
endfunction()

function(tm_scalar_bench)
  if(NOT TIDEMARK_BENCH OR NOT TARGET tidemark_scalar OR NOT TARGET tidemark_benches)
    return()
  endif()
  set(folder "${PROJECT_SOURCE_DIR}/bench")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/scalar/*.cc" "${folder}/scalar/problems/*.cc")
  add_executable(bench_scalar EXCLUDE_FROM_ALL ${sources} "${folder}/scalar/tools/tidemark.cc")
  target_include_directories(bench_scalar PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_options(bench_scalar PRIVATE ${_tm_native})
  target_link_libraries(bench_scalar PRIVATE tidemark_flags tidemark_scalar)
  set_target_properties(bench_scalar PROPERTIES
    OUTPUT_NAME scalar RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  _tm_peer(adolc adolc/adolc.h LIBRARY adolc PACKAGE "Debian: libadolc-dev")
  _tm_peer(cppad cppad/cppad.hpp LIBRARY cppad_lib HINT "${TIDEMARK_CPPAD}" PACKAGE "PyPI: cmeel-cppad, with TIDEMARK_CPPAD")
  _tm_peer(sacado Sacado_trad.hpp SUFFIXES trilinos PACKAGE "Debian: libtrilinos-sacado-dev libtrilinos-kokkos-dev")
  _tm_peer(stan stan/math/rev/core.hpp HINT /usr/lib/R/site-library/StanHeaders LIBRARY tbb BESIDE Eigen/Core BESIDE_SUFFIX eigen3
           PACKAGE "Debian: r-cran-stanheaders libeigen3-dev libboost-dev libtbb-dev")
  add_dependencies(tidemark_benches bench_scalar)

  file(GLOB sources CONFIGURE_DEPENDS "${folder}/gradbench/*.cc")
  list(REMOVE_ITEM sources "${folder}/gradbench/protocol.cc")
  add_library(tidemark_gradbench_protocol STATIC EXCLUDE_FROM_ALL "${folder}/gradbench/protocol.cc")
  target_include_directories(tidemark_gradbench_protocol PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(tidemark_gradbench_protocol PUBLIC tidemark_flags nlohmann_json::nlohmann_json)
  add_custom_target(tidemark_gradbench)
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(gradbench_${name} EXCLUDE_FROM_ALL "${source}")
    target_compile_options(gradbench_${name} PRIVATE ${_tm_native})
    target_link_libraries(gradbench_${name} PRIVATE tidemark_gradbench_protocol tidemark_scalar)
    set_target_properties(gradbench_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench/gradbench")
    add_dependencies(tidemark_gradbench gradbench_${name})
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/gradbench/tensors/*.cc")
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(gradbench_tensors_${name} EXCLUDE_FROM_ALL "${source}")
    target_link_libraries(gradbench_tensors_${name} PRIVATE tidemark_gradbench_protocol tidemark::tidemark)
    set_target_properties(gradbench_tensors_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench/gradbench/tensors")
    add_dependencies(tidemark_gradbench gradbench_tensors_${name})
  endforeach()
  add_dependencies(tidemark_benches tidemark_gradbench)
endfunction()
