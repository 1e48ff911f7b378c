# The programs in README.md and docs/*.md, compiled against tidemark and run: doc.NAME. See tools/check_docs.py.
function(tm_docs)
  if(NOT TIDEMARK_TESTS)
    return()
  endif()
  set(script "${PROJECT_SOURCE_DIR}/tools/check_docs.py")
  add_test(NAME docs COMMAND "${Python3_EXECUTABLE}" "${script}" check "${PROJECT_SOURCE_DIR}")
  add_test(NAME reference COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/write_reference.py" check
                                  "${PROJECT_SOURCE_DIR}")
  add_test(NAME site COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/site_test.py")
  if(NOT TARGET tidemark OR NOT TIDEMARK_EXAMPLES OR TIDEMARK_SANITIZE
     OR NOT EXISTS "${PROJECT_SOURCE_DIR}/tidemark/tidemark.h")
    return()
  endif()

  file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/docs/*.md")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pages} "${script}")
  set(folder "${PROJECT_BINARY_DIR}/docs")
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${script}" extract "${PROJECT_SOURCE_DIR}" "${folder}"
                  OUTPUT_VARIABLE names OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" names "${names}")
  foreach(name IN LISTS names)
    add_executable(doc_${name} "${folder}/${name}.cc")
    target_link_libraries(doc_${name} PRIVATE tidemark_flags tidemark_program_flags tidemark::tidemark)
    tm_precompile(doc_${name} programs)
    set_target_properties(doc_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${folder}")
    add_test(NAME doc.${name} COMMAND "${Python3_EXECUTABLE}" "${script}" run $<TARGET_FILE:doc_${name}>
             "${folder}/${name}.expected" WORKING_DIRECTORY "${folder}")
  endforeach()
  tm_error_examples("${folder}")
endfunction()

# What the command shows in docs/. The pictures, and the examples of docs/errors.md: one program of all that are C++, and
# commands. See tools/make_pictures.sh and tools/error_examples.py.
function(tm_error_examples folder)
  set(script "${PROJECT_SOURCE_DIR}/tools/error_examples.py")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}")
  add_test(NAME error_codes COMMAND "${Python3_EXECUTABLE}" "${script}" check "${PROJECT_SOURCE_DIR}")
  if(NOT TARGET tidemark_cli)
    return()
  endif()
  add_test(NAME pictures COMMAND "${PROJECT_SOURCE_DIR}/tools/make_pictures.sh" $<TARGET_FILE:tidemark_cli> --check)
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${script}" extract "${PROJECT_SOURCE_DIR}" "${folder}/errors/examples.cc"
                  COMMAND_ERROR_IS_FATAL ANY)
  add_executable(tidemark_error_examples "${folder}/errors/examples.cc")
  target_link_libraries(tidemark_error_examples PRIVATE tidemark_flags tidemark_program_flags tidemark::tidemark)
  tm_precompile(tidemark_error_examples programs)
  set(driver "")
  if(TIDEMARK_CUDA)
    set(driver "${folder}/errors/driver")
    add_library(tidemark_fake_driver SHARED "${PROJECT_SOURCE_DIR}/tests/error_examples/driver.cc"
                                            "${PROJECT_SOURCE_DIR}/tests/error_examples/driver_rest.cc")
    target_link_libraries(tidemark_fake_driver PRIVATE tidemark_flags ${TIDEMARK_CUDA})
    target_include_directories(tidemark_fake_driver PRIVATE "${PROJECT_SOURCE_DIR}")
    set_target_properties(tidemark_fake_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1 CXX_VISIBILITY_PRESET default
                          LIBRARY_OUTPUT_DIRECTORY "${driver}")
    add_dependencies(tidemark_error_examples tidemark_fake_driver)
  endif()
  add_test(NAME error_examples COMMAND "${Python3_EXECUTABLE}" "${script}" run "${PROJECT_SOURCE_DIR}"
           $<TARGET_FILE:tidemark_error_examples> $<TARGET_FILE:tidemark_cli> ${driver})
endfunction()
