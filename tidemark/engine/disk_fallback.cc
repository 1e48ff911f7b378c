// What becomes of a call whose disk fails.
#include "tidemark/engine/local_function.h"

namespace tidemark {
namespace {

bool is_of_the_disk(const Error& error) {
  return error.code() == ErrorCode::disk_failure || error.code() == ErrorCode::disk_full;
}

}  // namespace

std::optional<Error> LocalFunction::disk_failure() const {
  const std::lock_guard lock(mutex_);
  return disk_failure_;
}

void LocalFunction::fail_without_disk(const Error& failure, const InfeasibleBudget& none) const {
  ErrorParts parts = failure.parts();
  parts.notes.push_back(fmt::format("without it nothing fits: the smallest plan takes {}, the budget is {}",
                                    to_string(none.smallest()), to_string(none.budget())));
  if (!parts.where.known()) parts.where = where_;
  throw DeviceError(failure.code(), std::move(parts));
}

template <class Body, class MayRepeat>
auto LocalFunction::with_fallback(const Body& body, const MayRepeat& may_repeat) {
  std::optional<Error> failure = disk_failure();
  const bool for_good = failure.has_value();
  if (!for_good) {
    try {
      return body();
    } catch (const DeviceError& error) {
      const bool allowed = options_.disk && options_.disk->fallback;
      if (!allowed || !is_of_the_disk(error) || !may_repeat()) throw;
      failure = error;
    }
    const std::lock_guard lock(mutex_);
    disk_failure_ = failure;
  }
  try {
    if (!for_good) Workspace::Lease(*workspace_, where_).release();  // the file too
    return body();
  } catch (const InfeasibleBudget& none) {
    if (!for_good) {
      const std::lock_guard lock(mutex_);
      disk_failure_.reset();
    }
    fail_without_disk(*failure, none);
  }
}

// `begun`: what runs, or ran; none: nothing has yet.
LocalFunction::Results LocalFunction::run_with_fallback(const FunctionCall& call,
                                                        std::shared_ptr<const Program>& begun) {
  const auto once = [&]() -> Results {
    std::vector<Tensor> inputs = call.tensors;
    const std::shared_ptr<CompiledCall> found = planned(call, inputs);
    if (options_.disk && options_.disk->fallback) found->program->reserve(where_);
    begun = found->program;
    std::vector<Tensor> results = found->program->run(inputs, where_, recording_.load());
    return {std::shared_ptr<const std::any>(found, &found->result), std::move(results)};
  };
  return with_fallback(once, [&] { return !begun || may_repeat(call, *begun); });
}

PlannedGraph LocalFunction::prepare(const FunctionCall& call) {
  const auto once = [&]() -> PlannedGraph {
    std::vector<Tensor> captured;
    const std::shared_ptr<CompiledCall> found = planned(call, captured);
    if (std::ranges::all_of(call.tensors, &Tensor::is_data)) found->program->reserve(where_);
    return {found->program->graph(), found->program->plan(), found->program};
  };
  return with_fallback(once, [] { return true; });
}

}  // namespace tidemark
