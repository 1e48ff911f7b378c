// Writes the loop of a segment of arithmetic for some processor: which register holds which value, and in
// which order the instructions of several vectors stand. A Processor knows encodings and registers:
//
//   elements                      of a vector
//   most_pointers                 places that the loop moves through
//   registers()                   of vectors, the ones to take first last
//   constants(op)                 what an op wants in registers besides its operands, a set of Constant
//   open(places), close()         what stands before and after everything
//   point(place, pointer)         pointer ← address of a place
//   read_invariant(place, r)      r ← the vector there
//   constant(c, r)                r ← the constant; spare ones need nothing
//   begin_loop()                  after the last of those
//   load, store(pointer, vector, r), compute(op, d, x, y, z, constants), advance(pointers, vectors)
//   count_down(n), count_up(n)    the vectors left, with flags; branch(condition, distance): to `distance`
//                                 bytes from where
//                                 the branch begins; count_bytes, branch_bytes: how long these two are
//
// All of them append to `bytes`.
//
// Order matters more than the number of instructions. A processor wants several instructions a cycle, but its
// queues hold only some tens that wait, so a chain of dependent ones must be interleaved with those of other
// vectors; and values made long ago come through few read ports, while those just made are caught on their
// way. Step by step with many vectors each does best. Where that takes too many registers, each vector lags
// some steps behind the one before it.
#pragma once
#include <algorithm>
#include <array>
#include <utility>

#include "tidemark/kernel/fused_code.h"
#include "tidemark/kernel/fused_limits.h"

namespace tidemark {

enum class Constant : std::uint8_t { zero, one, sign, all, spare_1, spare_2 };
inline constexpr int constant_count = 6;
using ConstantSet = std::uint32_t;
constexpr ConstantSet set_of(std::initializer_list<Constant> constants) {
  ConstantSet set = 0;
  for (Constant c : constants) set |= 1u << static_cast<int>(c);
  return set;
}
struct ConstantRegisters {
  std::array<int, constant_count> at;
  int operator[](Constant c) const { return at[static_cast<std::size_t>(c)]; }
};

enum class If : std::uint8_t { below, not_below, equal, not_equal };

constexpr int operand_count(TileOp op) {
  using enum TileOp;
  switch (op) {
    case neg:
    case abs:
    case square:
    case relu:
    case sqrt:
    case reciprocal:
    case rsqrt:
    case logical_not:
      return 1;
    case select:
      return 3;
    default:
      return 2;
  }
}

template <class Processor>
class CodeWriter {
 public:
  explicit CodeWriter(const CodeSegment& segment) : segment_(segment), free_(Processor::registers()) {
    const int values = static_cast<int>(segment.inputs.size() + segment.steps.size());
    fixed_.assign(index(values), none);
    last_use_.assign(index(values), none);
    for (const CodeSegment::Input& input : segment.inputs)
      pointers_.push_back(input.invariant ? none : moving_++);
    for (const CodeSegment::Step& step : segment.steps) {
      if (step.stored) pointers_.push_back(moving_++);
    }
    list_items();
  }

  // Empty: there are too many places, or values for the registers.
  std::vector<std::uint8_t> write() {
    if (moving_ > Processor::most_pointers || pointers_.size() > fused::most_code_places) return {};
    if (!write_constants()) return {};
    std::vector<std::uint8_t> body = take();
    if (!write_round({1, 0})) return {};
    const std::vector<std::uint8_t> single = take();
    const int vectors = write_widest_round();
    const std::vector<std::uint8_t> wide = take();

    processor_.open(moving_);
    append(body);
    constexpr std::int64_t turn = Processor::count_bytes + Processor::branch_bytes;
    if (vectors > 1) {
      processor_.count_down(vectors);
      processor_.branch(If::below, Processor::branch_bytes + size(wide) + turn);
      append(wide);
      processor_.count_down(vectors);
      processor_.branch(If::not_below, -size(wide) - Processor::count_bytes);
      processor_.count_up(vectors);
      processor_.branch(If::equal, Processor::branch_bytes + size(single) + turn);
    }
    append(single);
    processor_.count_down(1);
    processor_.branch(If::not_equal, -size(single) - Processor::count_bytes);
    processor_.close(moving_);
    return take();
  }

 private:
  static constexpr int none = -1;

  // What a round does for each of its vectors, in order.
  struct Item {
    enum Kind : std::uint8_t { load, compute, store } kind;
    int value;  // loaded, made or stored
    int place;
  };
  // How a round is laid out: so many vectors side by side, each `lag` quarters of an instruction's place
  // behind the last.
  struct Layout {
    int vectors, lag;
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static std::int64_t size(const std::vector<std::uint8_t>& bytes) { return std::ssize(bytes); }
  std::vector<std::uint8_t> take() { return std::exchange(processor_.bytes, {}); }
  void append(const std::vector<std::uint8_t>& bytes) {
    processor_.bytes.insert(processor_.bytes.end(), bytes.begin(), bytes.end());
  }

  void list_items() {
    const int inputs = static_cast<int>(segment_.inputs.size());
    std::vector<bool> loaded(segment_.inputs.size());
    int place = inputs;
    for (int s = 0; s < static_cast<int>(segment_.steps.size()); ++s) {
      const CodeSegment::Step& step = segment_.steps[index(s)];
      for (int k = 0; k < operand_count(step.op); ++k) {
        const int v = step.in[index(k)];
        if (v >= inputs || segment_.inputs[index(v)].invariant || loaded[index(v)]) continue;
        items_.push_back({Item::load, v, v});
        loaded[index(v)] = true;
      }
      const int at = static_cast<int>(items_.size());
      for (int k = 0; k < operand_count(step.op); ++k) last_use_[index(step.in[index(k)])] = at;
      items_.push_back({Item::compute, inputs + s, none});
      if (step.stored) {
        last_use_[index(inputs + s)] = at + 1;
        items_.push_back({Item::store, inputs + s, place++});
      }
    }
  }

  int take_register() {
    if (free_.empty()) return none;
    const int r = free_.back();
    free_.pop_back();
    processor_.uses(r);
    return r;
  }

  // What every round finds in registers: invariants and constants.
  bool write_constants() {
    for (int p = 0; p < static_cast<int>(pointers_.size()); ++p) {
      if (pointers_[index(p)] != none) {
        processor_.point(p, pointers_[index(p)]);
        continue;
      }
      const int r = fixed_[index(p)] = take_register();
      if (r == none) return false;
      processor_.read_invariant(p, r);
    }
    ConstantSet wanted = 0;
    for (const CodeSegment::Step& step : segment_.steps) wanted |= Processor::constants(step.op);
    for (int c = 0; c < constant_count; ++c) {
      if (!(wanted >> c & 1)) continue;
      const int r = constants_.at[index(c)] = take_register();
      if (r == none) return false;
      processor_.constant(static_cast<Constant>(c), r);
    }
    processor_.begin_loop();
    return true;
  }

  int write_widest_round() {
    for (int vectors : {8, 6, 4, 3, 2}) {
      for (int lag : {0, 1, 2, 4, 8}) {
        processor_.bytes.clear();
        if (write_round({vectors, lag})) return vectors;
      }
    }
    processor_.bytes.clear();
    return 1;
  }

  // False: the registers do not suffice. They are free again afterwards.
  bool write_round(Layout layout) {
    struct Turn {
      int time, vector, item;
      auto operator<=>(const Turn&) const = default;
    };
    std::vector<Turn> turns;
    for (int i = 0; i < static_cast<int>(items_.size()); ++i) {
      for (int u = 0; u < layout.vectors; ++u) turns.push_back({4 * i + layout.lag * u, u, i});
    }
    std::ranges::sort(turns);
    const std::vector<int> free = free_;
    registers_.assign(index(layout.vectors), fixed_);
    const bool fits =
        std::ranges::all_of(turns, [&](const Turn& turn) { return write_item(turn.item, turn.vector); });
    free_ = free;
    processor_.advance(moving_, layout.vectors);
    return fits;
  }

  bool dies(int value, int item) const {
    return fixed_[index(value)] == none && last_use_[index(value)] == item;
  }

  bool write_item(int number, int u) {
    const Item& item = items_[index(number)];
    std::vector<int>& registers = registers_[index(u)];
    int& r = registers[index(item.value)];
    switch (item.kind) {
      case Item::load:
        if ((r = take_register()) == none) return false;
        processor_.load(pointers_[index(item.place)], u, r);
        return true;
      case Item::store:
        processor_.store(pointers_[index(item.place)], u, r);
        if (dies(item.value, number)) free_.push_back(r);
        return true;
      case Item::compute:
        break;
    }
    const CodeSegment::Step& step = segment_.steps[index(item.value) - segment_.inputs.size()];
    int in[max_tile_operands] = {}, dying = none;
    for (int k = operand_count(step.op) - 1; k >= 0; --k) {
      in[k] = registers[index(step.in[index(k)])];
      if (dies(step.in[index(k)], number)) dying = in[k];
    }
    // The result takes the place of an operand that nobody reads any more.
    r = dying != none ? dying : take_register();
    if (r == none) return false;
    processor_.compute(step.op, r, in[0], in[1], in[2], constants_);
    for (int k = 0; k < operand_count(step.op); ++k) {
      const bool again = std::find(in, in + k, in[k]) != in + k;
      if (!again && in[k] != r && dies(step.in[index(k)], number)) free_.push_back(in[k]);
    }
    if (last_use_[index(item.value)] == none) free_.push_back(r);
    return true;
  }

  const CodeSegment& segment_;
  Processor processor_ = {};
  std::vector<Item> items_;
  std::vector<int> last_use_;  // item that reads a value last
  int moving_ = 0;             // places that are moved through
  std::vector<int> pointers_;  // of a place; none: an invariant's
  std::vector<int> free_;
  std::vector<int> fixed_;  // register of a value that is the same in every round
  ConstantRegisters constants_ = {};
  std::vector<std::vector<int>> registers_;  // by vector of the round, by value
};

}  // namespace tidemark
