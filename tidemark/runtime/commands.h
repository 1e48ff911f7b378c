// A plan as a device gets it: what to run, in an order that is right, with every operand at a *location*,
// which has an address once arenas and arguments have theirs. Plain data without a pointer into memory, so a
// device may turn it into what suits it: a list of calls, a captured graph, messages to another machine.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "tidemark/kernel/group_ref.h"
#include "tidemark/plan/step_call.h"
#include "tidemark/plan/verify/verify.h"

namespace tidemark {

struct Location {
  enum Base : std::uint8_t {
    arena,     // of memory `which`
    argument,  // number `which` of the call
    result,    // likewise; of regions only
  };
  Base base = arena;
  std::int32_t which = 0;
  std::int64_t offset = 0;  // bytes
};

struct CommandOperand {
  Location location;
  Type type;
  Strides strides;               // in elements
  const Codec* codec = nullptr;  // the form that it has there; null: plain
};

// One step of a group, and where each of its operands and results is.
struct GroupStep {
  Call call;
  std::vector<GroupRef> in, out;
};

struct Commands;

struct Command {
  StepKind kind = StepKind::compute;
  bool is_group = false;
  // Of a compute: its call, or those of a group, which run as one kernel (Fusion in ir/target.h says what a
  // group may be). A group has the distinct operands from outside as `in` and the results that have memory as
  // `out`.
  std::vector<GroupStep> steps = {};
  std::vector<CommandOperand> in = {}, out = {};
  std::optional<Location> scratch = {};  // the kernel's own, as much as the target claims
  std::vector<Commands> regions;         // of the call, which runs them as often as it likes, one at a time
  SourceLine where = {};                 // for errors that only the data can show
  std::int32_t lane = 0;
  std::vector<std::int32_t> waits = {};  // commands before it, on other lanes, that must have ended
  std::size_t last_step = 0;             // one past its last step of the plan
};

// Those of a region, and the calls that they point at.
struct Commands {
  std::vector<Command> list;
  std::vector<std::unique_ptr<StepCall>> calls = {};
  std::size_t arguments = 0, results = 0;  // how many there are; a region's caller says where both are
};

// Those of a plan, one after the other: a whole list would take more memory than the small plans it is for.
class CommandStream {
 public:
  CommandStream(const Graph& graph, const VerifiedPlan& plan);  // which outlive it
  ~CommandStream();
  CommandStream(const CommandStream&) = delete;
  CommandStream& operator=(const CommandStream&) = delete;

  const Target& target() const { return plan_.target(); }  // that the plan was made for
  const PlannedAlgorithms& algorithms() const { return plan_->algorithms; }
  const Command* next();  // valid until the next one is asked for; null: that was all

  // Of the commands so far. Per memory: one past the last byte that any touches; per command: one past its
  // last step of the plan; the first command that writes an argument, their number where none does.
  const std::vector<std::int64_t>& top() const;
  const std::vector<std::size_t>& last_steps() const { return last_steps_; }
  std::size_t first_argument_write() const { return first_write_.value_or(last_steps_.size()); }

 private:
  class Lowering;
  const VerifiedPlan& plan_;
  std::unique_ptr<Lowering> lowering_;
  Commands current_;
  std::vector<std::size_t> last_steps_;
  std::optional<std::size_t> first_write_;
};

}  // namespace tidemark
