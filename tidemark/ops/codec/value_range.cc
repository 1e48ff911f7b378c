#include "tidemark/ops/codec/value_range.h"

#include <algorithm>
#include <limits>

#include "tidemark/ops/convolution/pool.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/sort.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// Along the axis that an op looks at.
template <class A>
std::int64_t length(const Graph& graph, const Node& node) {
  return graph.type(node.operands[0]).shape[static_cast<int>(unpack<A>(node.attrs).axis)];
}

// Of values that an op makes whatever its operands hold.
std::optional<std::int64_t> made_below(const Graph& graph, const Node& node, std::size_t result) {
  if (node.op == &op::argmax || node.op == &op::argmin) return length<AxisAttrs>(graph, node);
  if (node.op == &op::sort && result == 1) return length<SortAttrs>(graph, node);
  if (node.op == &op::top_k && result == 1) return length<TopKAttrs>(graph, node);
  if (node.op == &op::random_permutation) return unpack<RandomPermutationAttrs>(node.attrs).size;
  if (node.op == &op::one_hot) return 2;
  if (node.op == &op::iota) {
    const auto attrs = unpack<IotaAttrs>(node.attrs);
    return attrs.shape[static_cast<int>(attrs.axis)];
  }
  if (node.op == &op::max_pool && result == 1) {  // in the image (N, C, S…) laid out in a row
    std::int64_t points = 1;
    const Shape& image = graph.type(node.operands[0]).shape;
    for (int d = 2; d < image.rank(); ++d) points *= image[d];
    return points;
  }
  return {};
}

// The largest bound up to which every whole number below it is one of the dtype.
std::int64_t most_whole_numbers(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return 2;
    case DType::u8:
    case DType::bf16:
      return 256;
    case DType::f16:
      return 2048;
    case DType::f32:
      return std::int64_t{1} << 24;
    case DType::i32:
      return std::int64_t{1} << 31;
    case DType::f64:
    case DType::i64:
      break;
  }
  return std::int64_t{1} << 53;
}

// Are the elements of the result some of the first operand's, at other places or in another dtype?
bool keeps_elements(const Op& op) {
  return op.view || &op == &op::cast || &op == &op::take || &op == &op::gather;
}

}  // namespace

std::optional<std::int64_t> whole_numbers_below(const Graph& graph, ValueId v) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (;;) {
    most = std::min(most, most_whole_numbers(graph.type(v).dtype));
    std::optional<std::int64_t> bound;
    if (graph.type(v).dtype == DType::boolean) {
      bound = 2;
    } else if (graph.is_input(v)) {
      return {};
    } else {
      bound = made_below(graph, graph[graph[v].producer], graph[v].result);
    }
    if (bound) return *bound <= most ? bound : std::nullopt;
    const Node& node = graph[graph[v].producer];
    if (!keeps_elements(*node.op)) return {};
    v = node.operands[0];
  }
}

}  // namespace tidemark
