# tm_layer(NAME [DEPS layer...] [PUBLIC_LIBS target...] [PRIVATE_LIBS target...] [HEADERS target...] [SOURCES file...]
#          [TEST_DEPS layer...] [TEST_LIBS target...] [TEST_LABEL label] [TEST_SUPPORT])
#
# One folder tidemark/NAME, with its sub-folders, = one static library tidemark_NAME (an INTERFACE library when it has only headers)
# plus one GoogleTest executable tidemark_NAME_test from its *_test.cc files. Files named *_slow_test.cc make
# tidemark_NAME_slow_test, labelled `slow`. DEPS are layers it may include; TEST_DEPS are further layers its
# tests may link. A folder without files, as DEPS or as a layer, is skipped.
# TEST_SUPPORT lets them link tests/support. SOURCES are files that the build writes. HEADERS are targets of which the
# layer's own files, and its tests, see headers and definitions; whoever links the library does not need them. TEST_LIBS
# are further targets that its tests link, TEST_LABEL is a label of ctest for those that are not slow.

function(_tm_glob_layer name)
  set(dir "${PROJECT_SOURCE_DIR}/tidemark/${name}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${dir}/*.cc")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${dir}/*.h" "${dir}/*.def" "${dir}/*.inc")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  set(slow_tests ${tests})
  list(FILTER slow_tests INCLUDE REGEX "_slow_test\\.cc$")
  list(FILTER tests EXCLUDE REGEX "_slow_test\\.cc$")
  foreach(kind sources headers tests slow_tests)
    set(_tm_${kind} "${${kind}}" PARENT_SCOPE)
  endforeach()
endfunction()

# Of the layers named, the ones that have files, as targets.
function(_tm_layer_targets out)
  set(targets "")
  foreach(layer IN LISTS ARGN)
    _tm_glob_layer(${layer})
    if(_tm_sources OR _tm_headers)
      list(APPEND targets tidemark_${layer})
    endif()
  endforeach()
  set(${out} "${targets}" PARENT_SCOPE)
endfunction()

# tm_gtest(TARGET LIBS lib... SOURCES file... [LABEL label]): a GoogleTest executable known to ctest. Where
# TIDEMARK_SUITES names suites, only those are built, of each the tests that its filter lets through.
function(tm_gtest target)
  cmake_parse_arguments(ARG "" "LABEL" "LIBS;SOURCES;DEFINITIONS" ${ARGN})
  if(TIDEMARK_SANITIZE AND ARG_LABEL STREQUAL "slow")
    return()  # run by hand, from the plain build
  endif()
  set(filter "*")
  if(TIDEMARK_SUITES)
    set(entry "${TIDEMARK_SUITES}")
    list(FILTER entry INCLUDE REGEX "^${target}(=|$)")
    if(NOT entry)
      return()
    endif()
    if(entry MATCHES "=(.+)$")
      set(filter "${CMAKE_MATCH_1}")
    endif()
  endif()
  add_executable(${target} ${ARG_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE tidemark_flags tidemark_test_flags ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${target} PRIVATE
    TIDEMARK_SHARED_DATA="${TIDEMARK_SHARED_DATA}" TIDEMARK_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ${ARG_DEFINITIONS})
  tm_precompile(${target} tests)
  if(TIDEMARK_SANITIZE)
    _tm_add_shards(${target} "${filter}")
  else()
    include(GoogleTest)
    set(properties "")
    if(ARG_LABEL)
      set(properties PROPERTIES LABELS ${ARG_LABEL})
    endif()
    gtest_discover_tests(${target} TEST_FILTER "${filter}" DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 ${properties})
  endif()
endfunction()

# A few processes per executable: the leak check at exit takes seconds on some machines, too much per test case, and one
# process alone would leave the other cores idle.
function(_tm_add_shards target filter)
  set(shards 4)
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${target}.${shard} COMMAND ${target} --gtest_brief=1 "--gtest_filter=${filter}")
    set_tests_properties(${target}.${shard} PROPERTIES TIMEOUT 2400
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

function(tm_layer name)
  cmake_parse_arguments(ARG "TEST_SUPPORT" "TEST_LABEL" "DEPS;PUBLIC_LIBS;PRIVATE_LIBS;HEADERS;SOURCES;TEST_DEPS;TEST_LIBS" ${ARGN})
  _tm_glob_layer(${name})
  set(sources "${_tm_sources}")
  set(tests "${_tm_tests}")
  set(slow_tests "${_tm_slow_tests}")
  if(NOT sources AND NOT _tm_headers)
    return()
  endif()
  set(target tidemark_${name})
  _tm_layer_targets(deps ${ARG_DEPS})

  if(sources)
    # The objects go into the layer's own archive and, once more, into libtidemark.a.
    add_library(${target}_objects OBJECT ${sources} ${ARG_SOURCES})
    target_include_directories(${target}_objects PUBLIC "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target}_objects PRIVATE tidemark_flags ${deps} ${ARG_PUBLIC_LIBS} ${ARG_PRIVATE_LIBS}
                          ${ARG_HEADERS})
    tm_precompile(${target}_objects library)
    if(NOT name STREQUAL "ops")  # every op names its rules alike, in an unnamed namespace of its own file
      tm_unity(${target}_objects 8)
    endif()
    add_library(${target} STATIC $<TARGET_OBJECTS:${target}_objects>)
    target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target} PUBLIC ${deps} ${ARG_PUBLIC_LIBS} PRIVATE ${ARG_PRIVATE_LIBS})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    set_property(GLOBAL APPEND PROPERTY TIDEMARK_OBJECTS ${target}_objects)
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target} INTERFACE ${deps} ${ARG_PUBLIC_LIBS})
  endif()
  set_property(GLOBAL APPEND PROPERTY TIDEMARK_LAYERS ${target})
  set_property(GLOBAL APPEND PROPERTY TIDEMARK_PUBLIC_LIBS ${ARG_PUBLIC_LIBS})
  set_property(GLOBAL APPEND PROPERTY TIDEMARK_PRIVATE_LIBS ${ARG_PRIVATE_LIBS})

  if(TIDEMARK_TESTS)
    _tm_layer_targets(test_deps ${ARG_TEST_DEPS})
    if(ARG_TEST_SUPPORT)
      list(PREPEND test_deps tidemark_test_support)
    endif()
    if(tests)
      tm_gtest(${target}_test SOURCES ${tests} LIBS ${target} ${test_deps} ${ARG_PRIVATE_LIBS} ${ARG_HEADERS} ${ARG_TEST_LIBS}
               LABEL "${ARG_TEST_LABEL}")
    endif()
    if(slow_tests)
      tm_gtest(${target}_slow_test SOURCES ${slow_tests} LIBS ${target} ${test_deps} ${ARG_PRIVATE_LIBS} ${ARG_HEADERS}
               ${ARG_TEST_LIBS} LABEL slow)
    endif()
  endif()
endfunction()
