#include "tidemark/ops/convolution/pool.h"

#include <limits>

#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

PoolAttrs without_size(const PoolGradAttrs& a) {
  return {.window = a.window, .stride = a.stride, .low = a.low, .high = a.high};
}

// (N, C, S…) pooled.
Shape pooled(const Call& call, const Shape& x, const PoolAttrs& attrs) {
  if (x.rank() < 3 || x.rank() > 5) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: an operand of shape {}", call.op->name, to_string(x)),
          .expected = "(N, C, spatial…) with 1, 2 or 3 spatial dimensions",
          .where = call.where});
  }
  const int dims = x.rank() - 2;
  require_rank(call, "window", attrs.window, dims);
  require_rank(call, "stride", attrs.stride, dims);
  require_rank(call, "low", attrs.low, dims);
  require_rank(call, "high", attrs.high, dims);
  Shape y = {x[0], x[1]};
  for (int d = 0; d < dims; ++d) {
    const std::int64_t window = attrs.window[d], low = attrs.low[d], high = attrs.high[d];
    if (window < 1 || attrs.stride[d] < 1 || low < 0 || high < 0 || low >= window || high >= window) {
      fail(ErrorCode::bad_attribute,
           {.what = fmt::format("{}: a window of {}, stride {}, padding {} and {} along spatial dimension {}",
                                call.op->name, window, attrs.stride[d], low, high, d),
            .expected = "window and stride at least 1, padding at least 0 and smaller than the window",
            .where = call.where});
    }
    const std::int64_t padded = x[d + 2] + low + high;
    if (x[d + 2] < 1 || padded < window) {
      fail(ErrorCode::shape_mismatch, {.what = fmt::format("{}: a window of {} over {} elements with padding",
                                                           call.op->name, window, padded),
                                       .expected = "a window that fits into the padded operand",
                                       .where = call.where});
    }
    y.push_back((padded - window) / attrs.stride[d] + 1);
  }
  return y;
}

std::int64_t spatial_count(const Shape& x) {
  std::int64_t count = 1;
  for (int d = 2; d < x.rank(); ++d) count *= x[d];
  return count;
}
Var flat(const Var& x) { return reshape(x, {x.shape()[0], x.shape()[1], spatial_count(x.shape())}); }

std::vector<Type> infer_max(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  const Shape y = pooled(call, call.in[0].shape, call.attrs_as<PoolAttrs>());
  if (spatial_count(call.in[0].shape) > std::numeric_limits<std::int32_t>::max()) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("max_pool: an image of shape {} has more points than an i32 counts",
                              to_string(call.in[0].shape)),
          .where = call.where});
  }
  return {{call.in[0].dtype, y}, {DType::i32, y}};
}

std::vector<Var> vjp_max(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var()};
  Dims size = rule.in[0].shape();
  size.erase(0), size.erase(0);
  return {max_pool_grad(rule.seed[0], rule.out[1], size, rule.call.attrs_as<PoolAttrs>())};
}
std::vector<Var> jvp_max(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var(), Var()};
  const Var tangent = flat(rule.seed[0]), at = flat(rule.out[1]);
  return {reshape(gather(tangent, at, 2), rule.out[0].shape()), Var()};
}

std::vector<Type> infer_avg(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  return {{call.in[0].dtype, pooled(call, call.in[0].shape, call.attrs_as<PoolAttrs>())}};
}
std::vector<Var> vjp_avg(const RuleCall& rule) {
  Dims size = rule.in[0].shape();
  size.erase(0), size.erase(0);
  if (!rule.seed[0]) return {Var()};
  return {avg_pool_grad(rule.seed[0], size, rule.call.attrs_as<PoolAttrs>())};
}
std::vector<Var> jvp_avg(const RuleCall& rule) {
  return {rule.seed[0] ? avg_pool(rule.seed[0], rule.call.attrs_as<PoolAttrs>()) : Var()};
}

Type infer_grad(const Call& call) {
  require_data_dtype(call, 0);
  const auto attrs = call.attrs_as<PoolGradAttrs>();
  const Shape& y = call.in[0].shape;
  require_rank(call, "size", attrs.size, y.rank() - 2);
  Shape x = {y[0], y[1]};
  for (std::int64_t size : attrs.size) x.push_back(size);
  const Shape expected = pooled(call, x, without_size(attrs));
  if (y != expected) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: pooling {} gives {}, the operand has {}", call.op->name, to_string(x),
                              to_string(expected), to_string(y)),
          .expected = to_string(expected),
          .where = call.where});
  }
  return {call.in[0].dtype, x};
}
std::vector<Type> infer_avg_grad(const Call& call) {
  require_operands(call, 1);
  return {infer_grad(call)};
}
std::vector<Type> infer_max_grad(const Call& call) {
  require_operands(call, 2);
  if (call.in[1].dtype != DType::i32 || call.in[1].shape != call.in[0].shape) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("max_pool_grad: positions {} of {}",
                                                         to_string(call.in[1]), to_string(call.in[0])),
                                     .expected = "a position (i32) for each element",
                                     .where = call.where});
  }
  return {infer_grad(call)};
}
std::vector<Var> expand_max_grad(const RuleCall& rule) {
  Shape x = {rule.in[0].shape()[0], rule.in[0].shape()[1]};
  for (const std::int64_t size : rule.call.attrs_as<PoolGradAttrs>().size) x.push_back(size);
  const Var zero = zeros(rule.builder, {rule.in[0].dtype(), {x[0], x[1], spatial_count(x)}});
  const Var at = flat(rule.in[1]), g = flat(rule.in[0]);
  return {reshape(scatter_add(zero, at, g, 2), x)};
}
std::vector<Var> vjp_avg_grad(const RuleCall& rule) {
  return {rule.seed[0] ? avg_pool(rule.seed[0], without_size(rule.call.attrs_as<PoolGradAttrs>())) : Var()};
}
std::vector<Var> jvp_avg_grad(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<PoolGradAttrs>();
  return {rule.seed[0] ? avg_pool_grad(rule.seed[0], attrs.size, without_size(attrs)) : Var()};
}

struct Config {
  Shape x, y;
  PoolAttrs attrs;
};
std::vector<Config> configs() {
  return {
      {{2, 2, 7}, {2, 2, 3}, {{3}, {2}, {0}, {0}}},
      {{1, 2, 5, 6}, {1, 2, 3, 3}, {{3, 2}, {2, 2}, {1, 0}, {1, 0}}},
      {{1, 1, 4, 4}, {1, 1, 4, 3}, {{2, 3}, {1, 1}, {1, 1}, {0, 0}}},
      {{1, 2, 3, 4, 3}, {1, 2, 2, 2, 2}, {{2, 2, 2}, {1, 2, 2}, {0, 0, 0}, {0, 0, 1}}},
  };
}
std::vector<Sample> samples_pool() {
  std::vector<Sample> list;
  for (const Config& c : configs())
    list.push_back({.in = {{.type = {DType::f64, c.x}}}, .attrs = pack(c.attrs)});
  return list;
}
std::vector<Sample> samples_grad() {
  std::vector<Sample> list;
  for (const Config& c : configs()) {
    Dims size = c.x;
    size.erase(0), size.erase(0);
    const PoolGradAttrs attrs{c.attrs.window, c.attrs.stride, c.attrs.low, c.attrs.high, size};
    list.push_back({.in = {{.type = {DType::f64, c.y}}}, .attrs = pack(attrs)});
  }
  return list;
}
// One window each, so that any position lies in it.
std::vector<Sample> samples_max_grad() {
  const auto sample = [](const Shape& y, const Dims& size) {
    const Dims none = Dims::filled(size.rank(), 0), ones = Dims::filled(size.rank(), 1);
    const double last = static_cast<double>(element_count(size) - 1);
    return Sample{.in = {{.type = {DType::f64, y}}, {.type = {DType::i32, y}, .low = 0, .high = last}},
                  .attrs = pack(PoolGradAttrs{size, ones, none, none, size})};
  };
  return {sample({2, 3, 1}, {4}), sample({2, 2, 1, 1}, {2, 3}), sample({1, 2, 1, 1, 1}, {2, 1, 2})};
}

PoolAttrs with_defaults(const Var& x, PoolAttrs attrs) {
  const int dims = std::max(x.shape().rank() - 2, 0);
  if (attrs.stride.empty()) attrs.stride = attrs.window;
  if (attrs.low.empty()) attrs.low = Dims::filled(dims, 0);
  if (attrs.high.empty()) attrs.high = Dims::filled(dims, 0);
  return attrs;
}

}  // namespace

const Op op::max_pool = {
    .name = "max_pool",
    .kind = OpKind::reduction,
    .results = 2,
    .schema = &schema_of<PoolAttrs>,
    .infer = infer_max,
    .vjp = vjp_max,
    .jvp = jvp_max,
    .samples = samples_pool,
};

const Op op::max_pool_grad = {
    .name = "max_pool_grad",
    .kind = OpKind::reduction,
    .schema = &schema_of<PoolGradAttrs>,
    .infer = infer_max_grad,
    .expand = expand_max_grad,
    .samples = samples_max_grad,
};

const Op op::avg_pool = {
    .name = "avg_pool",
    .kind = OpKind::reduction,
    .schema = &schema_of<PoolAttrs>,
    .infer = infer_avg,
    .vjp = vjp_avg,
    .jvp = jvp_avg,
    .samples = samples_pool,
};

const Op op::avg_pool_grad = {
    .name = "avg_pool_grad",
    .kind = OpKind::reduction,
    .schema = &schema_of<PoolGradAttrs>,
    .infer = infer_avg_grad,
    .vjp = vjp_avg_grad,
    .jvp = jvp_avg_grad,
    .samples = samples_grad,
};

MaxPool max_pool_with_position(const Var& x, PoolAttrs attrs) {
  const Var operand[] = {x};
  const std::vector<Var> results =
      x.builder().call(op::max_pool, operand, pack(with_defaults(x, std::move(attrs))));
  return {results[0], results[1]};
}
Var max_pool(const Var& x, PoolAttrs attrs) { return max_pool_with_position(x, std::move(attrs)).value; }
Var avg_pool(const Var& x, PoolAttrs attrs) {
  return x.builder().call1(op::avg_pool, {x}, pack(with_defaults(x, std::move(attrs))));
}
Var max_pool_grad(const Var& y, const Var& position, const Dims& input_size, const PoolAttrs& attrs) {
  const PoolGradAttrs with_size{attrs.window, attrs.stride, attrs.low, attrs.high, input_size};
  return y.builder().call1(op::max_pool_grad, {y, position}, pack(with_size));
}
Var avg_pool_grad(const Var& y, const Dims& input_size, const PoolAttrs& attrs) {
  const PoolGradAttrs with_size{attrs.window, attrs.stride, attrs.low, attrs.high, input_size};
  return y.builder().call1(op::avg_pool_grad, {y}, pack(with_size));
}

}  // namespace tidemark
