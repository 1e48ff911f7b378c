#include "tidemark/kernel/fused_tiles.h"

#include <algorithm>
#include <cstring>

namespace tidemark {

FusedTiles::FusedTiles(const FusedProgram& program, const KernelArgs& args) : program_(program), args_(args) {
  for (std::size_t r = 0; r < program.registers_.size(); ++r) at_[r] = frame_ + program.registers_[r];
  for (const Instruction& i : program.each_) {
    if (i.kind == Instruction::repeat) repeated_[i.out] = nullptr;
  }
  filled_ = std::min(program.filled_, program.walk_.count);
  for (const Instruction& i : program.once_) execute(i, 0, filled_);
}

void FusedTiles::run(std::int64_t begin, std::int64_t end) {
  while (begin < end) begin += run_tile(begin, end - begin);
}

const std::byte* FusedTiles::make(std::int64_t begin, std::int64_t n, std::byte* buffer) {
  const std::int64_t size = program_.reduced_size_;
  std::int64_t done = run_tile(begin, n);
  const std::byte* made = at_[program_.reduced_];
  if (done == n) return made;
  if (program_.reduction_->in.kind == GroupRef::result) {  // the tiles lie one behind the other
    run(begin + done, begin + n);
    return made;
  }
  std::memcpy(buffer, made, static_cast<std::size_t>(done * size));
  while (done < n) {
    const std::int64_t more = run_tile(begin + done, n - done);
    std::memcpy(buffer + done * size, at_[program_.reduced_], static_cast<std::size_t>(more * size));
    done += more;
  }
  return buffer;
}

std::int64_t FusedTiles::run_tile(std::int64_t begin, std::int64_t most) {
  const Walk& walk = program_.walk_;
  std::int64_t n = std::min(most, program_.tile_);
  if (walk.cut_rows) n = std::min(n, walk.inner - begin % walk.inner);
  for (const FusedProgram::Direct& d : program_.operands_)
    at_[d.slot] = args_.in[static_cast<std::size_t>(d.number)].data + begin * d.size;
  for (const FusedProgram::Direct& d : program_.row_operands_) at_[d.slot] = element(d.number, begin);
  for (const FusedProgram::Direct& d : program_.results_)
    at_[d.slot] = args_.out[static_cast<std::size_t>(d.number)].data + begin * d.size;
  for (const Instruction& i : program_.each_) execute(i, begin, n);
  return n;
}

// Where a strided operand has the element that comes `index`-th in the walk.
std::byte* FusedTiles::element(int number, std::int64_t index) const {
  const WalkedOperand& operand = program_.walk_.operands[static_cast<std::size_t>(number)];
  const std::int64_t inner = program_.walk_.inner;
  const WalkRows rows(program_.walk_, operand, index / inner);
  return args_.in[static_cast<std::size_t>(number)].data +
         (rows.offset() + index % inner * operand.strides.back()) * operand.size;
}

// Elements [begin, begin + n) of an operand that is not read where it lies.
void FusedTiles::load(const Instruction& i, std::int64_t begin, std::int64_t n) const {
  const Walk& walk = program_.walk_;
  const WalkedOperand& operand = walk.operands[static_cast<std::size_t>(i.number)];
  const std::byte* from = args_.in[static_cast<std::size_t>(i.number)].data;
  std::byte* to = at_[i.out];
  if (operand.kind == WalkedOperand::uniform) return i.from_storage(from, 0, n, to);
  if (operand.kind == WalkedOperand::dense) return i.from_storage(from + begin * operand.size, 1, n, to);
  const std::int64_t stride = operand.strides.back();
  WalkRows rows(walk, operand, begin / walk.inner);
  for (std::int64_t column = begin % walk.inner; n > 0; column = 0, rows.next()) {
    const std::int64_t piece = std::min(n, walk.inner - column);
    i.from_storage(from + (rows.offset() + column * stride) * operand.size, stride, piece, to);
    to += piece * i.width;
    n -= piece;
  }
}

void FusedTiles::repeat(const Instruction& i, std::int64_t begin) {
  const std::byte* from = element(i.number, begin);
  if (repeated_[i.out] == from) return;
  i.from_storage(from, 0, std::min(filled_, program_.walk_.inner), at_[i.out]);
  repeated_[i.out] = from;
}

// Elements [from, from + n) of the tile.
void FusedTiles::run_tile_function(const Instruction& i, std::int64_t from, std::int64_t n) {
  TileArgs args{.out = at_[i.out] + from * i.width, .n = n, .attributes = i.attributes};
  for (std::size_t k = 0; k < static_cast<std::size_t>(i.in_count); ++k)
    args.in[k] = at_[i.in[k]] + from * i.in_width[k];
  i.run(args);
}

void FusedTiles::run_code(const FusedProgram::Code& code, std::int64_t n) {
  std::byte* places[fused::most_code_places];
  for (std::size_t p = 0; p < code.places.size(); ++p) places[p] = at_[code.places[p]];
  const std::int64_t done = code.machine->run(places, n);
  if (done == n) return;
  for (const Instruction& i : code.rest) run_tile_function(i, done, n - done);
}

void FusedTiles::execute(const Instruction& i, std::int64_t begin, std::int64_t n) {
  switch (i.kind) {
    case Instruction::tile:
      run_tile_function(i, 0, n);
      break;
    case Instruction::code:
      run_code(program_.codes_[static_cast<std::size_t>(i.number)], n);
      break;
    case Instruction::load:
      load(i, begin, n);
      break;
    case Instruction::repeat:
      repeat(i, begin);
      break;
    case Instruction::widen:
      i.from_storage(at_[i.in[0]], 1, n, at_[i.out]);
      break;
    case Instruction::narrow:
      i.to_storage(at_[i.in[0]], n, at_[i.out]);
      break;
  }
}

}  // namespace tidemark
