#include "tidemark/ops/control/handed_on.h"

#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

std::vector<HandedOn::Value> values_of(const Call& call, std::size_t region) {
  const Graph& graph = call.regions[region];
  std::vector<HandedOn::Value> values;
  const auto add = [&](std::size_t output, std::size_t input) {
    values.push_back(
        {.output = output, .input = input, .bytes = graph.type(graph.inputs()[input].value).bytes()});
  };
  if (call.op == &op::loop_reverse && region == 1) {
    const ReversalLayout at(call.attrs_as<LoopReverseAttrs>(), graph);
    for (std::size_t r = 0; r < at.results; ++r) {
      if (!at.is_stacked(r)) add(r, at.input_of(r));
    }
    return values;
  }
  const std::vector<bool> handed = handed_inputs(call, region);
  for (std::size_t i = 0; i < handed.size(); ++i) {
    if (handed[i]) add(i, i);
  }
  return values;
}

}  // namespace

HandedOn handed_on(const Call& call, std::size_t region) {
  HandedOn result{values_of(call, region)};
  std::vector<HandedOn::Value>& values = result.values;
  std::vector<bool> taken(values.size(), false);
  if (region < call.planned.size()) {
    const std::vector<int>& over = call.planned[region].over;
    for (HandedOn::Value& value : values) {
      for (std::size_t k = 0; k < values.size(); ++k) {
        if (taken[k] || value.output >= over.size() || values[k].bytes != value.bytes ||
            over[value.output] != static_cast<int>(values[k].input))
          continue;
        value.over = static_cast<int>(k);
        taken[k] = true;
        break;
      }
    }
  }
  // As many are left of each size as need a spare place: its own first, then any.
  for (const bool own : {true, false}) {
    for (std::size_t v = 0; v < values.size(); ++v) {
      if (values[v].over >= 0 || values[v].frees >= 0) continue;
      for (std::size_t k = own ? v : 0; k < (own ? v + 1 : values.size()); ++k) {
        if (taken[k] || values[k].bytes != values[v].bytes) continue;
        values[v].frees = static_cast<int>(k);
        taken[k] = true;
        break;
      }
    }
  }
  return result;
}

std::int64_t HandedOn::scratch() const {
  std::int64_t bytes = align_up(static_cast<std::int64_t>(8 * values.size()), buffer_alignment);
  for (const Value& value : values) {
    if (value.over < 0) bytes += align_up(value.bytes, buffer_alignment);
  }
  return bytes;
}

}  // namespace tidemark
