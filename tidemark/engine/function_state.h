// What a compiled function remembers from call to call, whatever C++ function it was made from.
#pragma once
#include <memory>

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

  CompileOptions options;
  SourceLine where;
  std::shared_ptr<Workspace> workspace;
  CallCache calls;
  LargestPlans largest;
  std::shared_ptr<CompiledCall> latest;
};

}  // namespace tidemark
