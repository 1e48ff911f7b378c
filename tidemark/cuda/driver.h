// The functions of the NVIDIA driver, opened when they are first asked for. Only files of this folder include
// it: its types are the toolkit's, whose headers a build may lack (TIDEMARK_HAS_CUDA).
#pragma once
#include <string>

#include "tidemark/base/result.h"

#ifdef TIDEMARK_HAS_CUDA
#include <cuda.h>
#endif

namespace tidemark::cuda {

struct Driver {
#ifdef TIDEMARK_HAS_CUDA
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuGetErrorName) error_name = nullptr;
  decltype(&::cuDriverGetVersion) version = nullptr;
  decltype(&::cuDeviceGetCount) device_count = nullptr;
  decltype(&::cuDeviceGet) device = nullptr;
  decltype(&::cuDeviceGetName) device_name = nullptr;
  decltype(&::cuDeviceTotalMem) device_memory = nullptr;
  decltype(&::cuDeviceGetAttribute) device_attribute = nullptr;
#endif
};

// Not initialised; else why there is none: no library, or one that is too old.
const Result<Driver, std::string>& driver();

}  // namespace tidemark::cuda
