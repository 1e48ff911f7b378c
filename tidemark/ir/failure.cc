#include "tidemark/ir/failure.h"

#include <algorithm>

#include "tidemark/ir/graph.h"

namespace tidemark {
namespace {

bool can_fail(const Graph& region) {
  return std::ranges::any_of(region.nodes(), [&](const Node& node) {
    return failure_of(NodeCall(region, node)).when != Fails::never;
  });
}

}  // namespace

Failure failure_of(const Call& call) {
  if (std::ranges::any_of(call.regions, can_fail)) return {Fails::late};
  return call.op->fails ? call.op->fails(call) : Failure{};
}

}  // namespace tidemark
