// NVRTC, NVIDIA's compiler as a library: CUDA C++ becomes code for one kind of GPU, which need not be here.
// Opened when it is first asked for.
#pragma once
#include <string>

#include "tidemark/base/result.h"
#include "tidemark/cuda/devices.h"

namespace tidemark::cuda {

struct CompilerVersion {
  int major = 0, minor = 0;
};
// Which compiler there is; else why there is none.
Result<CompilerVersion, std::string> compiler_version();

// What `compile` asks for beside the architecture, in one line: it decides the bits that kernels compute.
// Sums are not fused with products, subnormal numbers are kept, quotients and roots are rounded as IEEE says.
std::string compile_options();

// What a kernel is compiled for: "sm_80", and "sm_90a", which has the instructions of 9.0 alone.
std::string compile_target(const Architecture& architecture);

// A binary for the architecture (a cubin). The source may include device_texts(). Throws DeviceError
// no_kernel where there is no compiler, or it does not know the architecture; a source that does not compile
// is our mistake, an InternalError with the compiler's own words.
std::string compile(const std::string& source, const Architecture& architecture);

}  // namespace tidemark::cuda
