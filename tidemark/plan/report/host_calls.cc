#include "tidemark/plan/report/host_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/ir/target.h"
#include "tidemark/plan/step_call.h"

namespace tidemark {
namespace {

void add_calls(const Graph& graph, const Plan& plan, const Target& target, bool in_region,
               std::vector<HostCall>& list) {
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute) continue;
    const StepCall call(graph, plan, step);
    if (!target.on_host(call)) continue;
    const Node& node = graph[step.node];
    auto known = std::ranges::find_if(
        list, [&](const HostCall& other) { return other.op == node.op->name && other.where == node.where; });
    if (known == list.end())
      known = list.insert(list.end(), {.op = std::string(node.op->name), .where = node.where});
    ++known->runs;
    known->bytes += static_cast<std::int64_t>(bytes_moved(call));
    known->in_region |= in_region;
  }
  for (const NodePlans& body : plan.bodies) {
    const Node& node = graph[body.node];
    for (std::size_t r = 0; r < body.regions.size(); ++r)
      add_calls(node.regions[r], body.regions[r], target, true, list);
  }
}

}  // namespace

std::vector<HostCall> host_calls(const Graph& graph, const Plan& plan, const Target& target) {
  std::vector<HostCall> list;
  add_calls(graph, plan, target, false, list);
  std::ranges::stable_sort(list, std::greater(), &HostCall::bytes);
  return list;
}

std::string to_text(const std::vector<HostCall>& calls) {
  if (calls.empty()) return {};
  std::int64_t runs = 0, bytes = 0;
  for (const HostCall& call : calls) runs += call.runs, bytes += call.bytes;
  const bool in_regions = std::ranges::any_of(calls, &HostCall::in_region);
  std::string text = fmt::format("{:<18}{} call{} the CPU{}, with copies of {}:", "no kernel there", runs,
                                 runs == 1 ? " runs on" : "s run on",
                                 in_regions ? ", some as often as a loop says" : "", to_string(Bytes(bytes)));
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(calls.size(), most); ++i) {
    const HostCall& call = calls[i];
    text += fmt::format("{} {}", i > 0 ? "," : "", call.op);
    if (call.where.known()) text += fmt::format(" ({})", short_form(call.where));
    if (call.runs > 1) text += fmt::format(" {} times", call.runs);
  }
  if (calls.size() > most) text += fmt::format(", and on {} more lines", calls.size() - most);
  return text + '\n';
}

}  // namespace tidemark
