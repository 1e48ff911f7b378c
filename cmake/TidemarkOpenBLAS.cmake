# Makes the imported target tidemark::openblas. OpenBLAS's own package file gives paths, not a target, and
# some builds ship only a pkg-config file. Used by this build and by the installed package.

if(NOT TARGET tidemark::openblas)
  find_package(OpenBLAS CONFIG QUIET)
  if(NOT OpenBLAS_FOUND)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
      pkg_check_modules(TIDEMARK_OPENBLAS QUIET openblas)
      set(OpenBLAS_FOUND ${TIDEMARK_OPENBLAS_FOUND})
      set(OpenBLAS_LIBRARIES ${TIDEMARK_OPENBLAS_LINK_LIBRARIES})
      set(OpenBLAS_INCLUDE_DIRS ${TIDEMARK_OPENBLAS_INCLUDE_DIRS})
    endif()
  endif()
  if(OpenBLAS_FOUND)
    add_library(tidemark::openblas INTERFACE IMPORTED)
    set_target_properties(tidemark::openblas PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${OpenBLAS_INCLUDE_DIRS}"
      INTERFACE_LINK_LIBRARIES "${OpenBLAS_LIBRARIES}")
  elseif(NOT CMAKE_FIND_PACKAGE_NAME)
    message(FATAL_ERROR "OpenBLAS was not found (Debian: libopenblas-dev)")
  endif()
endif()
