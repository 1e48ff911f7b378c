// A compiled function whose C++ types are forgotten: what `Compiled<F>` (compile.h) is a typed face over, and
// what bindings of other languages stand on. User code that is compiled sees this much of the engine and no
// more; local_function.h does the work.
#pragma once
#include <any>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tidemark/engine/budget_reports.h"
#include "tidemark/engine/compile_options.h"
#include "tidemark/engine/gradient_error.h"
#include "tidemark/engine/memory_prices.h"
#include "tidemark/engine/memory_report.h"
#include "tidemark/engine/planned_graph.h"
#include "tidemark/plan/profile/profile.h"
#include "tidemark/trace/traced_call.h"

namespace tidemark {

// The arguments of one call, and how the function is traced with them.
class FunctionCall {
 public:
  FunctionCall();
  FunctionCall(const FunctionCall&) = delete;
  FunctionCall& operator=(const FunctionCall&) = delete;
  virtual ~FunctionCall();

  std::vector<Tensor> tensors = {};             // of all arguments, in tree order
  std::vector<std::size_t> argument_ends = {};  // tensors of argument i end here
  std::string fixed = {};  // a key for all else: types of arguments, sizes, values that are no tensors

  virtual TracedCall<std::any> trace() const = 0;                                   // with these arguments
  virtual TracedCall<std::any> trace_types(std::span<const Type> types) const = 0;  // with tensors of these

  std::string key() const;  // of what a trace depends on. No two calls that differ in it have the same.
};

// Fills in a call's tensors and its key of all else: the arguments' types, sizes and values that are no
// tensors. Each part has its length in front, so that no text can end early and pass for two.
class FixedKey final : public TreeVisitor {
 public:
  explicit FixedKey(FunctionCall& call) : call_(call) {}
  void begin_argument(const void* type);  // an address that stands for its C++ type
  void end_argument();
  void on_tensor(Tensor& tensor) override;
  bool wants_fixed() const override { return true; }
  void on_fixed(std::string_view text) override;

 private:
  FunctionCall& call_;
};

// Replaces the tensors of trees by tensors of other types, without values.
class ReplaceByTypes final : public TreeVisitor {
 public:
  explicit ReplaceByTypes(std::span<const Type> types) : types_(types) {}
  void on_tensor(Tensor& tensor) override;

 private:
  std::span<const Type> types_;
  std::size_t next_ = 0;
};

// Leaves a tree whose tensors hold nothing.
class EmptyTensors final : public TreeVisitor {
 public:
  void on_tensor(Tensor& tensor) override;
};

// Any number of threads may call all of it at once.
class CompiledFunction {
 public:
  virtual ~CompiledFunction() = default;

  // The result's tree, with tensors that hold nothing, and the tensors. Throws InfeasibleBudget, at the line
  // of the call of compile, when no plan for these types is within the budget.
  struct Results {
    std::shared_ptr<const std::any> tree;
    std::vector<Tensor> tensors;
  };
  virtual Results run(const FunctionCall& call) = 0;
  virtual PlannedGraph prepare(const FunctionCall& call) = 0;  // all tensors have values: memory is reserved
  virtual SmallestBudget smallest(const FunctionCall& call) const = 0;
  virtual std::vector<FrontierPoint> frontier(const FunctionCall& call, int points) const = 0;
  virtual std::optional<Footprint> footprint(const FunctionCall& call) = 0;
  virtual SizedPeak peak(const FunctionCall& call) const = 0;  // of a plan that is not kept
  virtual std::vector<MemoryPrice> prices(const FunctionCall& call) = 0;
  virtual GradientError gradient_error(const FunctionCall& call) = 0;

  // The budget of calls that begin from now on; those that run are waited for. Memory beyond it is given
  // back. Throws Error at `where` if the function was compiled without one.
  virtual void set_memory(Bytes memory, SourceLine where) = 0;

  // Of the latest call. Throws Error at `where` when there was none.
  virtual PlannedGraph plan(SourceLine where) const = 0;
  virtual Bytes arena_high_water(SourceLine where) const = 0;
  virtual FunctionMemory memory() const = 0;

  // Times the calls that begin from now on, or not any more; what was recorded before is dropped when it is
  // switched on.
  virtual void record_profile(bool on) = 0;
  // Of the calls with the latest one's types that were recorded. Throws Error at `where` when there are none.
  virtual Profile profile(SourceLine where) const = 0;
  virtual void forget() = 0;
};

// That runs on this machine.
std::unique_ptr<CompiledFunction> make_function(const CompileOptions& options, SourceLine where);

}  // namespace tidemark
