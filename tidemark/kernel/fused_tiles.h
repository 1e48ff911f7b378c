// The tiles of a fused program that one task runs: registers and pointers. Large: on the stack, one per task.
#pragma once
#include "tidemark/kernel/fused.h"
#include "tidemark/kernel/fused_limits.h"

namespace tidemark {

class FusedTiles {
 public:
  FusedTiles(const FusedProgram& program, const KernelArgs& args);

  // Elements [begin, end) of everything the program makes.
  void run(std::int64_t begin, std::int64_t end);
  // The same for [begin, begin + n); returns what the program's reduction takes of it, dense, n elements. It
  // lies in `buffer` where it is not at hand in one piece.
  const std::byte* make(std::int64_t begin, std::int64_t n, std::byte* buffer);

 private:
  using Instruction = FusedProgram::Instruction;

  std::int64_t run_tile(std::int64_t begin, std::int64_t most);  // returns how many elements it took
  std::byte* element(int number, std::int64_t index) const;
  void load(const Instruction& i, std::int64_t begin, std::int64_t n) const;
  void repeat(const Instruction& i, std::int64_t begin);
  void run_code(const FusedProgram::Code& code, std::int64_t n);
  void run_tile_function(const Instruction& i, std::int64_t from, std::int64_t n);
  void execute(const Instruction& i, std::int64_t begin, std::int64_t n);

  const FusedProgram& program_;
  const KernelArgs& args_;
  std::int64_t filled_;                           // elements of a register whose value does not change
  std::byte* at_[fused::most_slots];              // where every slot is now
  const std::byte* repeated_[fused::most_slots];  // the element that a register is full of
  alignas(buffer_alignment) std::byte frame_[fused::frame_bytes];
};

}  // namespace tidemark
