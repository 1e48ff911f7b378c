#include "tidemark/ir/builder.h"

#include <algorithm>

#include "tidemark/base/call_site.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/limits.h"

namespace tidemark {
namespace {

// How deep regions stand in one another; what went through a builder stays within the limit.
int depth_of(std::span<const Graph> regions) {
  int depth = 0;
  for (const Graph& region : regions) {
    for (const Node& node : region.nodes()) depth = std::max(depth, depth_of(node.regions));
  }
  return regions.empty() ? 0 : depth + 1;
}

// Type rules compute with the entries of lists before they look at what comes out.
void require_small_entries(const Op& op, const Attrs& attrs, SourceLine where) {
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    const auto check = [&](std::span<const std::int64_t> entries) {
      for (std::int64_t entry : entries) {
        if (-max_extent <= entry && entry <= max_extent) continue;
        fail(ErrorCode::bad_attribute,
             {.what = fmt::format("{}: {} in {}", op.name, entry, op.schema()[i].name),
              .expected = fmt::format("at most {}", max_extent),
              .where = where});
      }
    };
    if (const Dims* dims = std::get_if<Dims>(&attrs[i])) check({dims->begin(), dims->end()});
    if (const IntList* list = std::get_if<IntList>(&attrs[i])) check(*list);
  }
}

}  // namespace

std::vector<Var> Builder::call(const Op& op, std::span<const Var> operands, Attrs attrs,
                               std::vector<Graph> regions) {
  Node node{.op = &op,
            .operands = {},
            .results = {},
            .attrs = std::move(attrs),
            .regions = std::move(regions),
            .where = op.fails && CallSite::current().known() ? CallSite::current() : where_,
            .checkpoint = checkpoint_,
            .backward = backward_};
  std::vector<Type> in;
  for (const Var& v : operands) {
    TM_CHECK(v && &v.builder() == this, "{}: an operand belongs to another graph", op.name);
    node.operands.push_back(v.id());
    in.push_back(v.type());
  }
  if (!node.regions.empty() && depth_of(node.regions) > max_region_depth) {
    fail(ErrorCode::malformed_graph,
         {.what = fmt::format("loops and branches are nested more than {} deep", max_region_depth),
          .where = where_,
          .help = "write the inner ones as one loop over a state that says where it is"});
  }
  TM_CHECK(node.attrs.size() == op.schema().size(), "{}: {} attributes given", op.name, node.attrs.size());
  require_small_entries(op, node.attrs, where_);
  const std::vector<Type> out = op.infer({.op = &op,
                                          .in = in,
                                          .out = {},
                                          .attrs = &node.attrs,
                                          .regions = node.regions,
                                          .where = where_,
                                          .in_strides = {}});
  for (const Type& type : out) require_within_limits(type, fmt::format("{}: ", op.name), where_);
  const NodeId id = graph_.add_node(std::move(node), out);
  std::vector<Var> results;
  for (ValueId v : graph_[id].results) results.emplace_back(*this, v);
  return results;
}

void Builder::set_origin(const Node& node) {
  where_ = node.where;
  checkpoint_ = node.checkpoint;
  backward_ = node.backward;
}

Var Builder::call1(const Op& op, std::initializer_list<Var> operands, Attrs attrs) {
  return call(op, std::span(operands.begin(), operands.size()), std::move(attrs)).front();
}

std::vector<ValueId> ids_of(std::span<const Var> vars) {
  std::vector<ValueId> ids;
  ids.reserve(vars.size());
  for (const Var& v : vars) ids.push_back(v ? v.id() : ValueId());
  return ids;
}

std::vector<Var> inline_graph(Builder& target, const Graph& source, std::span<const Var> inputs) {
  TM_CHECK(inputs.size() == source.inputs().size());
  std::vector<ValueId> image(source.values().size());
  for (std::size_t i = 0; i < inputs.size(); ++i) image[source.inputs()[i].value.index] = inputs[i].id();
  const std::uint32_t shift = copy_checkpoints(source, target.graph(), target.checkpoint());
  std::vector<Type> types;
  for (const Node& node : source.nodes()) {
    Node copy = node;
    copy.checkpoint = shifted(node.checkpoint, shift, target.checkpoint());
    copy.backward = node.backward || target.backward();
    for (ValueId& v : copy.operands) v = image[v.index];
    types.clear();
    for (ValueId v : node.results) types.push_back(source.type(v));
    const NodeId id = target.graph().add_node(std::move(copy), types);
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      const ValueId result = target.graph()[id].results[r];
      image[node.results[r].index] = result;
      target.graph()[result].name = source[node.results[r]].name;
    }
  }
  copy_hints(source, target.graph(), shift, image);
  std::vector<Var> outputs;
  for (ValueId v : source.outputs()) outputs.emplace_back(target, image[v.index]);
  return outputs;
}

}  // namespace tidemark
