// Made while the body of a repeat or scan is traced.
#pragma once

namespace tidemark::detail {

class StepScope {
 public:
  StepScope();
  ~StepScope();
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

  static bool is_open();  // on this thread
};

}  // namespace tidemark::detail
