// The lanes of a plan as *lines*, by which a device runs commands side by side. A lane that only moves values
// (copies, codes) is a line of its own, and runs its commands in their order, each behind those that it waits
// for. Everything else is line 0, in the order of the list: the first lane and every lane that computes,
// since one command that computes takes all that a device computes with.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tidemark/runtime/commands.h"

namespace tidemark {

struct LaneLines {
  // Until a command of another line has ended.
  struct Wait {
    std::uint32_t line, command;
  };
  struct Item {
    std::uint32_t command;
    std::uint32_t first_wait = 0, last_wait = 0;  // into `waits`
    bool is_awaited = false;                      // by another line
  };
  std::vector<std::vector<Item>> lines;  // commands increase
  // Those that follow from the others are left out: a line runs in order.
  std::vector<Wait> waits;
};

// What lines must know of commands, noted as they come.
class LaneCommands {
 public:
  void add(const Command& command);
  bool run_side_by_side() const;  // is there more than line 0?
  LaneLines lines() const;

 private:
  struct Row {
    std::int32_t lane;
    bool computes;
    std::vector<std::int32_t> waits;
  };
  std::size_t before_ = 0;  // commands of the first lane before any of another
  std::vector<Row> rows_;   // of those that follow
};

}  // namespace tidemark
