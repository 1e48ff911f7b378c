// What a compiled function remembers from call to call, whatever C++ function it was made from. Any number of threads may
// ask at once: a call that is remembered does not wait for the planning of another.
#pragma once
#include <memory>
#include <mutex>

#include "tidemark/engine/call_cache.h"
#include "tidemark/engine/memory_report.h"
#include "tidemark/engine/plan_function.h"

namespace tidemark {

struct FunctionState {
  FunctionState(CompileOptions options, SourceLine where);
  ~FunctionState();
  FunctionState(const FunctionState&) = delete;
  FunctionState& operator=(const FunctionState&) = delete;

  FunctionMemory memory() const;

  // The call for these arguments whose captures hold, which are appended to `inputs`; null: there is none. What is found or
  // inserted is the latest call from then on.
  std::shared_ptr<CompiledCall> find(const std::string& key, std::vector<Tensor>& inputs);
  std::shared_ptr<Program> find_program(const std::string& key, std::uint64_t graph_hash) const;
  void insert(const std::string& key, const std::shared_ptr<CompiledCall>& call);
  std::shared_ptr<CompiledCall> latest() const;  // null: there was none
  void forget();

  const CompileOptions options;
  const SourceLine where;
  const std::shared_ptr<Workspace> workspace;
  std::mutex planning;   // one call is traced and planned at a time
  LargestPlans largest;  // changes while planning

 private:
  mutable std::mutex mutex_;  // of what follows; never held for long
  CallCache calls_;
  std::shared_ptr<CompiledCall> latest_;
};

}  // namespace tidemark
