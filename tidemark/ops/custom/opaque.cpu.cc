#include "tidemark/ops/custom/opaque.h"

#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

Cost cost(const Call& call) {
  const auto attrs = call.attrs_as<OpaqueAttrs>();
  return {.flops = attrs.flops, .bytes = attrs.bytes};
}
std::int64_t scratch(const Call& call) { return call.attrs_as<OpaqueAttrs>().scratch; }

}  // namespace

const CpuKernel cpu::opaque = {.facts = {.cost = cost, .scratch = scratch}};

}  // namespace tidemark
