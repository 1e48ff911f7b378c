# Options and the flags every target of the project is compiled with.

option(TIDEMARK_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TIDEMARK_BENCH "Build bench/" ${PROJECT_IS_TOP_LEVEL})
option(TIDEMARK_EXAMPLES "Build examples/" ${PROJECT_IS_TOP_LEVEL})
option(TIDEMARK_TOOLS "Build the tidemark command" ${PROJECT_IS_TOP_LEVEL})
option(TIDEMARK_WERROR "Treat warnings as errors" OFF)
set(TIDEMARK_SANITIZE "" CACHE STRING "Argument of -fsanitize=, empty for none")
set(TIDEMARK_SUITES "" CACHE STRING
    "Test executables to build, as NAME or NAME=FILTER (of GoogleTest), separated by semicolons; empty for all")
set(TIDEMARK_SHARED_DATA "${CMAKE_SOURCE_DIR}/../shared/data" CACHE PATH
    "Third-party instances the tests read; tests that need it skip when it is absent")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# ccache only when asked for, so that what is built does not depend on what else is installed.
set(TIDEMARK_CCACHE "" CACHE STRING "ccache, to compile through it; empty for none")
if(TIDEMARK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TIDEMARK_CCACHE}")
endif()

add_library(tidemark_flags INTERFACE)
target_compile_features(tidemark_flags INTERFACE cxx_std_20)
# Contraction would let a fused kernel round differently from an unfused one: a replay must give the same bits.
# -Wno-psabi: vectors wider than the baseline's registers only ever pass between inlined functions of one file.
# -Wno-maybe-uninitialized: g++ 12 and 13 see ghosts in std::variant at -O3.
target_compile_options(tidemark_flags INTERFACE -Wall -Wextra -Wno-psabi -ffp-contract=off
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
if(TIDEMARK_WERROR)
  target_compile_options(tidemark_flags INTERFACE -Werror)
endif()
if(TIDEMARK_SANITIZE)
  target_compile_options(tidemark_flags INTERFACE "-fsanitize=${TIDEMARK_SANITIZE}" -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  if(TIDEMARK_SANITIZE MATCHES "undefined")
    # To copy no bytes from nowhere is no fault.
    target_compile_options(tidemark_flags INTERFACE -fno-sanitize=nonnull-attribute)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # Checked products of 128 bits are a function of clang's runtime, not of g++'s.
      target_link_options(tidemark_flags INTERFACE -rtlib=compiler-rt -unwindlib=libgcc)
    endif()
  endif()
  target_link_options(tidemark_flags INTERFACE "-fsanitize=${TIDEMARK_SANITIZE}")
endif()

# What is built on the library adds one of these, after tidemark_flags. The release suite tests the library as it ships;
# tests, and programs that call the library and do little themselves, need not be fast and compile sooner without.
add_library(tidemark_test_flags INTERFACE)
add_library(tidemark_program_flags INTERFACE)
add_library(tidemark_tool_flags INTERFACE)
target_compile_options(tidemark_test_flags INTERFACE $<$<CONFIG:Release>:-O1>)
target_compile_options(tidemark_program_flags INTERFACE -O0)
target_compile_options(tidemark_tool_flags INTERFACE $<$<CONFIG:Release>:-O1>)
if(TIDEMARK_SANITIZE)
  target_compile_options(tidemark_test_flags INTERFACE -O0)
  target_compile_options(tidemark_tool_flags INTERFACE -O0)
endif()

# Highway compiles a kernel once per target it may meet, so the list of targets is the build time.
# x86-64: SSE4 as the baseline, AVX2 and AVX3 (AVX-512) chosen at run time. Arm: NEON; the SVE targets
# stay out because no machine that runs them is part of the tests. Sanitizers get the baseline alone: the sources are the
# same whatever the width of vectors, and clang takes minutes for one wide kernel with AddressSanitizer in it.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  target_compile_options(tidemark_flags INTERFACE -msse4.2 -maes -mpclmul)
  set(disabled HWY_SSSE3)
  if(TIDEMARK_SANITIZE)
    set(disabled "(HWY_SSSE3|HWY_AVX2|HWY_AVX3)")
  endif()
  target_compile_definitions(tidemark_flags INTERFACE "HWY_DISABLED_TARGETS=${disabled}")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  target_compile_definitions(tidemark_flags INTERFACE
    "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE_256|HWY_SVE2|HWY_SVE2_128)")
endif()
