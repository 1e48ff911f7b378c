// Calls of a compiled function, and what becomes of one that holds more than its sparse forms have room
// for: it is planned without that form and made again. The form stays away from later calls too, unless
// nothing fits without it.
#include "tidemark/engine/local_function.h"
#include "tidemark/ir/effects.h"
#include "tidemark/ops/codec/sparse.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// What the user calls the value whose form was asked for there; empty: it has no name.
std::string name_of_value(const Graph& graph, SourceLine asked_at) {
  for (const Node& node : graph.nodes()) {
    if (node.op == &op::to_sparse && node.where == asked_at) {
      const std::string& name = graph[node.operands[0]].name;
      if (!name.empty()) return name;
    }
    for (const Graph& region : node.regions) {
      if (const std::string name = name_of_value(region, asked_at); !name.empty()) return name;
    }
  }
  return "";
}

ErrorParts with_name(const SparseOverflow& overflow, const Graph& graph) {
  ErrorParts parts = overflow.parts();
  const std::string name = name_of_value(graph, overflow.where());
  if (!name.empty()) parts.notes.push_back(fmt::format("the value is `{}`", name));
  return parts;
}

}  // namespace

bool may_repeat(const FunctionCall& call, const Program& program) {
  if (!is_repeatable(program.graph())) return false;
  try {
    for (const Tensor& tensor : call.tensors) {
      if (tensor.is_data()) tensor.check_not_donated({});
    }
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::vector<SourceLine> LocalFunction::refused_forms() const {
  const std::lock_guard lock(mutex_);
  return refused_forms_;
}

void LocalFunction::refuse_form(SourceLine asked_at) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::count(refused_forms_, asked_at) == 0) refused_forms_.push_back(asked_at);
}

void LocalFunction::forgive_form(SourceLine asked_at) {
  const std::lock_guard lock(mutex_);
  std::erase(refused_forms_, asked_at);
}

LocalFunction::Results LocalFunction::run(const FunctionCall& call) {
  follow_memory_left();
  std::optional<ErrorParts> overflow;  // of the latest try
  std::vector<SourceLine> tried;       // without these forms
  for (;;) {
    std::shared_ptr<const Program> begun;
    try {
      return run_with_fallback(call, begun);
    } catch (const SparseOverflow& error) {
      overflow = with_name(error, begun->graph());
      const bool was_tried = std::ranges::count(tried, error.where()) > 0;
      // A plan from a file is of the graph with that form.
      if (was_tried || !saved_.empty() || !may_repeat(call, *begun))
        throw SparseOverflow(error.code(), *overflow);
      tried.push_back(error.where());
      refuse_form(error.where());
    } catch (const InfeasibleBudget& none) {
      if (!overflow) throw;
      forgive_form(overflow->where);
      overflow->notes.push_back(
          fmt::format("without that form nothing fits: the smallest plan takes {}, the budget is {}",
                      to_string(none.smallest()), to_string(none.budget())));
      throw SparseOverflow(ErrorCode::numeric, *std::move(overflow));
    }
  }
}

}  // namespace tidemark
