# What stands on the layers: the installed library, the command, tests/, examples/, bench/.

# libtidemark.a holds every layer's objects, so a program links one archive and needs no whole-archive.
function(tm_library)
  get_property(objects GLOBAL PROPERTY TIDEMARK_OBJECTS)
  get_property(layers GLOBAL PROPERTY TIDEMARK_LAYERS)
  get_property(public_libs GLOBAL PROPERTY TIDEMARK_PUBLIC_LIBS)
  get_property(private_libs GLOBAL PROPERTY TIDEMARK_PRIVATE_LIBS)
  list(REMOVE_DUPLICATES public_libs)
  list(REMOVE_DUPLICATES private_libs)

  # Within the tree, tests link the layers' own archives.
  add_library(tidemark_layers INTERFACE)
  target_link_libraries(tidemark_layers INTERFACE ${layers})

  if(NOT objects)
    return()
  endif()
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(tidemark STATIC ${objects})
  add_library(tidemark::tidemark ALIAS tidemark)
  set_target_properties(tidemark PROPERTIES LINKER_LANGUAGE CXX)
  target_compile_features(tidemark PUBLIC cxx_std_20)
  target_include_directories(tidemark PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(tidemark PUBLIC ${public_libs} PRIVATE ${private_libs})
  if(TIDEMARK_SANITIZE)
    target_link_options(tidemark PUBLIC "-fsanitize=${TIDEMARK_SANITIZE}")
  endif()

  include(CMakePackageConfigHelpers)
  set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tidemark")
  install(TARGETS tidemark EXPORT tidemark ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/tidemark" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
          FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.inc")
  install(EXPORT tidemark NAMESPACE tidemark:: FILE tidemark-targets.cmake DESTINATION "${package_dir}")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tidemark-config.cmake.in"
    "${PROJECT_BINARY_DIR}/tidemark-config.cmake" INSTALL_DESTINATION "${package_dir}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/tidemark-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/tidemark-config.cmake" "${PROJECT_BINARY_DIR}/tidemark-config-version.cmake"
          "${PROJECT_SOURCE_DIR}/cmake/TidemarkOpenBLAS.cmake" "${PROJECT_SOURCE_DIR}/cmake/TidemarkUring.cmake"
          "${PROJECT_SOURCE_DIR}/cmake/TidemarkLz4.cmake"
          DESTINATION "${package_dir}")
endfunction()

function(tm_tools)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/*.cc")
  if(NOT TIDEMARK_TOOLS OR NOT sources OR NOT TARGET tidemark)
    return()
  endif()
  find_package(CLI11 CONFIG REQUIRED)
  add_executable(tidemark_cli ${sources})
  target_link_libraries(tidemark_cli PRIVATE tidemark_flags tidemark_tool_flags tidemark::tidemark CLI11::CLI11)
  tm_precompile(tidemark_cli tools)
  tm_unity(tidemark_cli 12)  # CLI11 is all templates and inline code
  set_target_properties(tidemark_cli PROPERTIES
    OUTPUT_NAME tidemark RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tools")
  install(TARGETS tidemark_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endfunction()

# Each folder tests/NAME with *_test.cc files is one executable tidemark_NAME_test; tests/support is a library
# that all of them link, as do layers with TEST_SUPPORT. TIDEMARK_TEST_DIR is the folder's path, for golden
# files and corpora.
function(tm_tests)
  if(NOT TIDEMARK_TESTS)
    return()
  endif()
  add_test(NAME layers COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/check_layers.py"
           "${PROJECT_SOURCE_DIR}")
  add_test(NAME format COMMAND "${PROJECT_SOURCE_DIR}/tools/format.sh" --check)
  set_tests_properties(format PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME checkers COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/check_test.py")

  set(libs tidemark_layers tidemark::openblas)
  file(GLOB support CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cc")
  list(FILTER support EXCLUDE REGEX "_test\\.cc$")
  if(support)
    add_library(tidemark_test_support STATIC ${support})
    target_include_directories(tidemark_test_support PUBLIC "${PROJECT_SOURCE_DIR}")
    target_link_libraries(tidemark_test_support PRIVATE tidemark_flags tidemark_test_flags GTest::gmock PUBLIC tidemark_cpu)
    list(PREPEND libs tidemark_test_support)
  endif()

  # Random programs, for a test of the suite and for hours (tidemark_fuzz).
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/programs/*.cc")
  list(FILTER sources EXCLUDE REGEX "_(test|main)\\.cc$")
  add_library(tidemark_programs STATIC ${sources})
  target_link_libraries(tidemark_programs PRIVATE tidemark_flags tidemark_test_flags PUBLIC ${libs})
  add_executable(tidemark_fuzz "${PROJECT_SOURCE_DIR}/tests/programs/fuzz_main.cc")
  target_link_libraries(tidemark_fuzz PRIVATE tidemark_flags tidemark_test_flags tidemark_programs)

  # What the trials of tests/faults/ start, and strike.
  add_executable(tidemark_faults_child EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tests/faults/training_main.cc")
  target_link_libraries(tidemark_faults_child PRIVATE tidemark_flags tidemark_test_flags ${libs})
  add_executable(tidemark_checkpoint_child EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tests/faults/checkpoint_main.cc")
  target_link_libraries(tidemark_checkpoint_child PRIVATE tidemark_flags tidemark_test_flags ${libs})

  foreach(name support op_laws toy_target plan_laws schedule_laws threads programs golden fuzz faults cli)
    set(dir "${PROJECT_SOURCE_DIR}/tests/${name}")
    file(GLOB sources CONFIGURE_DEPENDS "${dir}/*.cc")
    set(own_libs ${libs})
    if(name MATCHES "^(support|programs)$")
      list(FILTER sources INCLUDE REGEX "_test\\.cc$")
    endif()
    if(name STREQUAL "programs")
      list(PREPEND own_libs tidemark_programs)
    endif()
    set(slow ${sources})
    list(FILTER slow INCLUDE REGEX "_slow_test\\.cc$")
    list(FILTER sources EXCLUDE REGEX "_slow_test\\.cc$")
    if(name STREQUAL "faults")
      list(FILTER sources EXCLUDE REGEX "_main\\.cc$")
      set(shared ${sources})
      list(FILTER shared EXCLUDE REGEX "_test\\.cc$")
      list(APPEND slow ${shared})
    endif()
    set(definitions TIDEMARK_TEST_DIR="${dir}")
    if(name STREQUAL "faults")
      list(APPEND definitions TIDEMARK_FAULTS_CHILD="$<TARGET_FILE:tidemark_faults_child>"
           TIDEMARK_CHECKPOINT_CHILD="$<TARGET_FILE:tidemark_checkpoint_child>")
    endif()
    if(name STREQUAL "cli")
      if(NOT TARGET tidemark_cli)
        continue()
      endif()
      list(APPEND definitions TIDEMARK_CLI="'$<TARGET_FILE:tidemark_cli>'")  # quoted for the shell
    endif()
    if(sources)
      tm_gtest(tidemark_${name}_test SOURCES ${sources} LIBS ${own_libs} DEFINITIONS ${definitions})
    endif()
    if(slow)
      tm_gtest(tidemark_${name}_slow_test SOURCES ${slow} LIBS ${libs} DEFINITIONS ${definitions}
               LABEL slow)
    endif()
    foreach(suite tidemark_faults_test tidemark_faults_slow_test)
      if(name STREQUAL "faults" AND TARGET ${suite})
        add_dependencies(${suite} tidemark_faults_child tidemark_checkpoint_child)
      endif()
    endforeach()
    if(name STREQUAL "cli" AND TARGET tidemark_cli_slow_test)
      add_dependencies(tidemark_cli_slow_test tidemark_cli)
    endif()
    if(name STREQUAL "cli" AND TARGET tidemark_cli_test)
      add_dependencies(tidemark_cli_test tidemark_cli)
    endif()
  endforeach()

  # The explorer page in a browser, where there is one.
  if(TARGET tidemark_cli AND NOT TIDEMARK_SANITIZE)
    add_test(NAME page COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tests/page/page_test.py"
             $<TARGET_FILE:tidemark_cli> "${PROJECT_BINARY_DIR}/page")
    set_tests_properties(page PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
  endif()

  if(TARGET tidemark AND NOT TIDEMARK_SANITIZE)
    add_test(NAME compile_errors COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tests/compile_errors/run.py"
             "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}")
    set_tests_properties(compile_errors PROPERTIES TIMEOUT 300)
    add_test(NAME consumer COMMAND "${CMAKE_COMMAND}" "-DBUILD=${PROJECT_BINARY_DIR}" "-DPROJECT=${PROJECT_SOURCE_DIR}"
             "-DSOURCE=${PROJECT_SOURCE_DIR}/tests/consumer" "-DGENERATOR=${CMAKE_GENERATOR}"
             "-DCOMPILER=${CMAKE_CXX_COMPILER}" -P "${PROJECT_SOURCE_DIR}/tests/consumer/run.cmake")
  endif()
endfunction()

function(tm_examples)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cc")
  if(NOT TIDEMARK_EXAMPLES OR NOT TARGET tidemark)
    return()
  endif()
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(example_${name} "${source}")
    target_link_libraries(example_${name} PRIVATE tidemark_flags tidemark_program_flags tidemark::tidemark)
    tm_precompile(example_${name} programs)
    set_target_properties(example_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
    if(TIDEMARK_TESTS)
      add_test(NAME example.${name} COMMAND example_${name})
      set_tests_properties(example.${name} PROPERTIES TIMEOUT 300)
    endif()
  endforeach()
  if(TIDEMARK_TESTS)
    add_test(NAME example_options COMMAND "${Python3_EXECUTABLE}"
             "${PROJECT_SOURCE_DIR}/tests/examples/options_and_resume.py" "${PROJECT_BINARY_DIR}/examples")
    set_tests_properties(example_options PROPERTIES TIMEOUT 300)
  endif()
endfunction()

# Each bench/NAME.cc is an executable bench/NAME; what they share lives in bench/support/*.cc. They are not part of `all`:
# the target tidemark_benches makes them.
function(tm_bench)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.cc")
  file(GLOB support CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/support/*.cc")
  # Tests and benchmarks pack the same sets and plan the same graphs.
  list(APPEND support "${PROJECT_SOURCE_DIR}/tests/support/training_buffers.cc"
       "${PROJECT_SOURCE_DIR}/tests/support/random_dags.cc" "${PROJECT_SOURCE_DIR}/tests/support/gpu_nodes.cc"
       "${PROJECT_SOURCE_DIR}/tests/support/loop_programs.cc")
  if(NOT TIDEMARK_BENCH OR NOT TARGET tidemark OR NOT sources)
    return()
  endif()
  set(libs tidemark_flags tidemark::tidemark tidemark::openblas)
  if(TIDEMARK_SANITIZE)
    list(INSERT libs 1 tidemark_program_flags)  # there they are only compiled
  endif()
  find_package(benchmark CONFIG QUIET)
  if(benchmark_FOUND)
    list(APPEND libs benchmark::benchmark)
  endif()
  if(support)
    add_library(tidemark_bench_support STATIC EXCLUDE_FROM_ALL ${support})
    target_link_libraries(tidemark_bench_support PUBLIC ${libs})
    list(PREPEND libs tidemark_bench_support)
  endif()
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(bench_${name} EXCLUDE_FROM_ALL "${source}")
    target_link_libraries(bench_${name} PRIVATE ${libs})
    set_target_properties(bench_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
    list(APPEND benches bench_${name})
  endforeach()
  add_custom_target(tidemark_benches DEPENDS ${benches})
endfunction()
