#include "tidemark/engine/device_probes.h"

#include "tidemark/ops/attention/attention.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/convolution/conv.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/sort.h"
#include "tidemark/ops/linalg/solve.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/cross_entropy.h"
#include "tidemark/ops/normalization/layer_norm.h"
#include "tidemark/ops/normalization/softmax.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

constexpr bool quick = true, normal = false;

class List {
 public:
  template <class F>
  void add(bool is_quick, F build, std::int64_t index_limit = 1) {
    probes.push_back({.build = std::move(build), .index_limit = index_limit, .quick = is_quick});
  }
  std::vector<Probe> probes;
};

Var data(Builder& b, const Shape& shape, DType dtype = DType::f32) { return b.input({dtype, shape}); }
Var indices(Builder& b, const Shape& shape) { return b.input({DType::i32, shape}); }
Var key(Builder& b) { return b.input({DType::i64, {}}); }

void add_elementwise(List& list) {
  for (const std::int64_t n : {1 << 12, 1 << 16, 1 << 20, 1 << 23, 1 << 26}) {
    const bool is_quick = n == 1 << 12 || n == 1 << 20 || n == 1 << 26;
    list.add(is_quick, [n](Builder& b) { data(b, {n}) + data(b, {n}); });
    for (const DType dtype : {DType::f32, DType::bf16})
      list.add(normal, [n, dtype](Builder& b) { gelu(data(b, {n}, dtype)); });
    list.add(normal, [n](Builder& b) { data(b, {n}, DType::bf16) + data(b, {n}, DType::bf16); });
    list.add(normal, [n](Builder& b) { data(b, {n / 64, 64}) * data(b, {64}); });
  }
}

void add_reductions(List& list) {
  for (const std::int64_t rows : {32, 1024, 32768}) {
    list.add(rows == 1024, [rows](Builder& b) { reduce_sum(data(b, {rows, 1024}), {1}); });
    list.add(rows == 32768, [rows](Builder& b) { reduce_sum(data(b, {rows, 1024}), {0}); });
    list.add(normal, [rows](Builder& b) { reduce_sum(data(b, {rows, 1024}, DType::bf16), {1}); });
    list.add(normal, [rows](Builder& b) { reduce_sum(data(b, {rows, 1024}, DType::bf16), {0}); });
    list.add(normal, [rows](Builder& b) { reduce_mean(data(b, {rows, 1024}), {0, 1}); });
  }
}

void add_rows(List& list) {
  for (const std::int64_t rows : {32, 1024, 32768}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      list.add(dtype == DType::bf16 && rows > 32, [=](Builder& b) {
        softmax(data(b, {rows, 1024}, dtype), 1);
      });
      list.add(normal, [=](Builder& b) {
        layer_norm(data(b, {rows, 1024}, dtype), data(b, {1024}, dtype), data(b, {1024}, dtype));
      });
    }
    list.add(
        normal,
        [rows](Builder& b) {
          cross_entropy(data(b, {rows, 1024}), indices(b, {rows}));
        },
        1024);
  }
}

// Squares, and the shapes of training: a layer, its weight's gradient, few rows, batches.
void add_contractions(List& list) {
  const auto product = [&](bool is_quick, DType dtype, std::int64_t m, std::int64_t k, std::int64_t n) {
    list.add(is_quick, [=](Builder& b) { matmul(data(b, {m, k}, dtype), data(b, {k, n}, dtype)); });
  };
  for (const std::int64_t n : {64, 256, 1024, 4096}) {
    product(n == 256 || n == 4096, DType::f32, n, n, n);
    product(n != 64, DType::bf16, n, n, n);
  }
  product(normal, DType::bf16, 8192, 8192, 8192);
  for (const DType dtype : {DType::f16, DType::f64}) product(quick, dtype, 2048, 2048, 2048);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    product(normal, dtype, 16384, 768, 3072);
    product(normal, dtype, 768, 16384, 3072);
    product(normal, dtype, 16, 4096, 4096);
    list.add(normal, [dtype](Builder& b) {
      matmul(data(b, {64, 512, 64}, dtype), data(b, {64, 64, 512}, dtype));
    });
  }
}

void add_convolutions(List& list) {
  const ConvAttrs same{.stride = {1, 1}, .low = {1, 1}, .high = {1, 1}, .dilation = {1, 1}};
  struct Size {
    std::int64_t batch, channels, side;
  };
  for (const Size& s : {Size{2, 32, 16}, Size{32, 64, 56}, Size{64, 256, 28}}) {
    const Shape x{s.batch, s.channels, s.side, s.side}, w{s.channels, s.channels, 3, 3};
    const Dims size{s.side, s.side};
    for (const DType dtype : {DType::f32, DType::bf16}) {
      list.add(s.batch == 32, [=](Builder& b) { conv(data(b, x, dtype), data(b, w, dtype), same); });
      list.add(normal,
               [=](Builder& b) { conv_input_grad(data(b, x, dtype), data(b, w, dtype), size, same); });
      list.add(normal, [=](Builder& b) {
        conv_weight_grad(data(b, x, dtype), data(b, x, dtype), {3, 3}, same);
      });
    }
    ConvAttrs depthwise = same;
    depthwise.groups = s.channels;
    list.add(normal, [=](Builder& b) { conv(data(b, x), data(b, {s.channels, 1, 3, 3}), depthwise); });
  }
}

void add_attention(List& list) {
  for (const std::int64_t tokens : {128, 512, 2048}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Shape qkv{4, 12, tokens, 64};
      const AttentionAttrs attrs{.causal = true};
      list.add(tokens == 512 && dtype == DType::bf16, [=](Builder& b) {
        attention(data(b, qkv, dtype), data(b, qkv, dtype), data(b, qkv, dtype), attrs);
      });
    }
  }
}

void add_movement(List& list) {
  for (const std::int64_t n : {256, 2048, 8192}) {
    list.add(n == 2048, [n](Builder& b) { transpose(data(b, {n, n}), {1, 0}); });
    list.add(normal, [n](Builder& b) {
      const Var parts[] = {data(b, {n, n / 2}, DType::bf16), data(b, {n, n / 2}, DType::bf16)};
      concat(parts, 1);
    });
  }
}

void add_indexed(List& list) {
  for (const std::int64_t rows : {64, 1024, 16384}) {
    list.add(
        rows == 1024,
        [rows](Builder& b) {
          take(data(b, {16384, 768}), indices(b, {rows}), 0);
        },
        16384);
    list.add(
        normal,
        [rows](Builder& b) {
          take_add(data(b, {rows, 768}), indices(b, {rows}), 0, 16384);
        },
        16384);
  }
}

void add_random(List& list) {
  for (const std::int64_t n : {1 << 12, 1 << 18, 1 << 24}) {
    list.add(n == 1 << 18, [n](Builder& b) { random_bernoulli(key(b), {.shape = {n}}); });
    list.add(normal, [n](Builder& b) { random_normal(key(b), {.shape = {n}}); });
  }
}

void add_sorts(List& list) {
  for (const std::int64_t rows : {8, 512, 8192}) {
    list.add(rows == 512, [rows](Builder& b) { sort(data(b, {rows, 1024}), 1); });
    list.add(normal, [rows](Builder& b) { top_k(data(b, {rows, 1024}), 1, 8); });
  }
}

void add_factorizations(List& list) {
  for (const std::int64_t n : {64, 512})
    list.add(normal, [n](Builder& b) { solve(data(b, {n, n}), data(b, {n, n})); });
}

}  // namespace

std::vector<Probe> device_probes() {
  List list;
  add_elementwise(list);
  add_reductions(list);
  add_rows(list);
  add_contractions(list);
  add_convolutions(list);
  add_attention(list);
  add_movement(list);
  add_indexed(list);
  add_random(list);
  add_sorts(list);
  add_factorizations(list);
  return list.probes;
}

}  // namespace tidemark
