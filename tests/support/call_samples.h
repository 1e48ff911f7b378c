// Calls of each family of kernels, and how near to the CPU's their results must be.
#pragma once
#include "tests/support/call_values.h"
#include "tidemark/ops/attention/attention.h"
#include "tidemark/ops/convolution/conv.h"
#include "tidemark/ops/convolution/pool.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/sort.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/batch_norm.h"
#include "tidemark/ops/normalization/cross_entropy.h"
#include "tidemark/ops/normalization/group_norm.h"
#include "tidemark/ops/normalization/layer_norm.h"
#include "tidemark/ops/quantization/fp8.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/constant.h"

namespace tidemark::testing {

inline constexpr const Op* row_ops[] = {
    &op::softmax,           &op::softmax_grad,       &op::log_softmax,       &op::log_softmax_grad,
    &op::layer_norm,        &op::layer_norm_grad,    &op::layer_norm_params, &op::rms_norm,
    &op::rms_norm_grad,     &op::rms_norm_params,    &op::group_norm,        &op::group_norm_grad,
    &op::group_norm_params, &op::batch_norm,         &op::batch_norm_grad,   &op::batch_norm_params,
    &op::cross_entropy,     &op::cross_entropy_grad, &op::reduce_logsumexp,  &op::reduce_var,
    &op::attention_delta,   &op::column_statistics,  &op::column_slopes};

// Sums are in another order than the CPU's; exponentials differ by a unit.
inline Nearness row_nearness(const Op& op) {
  if (&op == &op::softmax) return {.units = 16};
  if (&op == &op::log_softmax || &op == &op::reduce_logsumexp || &op == &op::cross_entropy)
    return {.units = 16, .floor = 1};
  return {.units = 64, .of_largest = true};
}

inline Literal labels_below(std::int64_t classes, std::int64_t count) {
  return random_literal(DType::i64, {count}, 5, 0, static_cast<double>(classes - 1));
}

// Rows of one element, of odd and even lengths, of those that fit into registers and those that do not; along
// the last axis and others; strided where a kernel takes that.
inline CallCases row_shapes(DType dtype) {
  CallCases cases;
  if (!is_float(dtype)) return cases;
  const auto data = [&](const Shape& shape, std::uint64_t seed) {
    return random_literal(dtype, shape, seed, -2, 2);
  };
  const auto statistic = [&](const Shape& shape, double low) {
    return random_literal(dtype == DType::f64 ? DType::f64 : DType::f32, shape, 9, low, low + 1);
  };
  const auto add = [&](const Op& op, std::vector<Literal> operands, Attrs attrs,
                       std::vector<Strides> strides = {}) {
    cases.push_back(
        std::make_unique<CallCase>(op, std::move(operands), std::move(attrs), std::move(strides)));
  };
  const Shape shapes[] = {{70, 1}, {9, 7}, {5, 768}, {3, 50257}, {2, 2050}, {2, 33000}};
  for (const Shape& shape : shapes) {
    const std::int64_t rows = shape[0], n = shape[1];
    const Literal x = data(shape, 1), g = data(shape, 2), gain = data({n}, 3), bias = data({n}, 4);
    const Literal mean = statistic({rows, 1}, -0.5), rstd = statistic({rows, 1}, 0.5);
    add(op::softmax, {x}, pack(AxisAttrs{1}));
    add(op::softmax_grad, {x, g}, pack(AxisAttrs{1}));
    add(op::layer_norm, {x, gain, bias}, pack(LayerNormAttrs{}));
    add(op::layer_norm_grad, {x, mean, rstd, gain, g}, pack(LayerNormAttrs{}));
    add(op::cross_entropy, {x, labels_below(n, rows)}, pack(CrossEntropyAttrs{true, 0}));
    const Literal logsumexp = statistic({rows}, 10), slope = statistic({rows}, -0.5);
    add(op::cross_entropy_grad, {x, labels_below(n, rows), logsumexp, slope},
        pack(CrossEntropyAttrs{true, 0}));
    add(op::reduce_logsumexp, {x}, pack(ReduceAttrs{{1}, false}));
    add(op::reduce_var, {x}, pack(ReduceAttrs{{1}, false}));
  }
  const Literal log_x = data({4, 500}, 1);
  add(op::log_softmax, {log_x}, pack(AxisAttrs{1}));
  add(op::log_softmax_grad, {log_x, data({4, 500}, 2)}, pack(AxisAttrs{1}));
  add(op::rms_norm, {log_x, data({500}, 3)}, pack(LayerNormAttrs{}));
  for (const Shape& shape : {Shape{300, 68}, Shape{5, 33}, Shape{17000, 4}}) {
    const Literal x = data(shape, 1), g = data(shape, 2);
    const Literal mean = statistic({shape[0], 1}, -0.5), rstd = statistic({shape[0], 1}, 0.5);
    add(op::layer_norm_params, {x, mean, rstd, g}, pack(LayerNormAttrs{}));
    add(op::rms_norm_params, {x, rstd, g}, pack(LayerNormAttrs{}));
  }
  // Columns.
  add(op::softmax, {data({3, 40, 50}, 1)}, pack(AxisAttrs{1}));
  add(op::softmax, {data({3, 5, 300}, 1)}, pack(AxisAttrs{1}));
  add(op::log_softmax_grad, {data({40, 9}, 1), data({40, 9}, 2)}, pack(AxisAttrs{0}));
  add(op::reduce_var, {data({300, 40}, 1)}, pack(ReduceAttrs{{0}, false}));
  add(op::reduce_logsumexp, {data({6, 50, 7, 4}, 1)}, pack(ReduceAttrs{{0, 2}, false}));
  add(op::reduce_var, {data({6, 50, 7, 4}, 1)}, pack(ReduceAttrs{{1, 3}, false}));
  add(op::reduce_var, {data({0, 5}, 1)}, pack(ReduceAttrs{{0}, false}));
  add(op::reduce_logsumexp, {data({5, 0}, 1)}, pack(ReduceAttrs{{1}, false}));
  // Channels as columns.
  for (const Shape& shape : {Shape{3000, 8}, Shape{700, 40}, Shape{65, 300}, Shape{33, 7}}) {
    const std::int64_t n = shape[1];
    const Literal x = data(shape, 1), g = data(shape, 2), gain = data({n}, 3), bias = data({n}, 4);
    const Literal mean = statistic({n}, -0.5), variance = statistic({n}, 0.5);
    add(op::batch_norm, {x, gain, bias}, pack(BatchNormAttrs{}));
    add(op::batch_norm_grad, {x, mean, variance, gain, g}, pack(BatchNormAttrs{}));
    add(op::batch_norm_params, {x, mean, variance, g}, pack(BatchNormAttrs{}));
    add(op::column_statistics, {x, gain}, pack(BatchNormAttrs{}));
    add(op::column_slopes, {x, mean, variance, g}, pack(BatchNormAttrs{}));
    add(op::column_slopes, {x, mean, variance, g, variance, bias}, pack(BatchNormAttrs{}));
  }
  // Operands as they lie.
  const Shape four = {2, 3, 5, 16};
  add(op::attention_delta, {data(four, 1), data(four, 2)}, {});
  add(op::attention_delta, {data(four, 1), data(four, 2)}, {}, {dense_strides(four), {240, 16, 48, 1}});
  add(op::attention_delta, {data(four, 1), data(four, 2)}, {}, {odd_strides(four), odd_strides(four)});
  add(op::reduce_var, {data({6, 50}, 1)}, pack(ReduceAttrs{{0}, false}), {odd_strides({6, 50})});
  add(op::reduce_logsumexp, {data({6, 50}, 1)}, pack(ReduceAttrs{{1}, false}), {odd_strides({6, 50})});
  return cases;
}

inline constexpr const Op* convolution_ops[] = {&op::conv, &op::conv_input_grad, &op::conv_weight_grad};
inline Nearness convolution_nearness(const Op&) { return {.units = 64, .of_largest = true}; }

// Sums that are cut into slabs, tiles with edges, thin groups.
inline CallCases convolution_shapes(DType dtype) {
  CallCases cases;
  const auto data = [&](const Shape& shape, std::uint64_t seed) {
    return random_literal(dtype, shape, seed, -1, 1);
  };
  const auto add = [&](const Shape& x, const Shape& w, const Shape& y, const ConvAttrs& a) {
    const auto with_size = [&](const Shape& shape) {
      Dims size = shape;
      size.erase(0), size.erase(0);
      return pack(ConvGradAttrs{a.stride, a.low, a.high, a.dilation, a.groups, size});
    };
    const auto push = [&](const Op& op, std::vector<Literal> operands, Attrs attrs) {
      cases.push_back(std::make_unique<CallCase>(op, std::move(operands), std::move(attrs)));
    };
    push(op::conv, {data(x, 1), data(w, 2)}, pack(a));
    push(op::conv_input_grad, {data(y, 3), data(w, 2)}, with_size(x));
    push(op::conv_weight_grad, {data(x, 1), data(y, 3)}, with_size(w));
  };
  add({2, 9, 20, 17}, {70, 9, 3, 3}, {2, 70, 10, 9}, {{2, 2}, {1, 1}, {1, 1}, {1, 1}, 1});
  add({3, 4, 30, 30}, {8, 4, 1, 1}, {3, 8, 30, 30}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1});
  add({1, 6, 14, 14}, {6, 1, 3, 3}, {1, 6, 14, 14}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 6});
  return cases;
}

inline constexpr const Op* index_ops[] = {&op::take,    &op::take_add, &op::gather, &op::scatter_add,
                                          &op::one_hot, &op::argmax,   &op::argmin};

inline Nearness exactly(const Op&) { return {}; }

// Many updates of few rows and of many, rows of all widths, ties and NaNs.
inline CallCases index_shapes(DType dtype) {
  CallCases cases;
  const auto data = [&](const Shape& shape, std::uint64_t seed) {
    return random_literal(dtype, shape, seed, is_float(dtype) ? -2 : 0, is_float(dtype) ? 2 : 100);
  };
  const auto below = [&](std::int64_t bound, const Shape& shape, DType index = DType::i32) {
    return random_literal(index, shape, 5, 0, static_cast<double>(bound - 1));
  };
  const auto add = [&](const Op& op, std::vector<Literal> operands, Attrs attrs,
                       std::vector<Strides> strides = {}) {
    cases.push_back(
        std::make_unique<CallCase>(op, std::move(operands), std::move(attrs), std::move(strides)));
  };
  for (const std::int64_t inner : {1, 7, 48}) {
    add(op::take, {data({50, inner}, 1), below(50, {130}, DType::i64)}, pack(TakeAttrs{0}));
    add(op::take, {data({3, 9, inner}, 1), below(9, {4, 5})}, pack(TakeAttrs{1}));
  }
  for (const DType index : {DType::i32, DType::i64}) {
    const std::int64_t rows = index == DType::i32 ? 5 : 2000;
    if (dtype == DType::boolean) break;
    const Literal updates = data({900, 24}, 1), onto = data({rows, 24}, 2), keys = below(rows, {900}, index);
    add(op::take_add, {updates, keys}, pack(TakeAddAttrs{0, rows}));
    add(op::take_add, {updates, keys, onto}, pack(TakeAddAttrs{0, rows}));
    add(op::take_add, {data({3, 900, 5}, 1), keys}, pack(TakeAddAttrs{1, rows}));
    add(op::scatter_add, {data({rows, 24}, 2), below(rows, {300, 24}, index), data({300, 24}, 3)},
        pack(AxisAttrs{0}));
    add(op::scatter_add, {data({30, rows}, 2), below(rows, {30, 9}, index), data({30, 9}, 3)},
        pack(AxisAttrs{1}));
  }
  if (dtype != DType::boolean) add(op::take_add, {data({0, 4}, 1), below(2, {0})}, pack(TakeAddAttrs{0, 3}));
  add(op::gather, {data({20, 300}, 1), below(300, {20, 70})}, pack(AxisAttrs{1}));
  add(op::one_hot, {below(1000, {7, 3})}, pack(OneHotAttrs{1000, dtype}));
  for (const Op* op : {&op::argmax, &op::argmin}) {
    add(*op, {data({9, 1}, 1)}, pack(AxisAttrs{1}));
    add(*op, {data({3, 2050}, 1)}, pack(AxisAttrs{1}));
    add(*op, {data({2, 50257}, 1)}, pack(AxisAttrs{1}));
    add(*op, {data({5, 64, 40}, 1)}, pack(AxisAttrs{1}));
    add(*op, {data({12, 50}, 1)}, pack(AxisAttrs{1}), {odd_strides({12, 50})});
    if (is_float(dtype)) add(*op, {with_hard_cases(data({2, 100}, 1), true)}, pack(AxisAttrs{1}));
  }
  return cases;
}

inline constexpr const Op* movement_ops[] = {&op::reshape, &op::transpose, &op::slice,       &op::pad,
                                             &op::concat,  &op::split,     &op::flip,        &op::tril,
                                             &op::triu,    &op::iota,      &op::update_slice};

// Long rows, tiles with edges, several parts; operands as they lie.
inline CallCases movement_shapes(DType dtype) {
  CallCases cases;
  const auto data = [&](const Shape& shape, std::uint64_t seed = 1) {
    return random_literal(dtype, shape, seed, 0, is_float(dtype) ? 1 : 100);
  };
  const auto add = [&](const Op& op, std::vector<Literal> operands, Attrs attrs,
                       std::vector<Strides> strides = {}) {
    cases.push_back(
        std::make_unique<CallCase>(op, std::move(operands), std::move(attrs), std::move(strides)));
  };
  add(op::transpose, {data({70, 130})}, pack(TransposeAttrs{{1, 0}}));
  add(op::transpose, {data({3, 40, 2, 64})}, pack(TransposeAttrs{{0, 2, 1, 3}}));
  add(op::transpose, {data({3, 33, 4, 65})}, pack(TransposeAttrs{{0, 2, 3, 1}}));
  add(op::transpose, {data({9, 10, 11})}, pack(TransposeAttrs{{2, 1, 0}}), {odd_strides({9, 10, 11})});
  add(op::reshape, {data({30, 41})}, pack(ReshapeAttrs{{41, 30}}), {{1, 30}});
  add(op::reshape, {data({30, 40})}, pack(ReshapeAttrs{{1200}}));
  add(op::slice, {data({20, 96})}, pack(SliceAttrs{{3, 32}, {19, 64}, {1, 1}}));
  add(op::slice, {data({20, 96})}, pack(SliceAttrs{{3, 1}, {19, 64}, {2, 3}}), {odd_strides({20, 96})});
  const Literal fill = random_literal(dtype, {}, 9, 0, 1);
  add(op::pad, {data({9, 50}), fill}, pack(PadAttrs{{2, 16}, {3, -2}, {1, 0}}));
  add(op::pad, {data({9, 50}), fill}, pack(PadAttrs{{-2, 3}, {0, 5}, {0, 2}}), {odd_strides({9, 50}), {}});
  add(op::concat, {data({5, 30, 4}), data({5, 7, 4}, 2), data({5, 0, 4}, 3)}, pack(AxisAttrs{1}));
  add(op::concat, {data({50, 3}), data({50, 2}, 2)}, pack(AxisAttrs{1}), {odd_strides({50, 3}), {1, 50}});
  add(op::split, {data({6, 96})}, pack(SplitAttrs{1, {32, 48, 16}}));
  add(op::flip, {data({6, 96})}, pack(AxesAttrs{{0}}));
  add(op::flip, {data({6, 96})}, pack(AxesAttrs{{0, 1}}));
  add(op::tril, {data({2, 40, 33})}, pack(TriangleAttrs{3}));
  add(op::triu, {data({2, 40, 33})}, pack(TriangleAttrs{-2}), {odd_strides({2, 40, 33})});
  if (dtype != DType::boolean) add(op::iota, {}, pack(IotaAttrs{dtype, {3, 120, 7}, 1}));
  add(op::constant, {}, pack(ConstantAttrs{data({3, 70})}));
  add(op::constant, {}, pack(ConstantAttrs{data({4, 0})}));
  add(op::update_slice, {data({20, 96}), data({5, 32}, 2)}, pack(UpdateSliceAttrs{{3, 32}, {2, 1}}));
  add(op::update_slice, {data({20, 96}), data({5, 32}, 2)}, pack(UpdateSliceAttrs{{3, 31}, {2, 2}}),
      {odd_strides({20, 96}), odd_strides({5, 32})});
  return cases;
}

inline constexpr const Op* random_ops[] = {&op::random_bits,      &op::random_uniform, &op::random_normal,
                                           &op::random_bernoulli, &op::random_split,   &op::fold_in};

// Many numbers, from the first on and from another, whose place in its block is another.
inline CallCases random_shapes(DType dtype) {
  CallCases cases;
  const Literal key = random_literal(DType::i64, {}, 3, 0, 1e9),
                from = random_literal(DType::i64, {}, 4, 1, 1e12);
  const auto add = [&](const Op& op, const Attrs& attrs) {
    cases.push_back(std::make_unique<CallCase>(op, std::vector{key}, attrs));
    cases.push_back(std::make_unique<CallCase>(op, std::vector{key, from}, attrs));
  };
  for (const std::int64_t n : {1, 1003, 4096}) {
    if (is_float(dtype)) {
      add(op::random_uniform, pack(RandomUniformAttrs{dtype, {n}, -3, 0.1, 7}));
      add(op::random_normal, pack(RandomNormalAttrs{dtype, {n}, 0.5, 2, 9}));
    } else if (dtype == DType::boolean) {
      for (const double p : {0.0, 0.3, 1.0}) add(op::random_bernoulli, pack(RandomBernoulliAttrs{{n}, p, 5}));
    } else {
      add(op::random_bits, pack(RandomBitsAttrs{dtype, {n}, 2}));
    }
  }
  return cases;
}

inline constexpr const Op* order_ops[] = {&op::cumsum,   &op::sort,     &op::top_k,
                                          &op::max_pool, &op::avg_pool, &op::avg_pool_grad};

// Sums in parts are rounded otherwise than those one after the other.
inline Nearness order_nearness(const Op& op) {
  return &op == &op::cumsum ? Nearness{.units = 32, .of_largest = true} : Nearness{};
}

inline CallCases order_shapes(DType dtype) {
  CallCases cases;
  const auto data = [&](const Shape& shape) {
    return random_literal(dtype, shape, 1, is_float(dtype) ? -2 : 0, is_float(dtype) ? 2 : 40);
  };
  const auto add = [&](const Op& op, std::vector<Literal> operands, Attrs attrs,
                       std::vector<Strides> strides = {}) {
    cases.push_back(
        std::make_unique<CallCase>(op, std::move(operands), std::move(attrs), std::move(strides)));
  };
  if (dtype != DType::boolean) {
    add(op::cumsum, {data({3, 2500})}, pack(CumsumAttrs{1, false}));
    add(op::cumsum, {data({3, 1025})}, pack(CumsumAttrs{1, true}));
    add(op::cumsum, {data({40, 9})}, pack(CumsumAttrs{0, true}));
    add(op::cumsum, {data({6, 50})}, pack(CumsumAttrs{1, false}), {odd_strides({6, 50})});
  }
  add(op::sort, {data({3, 700})}, pack(SortAttrs{1, false}));
  add(op::sort, {data({90, 4})}, pack(SortAttrs{0, true}), {odd_strides({90, 4})});
  add(op::top_k, {data({33, 64})}, pack(TopKAttrs{1, 6}));
  add(op::top_k, {data({2, 50257})}, pack(TopKAttrs{1, 3}));
  add(op::top_k, {data({40, 9})}, pack(TopKAttrs{0, 5}), {odd_strides({40, 9})});
  if (!is_float(dtype)) return cases;
  add(op::sort, {with_hard_cases(data({2, 50}), true)}, pack(SortAttrs{1, true}));
  add(op::top_k, {with_hard_cases(data({2, 50}), true)}, pack(TopKAttrs{1, 50}));
  const PoolAttrs two{{3, 2}, {2, 1}, {1, 0}, {1, 1}};
  add(op::max_pool, {data({2, 3, 20, 31})}, pack(two));
  const PoolAttrs last{{3, 3, 1}, {2, 2, 1}, {1, 1, 0}, {1, 1, 0}};  // channels last
  add(op::max_pool, {data({2, 1, 9, 8, 24})}, pack(last));
  add(op::max_pool, {with_hard_cases(data({1, 1, 6, 5, 7}), true)}, pack(last));
  add(op::avg_pool, {data({2, 3, 20, 31})}, pack(two));
  add(op::avg_pool_grad, {data({2, 3, 10, 31})},
      pack(PoolGradAttrs{{3, 2}, {2, 1}, {1, 0}, {1, 1}, {20, 31}}));
  return cases;
}

inline constexpr const Op* fp8_ops[] = {&op::fp8_scale, &op::fp8_codes};

// Several blocks of threads, packs and what is left of them, matrices of whole tiles and of parts of one, and
// what is no number.
inline CallCases fp8_shapes(DType dtype) {
  CallCases cases;
  if (!is_float(dtype)) return cases;
  const auto add = [&](const Op& op, std::vector<Literal> operands, Attrs attrs) {
    cases.push_back(std::make_unique<CallCase>(op, std::move(operands), std::move(attrs)));
  };
  const Literal scale = literal_of(DType::f32, {}, {0.0078125});
  for (const std::string format : {"e4m3", "e5m2"}) {
    for (const Shape& shape : {Shape{70, 1001}, Shape{128, 64}, Shape{3, 48, 72}, Shape{272, 200}}) {
      const Literal x = random_literal(dtype, shape, 1, -3, 3);
      add(op::fp8_scale, {x}, pack(Fp8ScaleAttrs{format}));
      for (const bool transposed : {false, true})
        add(op::fp8_codes, {x, scale}, pack(Fp8CodesAttrs{format, shape.rank() - 1, transposed}));
    }
    const Literal hard = with_hard_cases(random_literal(dtype, {16, 32}, 1, -3, 3), true);
    add(op::fp8_scale, {hard}, pack(Fp8ScaleAttrs{format}));
    for (const bool transposed : {false, true})
      add(op::fp8_codes, {hard, scale}, pack(Fp8CodesAttrs{format, 1, transposed}));
    add(op::fp8_scale, {literal_of(dtype, {40}, std::vector<double>(40, 0))}, pack(Fp8ScaleAttrs{format}));
  }
  return cases;
}

// A family: its ops, its larger calls, how near they come.
struct CallGroup {
  std::span<const Op* const> ops;
  CallCases (*shapes)(DType);
  Nearness (*nearness)(const Op&);
};
inline constexpr CallGroup call_groups[] = {{row_ops, row_shapes, row_nearness},
                                            {index_ops, index_shapes, exactly},
                                            {movement_ops, movement_shapes, exactly},
                                            {random_ops, random_shapes, exactly},
                                            {order_ops, order_shapes, order_nearness},
                                            {convolution_ops, convolution_shapes, convolution_nearness},
                                            {fp8_ops, fp8_shapes, exactly}};

// The kernels of all calls, in one source: samples, as many of each op as are asked for, and of all of them
// the larger calls too.
inline std::string every_call_source(std::span<const DType> dtypes, std::size_t most = 100) {
  CallCases cases;
  for (const CallGroup& group : call_groups) {
    for (const Op* op : group.ops) add_samples(cases, *op, dtypes, most);
    if (most < 100) continue;
    for (const DType dtype : dtypes) {
      for (auto& c : group.shapes(dtype)) cases.push_back(std::move(c));
    }
  }
  std::string source;
  for (std::size_t i = 0; i < cases.size(); ++i)
    source += cuda::write_call(cases[i]->call, fmt::format("{}_{}", cases[i]->call.op->name, i)).source;
  return source;
}

}  // namespace tidemark::testing
