#include "tidemark/trace/traced_call.h"

#include <optional>

#include "tidemark/trace/trace.h"

namespace tidemark {

TracedGraph::TracedGraph() = default;
TracedGraph::TracedGraph(TracedGraph&&) noexcept = default;
TracedGraph& TracedGraph::operator=(TracedGraph&&) noexcept = default;
TracedGraph::~TracedGraph() = default;

std::vector<bool> TracedGraph::inputs_of(std::span<const int> arguments) const {
  std::vector<bool> chosen(inputs.size(), false);
  for (int a : arguments) {
    const auto k = static_cast<std::size_t>(a);
    for (std::size_t i = k == 0 ? 0 : argument_ends[k - 1]; i < argument_ends[k]; ++i) chosen[i] = true;
  }
  return chosen;
}

void TracedGraph::mark_donated(std::span<const int> arguments) {
  const std::vector<bool> donated = inputs_of(arguments);
  for (std::size_t i = 0; i < donated.size(); ++i) graph->inputs()[i].donated = donated[i];
}

namespace detail {

struct Tracing::State {
  SourceLine where;
  Trace trace;
  std::optional<ActiveTrace> active;
  TracedGraph made;
  std::size_t outside = 0;  // the path's length around an argument
};

Tracing::Tracing(SourceLine where) : state_(std::make_unique<State>()) { state_->where = where; }
Tracing::~Tracing() = default;

void Tracing::begin_argument() {
  state_->outside = enter("arg" + std::to_string(state_->made.argument_ends.size()));
}
void Tracing::end_argument() {
  leave(state_->outside);
  state_->made.argument_ends.push_back(state_->made.inputs.size());
}

void Tracing::run() { state_->active.emplace(state_->trace); }

void Tracing::on_tensor(Tensor& tensor) {
  Trace& trace = state_->trace;
  if (!state_->active) {
    if (tensor.empty()) {
      fail(ErrorCode::structure_mismatch,
           {.what = fmt::format("argument {} holds an empty tensor", path()), .where = state_->where});
    }
    state_->made.inputs.push_back(tensor);
    tensor = trace.argument(tensor.type(), path());
    return;
  }
  if (tensor.empty()) {
    fail(ErrorCode::structure_mismatch,
         {.what = fmt::format("the function's result holds an empty tensor {}", path()),
          .where = state_->where});
  }
  trace.graph().add_output(trace.lift(tensor, state_->where).id());
}

TracedGraph Tracing::finish() {
  state_->active.reset();
  TracedGraph& made = state_->made;
  for (const Capture& capture : state_->trace.captures()) {
    made.inputs.push_back(capture.tensor);
    made.captured.push_back(capture.variable);
  }
  made.reads = state_->trace.reads();
  made.graph = std::make_shared<Graph>(std::move(state_->trace.graph()));
  made.outputs = made.graph->outputs().size();
  return std::move(made);
}

std::vector<Tensor> output_types(const Graph& graph) {
  std::vector<Tensor> tensors;
  for (ValueId v : graph.outputs()) tensors.push_back(Tensor::of_type(graph.type(v)));
  return tensors;
}

}  // namespace detail
}  // namespace tidemark
