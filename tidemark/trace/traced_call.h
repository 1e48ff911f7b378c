// Running a C++ function on stand-ins for its arguments, so that what it does becomes a graph.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tidemark/trace/callable.h"
#include "tidemark/trace/tree.h"

namespace tidemark {

class Graph;

// What a trace leaves, whatever the function's C++ types are. User code that is compiled sees no more of a
// graph than its name (ir/graph.h), which keeps such compilations short.
struct TracedGraph {
  TracedGraph();
  TracedGraph(TracedGraph&&) noexcept;
  TracedGraph& operator=(TracedGraph&&) noexcept;
  ~TracedGraph();

  std::shared_ptr<Graph> graph;            // inputs: the arguments' tensors in tree order, then the captures
  std::size_t outputs = 0;                 // of the graph
  std::vector<Tensor> inputs;              // what to feed it
  std::vector<std::size_t> argument_ends;  // inputs of argument i end here
  // Where the captures were read, one each (null: values of an outer trace), and what else was read of data.
  std::vector<std::shared_ptr<Watch>> captured;
  std::vector<ValueRead> reads;

  // Which inputs belong to the chosen arguments.
  std::vector<bool> inputs_of(std::span<const int> arguments) const;
  void mark_donated(std::span<const int> arguments);
};

template <class Result>
struct TracedCall : TracedGraph {
  Result result;  // the result's shape as a tree; its tensors are the graph's outputs
};

namespace detail {

// One trace, from arguments to graph. As a visitor it is shown each argument and makes its tensors inputs of
// the graph; once run() was called, operations on this thread append to the graph, and it is shown the result
// and makes its tensors outputs.
class Tracing final : public TreeVisitor {
 public:
  explicit Tracing(SourceLine where);
  ~Tracing() override;
  void begin_argument();
  void end_argument();
  void run();
  void on_tensor(Tensor& tensor) override;
  TracedGraph finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The types of the graph's outputs, as tensors without values.
std::vector<Tensor> output_types(const Graph& graph);

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
  detail::Tracing tracing(where);
  std::tuple<Args...> stand_ins = arguments;
  const auto replace = [&](auto& argument) {
    tracing.begin_argument();
    walk_tree(argument, tracing);
    tracing.end_argument();
  };
  std::apply([&](auto&... argument) { (replace(argument), ...); }, stand_ins);
  tracing.run();
  TracedCall<Result> call{{}, std::apply(f, stand_ins)};
  walk_tree(call.result, tracing);
  static_cast<TracedGraph&>(call) = tracing.finish();
  return call;
}

// The result of a traced call as a tree of tensors that have types and no values.
template <class Result>
Result types_only(const TracedCall<Result>& call) {
  return with_tensors(call.result, detail::output_types(*call.graph));
}

// What f would return for these arguments, without computing it.
template <class F, class... Args>
auto result_types(const F& f, const Args&... args) {
  return types_only(trace_call(f, std::tuple(args...), {}));
}

}  // namespace tidemark
