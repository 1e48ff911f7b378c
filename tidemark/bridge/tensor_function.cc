#include "tidemark/bridge/tensor_function.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"
#include "tidemark/scalar/tape.h"
#include "tidemark/trace/functions.h"

namespace tidemark {

// A call on a tape, until it is reversed.
class TensorFunction::Call final : public scalars::Event<double> {
 public:
  Call(std::shared_ptr<const AnyPrograms> programs, Tensor x, Shape result, std::span<const Real> operands)
      : programs_(std::move(programs)), x_(std::move(x)), result_(result) {
    operands_.reserve(operands.size());
    for (const Real& operand : operands) operands_.push_back(operand.id());
  }
  void reverse(std::span<const double> results, scalars::AdjointSink<double>& operands) override {
    const Tensor adjoint = tensor<double>(std::vector<double>(results.begin(), results.end()), result_);
    const std::vector<double> slopes = programs_->pull(x_, adjoint).to_vector();
    for (std::size_t i = 0; i < slopes.size(); ++i)
      if (operands_[i] != 0) operands.add(operands_[i], slopes[i]);
  }
  std::size_t bytes() const override {
    return sizeof *this + operands_.capacity() * (sizeof(double) + sizeof(scalars::Id));
  }

 private:
  std::shared_ptr<const AnyPrograms> programs_;
  Tensor x_;
  Shape result_;
  std::vector<scalars::Id> operands_;
};

std::vector<Real> TensorFunction::operator()(std::span<const Real> x, SourceLine where) const {
  if (static_cast<std::int64_t>(x.size()) != element_count(shape_))
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{} numbers for a tensor of shape {}", x.size(), to_string(shape_)),
          .expected = fmt::format("{}", element_count(shape_)),
          .where = where});
  std::vector<double> values;
  values.reserve(x.size());
  bool active = false;
  for (const Real& number : x) {
    values.push_back(number.value());
    active |= number.id() != 0;
  }
  const Tensor in = tensor<double>(values, shape_);
  const Tensor out = programs_->value(in);
  const std::vector<double> results = out.to_vector();
  if (out.dtype() != DType::f64)
    fail(ErrorCode::dtype_mismatch, {.what = fmt::format("the function returns {}", name_of(out.dtype())),
                                     .expected = "f64, as Reals are",
                                     .where = where,
                                     .help = "cast its result"});
  scalars::Tape* tape = scalars::Tape::active();
  if (!tape || !active) return scalars::unrecorded<double>(results, active);
  return tape->record_event(std::make_unique<Call>(programs_, in, out.shape(), x), x, results, where);
}

}  // namespace tidemark
