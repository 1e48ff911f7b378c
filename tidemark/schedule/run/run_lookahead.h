// The next few thousand actions of a schedule, so that what will be read from files is read before it is
// needed.
#pragma once
#include <deque>
#include <vector>

#include "tidemark/schedule/run/run_actions.h"

namespace tidemark::schedule {

class Lookahead {
 public:
  static constexpr std::size_t depth = 4096;

  // `files`: by level, whether to look for its loads; none: nothing is looked for, and one action is taken at
  // a time.
  Lookahead(ActionStream& stream, std::vector<bool> files);

  const Action* peek();  // nothing at the end
  bool next(Action& action);
  void prefetch(RunActions& actions);  // starts what can be started

 private:
  void refill();
  bool reads_file(const Action& action) const;

  ActionStream& stream_;
  std::vector<bool> files_;
  std::vector<Action> actions_;
  std::size_t at_ = 0, end_ = 0;
  std::deque<Action> reads_;  // those in actions_[at_, end_) that read a file
  std::size_t asked_ = 0;     // how many of them, from the first, are on their way
};

}  // namespace tidemark::schedule
