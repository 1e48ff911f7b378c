#include <cstring>

#include "tidemark/kernel/tile_convert.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/constant.h"

namespace tidemark {
namespace {

void run(const KernelArgs& args) {
  const Literal& value = args.attrs<ConstantAttrs>().value;
  if (!value.bytes.empty()) std::memcpy(args.out[0].data, value.bytes.data(), value.bytes.size());
}

// One element, kept as long as the code that repeats it.
TileCode repeated(const Call& call) {
  const auto attrs = std::make_shared<const ConstantAttrs>(call.attrs_as<ConstantAttrs>());
  return {.tile = repeat_tile(attrs->value.dtype),
          .staging = Staging::storage,
          .attributes = std::shared_ptr<const void>(attrs, attrs->value.bytes.data())};
}

}  // namespace

const CpuKernel cpu::constant = cpu_kernel<ConstantAttrs>(
    run,
    {.fusion = [](const Call& call) { return call.out[0].count() == 1 ? Fusion::pointwise : Fusion::none; }},
    repeated);

}  // namespace tidemark
