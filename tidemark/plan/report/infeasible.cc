#include "tidemark/plan/report/infeasible.h"
#include "tidemark/ir/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tidemark {
namespace {

std::string size_text(std::int64_t n) { return to_string(Bytes(n)); }

ErrorParts describe(const Graph& graph, const Infeasible& details, SourceLine where,
                    const std::vector<std::string>& changes) {
  const std::int64_t smallest = details.smallest.peak();
  ErrorParts parts{.what = fmt::format("a budget of {} is {} below the smallest that fits, {} ({} bytes)",
                                       size_text(details.budget), size_text(smallest - details.budget),
                                       size_text(smallest), smallest),
                   .where = where,
                   .help = fmt::format("{}", fmt::join(changes, "; "))};
  if (!details.smallest.steps.empty()) {
    parts.notes.push_back("peak: " + to_text(graph, parts_at_peak(details.smallest)));
  }
  return parts;
}

}  // namespace

PeakParts parts_at_peak(const Plan& plan) {
  PeakParts parts;
  const auto at = static_cast<std::int32_t>(peak_step(plan));
  const Step& step = plan.steps[static_cast<std::size_t>(at)];
  parts.node = step.node;
  const auto is_in = [&](std::vector<Ref> Step::*refs, std::size_t b) {
    const auto first = static_cast<std::size_t>(at);  // of its group: all of them have the same load
    for (std::size_t t = first; t < group_end(plan, first); ++t) {
      for (const Ref& ref : plan.steps[t].*refs) {
        if (ref.buffer.index == b) return true;
      }
    }
    return false;
  };
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.begin > at || at >= buffer.end || buffer.memory != 0) continue;
    if (buffer.binding == Binding::tile) continue;
    if (buffer.binding == Binding::argument) {
      parts.inputs += buffer.bytes;
    } else if (buffer.purpose == Purpose::scratch) {
      parts.scratch += buffer.bytes;
    } else if (is_in(&Step::out, b)) {
      parts.results += buffer.bytes;
    } else if (is_in(&Step::in, b)) {
      parts.operands += buffer.bytes;
    } else if (buffer.purpose == Purpose::output) {
      parts.outputs += buffer.bytes;
    } else {
      parts.waiting += buffer.bytes;
    }
  }
  return parts;
}

std::string to_text(const Graph& graph, const PeakParts& parts) {
  const Node& node = graph[parts.node];
  std::string text(node.op->name);
  for (ValueId v : node.results) {
    if (!graph[v].name.empty()) text += fmt::format(" `{}`", graph[v].name);
  }
  if (node.where.known()) text += fmt::format(" ({})", short_form(node.where));
  std::vector<std::string> list;
  const auto add = [&](std::int64_t n, std::string_view what) {
    if (n > 0) list.push_back(fmt::format("{} {}", size_text(n), what));
  };
  add(parts.inputs, "inputs");
  add(parts.operands, "that it reads");
  add(parts.results, "that it writes");
  add(parts.scratch, "of scratch");
  add(parts.outputs, "of results already done");
  add(parts.waiting, "that later steps need");
  return fmt::format("{}: {}", text, fmt::join(list, ", "));
}

InfeasibleBudget::InfeasibleBudget(const Graph& graph, Infeasible details, SourceLine where,
                                   std::vector<std::string> changes)
    : Error(ErrorCode::infeasible_budget, describe(graph, details, where, changes)),
      details_(std::make_shared<const Infeasible>(std::move(details))) {}

Bytes InfeasibleBudget::budget() const { return Bytes(details_->budget); }
Bytes InfeasibleBudget::smallest() const { return Bytes(details_->smallest.peak()); }

}  // namespace tidemark
