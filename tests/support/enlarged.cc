#include "tests/support/enlarged.h"

#include <algorithm>
#include <set>

#include "tests/support/test_target.h"
#include "tidemark/base/error.h"

namespace tidemark::testing {
namespace {

constexpr double most_bytes = 8 << 20;  // of operands and results
constexpr double most_flops = 1e8;
constexpr std::int64_t largest_factor = 1 << 20;  // of what is no size, and grows without end

struct Factor {
  Growth growth;
  std::int64_t by;

  void apply(std::int64_t& size) const {
    if (size == growth.size) size *= by;
  }
  Type of(Type type) const {
    for (std::int64_t& size : type.shape) apply(size);
    return type;
  }
  Attrs of(Attrs attrs) const {
    if (!growth.attributes) return attrs;
    for (AttrValue& value : attrs) {
      if (auto* number = std::get_if<std::int64_t>(&value)) apply(*number);
      if (auto* dims = std::get_if<Dims>(&value)) {
        for (std::int64_t& size : *dims) apply(size);
      }
      if (auto* list = std::get_if<IntList>(&value)) {
        for (std::int64_t& size : *list) apply(size);
      }
    }
    return attrs;
  }
  Graph of(const Graph& region) const {
    Graph larger;
    Builder builder(larger);
    std::vector<Var> vars(region.values().size());
    for (const Input& input : region.inputs())
      vars[input.value.index] = builder.input(of(region.type(input.value)));
    for (const Node& node : region.nodes()) {
      std::vector<Var> in;
      for (ValueId operand : node.operands) in.push_back(vars[operand.index]);
      const std::vector<Var> out = builder.call(*node.op, in, node.attrs);
      for (std::size_t r = 0; r < out.size(); ++r) vars[node.results[r].index] = out[r];
    }
    for (ValueId output : region.outputs()) larger.add_output(vars[output.index].id());
    return larger;
  }
};

// Integers in attributes that may be sizes.
std::set<std::int64_t> sizes_in(const Attrs& attrs) {
  std::set<std::int64_t> sizes;
  for (const AttrValue& value : attrs) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) sizes.insert(*number);
    if (const auto* dims = std::get_if<Dims>(&value)) sizes.insert(dims->begin(), dims->end());
    if (const auto* list = std::get_if<IntList>(&value)) sizes.insert(list->begin(), list->end());
  }
  return sizes;
}

bool affordable(const Graph& graph) {
  const NodeCall call(graph, graph.nodes().front());
  return bytes_moved(call) <= most_bytes && test_target().cost(call).flops <= most_flops;
}

}  // namespace

std::vector<Growth> growths_of(const LawCase& law) {
  std::set<std::int64_t> in_shapes, in_attributes;
  if (law.regions.empty()) {
    for (const Type& type : law.types()) in_shapes.insert(type.shape.begin(), type.shape.end());
    in_attributes = sizes_in(law.sample.attrs);
  }
  for (const Graph& region : law.regions) {  // more steps would not be larger ones
    for (const Input& input : region.inputs()) {
      const Shape& shape = region.type(input.value).shape;
      in_shapes.insert(shape.begin(), shape.end());
    }
  }
  std::vector<Growth> list;
  for (std::int64_t size : in_attributes) {
    if (size > 1) list.push_back({size, true});
  }
  for (std::int64_t size : in_shapes) {
    if (size > 1) list.push_back({size, false});
  }
  return list;
}

std::optional<LawCase> enlarged(const LawCase& law, const Growth& growth, std::int64_t factor) {
  if (factor > largest_factor) return std::nullopt;
  const Factor grown{growth, factor};
  LawCase large = law;
  large.sample.attrs = grown.of(law.sample.attrs);
  for (Sample::Operand& operand : large.sample.in) {
    if (is_integer(operand.type.dtype) && operand.low == 0 &&
        operand.high + 1 == static_cast<double>(growth.size)) {
      operand.high = static_cast<double>(growth.size * factor - 1);
    }
    if (operand.diagonal != 0 && operand.type.shape.back() == growth.size)
      operand.diagonal *= static_cast<double>(factor);
    operand.type = grown.of(operand.type);
  }
  try {
    for (Graph& region : large.regions) region = grown.of(region);
    if (!affordable(large.graph())) return std::nullopt;
  } catch (const Error&) {  // sizes that must differ, or must not
    return std::nullopt;
  }
  return large;
}

}  // namespace tidemark::testing
