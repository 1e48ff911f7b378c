// What tests of CUDA begin with: a GPU, or a driver of which there is none.
#pragma once
#include <gtest/gtest.h>

#include <cstring>

#include "tidemark/cuda/devices.h"
#include "tidemark/cuda/driver.h"

// The test is skipped where there is none, with the reason.
#define TM_NEEDS_GPU()                                                                           \
  do {                                                                                           \
    if (const tidemark::cuda::DeviceList list = tidemark::cuda::devices(); list.devices.empty()) \
      GTEST_SKIP() << list.reason;                                                               \
  } while (false)

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::testing {

// One GPU without a name of 9.9, which nobody has: enough for a Context. A test adds what it notes.
inline cuda::Driver pretended_driver() {
  cuda::Driver driver;
  driver.init = [](unsigned) { return CUDA_SUCCESS; };
  driver.error_name = [](CUresult, const char** name) { return *name = "pretended", CUDA_SUCCESS; };
  driver.error_text = [](CUresult, const char** text) { return *text = "pretended", CUDA_SUCCESS; };
  driver.device_count = [](int* count) { return *count = 1, CUDA_SUCCESS; };
  driver.device = [](CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; };
  driver.device_name = [](char* name, int, CUdevice) { return std::strcpy(name, "none"), CUDA_SUCCESS; };
  driver.device_memory = [](std::size_t* bytes, CUdevice) { return *bytes = 1 << 20, CUDA_SUCCESS; };
  driver.device_attribute = [](int* value, CUdevice_attribute, CUdevice) { return *value = 9, CUDA_SUCCESS; };
  driver.context_retain = [](CUcontext*, CUdevice) { return CUDA_SUCCESS; };
  driver.context_release = [](CUdevice) { return CUDA_SUCCESS; };
  driver.context_use = [](CUcontext) { return CUDA_SUCCESS; };
  return driver;
}

}  // namespace tidemark::testing

#endif
