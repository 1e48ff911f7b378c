#include "tidemark/ops/control/stacked_carries.h"

#include "tidemark/kernel/args.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

std::vector<StackedCarry> stacked_carries(const Call& call) {
  std::vector<StackedCarry> found;
  if (call.op != &op::loop) return found;
  const auto a = call.attrs_as<LoopAttrs>();
  if (a.keeps_all()) return found;  // they go from snapshot to snapshot
  const Graph& body = call.regions[0];
  const std::vector<ValueId>& outputs = body.outputs();
  const auto carries = static_cast<std::size_t>(a.carries);
  for (std::size_t c = 0; c < carries && c < body.inputs().size() && c < outputs.size(); ++c) {
    const Input& input = body.inputs()[c];
    // Kernels are fastest where memory begins as buffers do: so must every slice.
    if (input.donated || body.type(input.value).bytes() % buffer_alignment != 0) continue;
    for (const bool after : {true, false}) {
      const auto same =
          std::find(outputs.begin() + a.carries, outputs.end(), after ? outputs[c] : input.value);
      if (same == outputs.end()) continue;
      found.push_back(
          {.carry = c, .output = static_cast<std::size_t>(same - outputs.begin()), .after = after});
      break;
    }
  }
  return found;
}

}  // namespace tidemark
