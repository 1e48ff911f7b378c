// A compiled function that runs on this machine: it traces a call when it must, plans it, keeps what was
// planned, and runs it. A call that is remembered does not wait for the planning of another.
#pragma once
#include <any>
#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>

#include "tidemark/engine/call_cache.h"
#include "tidemark/engine/compiled_function.h"
#include "tidemark/engine/loop_folder.h"
#include "tidemark/engine/plan_function.h"
#include "tidemark/engine/saved_plan.h"

namespace tidemark {

class CpuDevice;
struct DiskTraffic;

// Can a call that failed be made again? Nothing that happens once has happened, and donated tensors are
// there.
bool may_repeat(const FunctionCall& call, const Program& program);

class LocalFunction final : public CompiledFunction {
 public:
  LocalFunction(CompileOptions options, SourceLine where);
  ~LocalFunction() override;
  LocalFunction(const LocalFunction&) = delete;
  LocalFunction& operator=(const LocalFunction&) = delete;

  Results run(const FunctionCall& call) override;
  PlannedGraph prepare(const FunctionCall& call) override;
  SmallestBudget smallest(const FunctionCall& call) const override;
  std::vector<FrontierPoint> frontier(const FunctionCall& call, int points) const override;
  std::optional<Footprint> footprint(const FunctionCall& call) override;
  SizedPeak peak(const FunctionCall& call) const override;
  std::vector<MemoryPrice> prices(const FunctionCall& call) override;
  GradientError gradient_error(const FunctionCall& call) override;
  void set_memory(Bytes memory, SourceLine where) override;
  PlannedGraph plan(SourceLine where) const override;
  Bytes arena_high_water(SourceLine where) const override;
  FunctionMemory memory() const override;
  void record_profile(bool on) override;
  Profile profile(SourceLine where) const override;
  void forget() override;

 private:
  std::shared_ptr<const Program> latest(SourceLine where, std::string_view asked_for) const;
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
  const SavedPlans saved_;
  std::atomic<int> recording_{0};                    // the session that calls are recorded for; 0: none
  int sessions_ = 0;                                 // so far; under the mutex
  std::optional<Error> disk_failure_;                // under the mutex, once it is made
  std::vector<SourceLine> refused_forms_;            // likewise
  std::shared_ptr<const DiskTraffic> disk_traffic_;  // null: there is no disk
  std::string loop_folder_;               // of loops, where the function has no disk; under the mutex
  const std::shared_ptr<CpuDevice> cpu_;  // null: it runs on another device
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<Workspace> workspace_;
  std::mutex planning_;   // one call is traced and planned at a time
  LargestPlans largest_;  // changes while planning

  mutable std::mutex mutex_;  // of what follows; never held for long
  CallCache calls_;
  std::shared_ptr<CompiledCall> latest_;
};

}  // namespace tidemark
