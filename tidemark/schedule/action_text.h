// Schedules as text: a header line with the question, then one action on each line, line 2 the first.
//
//   tidemark-schedule 1 kind=binomial steps=3 slots=1 state=1 record=1 write=0 read=0 forward=1 reverse=1
//   store 0 in 0:0            level 0, slot 0
//   advance 0 to 2
//   record 2                  `record 2 in 0:1` leaves the record in a slot
//   reverse 2                 `reverse 2 from 0:1`
//   load 0 from 0:0
//   drop 0 from 0:0
//
// Levels are separated by commas; a level of bytes says slots=- and bytes=4096.
#pragma once
#include <iosfwd>
#include <string>

#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

std::string to_text(const Action& action);
std::string header_text(const Question& question);

// The whole schedule, streamed. The stream's own state says whether it could be written.
void write_actions(std::ostream& out, const Question& question, const Schedule& schedule);

// Reads what write_actions wrote, line by line. Throws Error: `syntax`, at `name` and the line.
class ActionReader final : public ActionStream {
 public:
  ActionReader(std::istream& in, std::string name);
  const Question& question() const { return question_; }
  bool next(Action& action) override;

 private:
  std::istream& in_;
  std::string name_, text_;
  std::uint32_t line_ = 1;
  Question question_;
};

}  // namespace tidemark::schedule
