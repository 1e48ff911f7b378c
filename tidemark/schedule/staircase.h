// The staircase of a schedule as data: which step the working state is at after each action, where states lie
// meanwhile, and how far the reverse has come. The page draws it (plan/report/page.h).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tidemark/base/source.h"
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

// What stands above it, for people.
struct StaircaseHead {
  std::string title = {};
  SourceLine where = {};
  std::vector<std::pair<std::string, std::string>> figures = {};  // a name and a text
};

// An object of JSON. Short schedules come action by action; of long ones each moment is a stretch of actions,
// with the lowest and the highest state worked on; of very long ones as many actions as can be followed in
// seconds.
std::string staircase_json(const Schedule& schedule, const StaircaseHead& head);

}  // namespace tidemark::schedule
