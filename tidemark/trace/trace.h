// Tracing: while a Trace is active on this thread, operations on tensors append to its graph. A tensor from
// outside (data, or a value of an enclosing trace) becomes an input of the graph when it is first used: a
// capture. With data goes the variable it was read from, so that a compiled function can read it again.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "tidemark/ir/builder.h"
#include "tidemark/trace/tensor.h"

namespace tidemark {

// A tensor from outside and the input it became.
struct Capture {
  ValueId value;
  Tensor tensor;
  std::shared_ptr<Watch> variable;  // of data
};

class Trace {
 public:
  Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  Graph& graph() { return graph_; }
  Builder& builder() { return builder_; }
  std::uint64_t serial() const { return serial_; }

  Tensor argument(const Type& type, std::string name);
  Var lift(const Tensor& tensor, SourceLine where);  // the value of this graph that stands for the tensor
  Tensor tensor_of(const Var& value) const { return Tensor::traced(value.type(), serial_, value.id()); }
  // Tensors from outside, in the order of the inputs they became (which follow the arguments, interleaved by
  // first use).
  const std::vector<Capture>& captures() const { return captures_; }
  // What was read since the trace began, if it is the outermost one.
  const std::vector<ValueRead>& reads() const { return reads_; }
  void add_read(const Tensor& tensor);
  void note_differentiated(const Var& value);  // an input of the graph, or what was made of some

 private:
  Graph graph_;
  Builder builder_{graph_};
  std::uint64_t serial_;
  std::vector<Capture> captures_;
  // By variable, or by outer trace and value. Two variables that hold the same tensor may part later: two
  // inputs.
  std::map<std::pair<const void*, std::uint64_t>, ValueId> captured_;
  std::vector<ValueRead> reads_;
};

// Makes a trace the current one of this thread for its lifetime.
class ActiveTrace {
 public:
  explicit ActiveTrace(Trace& trace);
  ~ActiveTrace();
  ActiveTrace(const ActiveTrace&) = delete;
  ActiveTrace& operator=(const ActiveTrace&) = delete;
};

Trace* current_trace();                // nullptr: operations run at once
void note_read(const Tensor& tensor);  // in a trace: C++ code reads the values of a data tensor

// Runs graphs on data. The engine installs it; trace/ itself knows no device.
using Evaluate = std::vector<Tensor> (*)(const Graph& graph, std::span<const Tensor> inputs);
void set_evaluator(Evaluate evaluate);

// Throws Error at `where` unless the dtype has this number; floating-point ones take every number, rounded.
void require_fits(DType dtype, const Number& number, SourceLine where);

// A finished graph applied to tensors: appended to the current trace, or run at once.
std::vector<Tensor> apply(const Graph& graph, std::span<const Tensor> inputs, SourceLine where);

// Operations as users see them are built on this: `body` writes nodes with the operands as graph values.
using GraphBody = std::function<std::vector<Var>(Builder&, std::span<const Var>)>;
std::vector<Tensor> build_all(std::span<const Operand> operands, SourceLine where, const GraphBody& body);
template <class Body>
Tensor build(std::initializer_list<Operand> operands, const Body& body) {
  return build_all(
             {operands.begin(), operands.size()}, operands.size() ? operands.begin()->where() : SourceLine(),
             [&](Builder& builder, std::span<const Var> x) { return std::vector<Var>{body(builder, x)}; })
      .front();
}

}  // namespace tidemark
