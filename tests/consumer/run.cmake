# Run by ctest as cmake -DBUILD=... -DSOURCE=... -P run.cmake: installs the library into a prefix of its own and
# builds and runs a program that knows nothing but that prefix, as a user would.

set(work "${BUILD}/consumer")
set(prefix "${work}/prefix")
file(REMOVE_RECURSE "${work}")

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")

file(GLOB archives "${prefix}/lib*/*.a" "${prefix}/lib*/*/*.a")
list(LENGTH archives count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "one archive should be installed, not ${count}: ${archives}")
endif()
file(GLOB_RECURSE tests "${prefix}/include/*_test*")
if(tests)
  message(FATAL_ERROR "test files were installed: ${tests}")
endif()

# The package must not point back into the tree it was built from.
file(GLOB_RECURSE package_files "${prefix}/*.cmake")
foreach(file IN LISTS package_files)
  file(READ "${file}" text)
  string(FIND "${text}" "${PROJECT}" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${file} names the source tree ${PROJECT}")
  endif()
endforeach()

run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${work}/build" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}")
run("${CMAKE_COMMAND}" --build "${work}/build")
run("${work}/build/consumer")
