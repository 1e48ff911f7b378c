#include "tidemark/ops/convolution/conv.h"

#include "tidemark/base/bounded.h"
#include "tidemark/base/error.h"
#include "tidemark/ops/convolution/conv_geometry.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

ConvGradAttrs with_size(const ConvAttrs& a, const Dims& size) {
  return {.stride = a.stride,
          .low = a.low,
          .high = a.high,
          .dilation = a.dilation,
          .groups = a.groups,
          .size = size};
}
Dims spatial(const Shape& shape) {
  Dims dims = shape;
  dims.erase(0);
  dims.erase(0);
  return dims;
}
Shape joined(std::int64_t first, std::int64_t second, const Dims& rest) {
  Shape shape = {first, second};
  for (std::int64_t size : rest) shape.push_back(size);
  return shape;
}

void check_operands(const Call& call) {
  if (call.in.size() != 2) {
    fail(ErrorCode::wrong_operand_count,
         {.what = fmt::format("{}: {} operands", call.op->name, call.in.size()),
          .expected = "2",
          .where = call.where});
  }
  const Type &a = call.in[0], &b = call.in[1];
  if (a.dtype != b.dtype || !is_float(a.dtype)) {
    fail(ErrorCode::dtype_mismatch, {.what = fmt::format("{}: the operands are {} and {}", call.op->name,
                                                         name_of(a.dtype), name_of(b.dtype)),
                                     .expected = "two operands of one floating-point dtype",
                                     .where = call.where,
                                     .help = "cast one of them"});
  }
  if (a.rank() != b.rank() || a.rank() < 3 || a.rank() > 5) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: the operands have shapes {} and {}", call.op->name, to_string(a.shape),
                              to_string(b.shape)),
          .expected = "(N, C, spatial…) and (O, C / groups, kernel…) with 1, 2 or 3 spatial dimensions",
          .where = call.where});
  }
}

void check_attrs(const Call& call, const ConvAttrs& attrs, int dims) {
  const auto check = [&](std::string_view name, const Dims& list, std::int64_t least) {
    bool bad = list.rank() != dims;
    for (std::int64_t x : list) bad |= x < least;
    if (bad) {
      fail(ErrorCode::bad_attribute,
           {.what = fmt::format("{}: {} is {}", call.op->name, name, to_string(list)),
            .expected = fmt::format("{} entries, each at least {}", dims, least),
            .where = call.where});
    }
  };
  check("stride", attrs.stride, 1);
  check("low padding", attrs.low, 0);
  check("high padding", attrs.high, 0);
  check("dilation", attrs.dilation, 1);
  if (attrs.groups < 1) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: {} groups", call.op->name, attrs.groups),
                                    .expected = "at least 1",
                                    .where = call.where});
  }
}

// The shape of y from those of x and w.
Shape output_shape(const Call& call, const Shape& x, const Shape& w, const ConvAttrs& attrs) {
  if (x[1] != bounded_product(w[1], attrs.groups) || w[0] % attrs.groups != 0) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: an input of {} channels, {} groups and weights {}", call.op->name, x[1],
                              attrs.groups, to_string(w)),
          .expected = "weights (O, C / groups, kernel…) with O divisible by the groups",
          .where = call.where});
  }
  Shape y = {x[0], w[0]};
  for (int d = 0; d < attrs.stride.rank(); ++d) {
    const std::int64_t padded = x[d + 2] + attrs.low[d] + attrs.high[d],
                       reach = bounded_product(attrs.dilation[d], w[d + 2] - 1) + 1;
    if (w[d + 2] < 1 || padded < reach) {
      fail(ErrorCode::shape_mismatch,
           {.what =
                fmt::format("{}: a kernel of {} (reaching {} with dilation {}) over {} elements with padding",
                            call.op->name, w[d + 2], reach, attrs.dilation[d], padded),
            .expected = "a kernel of at least 1 that fits into the padded input",
            .where = call.where,
            .help = "pad more, or use a smaller kernel or dilation"});
    }
    y.push_back((padded - reach) / attrs.stride[d] + 1);
  }
  return y;
}

void check_output(const Call& call, const Shape& given, const Shape& x, const Shape& w,
                  const ConvAttrs& attrs) {
  const Shape y = output_shape(call, x, w, attrs);
  if (given != y) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: the convolution of {} with {} is {}, the operand has {}", call.op->name,
                              to_string(x), to_string(w), to_string(y), to_string(given)),
          .expected = to_string(y),
          .where = call.where});
  }
}

void check_size(const Call& call, const Dims& size, int dims) {
  if (size.rank() != dims) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: size is {}", call.op->name, to_string(size)),
                                    .expected = fmt::format("{} entries", dims),
                                    .where = call.where});
  }
}

std::vector<Type> infer_conv(const Call& call) {
  check_operands(call);
  const auto attrs = call.attrs_as<ConvAttrs>();
  check_attrs(call, attrs, call.in[0].rank() - 2);
  return {{call.in[0].dtype, output_shape(call, call.in[0].shape, call.in[1].shape, attrs)}};
}

std::vector<Type> infer_input_grad(const Call& call) {
  check_operands(call);
  const auto attrs = call.attrs_as<ConvGradAttrs>();
  const Shape &y = call.in[0].shape, &w = call.in[1].shape;
  check_attrs(call, without_size(attrs), y.rank() - 2);
  check_size(call, attrs.size, y.rank() - 2);
  const Shape x = joined(y[0], w[1] * attrs.groups, attrs.size);
  check_output(call, y, x, w, without_size(attrs));
  return {{call.in[0].dtype, x}};
}

std::vector<Type> infer_weight_grad(const Call& call) {
  check_operands(call);
  const auto attrs = call.attrs_as<ConvGradAttrs>();
  const Shape &x = call.in[0].shape, &y = call.in[1].shape;
  check_attrs(call, without_size(attrs), x.rank() - 2);
  check_size(call, attrs.size, x.rank() - 2);
  const Shape w = joined(y[1], x[1] / attrs.groups, attrs.size);
  check_output(call, y, x, w, without_size(attrs));
  return {{call.in[0].dtype, w}};
}

// Bilinear ops in a closed family share their jvp.
template <class Apply>
std::vector<Var> bilinear_jvp(const RuleCall& rule, const Apply& apply) {
  const Var left = rule.seed[0] ? apply(rule.seed[0], rule.in[1]) : Var();
  const Var right = rule.seed[1] ? apply(rule.in[0], rule.seed[1]) : Var();
  return {sum_of(left, right)};
}

std::vector<Var> vjp_conv(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<ConvAttrs>();
  const Var &x = rule.in[0], &w = rule.in[1], &g = rule.seed[0];
  if (!g) return {Var(), Var()};
  return {rule.wants(0) ? conv_input_grad(g, w, spatial(x.shape()), attrs) : Var(),
          rule.wants(1) ? conv_weight_grad(x, g, spatial(w.shape()), attrs) : Var()};
}
std::vector<Var> jvp_conv(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<ConvAttrs>();
  return bilinear_jvp(rule, [&](const Var& x, const Var& w) { return conv(x, w, attrs); });
}

std::vector<Var> vjp_input_grad(const RuleCall& rule) {
  const auto attrs = without_size(rule.call.attrs_as<ConvGradAttrs>());
  const Var &y = rule.in[0], &w = rule.in[1], &g = rule.seed[0];
  if (!g) return {Var(), Var()};
  return {rule.wants(0) ? conv(g, w, attrs) : Var(),
          rule.wants(1) ? conv_weight_grad(g, y, spatial(w.shape()), attrs) : Var()};
}
std::vector<Var> jvp_input_grad(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<ConvGradAttrs>();
  return bilinear_jvp(rule, [&](const Var& y, const Var& w) {
    return conv_input_grad(y, w, attrs.size, without_size(attrs));
  });
}

std::vector<Var> vjp_weight_grad(const RuleCall& rule) {
  const auto attrs = without_size(rule.call.attrs_as<ConvGradAttrs>());
  const Var &x = rule.in[0], &y = rule.in[1], &g = rule.seed[0];
  if (!g) return {Var(), Var()};
  return {rule.wants(0) ? conv_input_grad(y, g, spatial(x.shape()), attrs) : Var(),
          rule.wants(1) ? conv(x, g, attrs) : Var()};
}
std::vector<Var> jvp_weight_grad(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<ConvGradAttrs>();
  return bilinear_jvp(rule, [&](const Var& x, const Var& y) {
    return conv_weight_grad(x, y, attrs.size, without_size(attrs));
  });
}

struct Config {
  Shape x, w, y;
  ConvAttrs attrs;
};
std::vector<Config> configs() {
  return {
      {{2, 3, 7}, {4, 3, 3}, {2, 4, 5}, {{1}, {0}, {0}, {1}, 1}},
      {{1, 4, 9}, {4, 2, 3}, {1, 4, 4}, {{2}, {1}, {2}, {2}, 2}},
      {{2, 2, 5, 6}, {3, 2, 3, 2}, {2, 3, 3, 3}, {{2, 2}, {1, 1}, {1, 0}, {1, 1}, 1}},
      {{2, 3, 4, 4}, {5, 3, 1, 1}, {2, 5, 4, 4}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1}},
      {{1, 3, 5, 5}, {6, 1, 3, 3}, {1, 6, 5, 3}, {{1, 2}, {1, 1}, {1, 1}, {1, 1}, 3}},
      {{1, 2, 4, 3, 5}, {2, 2, 2, 2, 3}, {1, 2, 3, 3, 2}, {{1, 1, 2}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}, 1}},
      // A single output channel, of all and of each group: products of one row.
      {{2, 3, 6}, {1, 3, 3}, {2, 1, 4}, {{1}, {0}, {0}, {1}, 1}},
      {{1, 4, 5, 4}, {2, 2, 2, 3}, {1, 2, 4, 2}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 2}},
  };
}
Sample::Operand f64(const Shape& shape) { return {.type = {DType::f64, shape}}; }

std::vector<Sample> samples_conv() {
  std::vector<Sample> list;
  for (const Config& c : configs()) list.push_back({.in = {f64(c.x), f64(c.w)}, .attrs = pack(c.attrs)});
  return list;
}
std::vector<Sample> samples_input_grad() {
  std::vector<Sample> list;
  for (const Config& c : configs()) {
    list.push_back({.in = {f64(c.y), f64(c.w)}, .attrs = pack(with_size(c.attrs, spatial(c.x)))});
  }
  return list;
}
std::vector<Sample> samples_weight_grad() {
  std::vector<Sample> list;
  for (const Config& c : configs()) {
    list.push_back({.in = {f64(c.x), f64(c.y)}, .attrs = pack(with_size(c.attrs, spatial(c.w)))});
  }
  return list;
}

}  // namespace

const Op op::conv = {
    .name = "conv",
    .kind = OpKind::contraction,
    .schema = &schema_of<ConvAttrs>,
    .infer = infer_conv,
    .vjp = vjp_conv,
    .jvp = jvp_conv,
    .tolerant = true,
    .samples = samples_conv,
};

const Op op::conv_input_grad = {
    .name = "conv_input_grad",
    .kind = OpKind::contraction,
    .schema = &schema_of<ConvGradAttrs>,
    .infer = infer_input_grad,
    .vjp = vjp_input_grad,
    .jvp = jvp_input_grad,
    .samples = samples_input_grad,
};

const Op op::conv_weight_grad = {
    .name = "conv_weight_grad",
    .kind = OpKind::contraction,
    .schema = &schema_of<ConvGradAttrs>,
    .infer = infer_weight_grad,
    .vjp = vjp_weight_grad,
    .jvp = jvp_weight_grad,
    .samples = samples_weight_grad,
};

Var conv(const Var& x, const Var& w, ConvAttrs attrs) {
  const int dims = std::max(x.shape().rank() - 2, 0);
  const auto fill = [&](Dims& list, std::int64_t value) {
    if (list.empty()) list = Dims::filled(dims, value);
  };
  fill(attrs.stride, 1), fill(attrs.low, 0), fill(attrs.high, 0), fill(attrs.dilation, 1);
  return x.builder().call1(op::conv, {x, w}, pack(attrs));
}
Var conv_input_grad(const Var& y, const Var& w, const Dims& input_size, const ConvAttrs& attrs) {
  return y.builder().call1(op::conv_input_grad, {y, w}, pack(with_size(attrs, input_size)));
}
Var conv_weight_grad(const Var& x, const Var& y, const Dims& kernel_size, const ConvAttrs& attrs) {
  return x.builder().call1(op::conv_weight_grad, {x, y}, pack(with_size(attrs, kernel_size)));
}

}  // namespace tidemark
