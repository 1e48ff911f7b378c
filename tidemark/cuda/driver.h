// The functions of the NVIDIA driver, opened when they are first asked for. Only files of this folder include
// it: its types are the toolkit's, whose headers a build may lack (TIDEMARK_HAS_CUDA).
#pragma once
#include <string>

#include "tidemark/base/result.h"

#ifdef TIDEMARK_HAS_CUDA
#include <cuda.h>

// Name here, symbol of the driver.
#define TM_CUDA_FUNCTIONS(F)                           \
  F(init, cuInit)                                      \
  F(error_name, cuGetErrorName)                        \
  F(error_text, cuGetErrorString)                      \
  F(version, cuDriverGetVersion)                       \
  F(device_count, cuDeviceGetCount)                    \
  F(device, cuDeviceGet)                               \
  F(device_name, cuDeviceGetName)                      \
  F(device_memory, cuDeviceTotalMem)                   \
  F(device_attribute, cuDeviceGetAttribute)            \
  F(context_retain, cuDevicePrimaryCtxRetain)          \
  F(context_release, cuDevicePrimaryCtxRelease)        \
  F(context_use, cuCtxSetCurrent)                      \
  F(context_wait, cuCtxSynchronize)                    \
  F(memory_info, cuMemGetInfo)                         \
  F(allocate, cuMemAlloc)                              \
  F(release, cuMemFree)                                \
  F(allocate_host, cuMemHostAlloc)                     \
  F(release_host, cuMemFreeHost)                       \
  F(copy, cuMemcpyAsync)                               \
  F(copy_to_device, cuMemcpyHtoDAsync)                 \
  F(copy_to_host, cuMemcpyDtoHAsync)                   \
  F(clear, cuMemsetD8Async)                            \
  F(stream_create, cuStreamCreate)                     \
  F(stream_destroy, cuStreamDestroy)                   \
  F(stream_wait, cuStreamSynchronize)                  \
  F(stream_wait_event, cuStreamWaitEvent)              \
  F(capture_begin, cuStreamBeginCapture)               \
  F(capture_end, cuStreamEndCapture)                   \
  F(capture_info, cuStreamGetCaptureInfo)              \
  F(capture_follow, cuStreamUpdateCaptureDependencies) \
  F(graph_instantiate, cuGraphInstantiate)             \
  F(graph_update, cuGraphExecUpdate)                   \
  F(graph_launch, cuGraphLaunch)                       \
  F(graph_destroy, cuGraphDestroy)                     \
  F(executable_destroy, cuGraphExecDestroy)            \
  F(module_load, cuModuleLoadData)                     \
  F(module_unload, cuModuleUnload)                     \
  F(module_function, cuModuleGetFunction)              \
  F(function_attribute, cuFuncSetAttribute)            \
  F(launch, cuLaunchKernelEx)                          \
  F(launch_host, cuLaunchHostFunc)                     \
  F(event_create, cuEventCreate)                       \
  F(event_destroy, cuEventDestroy)                     \
  F(event_record, cuEventRecord)                       \
  F(event_wait, cuEventSynchronize)                    \
  F(event_elapsed, cuEventElapsedTime)
#endif

namespace tidemark::cuda {

struct Driver {
#ifdef TIDEMARK_HAS_CUDA
#define TM_MEMBER(name, symbol) decltype(&::symbol) name = nullptr;
  TM_CUDA_FUNCTIONS(TM_MEMBER)
#undef TM_MEMBER
#endif
};

// Not initialised; else why there is none: no library, or one that is too old.
const Result<Driver, std::string>& driver();

}  // namespace tidemark::cuda
