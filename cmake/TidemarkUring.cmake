# Makes the imported target tidemark::uring where liburing is installed. Optional: without it, and where the kernel
# refuses rings, files are written by a thread. Used by this build and by the installed package.

if(NOT TARGET tidemark::uring)
  find_path(TIDEMARK_URING_INCLUDE_DIR liburing.h)
  find_library(TIDEMARK_URING_LIBRARY uring)
  if(TIDEMARK_URING_INCLUDE_DIR AND TIDEMARK_URING_LIBRARY)
    add_library(tidemark::uring INTERFACE IMPORTED)
    set_target_properties(tidemark::uring PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${TIDEMARK_URING_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES "${TIDEMARK_URING_LIBRARY}"
      INTERFACE_COMPILE_DEFINITIONS TIDEMARK_HAS_URING)
  endif()
endif()
set(TIDEMARK_URING "")
set(TIDEMARK_WITH_URING OFF)
if(TARGET tidemark::uring)
  set(TIDEMARK_URING tidemark::uring)
  set(TIDEMARK_WITH_URING ON)
endif()
