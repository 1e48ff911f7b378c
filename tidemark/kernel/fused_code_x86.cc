// Encodings for x86-64 with AVX2: vectors of eight f32. Wider ones would gain little: eight at a time already
// outrun the memory.
//   rdi: table of places, rsi: vectors left, rax: how far all pointers have moved, in bytes
//   rcx, rdx, r8…r11 and, saved for the caller, rbx, rbp, r12…r15: pointers, ymm0…ymm15: values
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: VEX prefixes in 2.3, comparisons in
// table 3-1.
#include "tidemark/kernel/fused_code_writer.h"

#if defined(__x86_64__)

namespace tidemark {
namespace {

// An instruction on vectors: how its opcode is reached, and the opcode.
struct Opcode {
  std::uint8_t map;     // 1: 0F, 3: 0F 3A
  std::uint8_t prefix;  // 0: none, 1: 66
  std::uint8_t code;
};
namespace encode {
constexpr Opcode add{1, 0, 0x58}, mul{1, 0, 0x59}, sub{1, 0, 0x5C}, div{1, 0, 0x5E}, sqrt{1, 0, 0x51};
constexpr Opcode min{1, 0, 0x5D}, max{1, 0, 0x5F}, compare{1, 0, 0xC2}, blend{3, 1, 0x4A};
constexpr Opcode and_{1, 0, 0x54}, and_not{1, 0, 0x55}, or_{1, 0, 0x56}, xor_{1, 0, 0x57};
constexpr Opcode load{1, 0, 0x10}, store{1, 0, 0x11};
constexpr Opcode equal_integers{1, 1, 0x76}, shift{1, 1, 0x72};
constexpr int shift_left = 6,
              shift_right = 2;  // the field that an opcode of shifts has in place of a register
}  // namespace encode
enum Comparison : std::uint8_t {  // none raises an exception for a quiet NaN
  is_equal = 0x00,
  is_unordered = 0x03,
  is_not_equal = 0x04,
  is_less = 0x11,
  is_less_equal = 0x12,
  is_greater_equal = 0x1D,
  is_greater = 0x1E
};

class X86 {
 public:
  static constexpr int elements = 8, most_pointers = 12;
  static constexpr std::int64_t count_bytes = 4, branch_bytes = 6;
  std::vector<std::uint8_t> bytes = {};

  static std::vector<int> registers() {
    std::vector<int> free;
    for (int r = 15; r >= 0; --r) free.push_back(r);
    return free;
  }
  void uses(int) {}

  static ConstantSet constants(TileOp op) {
    using enum TileOp;
    switch (op) {
      case relu:
        return set_of({Constant::zero});
      case reciprocal:
      case rsqrt:
        return set_of({Constant::one});
      case neg:
      case abs:
        return set_of({Constant::sign});
      case logical_not:
        return set_of({Constant::all});
      case maximum:
      case minimum:
        return set_of({Constant::spare_1, Constant::spare_2});
      default:
        return 0;
    }
  }

  void open(int pointers) {
    for (int p = callers_first; p < pointers; ++p) {
      if (address(p) >= 8) put({0x41});
      put({0x50 + address(p) % 8});  // push
    }
  }
  void close(int pointers) {
    put({0xC5, 0xF8, 0x77});  // vzeroupper
    for (int p = pointers - 1; p >= callers_first; --p) {
      if (address(p) >= 8) put({0x41});
      put({0x58 + address(p) % 8});  // pop
    }
    put({0xC3});  // ret
  }

  void point(int place, int pointer) { read_address(place, address(pointer)); }
  void read_invariant(int place, int r) {
    read_address(place, rax);
    put_vex(encode::load, r, 0, rax);
    put({r % 8 * 8 + rax});  // [rax]
  }
  void constant(Constant c, int r) {
    switch (c) {
      case Constant::zero:
        return put3(encode::xor_, r, r, r);
      case Constant::one:  // 3F800000
        put3(encode::equal_integers, r, r, r);
        put_shift(encode::shift_left, r, 25);
        return put_shift(encode::shift_right, r, 2);
      case Constant::sign:
        put3(encode::equal_integers, r, r, r);
        return put_shift(encode::shift_left, r, 31);
      case Constant::all:
        return put3(encode::equal_integers, r, r, r);
      case Constant::spare_1:
      case Constant::spare_2:
        return;
    }
  }
  void begin_loop() { put({0x31, 0xC0}); }  // xor eax, eax

  void load(int pointer, int vector, int r) { put_memory(encode::load, pointer, vector, r); }
  void store(int pointer, int vector, int r) { put_memory(encode::store, pointer, vector, r); }
  void advance(int, int vectors) {
    put({0x48, 0x05});  // add rax, …
    put_number(32 * vectors);
  }

  void count_down(int n) { put({0x48, 0x83, 0xEE, n}); }  // sub rsi, n
  void count_up(int n) { put({0x48, 0x83, 0xC6, n}); }    // add rsi, n
  void branch(If condition, std::int64_t distance) {
    constexpr int codes[] = {0x82, 0x83, 0x84, 0x85};  // by If
    put({0x0F, codes[static_cast<int>(condition)]});
    put_number(distance - branch_bytes);
  }

  // As kernel/simd-inl.h and the formulas have it, NaN and the sign of zero included. Truths are masks. Where
  // more than one instruction is needed, `d` may be any operand all the same.
  void compute(TileOp op, int d, int x, int y, int z, const ConstantRegisters& constants) {
    using enum TileOp;
    switch (op) {
      case neg:
        return put3(encode::xor_, d, x, constants[Constant::sign]);
      case abs:
        return put3(encode::and_not, d, constants[Constant::sign], x);
      case square:
        return put3(encode::mul, d, x, x);
      case relu:  // the second operand for NaN and for two zeros; +0 makes -0 a +0
        put3(encode::max, d, constants[Constant::zero], x);
        return put3(encode::add, d, d, constants[Constant::zero]);
      case sqrt:
        return put3(encode::sqrt, d, 0, x);
      case reciprocal:
        return put3(encode::div, d, constants[Constant::one], x);
      case rsqrt:
        put3(encode::sqrt, d, 0, x);
        return put3(encode::div, d, constants[Constant::one], d);
      case add:
        return put3(encode::add, d, x, y);
      case sub:
        return put3(encode::sub, d, x, y);
      case mul:
        return put3(encode::mul, d, x, y);
      case div:
        return put3(encode::div, d, x, y);
      case maximum:
        return put_extremum(encode::max, d, x, y, constants);
      case minimum:
        return put_extremum(encode::min, d, x, y, constants);
      case equal:
        return put_compare(is_equal, d, x, y);
      case not_equal:
        return put_compare(is_not_equal, d, x, y);
      case less:
        return put_compare(is_less, d, x, y);
      case less_equal:
        return put_compare(is_less_equal, d, x, y);
      case greater:
        return put_compare(is_greater, d, x, y);
      case greater_equal:
        return put_compare(is_greater_equal, d, x, y);
      case logical_not:
        return put3(encode::xor_, d, x, constants[Constant::all]);
      case logical_and:
        return put3(encode::and_, d, x, y);
      case logical_or:
        return put3(encode::or_, d, x, y);
      case logical_xor:
        return put3(encode::xor_, d, x, y);
      case select:
        return put_blend(d, x, y, z);
      case other:
        break;
    }
  }

 private:
  static constexpr int rax = 0, rdi = 7, callers_first = 6;
  static int address(int pointer) {
    constexpr int registers[most_pointers] = {1, 2, 8, 9, 10, 11, 3, 5, 12, 13, 14, 15};
    return registers[pointer];
  }

  void put(std::initializer_list<int> list) {
    for (int byte : list) bytes.push_back(static_cast<std::uint8_t>(byte));
  }
  void put_number(std::int64_t number) {  // 32 bits
    for (int shift = 0; shift < 32; shift += 8) put({static_cast<int>(number >> shift & 0xFF)});
  }

  // to ← the address of a place
  void read_address(int place, int to) {
    put({0x48 | to / 8 * 4, 0x8B, 0x80 | to % 8 * 8 | rdi});  // mov to, [rdi + …]
    put_number(8 * place);
  }

  // The three bytes of a VEX prefix for 256 bits, and the opcode. d and b go into the byte that follows, n
  // stands here.
  void put_vex(Opcode op, int d, int n, int b) {
    const int high_d = d < 8 ? 0x80 : 0, high_b = b < 8 ? 0x20 : 0;  // inverted
    put({0xC4, high_d | 0x40 | high_b | op.map, (~n & 15) << 3 | 0x04 | op.prefix, op.code});
  }
  // d ← n op m
  void put3(Opcode op, int d, int n, int m) {
    put_vex(op, d, n, m);
    put({0xC0 | d % 8 * 8 | m % 8});
  }
  void put_compare(Comparison comparison, int d, int n, int m) {
    put3(encode::compare, d, n, m);
    put({comparison});
  }
  // d ← where the mask is set y, else z
  void put_blend(int d, int mask, int y, int z) {
    put3(encode::blend, d, z, y);
    put({mask << 4});
  }
  void put_shift(int direction, int r, int bits) {
    put_vex(encode::shift, direction, r, r);
    put({0xC0 | direction * 8 | r % 8, bits});
  }
  void put_memory(Opcode op, int pointer, int vector, int r) {
    const int base = address(pointer);
    put_vex(op, r, 0, base);
    put({0x84 | r % 8 * 8, rax * 8 | base % 8});  // [base + rax + …]
    put_number(32 * vector);
  }
  // The instruction gives the second operand where either is NaN: right for y, not for x.
  void put_extremum(Opcode op, int d, int x, int y, const ConstantRegisters& constants) {
    const int extremum = constants[Constant::spare_1], unordered = constants[Constant::spare_2];
    put3(op, extremum, x, y);
    put_compare(is_unordered, unordered, x, x);
    put_blend(d, unordered, x, extremum);
  }
};

}  // namespace

CodeText write_code(const CodeSegment& segment) {
  if (!__builtin_cpu_supports("avx2")) return {};
  return {.bytes = CodeWriter<X86>(segment).write(), .elements = X86::elements};
}

}  // namespace tidemark

#endif
