// Running a C++ function on stand-ins for its arguments, so that what it does becomes a graph.
#pragma once
#include <tuple>

#include "tidemark/trace/callable.h"
#include "tidemark/trace/trace.h"
#include "tidemark/trace/tree.h"

namespace tidemark {

template <class Result>
struct TracedCall {
  Graph graph;                             // inputs: the arguments' tensors in tree order, then the captures
  std::vector<Tensor> inputs;              // what to feed them
  std::vector<std::size_t> argument_ends;  // inputs of argument i end here
  // Where the captures were read, one each (null: values of an outer trace), and what else was read of data.
  std::vector<std::shared_ptr<Watch>> captured;
  std::vector<ValueRead> reads;
  Result result;  // the result's shape as a tree; its tensors are the graph's outputs

  // Which inputs belong to the chosen arguments.
  std::vector<bool> inputs_of(std::span<const int> arguments) const {
    std::vector<bool> chosen(inputs.size(), false);
    for (int a : arguments) {
      const auto k = static_cast<std::size_t>(a);
      for (std::size_t i = k == 0 ? 0 : argument_ends[k - 1]; i < argument_ends[k]; ++i) chosen[i] = true;
    }
    return chosen;
  }
  void mark_donated(std::span<const int> arguments) {
    const std::vector<bool> donated = inputs_of(arguments);
    for (std::size_t i = 0; i < donated.size(); ++i) graph.inputs()[i].donated = donated[i];
  }
};

namespace detail {

// Replaces the arguments' tensors by inputs of the graph being traced.
class StandInForArguments final : public TreeVisitor {
 public:
  StandInForArguments(Trace& trace, std::vector<Tensor>& inputs, SourceLine where)
      : trace_(trace), inputs_(inputs), where_(where) {}
  void on_tensor(Tensor& tensor) override;

 private:
  Trace& trace_;
  std::vector<Tensor>& inputs_;
  SourceLine where_;
};

// Makes the result's tensors outputs of the graph.
class AddOutputs final : public TreeVisitor {
 public:
  AddOutputs(Trace& trace, SourceLine where) : trace_(trace), where_(where) {}
  void on_tensor(Tensor& tensor) override;

 private:
  Trace& trace_;
  SourceLine where_;
};

}  // namespace detail

template <class F, class... Args>
requires(!detail::Traceable<F, Args...>) auto trace_call(const F&, const std::tuple<Args...>&, SourceLine) {
  detail::explain_not_traceable<F, Args...>();
  return TracedCall<Tensor>();
}
template <class F, class... Args>
requires detail::Traceable<F, Args...>
auto trace_call(const F& f, const std::tuple<Args...>& arguments, SourceLine where) {
  using Result = std::decay_t<decltype(std::apply(f, arguments))>;
  TracedCall<Result> call;
  Trace trace;
  std::tuple<Args...> stand_ins = arguments;
  std::size_t position = 0;
  detail::StandInForArguments replacing(trace, call.inputs, where);
  const auto replace = [&](auto& argument) {
    const std::size_t before = replacing.enter("arg" + std::to_string(position++));
    walk_tree(argument, replacing);
    replacing.leave(before);
    call.argument_ends.push_back(call.inputs.size());
  };
  std::apply([&](auto&... argument) { (replace(argument), ...); }, stand_ins);
  {
    const ActiveTrace active(trace);
    call.result = std::apply(f, stand_ins);
    detail::AddOutputs adding(trace, where);
    walk_tree(call.result, adding);
  }
  for (const Capture& capture : trace.captures()) {
    call.inputs.push_back(capture.tensor);
    call.captured.push_back(capture.variable);
  }
  call.reads = trace.reads();
  call.graph = std::move(trace.graph());
  return call;
}

// The result of a traced call as a tree of tensors that have types and no values.
template <class Result>
Result types_only(const TracedCall<Result>& call) {
  std::vector<Tensor> tensors;
  for (ValueId v : call.graph.outputs()) tensors.push_back(Tensor::of_type(call.graph.type(v)));
  return with_tensors(call.result, tensors);
}

// What f would return for these arguments, without computing it.
template <class F, class... Args>
auto result_types(const F& f, const Args&... args) {
  return types_only(trace_call(f, std::tuple(args...), {}));
}

}  // namespace tidemark
