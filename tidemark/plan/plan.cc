#include "tidemark/plan/plan.h"

namespace tidemark {

std::string_view name_of(Memory memory) {
  constexpr std::string_view names[] = {"bound", "arena"};
  return names[static_cast<int>(memory)];
}

std::string_view name_of(Purpose purpose) {
  constexpr std::string_view names[] = {"input", "donated", "value", "output", "scratch"};
  return names[static_cast<int>(purpose)];
}

std::string_view name_of(StepKind kind) {
  constexpr std::string_view names[] = {"compute"};
  return names[static_cast<int>(kind)];
}

}  // namespace tidemark
