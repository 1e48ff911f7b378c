// The loop for 64-bit Arm: vectors of four f32, as many side by side as the registers hold, then one by one.
//   x0: table of places, x1: vectors left, x2…x15: places, x16: an invariant's place, v0…v31: values
// Encodings: Arm Architecture Reference Manual, C7.2.
//
// Order matters more than the count of instructions. The four pipes want four instructions a cycle, but a queue holds
// only some thirty that wait, so a chain of dependent ones must be interleaved with those of other vectors; and values
// that were ready long ago come through four read ports, while those just made are caught on their way. Step by step
// with eight vectors each does best (Neoverse V1: 3.6 cycles for a chain of 12 steps, 7.2 vector by vector). Where that
// takes too many registers, each vector lags some steps behind the one before it.
#include <algorithm>
#include <utility>

#include "tidemark/kernel/fused_code.h"
#include "tidemark/kernel/fused_limits.h"

namespace tidemark {

#if defined(__aarch64__)

namespace {

namespace encode {
constexpr std::uint32_t fadd = 0x4E20D400, fsub = 0x4EA0D400, fmul = 0x6E20DC00, fdiv = 0x6E20FC00;
constexpr std::uint32_t fneg = 0x6EA0F800, fabs = 0x4EA0F800, fsqrt = 0x6EA1F800;
constexpr std::uint32_t fmax = 0x4E20F400, fmin = 0x4EA0F400;
constexpr std::uint32_t fcmgt = 0x6EA0E400, fcmge = 0x6E20E400, fcmeq = 0x4E20E400;
constexpr std::uint32_t orr = 0x4EA01C00, and_ = 0x4E201C00, eor = 0x6E201C00, mvn = 0x6E205800;
constexpr std::uint32_t bsl = 0x6E601C00, bit = 0x6EA01C00, bif = 0x6EE01C00;
constexpr std::uint32_t fmov_one = 0x4F03F600, movi_zero = 0x6F00E400;  // in every lane
constexpr std::uint32_t ldr_q = 0x3DC00000, str_q = 0x3D800000, ldr_x = 0xF9400000;
constexpr std::uint32_t add_x = 0x91000000, adds_x = 0xB1000000, subs_x = 0xF1000000, ret = 0xD65F03C0;
constexpr std::uint32_t branch = 0x54000000, if_equal = 0, if_not_equal = 1, if_not_below = 2, if_below = 3;
constexpr std::uint32_t push_d = 0x6DBF0000, pop_d = 0x6CC10000;  // a pair of d registers, sp by 16
}  // namespace encode

constexpr int first_pointer = 2, spare_pointer = 16;
constexpr int none = -1;

// How a round is laid out: so many vectors side by side, each `lag` quarters of an instruction's place behind the last.
struct Layout {
  int vectors, lag;
};

class Writer {
 public:
  explicit Writer(const CodeRun& run) : run_(run) {
    const int values = static_cast<int>(run.inputs.size() + run.steps.size());
    fixed_.assign(index(values), none);
    last_use_.assign(index(values), none);
    for (const CodeRun::Input& input : run.inputs)
      pointers_.push_back(input.invariant ? spare_pointer : moving_++);
    for (const CodeRun::Step& step : run.steps) {
      if (step.stored) pointers_.push_back(moving_++);
    }
    list_items();
    // v8…v15 are the caller's: taken last.
    for (int r : {15, 14, 13, 12, 11, 10, 9, 8}) free_.push_back(r);
    for (int r = 31; r >= 16; --r) free_.push_back(r);
    for (int r = 7; r >= 0; --r) free_.push_back(r);
  }

  // False: there are too many places, or values for the registers.
  bool write(std::vector<std::uint32_t>& words) {
    if (moving_ > spare_pointer || pointers_.size() > fused::most_code_places || !write_constants())
      return false;
    if (!write_round({1, 0})) return false;
    const std::vector<std::uint32_t> single = std::exchange(round_, {});
    const int vectors = write_widest_round();
    if (vectors > 1) {
      put(encode::subs_x | field(vectors, 10) | field(1, 5) | field(1, 0));
      put_branch(encode::if_below, static_cast<std::int64_t>(round_.size()) + 3);
      append(round_);
      put(encode::subs_x | field(vectors, 10) | field(1, 5) | field(1, 0));
      put_branch(encode::if_not_below, -static_cast<std::int64_t>(round_.size()) - 1);
      put(encode::adds_x | field(vectors, 10) | field(1, 5) | field(1, 0));
      put_branch(encode::if_equal, static_cast<std::int64_t>(single.size()) + 3);
    }
    append(single);
    put(encode::subs_x | field(1, 10) | field(1, 5) | field(1, 0));
    put_branch(encode::if_not_equal, -static_cast<std::int64_t>(single.size()) - 1);
    finish(words);
    return true;
  }

 private:
  // What a round does for each of its vectors, in order.
  struct Item {
    enum Kind : std::uint8_t { load, compute, store } kind;
    int value;  // loaded, made or stored
    int place;
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static std::uint32_t field(int value, int shift) { return static_cast<std::uint32_t>(value) << shift; }
  void put(std::uint32_t word) { body_.push_back(word); }
  void append(const std::vector<std::uint32_t>& words) {
    body_.insert(body_.end(), words.begin(), words.end());
  }
  void put_branch(std::uint32_t condition, std::int64_t distance) {
    put(encode::branch | condition | ((static_cast<std::uint32_t>(distance) & 0x7ffffu) << 5));
  }
  // d ← n op m
  void put3(std::uint32_t code, int d, int n, int m) {
    round_.push_back(code | field(m, 16) | field(n, 5) | field(d, 0));
  }
  void put2(std::uint32_t code, int d, int n) { put3(code, d, n, 0); }
  void put_memory(std::uint32_t code, int place, int vector, int r) {
    round_.push_back(code | field(vector, 10) | field(pointers_[index(place)], 5) | field(r, 0));
  }

  static int operands(TileOp op) {
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

  void list_items() {
    const int inputs = static_cast<int>(run_.inputs.size());
    std::vector<bool> loaded(run_.inputs.size());
    int place = inputs;
    for (int s = 0; s < static_cast<int>(run_.steps.size()); ++s) {
      const CodeRun::Step& step = run_.steps[index(s)];
      for (int k = 0; k < operands(step.op); ++k) {
        const int v = step.in[index(k)];
        if (v >= inputs || run_.inputs[index(v)].invariant || loaded[index(v)]) continue;
        items_.push_back({Item::load, v, v});
        loaded[index(v)] = true;
      }
      const int at = static_cast<int>(items_.size());
      for (int k = 0; k < operands(step.op); ++k) last_use_[index(step.in[index(k)])] = at;
      items_.push_back({Item::compute, inputs + s, none});
      if (step.stored) {
        last_use_[index(inputs + s)] = at + 1;
        items_.push_back({Item::store, inputs + s, place++});
      }
    }
  }

  bool uses(std::initializer_list<TileOp> ops) const {
    return std::ranges::any_of(run_.steps,
                               [&](const CodeRun::Step& s) { return std::ranges::count(ops, s.op) > 0; });
  }

  int take_register() {
    if (free_.empty()) return none;
    const int r = free_.back();
    free_.pop_back();
    callers_ |= r >= 8 && r < 16;
    return r;
  }

  // What every round finds in registers: invariants, one and zero.
  bool write_constants() {
    for (int p = 0; p < static_cast<int>(pointers_.size()); ++p) {
      put(encode::ldr_x | field(p, 10) | field(0, 5) | field(pointers_[index(p)], 0));
      if (pointers_[index(p)] != spare_pointer) continue;
      const int r = fixed_[index(p)] = take_register();
      if (r == none) return false;
      put(encode::ldr_q | field(spare_pointer, 5) | field(r, 0));
    }
    if (uses({TileOp::reciprocal, TileOp::rsqrt})) {
      if ((one_ = take_register()) == none) return false;
      put(encode::fmov_one | field(one_, 0));
    }
    if (uses({TileOp::relu})) {
      if ((zero_ = take_register()) == none) return false;
      put(encode::movi_zero | field(zero_, 0));
    }
    return true;
  }

  int write_widest_round() {
    for (int vectors : {8, 6, 4, 3, 2}) {
      for (int lag : {0, 1, 2, 4, 8}) {
        round_.clear();
        if (write_round({vectors, lag})) return vectors;
      }
    }
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
    bool fits = true;
    for (const Turn& turn : turns) fits = fits && write_item(turn.item, turn.vector);
    free_ = free;
    for (int x = first_pointer; x < moving_; ++x)
      round_.push_back(encode::add_x | field(16 * layout.vectors, 10) | field(x, 5) | field(x, 0));
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
        put_memory(encode::ldr_q, item.place, u, r);
        return true;
      case Item::store:
        put_memory(encode::str_q, item.place, u, r);
        if (dies(item.value, number)) free_.push_back(r);
        return true;
      case Item::compute:
        break;
    }
    const CodeRun::Step& step = run_.steps[index(item.value) - run_.inputs.size()];
    int in[max_tile_operands] = {}, dying = none;
    for (int k = operands(step.op) - 1; k >= 0; --k) {
      in[k] = registers[index(step.in[index(k)])];
      if (dies(step.in[index(k)], number)) dying = in[k];
    }
    // The result takes the place of an operand that nobody reads any more.
    r = dying != none ? dying : take_register();
    if (r == none) return false;
    compute(step.op, r, in[0], in[1], in[2]);
    for (int k = 0; k < operands(step.op); ++k) {
      const bool again = std::find(in, in + k, in[k]) != in + k;
      if (!again && in[k] != r && dies(step.in[index(k)], number)) free_.push_back(in[k]);
    }
    if (last_use_[index(item.value)] == none) free_.push_back(r);
    return true;
  }

  // As kernel/simd-inl.h and the formulas have it, NaN and the sign of zero included. Truths are masks. Where more than
  // one instruction is needed, `d` may be any operand all the same.
  void compute(TileOp op, int d, int x, int y, int z) {
    using enum TileOp;
    switch (op) {
      case neg:
        return put2(encode::fneg, d, x);
      case abs:
        return put2(encode::fabs, d, x);
      case square:
        return put3(encode::fmul, d, x, x);
      case relu:
        return put3(encode::fmax, d, x, zero_);
      case sqrt:
        return put2(encode::fsqrt, d, x);
      case reciprocal:
        return put3(encode::fdiv, d, one_, x);
      case rsqrt:
        put2(encode::fsqrt, d, x);
        return put3(encode::fdiv, d, one_, d);
      case add:
        return put3(encode::fadd, d, x, y);
      case sub:
        return put3(encode::fsub, d, x, y);
      case mul:
        return put3(encode::fmul, d, x, y);
      case div:
        return put3(encode::fdiv, d, x, y);
      case maximum:
        return put3(encode::fmax, d, x, y);
      case minimum:
        return put3(encode::fmin, d, x, y);
      case equal:
        return put3(encode::fcmeq, d, x, y);
      case not_equal:
        put3(encode::fcmeq, d, x, y);
        return put2(encode::mvn, d, d);
      case less:
        return put3(encode::fcmgt, d, y, x);
      case less_equal:
        return put3(encode::fcmge, d, y, x);
      case greater:
        return put3(encode::fcmgt, d, x, y);
      case greater_equal:
        return put3(encode::fcmge, d, x, y);
      case logical_not:
        return put2(encode::mvn, d, x);
      case logical_and:
        return put3(encode::and_, d, x, y);
      case logical_or:
        return put3(encode::orr, d, x, y);
      case logical_xor:
        return put3(encode::eor, d, x, y);
      case select:
        if (d == y) return put3(encode::bif, d, z, x);
        if (d == z) return put3(encode::bit, d, y, x);
        if (d != x) put3(encode::orr, d, x, x);
        return put3(encode::bsl, d, y, z);
      case other:
        break;
    }
  }

  void finish(std::vector<std::uint32_t>& words) const {
    constexpr int pairs[] = {8, 10, 12, 14};
    if (callers_) {
      for (int r : pairs) words.push_back(encode::push_d | field(r + 1, 10) | field(31, 5) | field(r, 0));
    }
    words.insert(words.end(), body_.begin(), body_.end());
    if (callers_) {
      for (int i = 3; i >= 0; --i)
        words.push_back(encode::pop_d | field(pairs[i] + 1, 10) | field(31, 5) | field(pairs[i], 0));
    }
    words.push_back(encode::ret);
  }

  const CodeRun& run_;
  std::vector<Item> items_;
  std::vector<int> last_use_;   // item that reads a value last
  int moving_ = first_pointer;  // the next free x register
  std::vector<int> pointers_;   // x register of a place
  bool callers_ = false;        // whether the caller's registers are used
  std::vector<int> free_;
  std::vector<int> fixed_;  // register of a value that is the same in every round
  int one_ = none, zero_ = none;
  std::vector<std::vector<int>> registers_;  // by vector of the round, by value
  std::vector<std::uint32_t> body_, round_;
};

}  // namespace

CodeText write_code(const CodeRun& run) {
  CodeText text{.words = {}, .elements = 4};
  if (!Writer(run).write(text.words)) return {};
  return text;
}

#else

CodeText write_code(const CodeRun&) { return {}; }

#endif

}  // namespace tidemark
