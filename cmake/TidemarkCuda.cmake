# CUDA: the toolkit's headers where they are (TIDEMARK_CUDA, a target of headers alone), and the texts that generated
# kernels include. The driver and the compiler are opened while a program runs, so nothing of the toolkit is linked, and
# a library that was built with the headers runs on machines without it.
include(TidemarkCudaTexts)

find_package(CUDAToolkit QUIET)
set(TIDEMARK_CUDA "")
if(CUDAToolkit_FOUND)
  add_library(tidemark_cuda_headers INTERFACE)
  target_include_directories(tidemark_cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_definitions(tidemark_cuda_headers INTERFACE TIDEMARK_HAS_CUDA)
  set(TIDEMARK_CUDA tidemark_cuda_headers)
  # cuDNN is often installed apart from the toolkit: CUDNN_PATH is its folder, at configuring and at run time.
  find_path(TIDEMARK_CUDNN_HEADERS cudnn_graph.h HINTS ENV TIDEMARK_CUDNN ENV CUDNN_PATH ${CUDAToolkit_INCLUDE_DIRS}
            PATH_SUFFIXES include)
  if(TIDEMARK_CUDNN_HEADERS)
    target_include_directories(tidemark_cuda_headers SYSTEM INTERFACE ${TIDEMARK_CUDNN_HEADERS})
    target_compile_definitions(tidemark_cuda_headers INTERFACE TIDEMARK_HAS_CUDNN)
    message(STATUS "CUDA: headers of cuDNN in ${TIDEMARK_CUDNN_HEADERS}")
  else()
    message(STATUS "CUDA: no headers of cuDNN; convolutions run by kernels of ours, which are slower")
  endif()
  message(STATUS "CUDA: headers of toolkit ${CUDAToolkit_VERSION} in ${CUDAToolkit_INCLUDE_DIRS}")
else()
  message(STATUS "CUDA: no toolkit was found; the library is built without it, and says so where it is asked for")
endif()
tm_cuda_texts(TIDEMARK_CUDA_TEXTS)

# With which the tests compile generated kernels for the host, to see what they compute.
add_library(tidemark_host_compiler INTERFACE)
target_compile_definitions(tidemark_host_compiler INTERFACE TIDEMARK_HOST_COMPILER="${CMAKE_CXX_COMPILER}")
