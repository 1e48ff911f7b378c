// A function of tensors inside code of scalars: its value is computed by a compiled function, and so is
// its gradient, when the tape comes back to it.
//
//   td::TensorFunction network([weights](td::Tensor x) { return td::tanh(td::matmul(x, weights)); }, {16});
//   std::vector<td::Real> h = network(x);  // x: 16 Reals
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "tidemark/autodiff/transforms.h"
#include "tidemark/engine/compile.h"
#include "tidemark/scalar/real.h"

namespace tidemark {

class TensorFunction {
 public:
  // `function` takes one tensor of this shape, in f64, and returns one. Both programs are compiled with
  // `options` at their first call. Copies share them; any number of threads may call them.
  template <class F>
  TensorFunction(F function, Shape shape, const CompileOptions& options = {},
                 SourceLine where = std::source_location::current())
      : programs_(std::make_shared<const Programs<F>>(function, options, where)), shape_(shape) {}

  // The numbers of the result, in row-major order. On a tape it is one statement, which holds the
  // operands' values.
  std::vector<Real> operator()(std::span<const Real> x,
                               SourceLine where = std::source_location::current()) const;

 private:
  struct AnyPrograms {
    virtual ~AnyPrograms() = default;
    virtual Tensor value(const Tensor& x) const = 0;
    virtual Tensor pull(const Tensor& x, const Tensor& adjoint) const = 0;
  };
  template <class F>
  struct Programs final : AnyPrograms {
    static auto pullback(F function) {
      return [function](const Tensor& x, const Tensor& adjoint) { return vjp(function, x).second(adjoint); };
    }
    Programs(F function, const CompileOptions& options, SourceLine where)
        : forward(compile(function, options, where)), backward(compile(pullback(function), options, where)) {}
    Tensor value(const Tensor& x) const override { return forward(x); }
    Tensor pull(const Tensor& x, const Tensor& adjoint) const override { return backward(x, adjoint); }

    Compiled<F> forward;
    Compiled<decltype(pullback(std::declval<F>()))> backward;
  };
  class Call;

  std::shared_ptr<const AnyPrograms> programs_;
  Shape shape_;
};

}  // namespace tidemark
