// One move of a reversal: the words in which every checkpoint schedule is said. A schedule is a stream of
// them, pure data, the same for the verifier, the executor, the command line and a file.
//
// The machine they drive holds one working state, one working record, and slots on levels (0 is the fastest).
// Step i takes state i to state i+1, i in [0, n); at the start the working state is state 0, at the end step
// 0 is reversed.
//
//   advance [step, to)    working state `step` becomes state `to`; nothing is kept
//   record  step          working state `step` becomes `step`+1; what its reverse needs is the working
//                         record, or, with
//                         a slot, lies in that slot
//   reverse step          the adjoint of `step`, from the working record, or from the slot named (which is
//                         kept)
//   store   step          the working state, which is state `step`, is copied into an empty slot
//   load    step          state `step` becomes the working state; the slot is kept
//   drop    step          the slot is emptied
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tidemark::schedule {

using Step = std::int64_t;  // of a state, too: state i is what step i starts from

enum class ActionKind : std::uint8_t { advance, record, reverse, store, load, drop };
std::string_view name_of(ActionKind kind);

inline constexpr int working = -1;  // the level of the working state and the working record

struct Action {
  ActionKind kind = ActionKind::advance;
  std::int16_t level = working;
  std::int32_t slot = 0;  // within its level
  Step step = 0;
  Step to = 0;  // advance: the first step not taken; the others: step
  friend bool operator==(const Action&, const Action&) = default;
};

// Gives the actions one by one, in memory that grows with the slots and never with the steps.
class ActionStream {
 public:
  virtual ~ActionStream() = default;
  virtual bool next(Action& action) = 0;  // false: at the end, and ever after
  // As many as next would give, up to the size of `out`: one virtual call for many actions. Fewer only at the
  // end.
  virtual std::size_t fill(std::span<Action> out);
};

}  // namespace tidemark::schedule
