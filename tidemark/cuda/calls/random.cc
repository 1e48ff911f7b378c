// Ops that draw random numbers.
#include "tidemark/ops/random/random.h"

#include <cmath>
#include <limits>

#include "tidemark/cuda/calls/call_text.h"
#include "tidemark/cuda/calls/family.h"
#include "tidemark/ops/random/random_stream.h"
#include "tidemark/ops/registry.h"

namespace tidemark::cuda {
namespace {

KernelText write_draw(CallText& text, const Call& call, std::string_view body, std::uint64_t stream,
                      std::int64_t per_block) {
  const std::int64_t count = call.out[0].count();
  text.count("count", count);
  text.flag("starts", call.in.size() > 1);
  text.line("  static constexpr std::uint64_t stream = 0x{:x}u;", stream);
  // One block more than they fill, since they may begin within one.
  text.launch_turns(body, count == 0 ? 0 : (count + per_block - 1) / per_block + 1);
  return text.finish();
}

// The largest number of the dtype below x, for a draw that rounding lifted onto the open end.
double last_below(DType dtype, double x) {
  return dispatch_float(dtype, [&]<class T>() -> double {
    using W = compute_t<T>;
    const T end = T(static_cast<W>(x));
    if constexpr (is_16_bit_float<T>) {
      T last;
      const bool zero = (end.bits & 0x7fffu) == 0;
      last.bits = zero                 ? 0x8001u
                  : end.bits & 0x8000u ? static_cast<std::uint16_t>(end.bits + 1)
                                       : static_cast<std::uint16_t>(end.bits - 1);
      return static_cast<float>(last);
    } else {
      return std::nextafter(end, -std::numeric_limits<T>::infinity());
    }
  });
}

KernelText write_uniform(const Call& call, std::string_view name) {
  CallText text(call, name, "random");
  const auto attrs = call.attrs_as<RandomUniformAttrs>();
  text.type("T", attrs.dtype);
  text.real("low", attrs.low);
  text.real("high", attrs.high);
  text.real("last", last_below(attrs.dtype, attrs.high));
  return write_draw(text, call, "draw_uniform", stream_of(RandomDomain::uniform, attrs.stream),
                    attrs.dtype == DType::f64 ? 2 : 4);
}
KernelText write_normal(const Call& call, std::string_view name) {
  CallText text(call, name, "random");
  const auto attrs = call.attrs_as<RandomNormalAttrs>();
  text.type("T", attrs.dtype);
  text.real("mean", attrs.mean);
  text.real("deviation", attrs.deviation);
  return write_draw(text, call, "draw_normal", stream_of(RandomDomain::normal, attrs.stream),
                    attrs.dtype == DType::f64 ? 2 : 4);
}
KernelText write_bernoulli(const Call& call, std::string_view name) {
  CallText text(call, name, "random");
  const auto attrs = call.attrs_as<RandomBernoulliAttrs>();
  const BernoulliDraw draw = bernoulli_draw(attrs.p, attrs.stream);
  text.line("  static constexpr std::uint64_t threshold = 0x{:x}u;", draw.threshold);
  return write_draw(text, call, "draw_bernoulli", draw.stream, 4);
}
KernelText write_bits(const Call& call, std::string_view name) {
  CallText text(call, name, "random");
  const auto attrs = call.attrs_as<RandomBitsAttrs>();
  text.type("T", attrs.dtype);
  return write_draw(text, call, "draw_bits", stream_of(RandomDomain::bits, attrs.stream),
                    16 / size_of(attrs.dtype));
}
KernelText write_split_keys(const Call& call, std::string_view name) {
  CallText text(call, name, "random");
  return write_draw(text, call, "draw_keys", stream_of(RandomDomain::split), 1);
}
KernelText write_fold_in(const Call& call, std::string_view name) {
  CallText text(call, name, "random");
  return write_draw(text, call, "draw_keys", stream_of(RandomDomain::fold), 1);
}

}  // namespace

std::span<const CallRow> random_calls() {
  static const CallRow rows[] = {
      {&op::random_bits, {.write = write_bits}},        {&op::random_uniform, {.write = write_uniform}},
      {&op::random_normal, {.write = write_normal}},    {&op::random_bernoulli, {.write = write_bernoulli}},
      {&op::random_split, {.write = write_split_keys}}, {&op::fold_in, {.write = write_fold_in}},
  };
  return rows;
}

}  // namespace tidemark::cuda
