// The loop for 64-bit Arm: vectors of four f32, several of them side by side so that latencies overlap.
//   x0: table of places, x1: rounds, x2…x15: places, x16: an invariant's place, v0…v31: values
// Encodings: Arm Architecture Reference Manual, C7.2.
#include <algorithm>

#include "tidemark/kernel/fused_code.h"
#include "tidemark/kernel/fused_limits.h"

namespace tidemark {

#if defined(__aarch64__)

namespace {

namespace encode {
constexpr std::uint32_t fadd = 0x4E20D400, fsub = 0x4EA0D400, fmul = 0x6E20DC00, fdiv = 0x6E20FC00;
constexpr std::uint32_t fneg = 0x6EA0F800, fabs = 0x4EA0F800, fsqrt = 0x6EA1F800, fcmle_zero = 0x6EA0D800;
constexpr std::uint32_t fcmgt = 0x6EA0E400, fcmge = 0x6E20E400, fcmeq = 0x4E20E400;
constexpr std::uint32_t orr = 0x4EA01C00, orn = 0x4EE01C00, and_ = 0x4E201C00, bic = 0x4E601C00;
constexpr std::uint32_t eor = 0x6E201C00, mvn = 0x6E205800, bsl = 0x6E601C00;
constexpr std::uint32_t fmov_one = 0x4F03F600;  // 1.0 in every lane
constexpr std::uint32_t ldr_q = 0x3DC00000, str_q = 0x3D800000, ldr_x = 0xF9400000;
constexpr std::uint32_t add_x = 0x91000000, subs_x = 0xF1000000, b_ne = 0x54000001, ret = 0xD65F03C0;
constexpr std::uint32_t push_d = 0x6DBF0000, pop_d = 0x6CC10000;  // a pair of d registers, sp by 16
}  // namespace encode

constexpr int first_pointer = 2, spare_pointer = 16;

class Writer {
 public:
  Writer(const CodeRun& run, int unroll) : run_(run), unroll_(unroll) {
    registers_.resize(run.inputs.size() + run.steps.size());
    last_use_.assign(registers_.size(), -1);
    for (int s = 0; s < static_cast<int>(run.steps.size()); ++s) {
      for (int k = 0; k < operands(run.steps[index(s)].op); ++k)
        last_use_[index(run.steps[index(s)].in[index(k)])] = s;
    }
    for (const CodeRun::Input& input : run.inputs)
      pointers_.push_back(input.invariant ? spare_pointer : moving_++);
    for (const CodeRun::Step& step : run.steps) {
      if (step.stored) pointers_.push_back(moving_++);
    }
    // v8…v15 are the caller's: taken last.
    for (int r : {15, 14, 13, 12, 11, 10, 9, 8}) free_.push_back(r);
    for (int r = 31; r >= 16; --r) free_.push_back(r);
    for (int r = 7; r >= 0; --r) free_.push_back(r);
  }

  // False: the values do not fit in the registers.
  bool write(std::vector<std::uint32_t>& words) {
    if (moving_ > spare_pointer || pointers_.size() > fused::most_code_places) return false;
    for (int p = 0; p < static_cast<int>(pointers_.size()); ++p) {
      put(encode::ldr_x | field(p, 10) | field(0, 5) | field(pointers_[index(p)], 0));
      if (pointers_[index(p)] != spare_pointer) continue;
      if (!take(p, 1)) return false;
      put(encode::ldr_q | field(spare_pointer, 5) | field(registers_[index(p)][0], 0));
    }
    if (needs_one() && (one_ = take_register()) < 0) return false;
    if (one_ >= 0) put(encode::fmov_one | field(one_, 0));
    const std::size_t loop = body_.size();
    int place = static_cast<int>(run_.inputs.size());
    for (int s = 0; s < static_cast<int>(run_.steps.size()); ++s) {
      if (!write_step(s, place)) return false;
    }
    for (int x = first_pointer; x < moving_; ++x)
      put(encode::add_x | field(16 * unroll_, 10) | field(x, 5) | field(x, 0));
    put(encode::subs_x | field(1, 10) | field(1, 5) | field(1, 0));
    const auto back = static_cast<std::int64_t>(loop) - static_cast<std::int64_t>(body_.size());
    put(encode::b_ne | ((static_cast<std::uint32_t>(back) & 0x7ffffu) << 5));
    finish(words);
    return true;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static std::uint32_t field(int value, int shift) { return static_cast<std::uint32_t>(value) << shift; }
  void put(std::uint32_t word) { body_.push_back(word); }
  // d ← n op m
  void put3(std::uint32_t code, int d, int n, int m) { put(code | field(m, 16) | field(n, 5) | field(d, 0)); }
  void put2(std::uint32_t code, int d, int n) { put(code | field(n, 5) | field(d, 0)); }

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

  bool needs_one() const {
    return std::ranges::any_of(run_.steps, [](const CodeRun::Step& s) {
      return s.op == TileOp::reciprocal || s.op == TileOp::rsqrt;
    });
  }

  int take_register() {
    if (free_.empty()) return -1;
    const int r = free_.back();
    free_.pop_back();
    highest_ |= r >= 8 && r < 16;
    return r;
  }
  bool take(int value, int count) {
    for (int u = 0; u < count; ++u) {
      const int r = take_register();
      if (r < 0) return false;
      registers_[index(value)].push_back(r);
    }
    return true;
  }
  int at(int value, int u) const {
    const std::vector<int>& r = registers_[index(value)];
    return r.size() == 1 ? r[0] : r[index(u)];
  }

  bool write_step(int s, int& place) {
    const CodeRun::Step& step = run_.steps[index(s)];
    const int inputs = static_cast<int>(run_.inputs.size()), count = operands(step.op);
    for (int k = 0; k < count; ++k) {
      const int v = step.in[index(k)];
      if (v >= inputs || !registers_[index(v)].empty()) continue;
      if (!take(v, unroll_)) return false;
      for (int u = 0; u < unroll_; ++u)
        put(encode::ldr_q | field(u, 10) | field(pointers_[index(v)], 5) |
            field(registers_[index(v)][index(u)], 0));
    }
    // The result's registers are never an operand's: some steps write before they have read everything.
    const int out = inputs + s;
    if (!take(out, unroll_)) return false;
    const int spare = needs_spare(step.op) ? take_register() : 0;
    if (spare < 0) return false;
    for (int u = 0; u < unroll_; ++u) compute(step, registers_[index(out)][index(u)], u, spare);
    if (needs_spare(step.op)) free_.push_back(spare);
    if (step.stored) {
      for (int u = 0; u < unroll_; ++u)
        put(encode::str_q | field(u, 10) | field(pointers_[index(place)], 5) |
            field(registers_[index(out)][index(u)], 0));
      ++place;
    }
    for (int v = 0; v <= out; ++v) {
      const bool invariant = v < inputs && run_.inputs[index(v)].invariant;
      const bool done = v == out ? last_use_[index(v)] < 0 : last_use_[index(v)] == s;
      if (invariant || !done) continue;
      for (int r : registers_[index(v)]) free_.push_back(r);
      if (v < inputs) registers_[index(v)] = {};
    }
    return true;
  }

  static bool needs_spare(TileOp op) { return op == TileOp::maximum || op == TileOp::minimum; }

  // As kernel/simd-inl.h and the formulas have it, NaN and the sign of zero included. Truths are masks.
  void compute(const CodeRun::Step& step, int d, int u, int spare) {
    using enum TileOp;
    const int count = operands(step.op);
    const int x = at(step.in[0], u), y = count > 1 ? at(step.in[1], u) : 0,
              z = count > 2 ? at(step.in[2], u) : 0;
    switch (step.op) {
      case neg:
        return put2(encode::fneg, d, x);
      case abs:
        return put2(encode::fabs, d, x);
      case square:
        return put3(encode::fmul, d, x, x);
      case relu:  // 0 where x ≤ 0, else x
        put2(encode::fcmle_zero, d, x);
        return put3(encode::bic, d, x, d);
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
      case minimum:  // x where it is NaN or beyond y, else y
        step.op == maximum ? put3(encode::fcmgt, d, x, y) : put3(encode::fcmgt, d, y, x);
        put3(encode::fcmeq, spare, x, x);
        put3(encode::orn, d, d, spare);
        return put3(encode::bsl, d, x, y);
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
        put3(encode::orr, d, x, x);
        return put3(encode::bsl, d, y, z);
      case other:
        break;
    }
  }

  void finish(std::vector<std::uint32_t>& words) const {
    constexpr int pairs[] = {8, 10, 12, 14};
    if (highest_) {
      for (int r : pairs) words.push_back(encode::push_d | field(r + 1, 10) | field(31, 5) | field(r, 0));
    }
    for (std::uint32_t word : body_) words.push_back(word);
    if (highest_) {
      for (int i = 3; i >= 0; --i)
        words.push_back(encode::pop_d | field(pairs[i] + 1, 10) | field(31, 5) | field(pairs[i], 0));
    }
    words.push_back(encode::ret);
  }

  const CodeRun& run_;
  int unroll_, one_ = -1;
  int moving_ = first_pointer;               // the next free x register
  std::vector<int> pointers_;                // x register of a place
  bool highest_ = false;                     // whether the caller's registers are used
  std::vector<std::vector<int>> registers_;  // of a value: one per vector of the round, or one if invariant
  std::vector<int> last_use_, free_;
  std::vector<std::uint32_t> body_;
};

}  // namespace

CodeText write_code(const CodeRun& run) {
  for (int unroll : {8, 6, 4, 3, 2, 1}) {
    CodeText text{.words = {}, .elements = 4 * unroll};
    if (Writer(run, unroll).write(text.words)) return text;
  }
  return {};
}

#else

CodeText write_code(const CodeRun&) { return {}; }

#endif

}  // namespace tidemark
