#include "tidemark/cuda/kernel_text.h"

#include <fmt/format.h>

namespace tidemark::cuda {

std::string define_kernel(std::string_view bounds, std::string_view name, std::string_view parameter,
                          std::string_view body) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}) {}(const {} at) {{\n  await_earlier_kernels();\n"
      "  {}\n}}\n",
      bounds, name, parameter, body);
}

}  // namespace tidemark::cuda
