// Encodings for 64-bit Arm: vectors of four f32.
//   x0: table of places, x1: vectors left, x2…x15: pointers, x16: an invariant's place, v0…v31: values
// Arm Architecture Reference Manual, C7.2. A chain of 12 steps takes 3.6 cycles a vector on a Neoverse V1.
#include "tidemark/kernel/fused_code_writer.h"

#if defined(__aarch64__)

namespace tidemark {
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
constexpr std::uint32_t branch = 0x54000000;
constexpr std::uint32_t push_d = 0x6DBF0000, pop_d = 0x6CC10000;  // a pair of d registers, sp by 16
}  // namespace encode

class Arm {
 public:
  static constexpr int elements = 4, most_pointers = 14;
  static constexpr std::int64_t count_bytes = 4, branch_bytes = 4;
  std::vector<std::uint8_t> bytes = {};

  static std::vector<int> registers() {
    std::vector<int> free = {15, 14, 13, 12, 11, 10, 9, 8};  // the caller's: taken last
    for (int r = 31; r >= 16; --r) free.push_back(r);
    for (int r = 7; r >= 0; --r) free.push_back(r);
    return free;
  }
  void uses(int r) { callers_ |= r >= 8 && r < 16; }

  static ConstantSet constants(TileOp op) {
    if (op == TileOp::relu) return set_of({Constant::zero});
    if (op == TileOp::reciprocal || op == TileOp::rsqrt) return set_of({Constant::one});
    return 0;
  }

  void open(int) {
    if (!callers_) return;
    for (int r : {8, 10, 12, 14}) put(encode::push_d | field(r + 1, 10) | field(31, 5) | field(r, 0));
  }
  void close(int) {
    if (callers_) {
      for (int r : {14, 12, 10, 8}) put(encode::pop_d | field(r + 1, 10) | field(31, 5) | field(r, 0));
    }
    put(encode::ret);
  }

  void point(int place, int pointer) {
    put(encode::ldr_x | field(place, 10) | field(0, 5) | field(address(pointer), 0));
  }
  void read_invariant(int place, int r) {
    put(encode::ldr_x | field(place, 10) | field(0, 5) | field(spare_address, 0));
    put(encode::ldr_q | field(spare_address, 5) | field(r, 0));
  }
  void constant(Constant c, int r) {
    put((c == Constant::one ? encode::fmov_one : encode::movi_zero) | field(r, 0));
  }
  void begin_loop() {}

  void load(int pointer, int vector, int r) { put_memory(encode::ldr_q, pointer, vector, r); }
  void store(int pointer, int vector, int r) { put_memory(encode::str_q, pointer, vector, r); }
  void advance(int pointers, int vectors) {
    for (int p = 0; p < pointers; ++p)
      put(encode::add_x | field(16 * vectors, 10) | field(address(p), 5) | field(address(p), 0));
  }

  void count_down(int n) { put(encode::subs_x | field(n, 10) | field(1, 5) | field(1, 0)); }
  void count_up(int n) { put(encode::adds_x | field(n, 10) | field(1, 5) | field(1, 0)); }
  void branch(If condition, std::int64_t distance) {
    constexpr std::uint32_t codes[] = {3, 2, 0, 1};  // by If
    const auto words = static_cast<std::uint32_t>(distance / 4) & 0x7ffffu;
    put(encode::branch | codes[static_cast<int>(condition)] | (words << 5));
  }

  // As kernel/simd-inl.h and the formulas have it, NaN and the sign of zero included. Truths are masks. Where
  // more than one instruction is needed, `d` may be any operand all the same.
  void compute(TileOp op, int d, int x, int y, int z, const ConstantRegisters& constants) {
    using enum TileOp;
    switch (op) {
      case neg:
        return put2(encode::fneg, d, x);
      case abs:
        return put2(encode::fabs, d, x);
      case square:
        return put3(encode::fmul, d, x, x);
      case relu:
        return put3(encode::fmax, d, x, constants[Constant::zero]);
      case sqrt:
        return put2(encode::fsqrt, d, x);
      case reciprocal:
        return put3(encode::fdiv, d, constants[Constant::one], x);
      case rsqrt:
        put2(encode::fsqrt, d, x);
        return put3(encode::fdiv, d, constants[Constant::one], d);
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

 private:
  static constexpr int spare_address = 16;
  static int address(int pointer) { return 2 + pointer; }
  static std::uint32_t field(int value, int shift) { return static_cast<std::uint32_t>(value) << shift; }
  void put(std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::uint8_t>(word >> shift));
  }
  // d ← n op m
  void put3(std::uint32_t code, int d, int n, int m) { put(code | field(m, 16) | field(n, 5) | field(d, 0)); }
  void put2(std::uint32_t code, int d, int n) { put3(code, d, n, 0); }
  void put_memory(std::uint32_t code, int pointer, int vector, int r) {
    put(code | field(vector, 10) | field(address(pointer), 5) | field(r, 0));
  }

  bool callers_ = false;  // whether the caller's registers are used
};

}  // namespace

CodeText write_code(const CodeSegment& segment) {
  return {.bytes = CodeWriter<Arm>(segment).write(), .elements = Arm::elements};
}

}  // namespace tidemark

#endif
