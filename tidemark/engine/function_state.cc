#include "tidemark/engine/function_state.h"

namespace tidemark {

std::shared_ptr<CompiledCall> FunctionState::find(const std::string& key, std::vector<Tensor>& inputs) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<CompiledCall> found = calls_.find(key, inputs);
  if (found) latest_ = found;
  return found;
}

std::shared_ptr<Program> FunctionState::find_program(const std::string& key, std::uint64_t graph_hash) const {
  const std::lock_guard lock(mutex_);
  return calls_.find_program(key, graph_hash);
}

void FunctionState::insert(const std::string& key, const std::shared_ptr<CompiledCall>& call) {
  const std::lock_guard lock(mutex_);
  calls_.insert(key, call);
  latest_ = call;
}

std::shared_ptr<CompiledCall> FunctionState::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

void FunctionState::forget() {
  const std::scoped_lock lock(planning, mutex_);
  calls_.clear();
  largest.clear();
  latest_.reset();
}

}  // namespace tidemark
