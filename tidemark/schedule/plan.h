// Which schedule, for how many steps, in how many bytes: what is asked and what is promised before anything
// runs.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tidemark/schedule/action.h"

namespace tidemark::schedule {

enum class Kind : std::uint8_t {
  automatic,   // the cheapest of the others that fits
  store_all,   // every step's record
  uniform,     // states at equal distances, then every record of one segment
  bisection,   // the middle, again and again
  binomial,    // least advances for one level of states
  mixed,       // states and records in one store
  multilevel,  // states on several levels, of different costs
  disk,        // any number of states on the last level
  online,      // the number of steps unknown until the end
  background   // states go to the last level behind the steps, as often as it can take them
};
std::string_view name_of(Kind kind);
std::optional<Kind> kind_named(std::string_view name);

// Where states are kept: as many as fit in `bytes`, or `slots` of them when that is given, or any number.
struct Level {
  std::int64_t slots = -1;
  std::int64_t bytes = -1;
  double write_cost = 0, read_cost = 0;  // of one state, in the unit of Question::forward_cost
};

struct Question {
  Step steps = 0;
  Kind kind = Kind::automatic;
  std::vector<Level> levels;      // fastest first
  std::int64_t state_bytes = 1;   // of one restart state
  std::int64_t record_bytes = 1;  // of one step's record, where records are kept in slots; 0: not known
  double forward_cost = 1, reverse_cost = 1;  // of one step
};

struct Promise {
  Kind kind = Kind::binomial;  // never automatic
  Step steps = 0;
  Step advances = 0;  // forward steps that leave no record
  Step recorded = 0;  // forward steps that do: at least one for each step
  std::vector<std::int64_t> slots, peak_slots, peak_bytes, writes, reads;  // by level
  // forward_cost * advances + reverse_cost * steps + writes and reads, if not in the background; recording
  // excluded
  double cost = 0;

  Step total_forward() const { return advances + recorded; }
  double overhead() const { return static_cast<double>(total_forward()) / static_cast<double>(steps); }
};

// A schedule: what it will cost, and as often as one likes, its actions.
class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual const Promise& promise() const = 0;
  virtual std::unique_ptr<ActionStream> actions() const = 0;
};

// Throws Error: `bad_schedule` for a question that makes no sense, `infeasible_budget` where nothing of that
// kind fits (the least that would is in the text).
std::unique_ptr<Schedule> make_schedule(const Question& question);

}  // namespace tidemark::schedule
