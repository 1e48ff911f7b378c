// A compiled function whose C++ types are forgotten: it traces a call when it must, plans it, keeps what was
// planned, and runs it. `Compiled<F>` (compile.h) is a typed face over it; bindings of other languages stand
// on it directly. Any number of threads may call it at once: a call that is remembered does not wait for the
// planning of another.
#pragma once
#include <any>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "tidemark/engine/call_cache.h"
#include "tidemark/engine/gradient_error.h"
#include "tidemark/engine/loop_folder.h"
#include "tidemark/engine/memory_prices.h"
#include "tidemark/engine/memory_report.h"
#include "tidemark/engine/plan_function.h"
#include "tidemark/engine/planned_graph.h"
#include "tidemark/trace/traced_call.h"

namespace tidemark {

class CpuDevice;
struct DiskTraffic;

// The arguments of one call, and how the function is traced with them.
struct FunctionCall {
  std::vector<Tensor> tensors = {};             // of all arguments, in tree order
  std::vector<std::size_t> argument_ends = {};  // tensors of argument i end here
  std::string fixed = {};  // a key for all else: types of arguments, sizes, values that are no tensors
  std::function<TracedCall<std::any>()> trace = {};  // with these arguments
  std::function<TracedCall<std::any>(std::span<const Type>)> trace_types =
      {};  // with tensors of other types instead

  std::string key() const;  // of what a trace depends on. No two calls that differ in it have the same.
};

// Fills in a call's tensors and its key of all else: the arguments' types, sizes and values that are no
// tensors. Each part has its length in front, so that no text can end early and pass for two.
class FixedKey final : public TreeVisitor {
 public:
  explicit FixedKey(FunctionCall& call) : call_(call) {}
  void add(const void* type);  // before an argument: an address that stands for its C++ type
  void on_tensor(Tensor& tensor) override { call_.tensors.push_back(tensor); }
  bool wants_fixed() const override { return true; }
  void on_fixed(std::string_view text) override;

 private:
  FunctionCall& call_;
};

// Can a call that failed be made again? Nothing that happens once has happened, and donated tensors are
// there.
bool may_repeat(const FunctionCall& call, const Program& program);

class CompiledFunction {
 public:
  CompiledFunction(CompileOptions options, SourceLine where);
  ~CompiledFunction();
  CompiledFunction(const CompiledFunction&) = delete;
  CompiledFunction& operator=(const CompiledFunction&) = delete;

  // The result's tree, with tensors that hold nothing, and the tensors. Throws InfeasibleBudget, at the line
  // of the call of compile, when no plan for these types is within the budget.
  struct Results {
    std::shared_ptr<const CompiledCall> call;
    std::vector<Tensor> tensors;
  };
  Results run(const FunctionCall& call);
  PlannedGraph prepare(const FunctionCall& call);  // where all tensors have values, memory is reserved too
  SmallestBudget smallest(const FunctionCall& call) const;
  std::vector<FrontierPoint> frontier(const FunctionCall& call, int points) const;
  std::optional<Footprint> footprint(const FunctionCall& call);
  std::vector<MemoryPrice> prices(const FunctionCall& call);
  GradientError gradient_error(const FunctionCall& call);

  // The budget of calls that begin from now on; those that run are waited for. Memory beyond it is given
  // back. Throws Error at `where` if the function was compiled without one.
  void set_memory(Bytes memory, SourceLine where);

  // Of the latest call. Throws Error at `where` when there was none.
  std::shared_ptr<const Program> latest(SourceLine where) const;
  FunctionMemory memory() const;
  void forget();

 private:
  TracedCall<std::any> traced(const FunctionCall& call, bool to_run = true) const;  // donated inputs marked
  TracedFunction function_of(const FunctionCall& call, const std::string& captures) const;
  std::shared_ptr<CompiledCall> traced_call(const FunctionCall& call, const std::string& arguments,
                                            std::vector<Tensor>& inputs);
  std::shared_ptr<CompiledCall> planned(const FunctionCall& call, std::vector<Tensor>& inputs);
  std::shared_ptr<CompiledCall> find(const std::string& key, std::vector<Tensor>& inputs);

  CompileOptions options_now() const;  // with the budget as it is, and the disk while there is one

  // `body` plans with options_now() and runs. Where the disk fails and may be done without
  // (DiskBudget::fallback, disk_fallback.cc), it does so again without it, unless what it did cannot be done
  // again.
  template <class Body, class MayRepeat>
  auto with_fallback(const Body& body, const MayRepeat& may_repeat);
  Results run_with_fallback(const FunctionCall& call, std::shared_ptr<const Program>& begun);
  std::optional<Error> disk_failure() const;  // why it is not used any more
  [[noreturn]] void fail_without_disk(const Error& failure, const InfeasibleBudget& none) const;
  // Lines whose forms had no room for what a call held: calls are planned without them (form_fallback.cc).
  std::vector<SourceLine> refused_forms() const;
  void refuse_form(SourceLine asked_at);
  void forgive_form(SourceLine asked_at);
  // For loops of a plan; one that is not the function's own is an error.
  void use_folder(const LoopFolder& folder);
  void use_memory(std::int64_t bytes, SourceLine where);
  void follow_memory_left();  // CompileOptions::memory_left

  const CompileOptions options_;      // as allowed
  std::atomic<std::int64_t> limit_;   // the budget as it was given or set; 0: none
  std::atomic<std::int64_t> memory_;  // what calls keep to: no more than that
  const SourceLine where_;
  std::optional<Error> disk_failure_;                // under the mutex, once it is made
  std::vector<SourceLine> refused_forms_;            // likewise
  std::shared_ptr<const DiskTraffic> disk_traffic_;  // null: there is no disk
  std::string loop_folder_;  // of loops, where the function has no disk; under the mutex
  const std::shared_ptr<CpuDevice> device_;
  const std::shared_ptr<Workspace> workspace_;
  std::mutex planning_;   // one call is traced and planned at a time
  LargestPlans largest_;  // changes while planning

  mutable std::mutex mutex_;  // of what follows; never held for long
  CallCache calls_;
  std::shared_ptr<CompiledCall> latest_;
};

}  // namespace tidemark
