// Exact and low-rank forms, and differences: how fast values go into them and out of them, next to memcpy on
// the same threads in the same run, and what the planner takes for it. Bytes are what must move: operands
// read once, results written once; memcpy moves each byte twice.
//   micro_codec [threads] [MiB of f32]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tidemark/base/aligned.h"
#include "tidemark/base/philox.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/ops/codec/delta.h"
#include "tidemark/ops/codec/low_rank.h"
#include "tidemark/ops/codec/pack_integers.h"
#include "tidemark/ops/codec/sparse.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/registry.h"
#include "tidemark/plan/machine.h"

namespace {

using namespace tidemark;

double best_of(int runs, const auto& f) {
  double best = 1e30;
  for (int i = 0; i < runs; ++i) best = std::min(best, seconds_taken(f));
  return best;
}

struct Held {
  Type type;
  AlignedBytes memory = allocate_aligned(std::max<std::int64_t>(type.bytes(), 1));
  TensorRef ref() const { return {memory.get(), type.dtype, type.shape, dense_strides(type.shape)}; }
};

// Of one call: the fastest of some, and what the planner expects of the reference machine.
struct Seconds {
  double measured = 0, predicted = 0;
};
using HeldList = std::vector<const Held*>;
Seconds seconds_of_call(const Op& op, const HeldList& operands, const HeldList& made, const Attrs& attrs,
                        ThreadPool& pool) {
  std::vector<Type> types, results;
  std::vector<TensorRef> in, out;
  for (const Held* held : operands) types.push_back(held->type), in.push_back(held->ref());
  for (const Held* held : made) results.push_back(held->type), out.push_back(held->ref());
  const Call call{.op = &op, .in = types, .out = results, .attrs = &attrs};
  const CpuKernel& kernel = *find_cpu_kernel(op);
  const auto attributes = kernel.prepare(call);
  const AlignedBytes scratch = allocate_aligned(std::max<std::int64_t>(cpu_target().scratch(call), 1));
  const double measured = best_of(9, [&] {
    kernel.run(
        {.in = in, .out = out, .attributes = attributes.get(), .scratch = scratch.get(), .pool = &pool});
  });
  return {measured, seconds_of(reference_machine(), cpu_target(), call)};
}

void compare(const char* name, const Held& x, const Type& coded_type, const Op& there,
             const Attrs& there_attrs, const Op& again, const Attrs& again_attrs, ThreadPool& pool) {
  const Held coded{coded_type}, back{x.type};
  std::memset(coded.memory.get(), 1, static_cast<std::size_t>(coded.type.bytes()));
  std::memset(back.memory.get(), 1, static_cast<std::size_t>(back.type.bytes()));
  const double moved = static_cast<double>(x.type.bytes() + coded.type.bytes()) / 1e9;
  const Seconds to = seconds_of_call(there, {&x}, {&coded}, there_attrs, pool);
  const Seconds from = seconds_of_call(again, {&coded}, {&back}, again_attrs, pool);
  fmt::print("{:22}{:>14.1f}%{:>14.1f}{:>12.2f}{:>14.1f}{:>12.2f}{:>9}\n", name,
             100.0 * static_cast<double>(coded.type.bytes()) / static_cast<double>(x.type.bytes()),
             moved / to.measured, to.predicted / to.measured, moved / from.measured,
             from.predicted / from.measured,
             std::memcmp(x.memory.get(), back.memory.get(), static_cast<std::size_t>(x.type.bytes())) == 0);
}

// A value and what it is compared with, both written over: what a loop's step does.
void compare_deltas(const Held& x, QuantFormat format, ThreadPool& pool) {
  const Held coded{quantized_type(format, x.type)}, back{x.type}, chain{delta_chain_type(x.type)};
  std::memset(chain.memory.get(), 0, static_cast<std::size_t>(chain.type.bytes()));
  std::memset(back.memory.get(), 1, static_cast<std::size_t>(back.type.bytes()));
  const std::string name(name_of(format));
  const double moved =
      static_cast<double>(x.type.bytes() + coded.type.bytes() + 2 * chain.type.bytes()) / 1e9;
  const Seconds to =
      seconds_of_call(op::to_delta, {&x, &chain}, {&coded, &chain}, pack(ToDeltaAttrs{name}), pool);
  const Seconds from = seconds_of_call(op::from_delta, {&coded, &chain}, {&back, &chain},
                                       pack(FromDeltaAttrs{name, x.type.dtype}), pool);
  fmt::print("{:22}{:>14.1f}%{:>14.1f}{:>12.2f}{:>14.1f}{:>12.2f}{:>9}\n",
             fmt::format("{}, delta({})", name_of(x.type.dtype), name),
             100.0 * static_cast<double>(coded.type.bytes()) / static_cast<double>(x.type.bytes()),
             moved / to.measured, to.predicted / to.measured, moved / from.measured,
             from.predicted / from.measured, false);
}

template <class T>
Held filled(const Type& type, const auto& at) {
  Held x{type};
  const Philox philox{7};
  for (std::int64_t i = 0; i < type.count(); ++i)
    x.ref().template as<T>()[i] = static_cast<T>(at(philox(static_cast<std::uint64_t>(i))[0]));
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 0);
  const std::int64_t n = (argc > 2 ? std::atoll(argv[2]) : 64) << 18;
  const Held numbers = filled<float>({DType::f32, {n}}, [](std::uint32_t w) { return unit_float(w) - 0.5f; });
  const Held to{numbers.type};
  const double copied = best_of(9, [&] {
    parallel_for(pool, 4 * n, 64 << 10, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to.memory.get() + begin, numbers.memory.get() + begin,
                  static_cast<std::size_t>(end - begin));
    });
  });
  fmt::print("{} elements, {} threads, memcpy {:.1f} GB/s\n", n, pool.threads(),
             8 * static_cast<double>(n) / copied / 1e9);
  fmt::print("{:22}{:>15}{:>14}{:>12}{:>14}{:>12}{:>9}\n", "form", "bytes of plain", "there GB/s",
             "predicted", "back GB/s", "predicted", "exact");

  const auto integers = [&](const char* name, const Held& x, std::int64_t bits) {
    const UnpackIntegersAttrs back{bits, x.type.dtype, x.type.shape};
    compare(name, x, {DType::u8, {packed_bytes(bits, x.type)}}, op::pack_integers,
            pack(PackIntegersAttrs{bits}), op::unpack_integers, pack(back), pool);
  };
  const auto bit = [](std::uint32_t w) { return w & 1; };
  integers("bool in bits", filled<bool>({DType::boolean, {4 * n}}, bit), 1);
  integers("f32 in bits", filled<float>({DType::f32, {n}}, bit), 1);
  integers("i64 in u8", filled<std::int64_t>({DType::i64, {n / 2}}, [](std::uint32_t w) { return w & 255; }),
           8);
  integers("i32 in u16", filled<std::int32_t>({DType::i32, {n}}, [](std::uint32_t w) { return w & 65535; }),
           16);
  for (const double share : {0.1, 0.5, 0.9}) {
    const Held x = filled<float>(
        {DType::f32, {n}}, [&](std::uint32_t w) { return unit_float(w) < share ? unit_float(w) + 1 : 0; });
    const double room = share + 0.02;
    compare(fmt::format("f32, sparse({:.2f})", room).c_str(), x, {DType::u8, {sparse_bytes(room, x.type)}},
            op::to_sparse, pack(ToSparseAttrs{room}), op::from_sparse,
            pack(FromSparseAttrs{room, x.type.dtype, x.type.shape}), pool);
  }
  const Held wide =
      filled<double>({DType::f64, {n / 2}}, [](std::uint32_t w) { return unit_float(w) - 0.5; });
  for (const QuantFormat format : {QuantFormat::int8, QuantFormat::int4})
    compare_deltas(numbers, format, pool);
  compare_deltas(wide, QuantFormat::int8, pool);
  for (const std::int64_t cols : {256, 2048}) {
    Held x =
        filled<float>({DType::f32, {n / cols, cols}}, [](std::uint32_t w) { return unit_float(w) - 0.5f; });
    for (const std::int64_t rank : {4, 16}) {
      compare(fmt::format("f32 × {}, low_rank({})", cols, rank).c_str(), x,
              {DType::f32, {low_rank_count(rank, x.type.shape)}}, op::to_low_rank, pack(ToLowRankAttrs{rank}),
              op::from_low_rank, pack(FromLowRankAttrs{rank, x.type.shape}), pool);
    }
  }
}
