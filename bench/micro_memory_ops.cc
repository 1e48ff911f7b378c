// Ops that are bound by memory or by one pass over rows: bytes per second next to memcpy on the same threads.
// Bytes are what must move: operands read once, results written once.
//   micro_memory_ops [threads]
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tidemark/base/stopwatch.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/ops/attention/attention.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/sort.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/cross_entropy.h"
#include "tidemark/ops/normalization/layer_norm.h"
#include "tidemark/ops/normalization/softmax.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/storage.h"

namespace {

using namespace tidemark;
using Body = std::function<Var(Builder&, std::span<const Var>)>;

double best_of(int runs, const auto& f) {
  double best = 1e30;
  for (int i = 0; i < runs; ++i) {
    const Stopwatch watch;
    f();
    best = std::min(best, watch.seconds());
  }
  return best;
}

Tensor filled(const Type& type, double modulus) {
  AlignedBytes memory = allocate_aligned(type.bytes());
  dispatch(type.dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < type.count(); ++i) {
      const float value = std::fmod(static_cast<float>(i) * 0.618f, static_cast<float>(modulus));
      reinterpret_cast<T*>(memory.get())[i] = static_cast<T>(value);
    }
  });
  return Tensor::from_storage(type, std::make_shared<Storage>(std::move(memory), type.bytes()));
}

double memcpy_rate(ThreadPool& pool) {
  const std::int64_t bytes = 256 << 20, piece = 4 << 20;
  const AlignedBytes from = allocate_aligned(bytes), to = allocate_aligned(bytes);
  std::memset(from.get(), 1, bytes);
  const double seconds = best_of(5, [&] {
    parallel_for(pool, bytes, piece, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to.get() + begin, from.get() + begin, end - begin);
    });
  });
  return 2.0 * static_cast<double>(bytes) / seconds / 1e9;
}

void row(const char* name, double copy_rate, const std::shared_ptr<CpuDevice>& device,
         const std::vector<Type>& types, double modulus, const Body& body) {
  Graph graph;
  Builder builder(graph);
  std::vector<Var> in;
  std::vector<Tensor> inputs;
  double bytes = 0;
  for (const Type& type : types) {
    in.push_back(builder.input(type));
    inputs.push_back(filled(type, modulus));
    bytes += static_cast<double>(type.bytes());
  }
  const Var result = body(builder, in);
  graph.add_output(result.id());
  bytes += static_cast<double>(result.type().bytes());
  Program program(graph, {}, device);
  const double seconds = best_of(7, [&] { program.run(inputs, {}); });
  fmt::print("{:<40} {:>9.2f} {:>8.0f}% {:>11.3f}\n", name, bytes / seconds / 1e9,
             100 * bytes / seconds / 1e9 / copy_rate, 1e3 * seconds);
}

}  // namespace

int main(int argc, char** argv) {
  const auto device = std::make_shared<CpuDevice>(argc > 1 ? std::atoi(argv[1]) : 0);
  const double copy = memcpy_rate(device->pool());
  fmt::print("{} threads; memcpy {:.1f} GB/s (read + write)\n", device->pool().threads(), copy);
  fmt::print("{:<40} {:>9} {:>9} {:>11}\n", "op", "GB/s", "of memcpy", "ms");
  const Type square{DType::f32, {4096, 4096}}, rows{DType::f32, {16384, 1024}}, line{DType::f32, {1024}};
  const auto one = [&](const char* name, const Type& type, const Body& body) {
    row(name, copy, device, {type}, 7, body);
  };
  one("transpose 4096 x 4096", square, [](Builder&, auto x) { return transpose(x[0], {1, 0}); });
  one("(8, 16, 512, 64) -> (8, 512, 16, 64)", {DType::f32, {8, 16, 512, 64}}, [](Builder&, auto x) {
    return transpose(x[0], {0, 2, 1, 3});
  });
  one("every second column", square, [](Builder&, auto x) {
    return slice(x[0], {0, 0}, {4096, 4096}, {1, 2});
  });
  one("flip rows", square, [](Builder&, auto x) { return flip(x[0], {1}); });
  one("sum of all", square, [](Builder&, auto x) { return reduce_sum(x[0], {0, 1}); });
  one("sum of rows", rows, [](Builder&, auto x) { return reduce_sum(x[0], {1}); });
  one("sum of columns", rows, [](Builder&, auto x) { return reduce_sum(x[0], {0}); });
  one("max of rows", rows, [](Builder&, auto x) { return reduce_max(x[0], {1}); });
  one("logsumexp of rows", rows, [](Builder&, auto x) { return reduce_logsumexp(x[0], {1}); });
  one("argmax of rows", rows, [](Builder&, auto x) { return argmax(x[0], 1); });
  one("cumsum along rows", rows, [](Builder&, auto x) { return cumsum(x[0], 1); });
  one("sort rows of 1024", {DType::f32, {1024, 1024}}, [](Builder&, auto x) { return sort(x[0], 1).values; });
  one("softmax of rows", rows, [](Builder&, auto x) { return softmax(x[0], 1); });
  row("layer norm of rows", copy, device, {rows, line, line}, 7,
      [](Builder&, auto x) { return layer_norm(x[0], x[1], x[2]); });
  row("cross entropy, 1024 classes", copy, device, {rows, {DType::i32, {16384}}}, 7,
      [](Builder&, auto x) { return cross_entropy(x[0], x[1]).loss; });
  row("take 65536 rows of 256", copy, device, {{DType::f32, {16384, 256}}, {DType::i32, {65536}}}, 16384,
      [](Builder&, auto x) { return take(x[0], x[1], 0); });
  row("add up 65536 rows into 16384", copy, device, {{DType::f32, {65536, 256}}, {DType::i32, {65536}}},
      16384, [](Builder&, auto x) { return take_add(x[0], x[1], 0, 16384); });
  row("attention (4, 8, 512, 64), causal", copy, device, std::vector(3, Type{DType::f32, {4, 8, 512, 64}}), 1,
      [](Builder&, auto x) { return attention(x[0], x[1], x[2], {.causal = true, .scale = 0}); });
  row("random normal, 16M", copy, device, {}, 1, [](Builder& b, auto) {
    return random_normal(
        random_key(b, 1),
        {.dtype = DType::f32, .shape = {4096, 4096}, .mean = 0, .deviation = 1, .stream = 0});
  });
}
