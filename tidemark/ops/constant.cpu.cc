#include <cstring>

#include "tidemark/ops/constant.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel cpu::constant = cpu_kernel<ConstantAttrs>([](const KernelArgs& args) {
  const Literal& value = args.attrs<ConstantAttrs>().value;
  std::memcpy(args.out[0].data, value.bytes.data(), value.bytes.size());
});

}  // namespace tidemark
