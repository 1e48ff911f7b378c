// The files that generated kernels include, as text: NVRTC compiles where no folder of headers is, and the
// formulas are the CPU's own files. cmake/TidemarkCudaTexts.cmake writes them into the library.
#pragma once
#include <span>
#include <string_view>

namespace tidemark::cuda {

struct DeviceText {
  const char* name;  // as it is included
  const char* text;
};
std::span<const DeviceText> device_texts();

}  // namespace tidemark::cuda
