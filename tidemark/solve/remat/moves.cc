#include "tidemark/solve/remat/moves.h"

namespace tidemark {

std::vector<int> makers_of(const OrderModel& model) {
  std::vector<int> makers(static_cast<std::size_t>(model.items), -1);
  for (int t = 0; t < model.tasks; ++t) {
    for (int item : model.makes[t]) makers[static_cast<std::size_t>(item)] = t;
  }
  return makers;
}

Gap gap_at(const Timeline& line, const OrderModel& model, int item, Timeline::Run run) {
  constexpr int nowhere = -1;
  const auto events = line.events(item);
  const int k = line.events_before(item, run);
  if (k == 0) return {item, nowhere};
  if (k == static_cast<int>(events.size())) {
    return {item, model.pinned[static_cast<std::size_t>(item)] ? k : nowhere};
  }
  const Timeline::Event& next = events[static_cast<std::size_t>(k)];
  return {item, next.make || next.run == run ? nowhere : k};
}

}  // namespace tidemark
