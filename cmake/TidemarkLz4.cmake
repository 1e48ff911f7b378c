# Makes the imported target tidemark::lz4: Debian's package has a library and a header, and no package file for CMake. Used
# by this build and by the installed package.

if(NOT TARGET tidemark::lz4)
  find_path(TIDEMARK_LZ4_INCLUDE_DIR lz4.h)
  find_library(TIDEMARK_LZ4_LIBRARY lz4)
  if(TIDEMARK_LZ4_INCLUDE_DIR AND TIDEMARK_LZ4_LIBRARY)
    add_library(tidemark::lz4 INTERFACE IMPORTED)
    set_target_properties(tidemark::lz4 PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${TIDEMARK_LZ4_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES "${TIDEMARK_LZ4_LIBRARY}")
  elseif(NOT CMAKE_FIND_PACKAGE_NAME)
    message(FATAL_ERROR "LZ4 was not found (Debian: liblz4-dev)")
  endif()
endif()
