// Pooling over windows.
#include <array>

#include "tidemark/cuda/calls/call_text.h"
#include "tidemark/cuda/calls/family.h"
#include "tidemark/ops/convolution/pool.h"
#include "tidemark/ops/registry.h"

namespace tidemark::cuda {
namespace {

// Neighbours along the last dimension that one thread takes.
std::int64_t channels_at_once(DType dtype, const Shape& x, const Shape& y, const Dims& window,
                              const Dims& stride, const Dims& low) {
  const bool is_apart = window.back() == 1 && stride.back() == 1 && low.back() == 0 && x.back() == y.back();
  return is_apart && x.back() > 0 ? pack_width(size_of(dtype), x.back()) : 1;
}

// x (N, C, S…) and y (N, C, P…), whichever of them is the operand.
template <bool max>
KernelText write_pool(const Call& call, std::string_view name, std::string_view body, const Shape& x,
                      const Shape& y, const Dims& window, const Dims& stride, const Dims& low) {
  CallText text(call, name, "pools");
  text.type("T", call.in[0].dtype);
  const int dims = x.rank() - 2;
  std::int64_t points = 1;  // of a plane of the operand
  for (int d = 0; d < dims; ++d) points *= call.in[0].shape[d + 2];
  for (int i = 0; i < 3; ++i) {
    const int d = i - (3 - dims);
    const auto add = [&](std::string_view what, std::int64_t value) {
      text.count(fmt::format("{}{}", what, i), value);
    };
    add("in", d < 0 ? 1 : x[d + 2]);
    add("out", d < 0 ? 1 : y[d + 2]);
    add("window", d < 0 ? 1 : window[d]);
    add("stride", d < 0 ? 1 : stride[d]);
    add("low", d < 0 ? 0 : low[d]);
  }
  text.count("points", points);
  text.count("count", call.out[0].count());
  const std::int64_t width = max ? channels_at_once(call.in[0].dtype, x, y, window, stride, low) : 1;
  text.number("width", width);
  text.launch_turns(body, call.out[0].count() / width);
  return text.finish();
}

template <bool max>
KernelText write_forward(const Call& call, std::string_view name) {
  const auto attrs = call.attrs_as<PoolAttrs>();
  return write_pool<max>(call, name, max ? "max_windows" : "average_windows", call.in[0].shape,
                         call.out[0].shape, attrs.window, attrs.stride, attrs.low);
}
template <bool max>
KernelText write_gradient(const Call& call, std::string_view name) {
  const auto attrs = call.attrs_as<PoolGradAttrs>();
  return write_pool<max>(call, name, max ? "spread_maxima" : "spread_averages", call.out[0].shape,
                         call.in[0].shape, attrs.window, attrs.stride, attrs.low);
}

}  // namespace

std::span<const CallRow> pool_calls() {
  static const CallRow rows[] = {
      {&op::max_pool, {.write = write_forward<true>}},
      {&op::avg_pool, {.write = write_forward<false>}},
      {&op::max_pool_grad, {.write = write_gradient<true>}},
      {&op::avg_pool_grad, {.write = write_gradient<false>}},
  };
  return rows;
}

}  // namespace tidemark::cuda
