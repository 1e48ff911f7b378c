#include "tidemark/ops/fourier/fourier.h"

#include <fmt/format.h>

#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

void require_pairs(const Call& call) {
  const Shape& shape = call.in[0].shape;
  if (shape.rank() > 0 && shape.back() == 2) return;
  fail(ErrorCode::shape_mismatch,
       {.what = fmt::format("{}: shape {} is not that of complex numbers", call.op->name, to_string(shape)),
        .expected = "a last axis of size 2: real and imaginary part",
        .where = call.where,
        .help = "complex_of(real, imaginary) makes one; rfft takes real numbers"});
}

void require_length(const Call& call, std::int64_t length) {
  if (length >= 1) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: a transform of length {}", call.op->name, length),
                                  .expected = "at least one element along the axis",
                                  .where = call.where});
}

std::vector<Type> infer_fft(const Call& call) {
  require_operands(call, 1);
  require_dtype(call, 0, wide_floats);
  require_pairs(call);
  const auto attrs = call.attrs_as<FftAttrs>();
  require_axis(call, attrs.axis, call.in[0].rank() - 1);
  require_length(call, call.in[0].shape[static_cast<int>(attrs.axis)]);
  return {call.in[0]};
}

void require_size(const Call& call, std::int64_t size, std::int64_t expected, std::int64_t length) {
  if (size == expected) return;
  fail(ErrorCode::shape_mismatch,
       {.what =
            fmt::format("{}: size {} along axis {}", call.op->name, size, call.attrs_as<RealFftAttrs>().axis),
        .expected = fmt::format("{} for a transform of length {}", expected, length),
        .where = call.where});
}

std::vector<Type> infer_rfft(const Call& call) {
  require_operands(call, 1);
  require_dtype(call, 0, wide_floats);
  const auto attrs = call.attrs_as<RealFftAttrs>();
  require_axis(call, attrs.axis, call.in[0].rank());
  require_length(call, attrs.length);
  Shape shape = call.in[0].shape;
  std::int64_t& size = shape[static_cast<int>(attrs.axis)];
  require_size(call, size, attrs.length, attrs.length);
  size = half_length(attrs.length);
  shape.push_back(2);
  return {{call.in[0].dtype, shape}};
}

std::vector<Type> infer_irfft(const Call& call) {
  require_operands(call, 1);
  require_dtype(call, 0, wide_floats);
  require_pairs(call);
  const auto attrs = call.attrs_as<RealFftAttrs>();
  require_axis(call, attrs.axis, call.in[0].rank() - 1);
  require_length(call, attrs.length);
  Shape shape = call.in[0].shape;
  shape.erase(shape.rank() - 1);
  std::int64_t& size = shape[static_cast<int>(attrs.axis)];
  require_size(call, size, half_length(attrs.length), attrs.length);
  size = attrs.length;
  return {{call.in[0].dtype, shape}};
}

std::vector<Var> vjp_fft(const RuleCall& rule) {
  auto attrs = rule.call.attrs_as<FftAttrs>();
  attrs.inverse = !attrs.inverse;
  return {fft(rule.seed[0], attrs)};
}
std::vector<Var> jvp_fft(const RuleCall& rule) { return {fft(rule.seed[0], rule.call.attrs_as<FftAttrs>())}; }
std::vector<Var> apply_rfft(const RuleCall& rule) {
  return {rfft(rule.seed[0], rule.call.attrs_as<RealFftAttrs>())};
}
std::vector<Var> apply_irfft(const RuleCall& rule) {
  return {irfft(rule.seed[0], rule.call.attrs_as<RealFftAttrs>())};
}

std::vector<Sample> fft_samples() {
  const auto sample = [](const Shape& shape, const FftAttrs& attrs) {
    return Sample{.in = {{.type = {DType::f64, shape}}}, .attrs = pack(attrs)};
  };
  return {sample({3, 6, 2}, {.axis = 1}), sample({5, 3, 2}, {.axis = 0, .inverse = true, .scale = 0.2}),
          sample({37, 2}, {.axis = 0}), sample({0, 4, 2}, {.axis = 1}), sample({1, 2}, {.axis = 0})};
}
// Of real numbers, or of their frequencies.
std::vector<Sample> real_samples(bool from_frequencies) {
  const auto sample = [&](Shape shape, const RealFftAttrs& attrs) {
    if (from_frequencies) {
      shape[static_cast<int>(attrs.axis)] = half_length(attrs.length);
      shape.push_back(2);
    }
    return Sample{.in = {{.type = {DType::f64, shape}}}, .attrs = pack(attrs)};
  };
  return {sample({3, 8}, {.axis = 1, .length = 8}),
          sample({7, 5}, {.axis = 0, .length = 7, .scale = 0.5, .inner = 2}),
          sample({3, 74}, {.axis = 1, .length = 74, .inner = 2}),
          sample({3, 41}, {.axis = 1, .length = 41}),
          sample({0, 6}, {.axis = 1, .length = 6}),
          sample({1}, {.axis = 0, .length = 1}),
          sample({2}, {.axis = 0, .length = 2, .inner = 2})};
}
std::vector<Sample> rfft_samples() { return real_samples(false); }
std::vector<Sample> irfft_samples() { return real_samples(true); }

}  // namespace

const Op op::fft = {
    .name = "fft",
    .kind = OpKind::composite,
    .dtypes = wide_floats,
    .schema = &schema_of<FftAttrs>,
    .infer = infer_fft,
    .vjp = vjp_fft,
    .jvp = jvp_fft,
    .samples = fft_samples,
};

const Op op::rfft = {
    .name = "rfft",
    .kind = OpKind::composite,
    .dtypes = wide_floats,
    .schema = &schema_of<RealFftAttrs>,
    .infer = infer_rfft,
    .vjp = apply_irfft,
    .jvp = apply_rfft,
    .samples = rfft_samples,
};

const Op op::irfft = {
    .name = "irfft",
    .kind = OpKind::composite,
    .dtypes = wide_floats,
    .schema = &schema_of<RealFftAttrs>,
    .infer = infer_irfft,
    .vjp = apply_rfft,
    .jvp = apply_irfft,
    .samples = irfft_samples,
};

Var fft(const Var& x, const FftAttrs& attrs) { return x.builder().call1(op::fft, {x}, pack(attrs)); }
Var rfft(const Var& x, const RealFftAttrs& attrs) { return x.builder().call1(op::rfft, {x}, pack(attrs)); }
Var irfft(const Var& y, const RealFftAttrs& attrs) { return y.builder().call1(op::irfft, {y}, pack(attrs)); }

}  // namespace tidemark
