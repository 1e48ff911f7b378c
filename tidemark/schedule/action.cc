#include "tidemark/schedule/action.h"

namespace tidemark::schedule {

std::string_view name_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::advance:
      return "advance";
    case ActionKind::record:
      return "record";
    case ActionKind::reverse:
      return "reverse";
    case ActionKind::store:
      return "store";
    case ActionKind::load:
      return "load";
    case ActionKind::drop:
      return "drop";
  }
  return "?";
}

std::size_t ActionStream::fill(std::span<Action> out) {
  std::size_t count = 0;
  while (count < out.size() && next(out[count])) ++count;
  return count;
}

}  // namespace tidemark::schedule
