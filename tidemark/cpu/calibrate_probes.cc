#include "tidemark/cpu/calibrate_probes.h"

#include "tidemark/ops/attention/attention.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/convolution/conv.h"
#include "tidemark/ops/convolution/pool.h"
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

using List = std::vector<Probe>;

Var data(Builder& b, const Shape& shape, DType dtype = DType::f32) { return b.input({dtype, shape}); }
Var indices(Builder& b, const Shape& shape) { return b.input({DType::i32, shape}); }
Var key(Builder& b) { return b.input({DType::i64, {}}); }

template <class F>
void add(List& list, bool quick, F build, std::int64_t index_limit = 1) {
  list.push_back({.build = std::move(build), .index_limit = index_limit, .quick = quick});
}

// Single calls stay within a few milliseconds: on a busy machine longer ones are never left alone.
void add_elementwise(List& list) {
  for (const std::int64_t n : {1 << 10, 1 << 13, 1 << 16, 1 << 19, 1 << 22}) {
    const bool quick = n == 1 << 13 || n == 1 << 19;
    add(list, quick, [n](Builder& b) { data(b, {n}) + data(b, {n}); });
    add(list, false, [n](Builder& b) { relu(data(b, {n})); });
    add(list, false, [n](Builder& b) { data(b, {n / 64, 64}) + data(b, {64}); });
    if (n > 1 << 19) break;
    add(list, quick, [n](Builder& b) { exp(data(b, {n})); });
    add(list, false, [n](Builder& b) { gelu(data(b, {n})); });
    add(list, false, [n](Builder& b) { data(b, {n / 64, 64}) * data(b, {n / 64, 1}); });
    add(list, false, [n](Builder& b) { data(b, {n / 512, 512}) / data(b, {n / 512, 1}); });
  }
  for (const DType dtype : {DType::f64, DType::bf16, DType::f16}) {
    add(list, false, [dtype](Builder& b) { exp(data(b, {1 << 16}, dtype)); });
    add(list, false, [dtype](Builder& b) { data(b, {1 << 16}, dtype) + data(b, {1 << 16}, dtype); });
  }
  for (const DType dtype : {DType::i32, DType::i64}) {
    add(list, false, [dtype](Builder& b) { data(b, {1 << 16}, dtype) + data(b, {1 << 16}, dtype); });
  }
}

void add_reductions(List& list) {
  for (const std::int64_t rows : {4, 32, 256, 2048, 8192}) {
    const bool quick = rows == 32 || rows == 2048;
    add(list, quick, [rows](Builder& b) { reduce_sum(data(b, {rows, 512}), {1}); });
    add(list, quick, [rows](Builder& b) { reduce_sum(data(b, {rows, 512}), {0}); });
    add(list, false, [rows](Builder& b) { reduce_mean(data(b, {rows, 512}), {0, 1}); });
    add(list, false, [rows](Builder& b) { reduce_max(data(b, {rows, 512}), {1}); });
    if (rows > 2048) break;
    add(list, false, [rows](Builder& b) { reduce_logsumexp(data(b, {rows, 512}), {1}); });
    add(list, false, [rows](Builder& b) { reduce_var(data(b, {rows, 512}), {1}); });
  }
  for (const std::int64_t n : {1, 8}) {
    add(list, false, [n](Builder& b) { avg_pool(data(b, {n, 32, 32, 32}), {.window = {2, 2}}); });
    add(list, false, [n](Builder& b) { max_pool(data(b, {n, 32, 32, 32}), {.window = {2, 2}}); });
  }
}

void add_rows(List& list) {
  add(list, false, [](Builder& b) { softmax(data(b, {256, 16}), 1); });
  add(list, false, [](Builder& b) { layer_norm(data(b, {256, 16}), data(b, {16}), data(b, {16})); });
  add(
      list, false,
      [](Builder& b) {
        cross_entropy(data(b, {256, 16}), indices(b, {256}));
      },
      16);
  for (const std::int64_t rows : {4, 32, 256, 2048}) {
    const bool quick = rows == 32 || rows == 2048;
    add(list, quick, [rows](Builder& b) { softmax(data(b, {rows, 512}), 1); });
    add(list, quick, [rows](Builder& b) {
      layer_norm(data(b, {rows, 512}), data(b, {512}), data(b, {512}));
    });
    add(list, false, [rows](Builder& b) { softmax_grad(data(b, {rows, 512}), data(b, {rows, 512}), 1); });
    add(list, false, [rows](Builder& b) {
      const Var operands[] = {data(b, {rows, 512}), data(b, {rows, 1}), data(b, {rows, 1}), data(b, {512}),
                              data(b, {rows, 512})};
      b.call(op::layer_norm_grad, operands, pack(LayerNormAttrs{}));
    });
    add(
        list, false,
        [rows](Builder& b) {
          cross_entropy(data(b, {rows, 512}), indices(b, {rows}));
        },
        512);
  }
}

void add_contractions(List& list) {
  for (const std::int64_t n : {8, 16, 32, 64, 128, 256, 512, 768}) {
    add(list, n == 32 || n == 128 || n == 512, [n](Builder& b) { matmul(data(b, {n, n}), data(b, {n, n})); });
  }
  for (const std::int64_t m : {1, 4, 16}) {  // skinny: a few rows against a table of weights
    for (const std::int64_t n : {64, 256, 1024}) {
      add(list, m == 4 && n == 256, [m, n](Builder& b) { matmul(data(b, {m, n}), data(b, {n, n})); });
    }
  }
  for (const std::int64_t n : {256, 1024}) {  // a weight's gradient from few examples
    add(list, false, [n](Builder& b) { matmul(data(b, {n, 16}), data(b, {16, n})); });
  }
  for (const std::int64_t n : {16, 64}) {  // batched
    for (const std::int64_t batch : {4, 32, 256}) {
      add(list, n == 64 && batch == 32, [n, batch](Builder& b) {
        matmul(data(b, {batch, n, n}), data(b, {batch, n, n}));
      });
    }
  }
  for (const DType dtype : {DType::f64, DType::bf16, DType::f16}) {
    add(list, false, [dtype](Builder& b) { matmul(data(b, {256, 256}, dtype), data(b, {256, 256}, dtype)); });
  }
}

void add_convolutions(List& list) {
  const ConvAttrs same{.stride = {1, 1}, .low = {1, 1}, .high = {1, 1}, .dilation = {1, 1}};
  const ConvAttrs point{.stride = {1, 1}, .low = {0, 0}, .high = {0, 0}, .dilation = {1, 1}};
  struct Size {
    std::int64_t batch, channels, side;
  };
  for (const Size& s : {Size{1, 16, 8}, Size{2, 16, 16}, Size{2, 32, 16}, Size{2, 64, 16}, Size{2, 64, 32}}) {
    const Shape x{s.batch, s.channels, s.side, s.side};
    const Shape w{s.channels, s.channels, 3, 3}, w1{s.channels, s.channels, 1, 1};
    const bool quick = s.side == 16;
    const Dims size{s.side, s.side};
    add(list, quick, [=](Builder& b) { conv(data(b, x), data(b, w), same); });
    add(list, false, [=](Builder& b) { conv(data(b, x), data(b, w1), point); });
    add(list, false, [=](Builder& b) { conv_input_grad(data(b, x), data(b, w), size, same); });
    add(list, false, [=](Builder& b) { conv_weight_grad(data(b, x), data(b, x), {3, 3}, same); });
  }
  add(list, false, [=](Builder& b) { conv(data(b, {2, 3, 32, 32}), data(b, {32, 3, 3, 3}), same); });
  add(list, false, [=](Builder& b) {
    conv(data(b, {2, 32, 16, 16}, DType::f64), data(b, {32, 32, 3, 3}, DType::f64), same);
  });
  for (const std::int64_t batch : {1, 3, 9}) {
    ConvAttrs depthwise = same;
    depthwise.groups = 32;
    const Shape x{batch, 32, 32, 32};
    add(list, batch == 3, [=](Builder& b) { conv(data(b, x), data(b, {32, 1, 3, 3}), depthwise); });
    add(list, false, [=](Builder& b) {
      conv_input_grad(data(b, x), data(b, {32, 1, 3, 3}), {32, 32}, depthwise);
    });
    add(list, false, [=](Builder& b) { conv_weight_grad(data(b, x), data(b, x), {3, 3}, depthwise); });
  }
}

void add_attention(List& list) {
  for (const std::int64_t tokens : {16, 64, 256, 512}) {
    for (const bool causal : {false, true}) {
      const Shape qkv{1, 2, tokens, 64}, row{1, 2, tokens};
      const bool quick = causal && (tokens == 64 || tokens == 256);
      const AttentionAttrs attrs{.causal = causal};
      add(list, quick, [=](Builder& b) { attention(data(b, qkv), data(b, qkv), data(b, qkv), attrs); });
      add(list, false, [=](Builder& b) {
        const Var operands[] = {data(b, qkv), data(b, qkv), data(b, qkv),
                                data(b, row), data(b, row), data(b, qkv)};
        b.call(op::attention_grad, operands, pack(attrs));
      });
    }
  }
}

void add_movement(List& list) {
  for (const std::int64_t n : {32, 128, 512, 1024, 2048}) {
    const bool quick = n == 128 || n == 1024;
    add(list, quick, [n](Builder& b) { transpose(data(b, {n, n}), {1, 0}); });
    add(list, quick, [n](Builder& b) { transpose(data(b, {n / 8, 4, 8, n / 4}), {0, 2, 1, 3}); });
    add(list, false, [n](Builder& b) { broadcast(data(b, {n}), {n, n}); });
    add(list, false, [n](Builder& b) { broadcast(data(b, {n, 1}), {n, n}); });
    add(list, false, [n](Builder& b) {
      const Var parts[] = {data(b, {n, n / 2}), data(b, {n, n / 2})};
      concat(parts, 1);
    });
  }
}

void add_indexed(List& list) {
  for (const std::int64_t rows : {16, 128, 1024, 4096}) {
    const bool quick = rows == 128 || rows == 1024;
    add(
        list, quick,
        [rows](Builder& b) {
          take(data(b, {4096, 256}), indices(b, {rows}), 0);
        },
        4096);
    add(
        list, quick,
        [rows](Builder& b) {
          take_add(data(b, {rows, 256}), indices(b, {rows}), 0, 1024);
        },
        1024);
    add(
        list, false,
        [rows](Builder& b) {
          gather(data(b, {rows, 256}), indices(b, {rows, 16}), 1);
        },
        256);
    add(
        list, false,
        [rows](Builder& b) {
          scatter_add(data(b, {rows, 256}), indices(b, {rows, 16}), data(b, {rows, 16}), 1);
        },
        256);
  }
}

void add_random(List& list) {
  for (const std::int64_t n : {1 << 11, 1 << 14, 1 << 17}) {
    add(list, n == 1 << 14, [n](Builder& b) { random_bernoulli(key(b), {.shape = {n}}); });
    add(list, false, [n](Builder& b) { random_uniform(key(b), {.shape = {n}}); });
    add(list, n == 1 << 14, [n](Builder& b) { random_normal(key(b), {.shape = {n}}); });
  }
}

void add_sorts(List& list) {
  for (const std::int64_t rows : {1, 8, 64}) {
    add(list, rows == 8, [rows](Builder& b) { sort(data(b, {rows, 1024}), 1); });
    add(list, false, [rows](Builder& b) { top_k(data(b, {rows, 1024}), 1, 8); });
  }
}

void add_factorizations(List& list) {
  for (const std::int64_t n : {16, 64, 256}) {
    add(list, n == 64, [n](Builder& b) { solve(data(b, {n, n}), data(b, {n, n})); });
    add(list, false, [n](Builder& b) { solve(data(b, {8, n, n}), data(b, {8, n, 1})); });
  }
}

}  // namespace

std::vector<Probe> calibration_probes() {
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
  return list;
}

}  // namespace tidemark
