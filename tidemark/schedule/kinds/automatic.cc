#include "tidemark/schedule/kinds/automatic.h"

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/schedule/kinds/binomial.h"
#include "tidemark/schedule/kinds/mixed.h"
#include "tidemark/schedule/kinds/multilevel.h"
#include "tidemark/schedule/kinds/store_all.h"
#include "tidemark/schedule/question.h"

namespace tidemark::schedule {

std::unique_ptr<Schedule> automatic_schedule(const Question& question) {
  std::unique_ptr<Schedule> best;
  const auto consider = [&](std::unique_ptr<Schedule> (*make)(const Question&)) {
    try {
      std::unique_ptr<Schedule> schedule = make(question);
      if (!best || schedule->promise().cost < best->promise().cost) best = std::move(schedule);
    } catch (const Error&) {  // it does not fit, or is beyond its table
    }
  };
  const Level& first = question.levels.front();
  const bool free = first.write_cost == 0 && first.read_cost == 0;
  const bool keeps_records = first.slots < 0 && first.bytes >= 0 && question.record_bytes > 0;
  if (keeps_records && first.bytes / question.record_bytes >= question.steps - 1)
    consider(store_all_schedule);
  if (best && free) return best;  // no advance at all
  if (question.levels.size() == 1 && free) consider(binomial_schedule);
  if (question.levels.size() > 1 || !free) {
    const Level& last = question.levels.back();
    consider(last.slots < 0 && last.bytes < 0 ? disk_schedule : multilevel_schedule);
  }
  if (keeps_records) consider(mixed_schedule);
  return best ? std::move(best) : multilevel_schedule(question);  // which says what is missing
}

}  // namespace tidemark::schedule
