#include <fmt/format.h>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  const std::int64_t axis = call.attrs_as<AxisAttrs>().axis;
  require_axis(call, axis, call.in[0].rank());
  Shape shape = call.in[0].shape;
  if (shape[static_cast<int>(axis)] == 0) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("{}: nothing to choose from along axis {} of {}",
                                                         call.op->name, axis, to_string(shape)),
                                     .expected = "at least one element per result",
                                     .where = call.where});
  }
  shape.erase(static_cast<int>(axis));
  return {{DType::i64, shape}};
}

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {3, 5}}}}, .attrs = pack(AxisAttrs{1})},
          {.in = {{.type = {DType::f64, {3, 4, 2}}}}, .attrs = pack(AxisAttrs{0})},
          {.in = {{.type = {DType::f64, {7}}}}, .attrs = pack(AxisAttrs{0})}};
}

constexpr Op arg_extremum(std::string_view name) {
  return {
      .name = name,
      .kind = OpKind::composite,
      .derivative = Derivative::zero,
      .dtypes = any_dtype,
      .schema = &schema_of<AxisAttrs>,
      .infer = infer,
      .samples = samples,
  };
}

}  // namespace

const Op op::argmax = arg_extremum("argmax");
const Op op::argmin = arg_extremum("argmin");

Var argmax(const Var& x, int axis) { return x.builder().call1(op::argmax, {x}, pack(AxisAttrs{axis})); }
Var argmin(const Var& x, int axis) { return x.builder().call1(op::argmin, {x}, pack(AxisAttrs{axis})); }

}  // namespace tidemark
