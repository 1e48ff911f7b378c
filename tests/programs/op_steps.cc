// Steps that call an op of ops.def as its facts and samples say it can be called: a new op is covered without
// work.
#include <algorithm>
#include <cmath>

#include "tests/programs/function_writer.h"
#include "tidemark/ops/registry.h"
#include "tidemark/trace/trace.h"

namespace tidemark::testing {
namespace {

using Cases = std::vector<LawCase>;  // of one op, one or more

// Ops that can run, by whether they are elementwise.
const std::vector<Cases>& callable_ops(bool elementwise) {
  static const auto lists = [] {
    std::array<std::vector<Cases>, 2> found;
    for (const Op* op : all_ops()) {
      if (op->kind == OpKind::opaque) continue;
      Cases cases = cases_of(*op);
      // Loops that keep states, and their reversals, are what autodiff writes; no derivative of theirs is
      // defined.
      std::erase_if(cases, [](const LawCase& law) {
        return !law.expands || (!law.regions.empty() && !law.sample.smooth);
      });
      if (!cases.empty()) found[op->kind == OpKind::elementwise].push_back(std::move(cases));
    }
    return found;
  }();
  return lists[elementwise];
}

// A case of an op in one of the profile's dtypes, if there is one.
const LawCase& draw_case(const std::vector<Cases>& ops, const FunctionProfile& profile, Draw& draw) {
  const Cases* cases = &draw.from(ops);
  for (int attempt = 0; attempt < 12; ++attempt, cases = &draw.from(ops)) {
    const LawCase& law = draw.from(*cases);
    if (std::ranges::count(profile.dtypes, law.dtype) > 0) return law;
  }
  return draw.from(*cases);
}

// Attributes near those of a sample. Most are none that the op takes: its type rule says.
Attrs changed(Attrs attrs, Draw& draw) {
  for (AttrValue& value : attrs) {
    if (!draw.chance(40)) continue;
    if (auto* flag = std::get_if<bool>(&value)) *flag = !*flag;
    if (auto* number = std::get_if<std::int64_t>(&value)) *number = draw.between(-1, 3);
    if (auto* dims = std::get_if<Dims>(&value)) {
      if (draw.chance(20) && !dims->empty()) dims->erase(0);
      for (std::int64_t& size : *dims) size = draw.between(0, 3);
    }
  }
  return attrs;
}

// Operands that are data (written as f64 in the sample), without conditions on their values that another
// shape would change: no positions, no matrices that must be regular.
bool takes_any_values(const LawCase& law) {
  if (!law.regions.empty() || law.op->kind == OpKind::random) return false;
  const std::vector<Sample> samples = law.op->samples();
  return std::ranges::all_of(samples[law.index].in, [](const Sample::Operand& operand) {
    return (operand.type.dtype == DType::f64 || operand.type.dtype == DType::boolean) &&
           operand.diagonal == 0;
  });
}

}  // namespace

Tensor FunctionWriter::fitted(const Tensor& x, const Type& type) {
  const Tensor y = x.dtype() == type.dtype ? x : cast(x, type.dtype);
  if (y.shape() == type.shape) return y;
  const std::int64_t have = y.count(), want = type.count();
  if (have == 0 || want == 0) return zeros(type.shape, type.dtype);
  if (have == want) return reshape(y, type.shape);
  if (have == 1) return broadcast(reshape(y, {}), type.shape);
  const Tensor flat = reshape(y, {have});
  return reshape(have > want ? slice(flat, {0}, {want}) : pad(flat, {0}, {want - have}), type.shape);
}

Tensor FunctionWriter::within(Tensor x, const Sample::Operand& operand) {
  if (x.dtype() == DType::boolean) return x;
  const bool is_usual = operand.low == -2 && operand.high == 2;
  const bool is_whole = !is_float(x.dtype());
  const double low = x.dtype() == DType::u8 ? std::max(operand.low, 0.0) : operand.low;
  const double high = is_whole ? std::max({1.0, std::ceil(low), std::floor(operand.high)}) : operand.high;
  if (!is_usual) x = clamp(x, is_whole ? std::ceil(low) : low, high);
  if (operand.nonzero) x = select(x == 0, full(x.shape(), high, x.dtype()), x);
  if (operand.diagonal != 0) {
    x = clamp(x, -2, 2);
    x = x + eye(x.size(-1), x.dtype()) * operand.diagonal;
  }
  return x;
}

bool FunctionWriter::takes(const Op& op, const std::vector<Tensor>& in, const Attrs& attrs,
                           const std::vector<Graph>& regions) const {
  std::vector<Type> types;
  for (const Tensor& x : in) types.push_back(x.type());
  try {
    const std::vector<Type> out = op.infer({.op = &op, .in = types, .attrs = &attrs, .regions = regions});
    return std::ranges::all_of(out, [&](const Type& t) { return t.count() <= profile_.most_elements; });
  } catch (const Error&) {
    return false;
  }
}

void FunctionWriter::call(const Op& op, const std::vector<Tensor>& in, const Attrs& attrs,
                          const std::vector<Graph>& regions) {
  std::vector<Operand> operands;
  for (const Tensor& x : in) {
    // These refuse what is not finite.
    const bool finite = &op == &op::svd || &op == &op::eigh;
    operands.emplace_back(finite ? clamp(select(x == x, x, zeros_like(x)), -4, 4) : x);
  }
  const auto body = [&](Builder& builder, std::span<const Var> x) {
    return builder.call(op, x, attrs, regions);
  };
  for (const Tensor& result : build_all(operands, std::source_location::current(), body)) add(result);
}

// On values of any shapes, if the op's type rule takes them.
bool FunctionWriter::call_on_values(const LawCase& law, Draw& draw) {
  if (!takes_any_values(law)) return false;
  const bool restrained = draw.chance(85);  // otherwise any values: infinities and NaNs
  for (int attempt = 0; attempt < 6; ++attempt) {
    std::vector<Tensor> in;
    for (const Sample::Operand& operand : law.sample.in) {
      in.push_back(pick_dtype(operand.type.dtype, draw));
    }
    const Attrs attrs = draw.chance(50) ? law.sample.attrs : changed(law.sample.attrs, draw);
    if (!takes(*law.op, in, attrs)) continue;
    for (std::size_t i = 0; restrained && i < in.size(); ++i) in[i] = within(in[i], law.sample.in[i]);
    call(*law.op, in, attrs);
    return true;
  }
  return false;
}

void FunctionWriter::call_on_sample(const LawCase& law, Draw& draw) {
  std::vector<Tensor> in;
  for (const Sample::Operand& operand : law.sample.in)
    in.push_back(within(fitted(pick(draw), operand.type), operand));
  if (takes(*law.op, in, law.sample.attrs, law.regions)) call(*law.op, in, law.sample.attrs, law.regions);
}

void FunctionWriter::call_elementwise(Draw& draw) {
  const LawCase& law = draw_case(callable_ops(true), profile_, draw);
  if (!call_on_values(law, draw)) call_on_sample(law, draw);
}

void FunctionWriter::call_any(Draw& draw) {
  const LawCase& law = draw_case(callable_ops(false), profile_, draw);
  if (draw.chance(50) || !call_on_values(law, draw)) call_on_sample(law, draw);
}

}  // namespace tidemark::testing
