// Fused programs next to memcpy: how much of the copy's bandwidth a chain of operations keeps, where bytes
// are the operands read and the results written. Everything is measured in the same run, in turns, the best
// of each counting. Then functions alone, on one thread and in the L1 cache.
//   micro_fused [threads]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/kernel/fused.h"
#include "tidemark/ops/scalar/elementwise_tiles.h"

namespace {

using namespace tidemark;

// Steps written as formulas.
class Program {
 public:
  explicit Program(const Shape& shape) : shape_(shape) {}

  GroupRef operand(const Shape& shape) {
    in_.push_back({.dtype = DType::f32, .shape = shape, .strides = dense_strides(shape)});
    return {GroupRef::operand, static_cast<int>(in_.size()) - 1};
  }
  GroupRef scalar() { return operand({}); }
  GroupRef call(Row row, TileOp op, std::vector<GroupRef> in) {
    const Tile arithmetic = arithmetic_tile(row, DType::f32);
    steps_.push_back({.code = {.tile = arithmetic ? arithmetic : math_tile(row, DType::f32), .op = op},
                      .in = std::move(in),
                      .out = {GroupRef::temporary, static_cast<int>(steps_.size())},
                      .dtype = DType::f32,
                      .shape = shape_});
    return steps_.back().out;
  }
#define TM_CALL1(name) \
  GroupRef name(GroupRef x) { return call(Row::name, TileOp::name, {x}); }
#define TM_CALL2(name) \
  GroupRef name(GroupRef x, GroupRef y) { return call(Row::name, TileOp::name, {x, y}); }
  TM_CALL1(neg);
  TM_CALL1(square);
  TM_CALL1(relu);
  TM_CALL1(sqrt);
  TM_CALL1(abs);
  TM_CALL2(add);
  TM_CALL2(sub);
  TM_CALL2(mul);
  TM_CALL2(div);
  TM_CALL2(maximum);
  TM_CALL2(minimum);
#undef TM_CALL1
#undef TM_CALL2
  GroupRef gelu(GroupRef x) { return call(Row::gelu, TileOp::other, {x}); }

  // The value becomes result number `results()`, over an operand or not.
  void result(GroupRef value, int over = -1) {
    const GroupRef place{GroupRef::result, static_cast<int>(over_.size())};
    for (FusedStep& step : steps_) {
      if (step.out == value) step.out = place;
      for (GroupRef& in : step.in) {
        if (in == value) in = place;
      }
    }
    over_.push_back(over);
  }

  void prepare(bool tiles) {
    if (tiles) {
      for (FusedStep& step : steps_) step.code.op = TileOp::other;
    }
    for (TensorRef& ref : in_) ref.data = memory(ref.count());
    for (int over : over_) {
      out_.push_back(
          {.data = over >= 0 ? in_[static_cast<std::size_t>(over)].data : memory(element_count(shape_)),
           .dtype = DType::f32,
           .shape = shape_,
           .strides = dense_strides(shape_)});
    }
    program_ = std::make_unique<FusedProgram>(shape_, in_, steps_);
  }
  void run(ThreadPool& pool) const { program_->run({.in = in_, .out = out_, .pool = &pool}); }
  double bytes() const {
    double sum = 0;
    for (const TensorRef& ref : in_) sum += 4.0 * static_cast<double>(ref.count());
    for (const TensorRef& ref : out_) sum += 4.0 * static_cast<double>(ref.count());
    return sum;
  }
  std::size_t steps() const { return steps_.size(); }

 private:
  std::byte* memory(std::int64_t count) {
    held_.push_back(allocate_aligned(4 * count));
    float* data = reinterpret_cast<float*>(held_.back().get());
    for (std::int64_t i = 0; i < count; ++i) data[i] = static_cast<float>(i % 1000) * 0.001f + 0.25f;
    return held_.back().get();
  }

  Shape shape_;
  std::vector<TensorRef> in_, out_;
  std::vector<FusedStep> steps_;
  std::vector<int> over_;
  std::vector<AlignedBytes> held_;
  std::unique_ptr<FusedProgram> program_;
};

constexpr std::int64_t elements = std::int64_t{16} << 20;  // 64 MiB

// Twelve operations, as a normalisation with a smooth gate might have them.
Program chain() {
  Program p({elements});
  const GroupRef x = p.operand({elements}), a = p.scalar(), b = p.scalar(), c = p.scalar();
  const GroupRef t = p.relu(p.add(p.mul(p.sub(x, c), a), b));
  const GroupRef u = p.sub(p.mul(p.square(t), b), p.abs(t));
  p.result(p.add(p.mul(p.neg(u), c), p.mul(t, a)));
  return p;
}
// Its derivative times g, the forward values made again inside: dt = -c·(2b·t - 1) + a where t > 0.
Program chain_gradient() {
  Program p({elements});
  const GroupRef x = p.operand({elements}), g = p.operand({elements});
  const GroupRef a = p.scalar(), b = p.scalar(), c = p.scalar(), one = p.scalar(), zero = p.scalar();
  const GroupRef t = p.relu(p.add(p.mul(p.sub(x, c), a), b));
  const GroupRef inner = p.sub(p.mul(p.add(t, t), b), one);
  const GroupRef gate = p.minimum(p.mul(t, p.maximum(t, one)), one);
  p.result(p.maximum(p.mul(p.mul(p.mul(p.add(p.mul(p.neg(inner), c), a), g), gate), a), zero));
  return p;
}
Program adamw() {
  Program p({elements});
  const GroupRef w = p.operand({elements}), m = p.operand({elements}), v = p.operand({elements});
  const GroupRef g = p.operand({elements});
  const GroupRef b1 = p.scalar(), d1 = p.scalar(), b2 = p.scalar(), d2 = p.scalar(), c1 = p.scalar(),
                 c2 = p.scalar(), eps = p.scalar(), rate = p.scalar(), decay = p.scalar();
  const GroupRef m1 = p.add(p.mul(m, b1), p.mul(g, d1));
  const GroupRef v1 = p.add(p.mul(v, b2), p.mul(p.square(g), d2));
  const GroupRef move = p.div(p.mul(m1, c1), p.add(p.sqrt(p.mul(v1, c2)), eps));
  const GroupRef w1 = p.sub(w, p.mul(p.add(move, p.mul(w, decay)), rate));
  p.result(w1, 0);
  p.result(m1, 1);
  p.result(v1, 2);
  return p;
}
Program bias_gelu() {
  Program p({elements / 1024, 1024});
  const GroupRef x = p.operand({elements / 1024, 1024}), bias = p.operand({1024});
  p.result(p.gelu(p.add(x, bias)));
  return p;
}

void time_functions() {
  constexpr std::int64_t n = 1024;
  constexpr int calls = 16;
  std::vector<float> x(n), z(n);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01f + 0.004f * static_cast<float>(i);
  struct Function {
    const char* name;
    Row row;
  };
  fmt::print("{:<20} {:>14}\n", "function", "ns an element");
  for (const Function& f :
       {Function{"exp", Row::exp}, Function{"sigmoid", Row::sigmoid}, Function{"silu", Row::silu},
        Function{"tanh", Row::tanh}, Function{"log", Row::log}, Function{"gelu", Row::gelu},
        Function{"erf", Row::erf}, Function{"slope of gelu", Row::gelu_slope}}) {
    const Tile tile = math_tile(f.row, DType::f32);
    const TileArgs args{.in = {reinterpret_cast<const std::byte*>(x.data())},
                        .out = reinterpret_cast<std::byte*>(z.data()),
                        .n = n};
    double best = 1e30;
    for (int i = 0; i < 1000; ++i) {
      best = std::min(best, seconds_taken([&] {
                        for (int k = 0; k < calls; ++k) tile(args);
                      }));
    }
    fmt::print("{:<20} {:>14.2f}\n", f.name, best / (calls * n) * 1e9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 0);
  struct Case {
    std::string name;
    Program (*make)();
    bool tiles;
  };
  const std::vector<Case> rows = {{"chain of 12", chain, false},
                                  {"  by tiles alone", chain, true},
                                  {"its gradient", chain_gradient, false},
                                  {"  by tiles alone", chain_gradient, true},
                                  {"AdamW", adamw, false},
                                  {"  by tiles alone", adamw, true},
                                  {"bias + gelu", bias_gelu, false}};
  const AlignedBytes from = allocate_aligned(4 * elements), to = allocate_aligned(4 * elements);
  std::memset(from.get(), 1, 4 * elements);
  std::memset(to.get(), 1, 4 * elements);
  const auto copy = [&] {
    parallel_for(pool, 4 * elements, 1 << 18, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to.get() + begin, from.get() + begin, static_cast<std::size_t>(end - begin));
    });
  };
  fmt::print("{} threads, {} elements of f32\n{:<20} {:>5} {:>8} {:>8} {:>9}\n", pool.threads(), elements,
             "program", "steps", "ms", "GB/s", "of memcpy");
  for (const Case& row : rows) {
    Program program = row.make();
    program.prepare(row.tiles);
    double copying = 1e30, running = 1e30;
    for (int i = 0; i < 9; ++i) {
      copying = std::min(copying, seconds_taken(copy));
      running = std::min(running, seconds_taken([&] { program.run(pool); }));
    }
    const double rate = program.bytes() / running, copy_rate = 8.0 * elements / copying;
    fmt::print("{:<20} {:>5} {:>8.2f} {:>8.2f} {:>8.0f}%   (memcpy {:.1f} GB/s)\n", row.name, program.steps(),
               running * 1e3, rate / 1e9, 100 * rate / copy_rate, copy_rate / 1e9);
  }
  time_functions();
}
