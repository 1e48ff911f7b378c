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
endfunction()
