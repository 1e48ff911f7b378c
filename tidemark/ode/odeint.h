// odeint(f, y0, t0, t1, options): y(t1) for dy/dt = f(t, y), y(t0) = y0. y is a tree of tensors of one float
// dtype, f returns a tree like it; t is a scalar of that dtype. What f uses from outside (parameters) is
// captured and has gradients; t0 and t1 are numbers and have none. t1 may lie before t0.
//
//   const auto end = td::odeint([&](td::Tensor t, td::Tensor y) { return td::matmul(y, w); }, y0, 0, 1,
//                               {.method = td::OdeMethod::rk4, .steps = 50});
#pragma once
#include "tidemark/ode/options.h"
#include "tidemark/trace/control_flow.h"

namespace tidemark {
namespace detail {

void check_ode(std::span<const Tensor> y0, double t0, double t1, const OdeOptions& options, SourceLine where);
// `slope`: inputs are t, the tensors of y, then `captured`.
std::vector<Tensor> integrate_ode(const Graph& slope, std::span<const Tensor> captured,
                                  const std::vector<Tensor>& y0, double t0, double t1,
                                  const OdeOptions& options, SourceLine where);

}  // namespace detail

template <class F, class Tree>
Tree odeint(const F& f, const Tree& y0, double t0, double t1, const OdeOptions& options = {},
            SourceLine where = std::source_location::current()) {
  const std::vector<Tensor> start = tensors_of(y0);
  detail::check_ode(start, t0, t1, options, where);
  const auto call =
      detail::trace_step(f, std::tuple(Tensor::of_type({start.front().dtype(), {}}), y0), where);
  static_assert(std::is_same_v<std::decay_t<decltype(call.result)>, Tree>,
                "odeint: f(t, y) must return a tree like y");
  const std::span<const Tensor> captured = std::span(call.inputs).subspan(call.argument_ends.back());
  return with_tensors(y0, detail::integrate_ode(*call.graph, captured, start, t0, t1, options, where));
}

}  // namespace tidemark
