# Headers that nearly every file reads, parsed once and not per file: it saves a build from nothing a fifth of its time.
# With a compiler launcher (ccache) that is not worth having: files found in the cache are not parsed at all, and
# precompiled headers make it miss more. A build without them also shows which includes are missing.
set(_tm_precompile ON)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(_tm_precompile OFF)
endif()
option(TIDEMARK_PRECOMPILE "Precompile the headers of the standard library, fmt, GoogleTest and tidemark.h" ${_tm_precompile})

# With precompiled headers the optimiser of g++ 12 and 13 sees overflows in std::string that are not there. The sanitizers
# look for the real ones.
if(TIDEMARK_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tidemark_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
                         -Wno-restrict)
endif()

# Several files compiled as one, in builds from nothing: they share what their headers and templates take. Kernels that
# Highway includes once per instruction set stay by themselves. A name of an unnamed namespace must then be the only one of
# its layer, as it should be for the reader.
option(TIDEMARK_UNITY "Compile several files of a layer as one" ${_tm_precompile})

function(tm_unity target files)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" per_target REGEX "HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    if(per_target)
      set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TIDEMARK_UNITY} UNITY_BUILD_BATCH_SIZE ${files})
endfunction()

# tm_precompile(TARGET KIND): KIND is `library`, `tests`, `programs` or `tools`. All targets of a kind are compiled with the same
# flags and share one precompiled header; it belongs to a target tidemark_headers_KIND that does nothing else.
function(tm_precompile target kind)
  if(NOT TIDEMARK_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET tidemark_headers_${kind})
    _tm_precompiled_headers(${kind})
  endif()
  target_precompile_headers(${target} REUSE_FROM tidemark_headers_${kind})
endfunction()

function(_tm_precompiled_headers kind)
  set(target tidemark_headers_${kind})
  set(source "${PROJECT_BINARY_DIR}/${target}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "int main() { return 0; }\n")
  set(headers <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <span> <string>
      <unordered_map> <vector> <fmt/format.h>)
  # Code of a library and of a program differ in a flag (-fPIC, -fPIE), which a precompiled header has to match.
  if(kind STREQUAL "library")
    add_library(${target} OBJECT "${source}")
    target_link_libraries(${target} PRIVATE tidemark_flags fmt::fmt)
  else()
    add_executable(${target} "${source}")
    if(kind STREQUAL "tests")
      list(APPEND headers <gmock/gmock.h> <gtest/gtest.h>)
      target_link_libraries(${target} PRIVATE tidemark_flags tidemark_test_flags fmt::fmt GTest::gmock)
    elseif(kind STREQUAL "programs")
      list(APPEND headers "\"tidemark/tidemark.h\"")
      target_link_libraries(${target} PRIVATE tidemark_flags tidemark_program_flags tidemark::tidemark)
    else()
      list(APPEND headers <CLI/CLI.hpp>)
      target_link_libraries(${target} PRIVATE tidemark_flags tidemark_tool_flags fmt::fmt CLI11::CLI11)
    endif()
  endif()
  target_precompile_headers(${target} PRIVATE ${headers})
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
endfunction()
