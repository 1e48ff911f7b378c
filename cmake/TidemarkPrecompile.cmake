# Headers that nearly every file reads, parsed once per target: it saves a build from nothing about a fifth of its time.
# With a compiler launcher (ccache) that is not worth having: files found in the cache are not parsed at all, and
# precompiled headers make it miss more. A build without them also shows which includes are missing.
set(_tm_precompile ON)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(_tm_precompile OFF)
endif()
option(TIDEMARK_PRECOMPILE "Precompile the headers of the standard library, fmt and GoogleTest" ${_tm_precompile})

# With precompiled headers the optimiser of g++ 12 and 13 sees overflows in std::string that are not there. The sanitizers
# look for the real ones.
if(TIDEMARK_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tidemark_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
                         -Wno-restrict)
endif()

# tm_precompile(TARGET [header...]): for targets with enough files to gain by it.
function(tm_precompile target)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(TIDEMARK_PRECOMPILE AND count GREATER_EQUAL 4)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory>
                              <optional> <span> <string> <unordered_map> <vector> <fmt/format.h> ${ARGN})
  endif()
endfunction()
