# With TIDEMARK_FUZZ each tests/fuzz/NAME_fuzz.cc is also an executable NAME_fuzz under libFuzzer (clang only):
#   cmake -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-16 -DTIDEMARK_FUZZ=ON \
#         -DTIDEMARK_SANITIZE=address,undefined
#   ninja -C build/fuzz parse_fuzz && build/fuzz/parse_fuzz -max_total_time=60 FOLDER tests/fuzz/corpus
# New inputs are written to FOLDER. Only the layers that read text are linked, so the build stays short.

option(TIDEMARK_FUZZ "Build the fuzz targets as libFuzzer executables (needs clang)" OFF)

# Without clang, `file_fuzzer` runs all targets on numbered mutations (tests/fuzz/driver/main.cc); best in the asan tree:
#   ninja -C build/asan file_fuzzer && build/asan/file_fuzzer all --seconds 1200
function(tm_file_fuzzer)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cc")
  add_executable(file_fuzzer EXCLUDE_FROM_ALL ${sources} "${PROJECT_SOURCE_DIR}/tests/fuzz/driver/main.cc")
  target_link_libraries(file_fuzzer PRIVATE tidemark_flags tidemark_plan tidemark_ops tidemark_schedule tidemark_train tidemark::openblas)
endfunction()

function(tm_fuzz)
  if(TIDEMARK_TESTS)
    tm_file_fuzzer()
  endif()
  if(NOT TIDEMARK_FUZZ)
    return()
  endif()
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TIDEMARK_FUZZ needs clang: configure with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  target_compile_options(tidemark_flags INTERFACE -fsanitize=fuzzer-no-link)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cc")
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(${name} "${source}")
    target_compile_definitions(${name} PRIVATE ${name}=LLVMFuzzerTestOneInput)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE tidemark_flags tidemark_plan tidemark_ops tidemark_schedule tidemark_train tidemark::openblas)
  endforeach()
endfunction()
