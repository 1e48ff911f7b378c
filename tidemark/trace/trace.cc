#include "tidemark/trace/trace.h"

#include <atomic>

#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/storage.h"

namespace tidemark {
namespace {

thread_local std::vector<Trace*> active_traces;  // innermost last
std::atomic<std::uint64_t> next_serial{1};
std::atomic<Evaluate> evaluator{nullptr};

bool is_active(std::uint64_t serial) {
  return std::any_of(active_traces.begin(), active_traces.end(),
                     [&](Trace* t) { return t->serial() == serial; });
}

// C++ numbers become constants of the dtype of the first tensor among the operands.
DType number_dtype(std::span<const Operand> operands) {
  for (const Operand& operand : operands) {
    if (!operand.is_number() && operand.tensor().dtype() != DType::boolean) return operand.tensor().dtype();
  }
  return DType::f32;
}

Var number_constant(Builder& builder, const Operand& operand, DType dtype) {
  require_fits(dtype, operand.number(), operand.where());
  return constant(builder, dtype, operand.number());
}

}  // namespace

void require_fits(DType dtype, const Number& number, SourceLine where) {
  if (fits(dtype, number)) return;
  fail(ErrorCode::dtype_mismatch,
       {.what = fmt::format("the number {} is none of {}", to_string(number), name_of(dtype)),
        .expected = range_text(dtype),
        .where = where,
        .help = "cast the tensors it meets to a wider dtype first"});
}

Trace::Trace() : serial_(next_serial++) {}

Tensor Trace::argument(const Type& type, std::string name) {
  return tensor_of(builder_.input(type, std::move(name)));
}

Var Trace::lift(const Tensor& tensor, SourceLine where) {
  if (tensor.trace() == serial_) return {builder_, tensor.value()};
  if (tensor.empty()) {
    fail(ErrorCode::foreign_tensor, {.what = "an empty tensor is used as an operand", .where = where});
  }
  if (tensor.is_traced() && !is_active(tensor.trace())) {
    fail(ErrorCode::foreign_tensor,
         {.what =
              fmt::format("a tensor {} belongs to another trace, which has ended", to_string(tensor.type())),
          .where = where,
          .help = "a tensor made inside a traced function lives only there: return it from the function "
                  "instead of "
                  "keeping it in a variable outside"});
  }
  tensor.check_not_donated(where);
  const std::shared_ptr<Watch> variable = tensor.is_data() ? tensor.origin() : nullptr;
  const auto key = variable ? std::pair<const void*, std::uint64_t>(variable.get(), 0)
                            : std::pair<const void*, std::uint64_t>(
                                  reinterpret_cast<const void*>(tensor.trace()), 1 + tensor.value().index);
  const auto [entry, fresh] = captured_.try_emplace(key);
  if (fresh) {
    entry->second = graph_.add_input(tensor.type(), fmt::format("captured{}", captures_.size()));
    captures_.push_back({entry->second, tensor, variable});
  }
  return {builder_, entry->second};
}

void Trace::note_differentiated(const Var& value) {
  if (!graph_.is_input(value.id())) return;
  graph_.inputs()[graph_[value.id()].result].differentiated = true;
}

void Trace::add_read(const Tensor& tensor) {
  reads_.push_back({tensor.origin(), tensor.storage()->id, tensor.storage()->version()});
}

ActiveTrace::ActiveTrace(Trace& trace) {
  active_traces.push_back(&trace);
  outermost_trace = active_traces.front()->serial();
}
ActiveTrace::~ActiveTrace() {
  active_traces.pop_back();
  outermost_trace = active_traces.empty() ? 0 : active_traces.front()->serial();
}

Trace* current_trace() { return active_traces.empty() ? nullptr : active_traces.back(); }

void note_read(const Tensor& tensor) {
  if (!active_traces.empty()) active_traces.front()->add_read(tensor);
}

void set_evaluator(Evaluate evaluate) { evaluator = evaluate; }

std::vector<Tensor> apply(const Graph& graph, std::span<const Tensor> inputs, SourceLine where) {
  if (Trace* trace = current_trace()) {
    std::vector<Var> operands;
    for (const Tensor& tensor : inputs) operands.push_back(trace->lift(tensor, where));
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (graph.inputs()[i].differentiated) trace->note_differentiated(operands[i]);
    }
    std::vector<Tensor> outputs;
    for (const Var& value : inline_graph(trace->builder(), graph, operands))
      outputs.push_back(trace->tensor_of(value));
    return outputs;
  }
  for (const Tensor& tensor : inputs) {
    if (tensor.is_data()) continue;
    fail(ErrorCode::foreign_tensor,
         {.what = tensor.empty() ? "an empty tensor is used as an operand"
                                 : fmt::format("a tensor {} belongs to a trace that has ended",
                                               to_string(tensor.type())),
          .where = where,
          .help = "return tensors from the traced function instead of keeping them in variables outside"});
  }
  const Evaluate evaluate = evaluator;
  TM_CHECK(evaluate, "no engine is installed: include tidemark/tidemark.h");
  return at_line(where, [&] { return evaluate(graph, inputs); });
}

std::vector<Tensor> build_all(std::span<const Operand> operands, SourceLine where, const GraphBody& body) {
  const DType dtype = number_dtype(operands);
  const auto written_by = [&](Builder& builder, auto&& value_of) {
    builder.set_where(where);
    std::vector<Var> in;
    for (const Operand& operand : operands) {
      in.push_back(operand.is_number() ? number_constant(builder, operand, dtype) : value_of(operand));
    }
    return at_line(where, [&] { return body(builder, in); });
  };
  if (Trace* trace = current_trace()) {
    std::vector<Tensor> results;
    const auto lifted = [&](const Operand& operand) { return trace->lift(operand.tensor(), where); };
    for (const Var& value : written_by(trace->builder(), lifted)) results.push_back(trace->tensor_of(value));
    return results;
  }
  Graph graph;
  Builder builder(graph);
  std::vector<Tensor> inputs;
  const auto as_input = [&](const Operand& operand) {
    inputs.push_back(operand.tensor());
    return builder.input(operand.tensor().type());
  };
  for (const Var& value : written_by(builder, as_input)) graph.add_output(value.id());
  return apply(graph, inputs, where);
}

}  // namespace tidemark
