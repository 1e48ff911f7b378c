#include "tidemark/plan/report/footprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tidemark/base/check.h"
#include "tidemark/ir/graph.h"
#include "tidemark/ir/target.h"
#include "tidemark/plan/plan.h"
#include "tidemark/solve/pack/pack.h"

namespace tidemark {
namespace {

bool same_structure(const Graph& a, const Graph& b) {
  if (a.nodes().size() != b.nodes().size() || a.values().size() != b.values().size() ||
      a.inputs().size() != b.inputs().size())
    return false;
  for (std::size_t n = 0; n < a.nodes().size(); ++n) {
    const Node &x = a.nodes()[n], &y = b.nodes()[n];
    if (x.op != y.op || x.operands != y.operands || x.results != y.results) return false;
  }
  return a.outputs() == b.outputs();
}

}  // namespace

std::optional<std::int64_t> peak_with_sizes(const Graph& graph, const Plan& plan, const Graph& resized,
                                            const Target& target) {
  if (!same_structure(graph, resized)) return {};
  std::vector<std::int64_t> scratch(plan.buffers.size(), 0);
  for (const Step& step : plan.steps) {
    if (!step.scratch.valid()) continue;
    // Windows keep their kind but not their strides, so scratch is scaled as a call on dense operands is.
    const Buffer& buffer = plan.buffers[step.scratch.index];
    const double before = static_cast<double>(target.scratch(NodeCall(graph, graph[step.node])));
    const double after = static_cast<double>(target.scratch(NodeCall(resized, resized[step.node])));
    scratch[step.scratch.index] =
        before > 0 ? static_cast<std::int64_t>(std::ceil(static_cast<double>(buffer.bytes) * after / before))
                   : buffer.bytes;
  }
  std::int64_t inputs = 0;
  std::vector<PackItem> items;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.memory != 0) continue;
    const std::int64_t bytes = buffer.value.valid() ? resized.type(buffer.value).bytes() : scratch[b];
    if (buffer.binding == Binding::argument) {
      inputs += bytes;
    } else if (buffer.binding != Binding::tile) {
      items.push_back({.lower = buffer.begin,
                       .upper = buffer.end,
                       .size = target.aligned(bytes),
                       .alignment = target.alignment});
    }
  }
  constexpr std::int64_t work = 50'000'000;
  return inputs + pack(items, {.work = work}).height;
}

Footprint fit_footprint(std::span<const BatchPeak> peaks) {
  TM_CHECK(peaks.size() >= 2 && peaks.front().batch < peaks.back().batch);
  const BatchPeak &low = peaks.front(), &high = peaks.back();
  Footprint line{.least = low.batch, .most = high.batch};
  const std::int64_t batches = high.batch - low.batch;
  line.per_example = (high.peak - low.peak + batches - 1) / batches;
  line.fixed = high.peak - line.per_example * high.batch;
  // Rounding up the slope lowers the line at the small end; nothing that was seen may lie above it.
  for (const BatchPeak& p : peaks) line.fixed = std::max(line.fixed, p.peak - line.per_example * p.batch);
  for (const BatchPeak& p : peaks) {
    const auto predicted = static_cast<double>(line.fixed + line.per_example * p.batch);
    line.deviation = std::max(line.deviation, predicted / static_cast<double>(p.peak) - 1);
  }
  return line;
}

std::string to_text(const Footprint& f) {
  const auto bytes = [](std::int64_t n) { return n < 0 ? "-" + to_string(Bytes(-n)) : to_string(Bytes(n)); };
  std::string text = fmt::format("{} + {} per example, for batches of {} to {}", bytes(f.fixed),
                                 bytes(f.per_example), f.least, f.most);
  if (!f.linear())
    text += fmt::format("; not a line: up to {:.1f}% less is needed in between", 100 * f.deviation);
  return text;
}

}  // namespace tidemark
