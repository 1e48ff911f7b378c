#include "tidemark/ops/custom/opaque.h"

#include "tidemark/base/error.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  const auto attrs = call.attrs_as<OpaqueAttrs>();
  const auto bad = [&](std::string what, std::string expected) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("opaque `{}`: {}", attrs.name, what),
                                    .expected = std::move(expected),
                                    .where = call.where});
  };
  if (!(attrs.flops >= 0) || !(attrs.bytes >= 0) || attrs.scratch < 0 || attrs.backward_scratch < 0) {
    bad(fmt::format("flops {}, bytes {}, scratch {}", attrs.flops, attrs.bytes, attrs.scratch),
        "numbers ≥ 0");
  }
  std::vector<Type> types;
  for (std::int64_t size : attrs.sizes) {
    if (size < 0 || size % size_of(attrs.dtype) != 0) {
      bad(fmt::format("a result of {} bytes", size),
          fmt::format("a multiple of {} bytes", size_of(attrs.dtype)));
    }
    types.push_back({attrs.dtype, {size / size_of(attrs.dtype)}});
  }
  return types;
}

std::vector<Var> vjp(const RuleCall& r) {
  const auto attrs = r.call.attrs_as<OpaqueAttrs>();
  std::vector<Var> reads;
  const auto read = [&](std::span<const Var> list) {
    for (const Var& v : list) {
      if (v) reads.push_back(v);
    }
  };
  read(r.seed);
  if (attrs.backward_reads_operands) read(r.in);
  if (attrs.backward_reads_results) read(r.out);

  std::vector<int> wanted;
  OpaqueAttrs backward{.name = attrs.name + ".backward",
                       .flops = attrs.backward_flops < 0 ? 2 * attrs.flops : attrs.backward_flops,
                       .bytes = attrs.backward_bytes < 0 ? 2 * attrs.bytes : attrs.backward_bytes,
                       .scratch = attrs.backward_scratch,
                       .dtype = attrs.dtype,
                       .sizes = {}};
  for (std::size_t o = 0; o < r.in.size(); ++o) {
    if (!r.wants(static_cast<int>(o)) || !is_float(r.in[o].dtype())) continue;
    if (wanted.empty()) backward.dtype = r.in[o].dtype();
    wanted.push_back(static_cast<int>(o));
    backward.sizes.push_back(r.in[o].type().count() * size_of(backward.dtype));
  }
  const std::vector<Var> results = opaque(r.builder, reads, backward);
  std::vector<Var> gradients(r.in.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Var& operand = r.in[static_cast<std::size_t>(wanted[i])];
    gradients[static_cast<std::size_t>(wanted[i])] =
        cast(reshape(results[i], operand.shape()), operand.dtype());
  }
  return gradients;
}

}  // namespace

const Op op::opaque = {
    .name = "opaque",
    .kind = OpKind::opaque,
    .dtypes = any_dtype,
    .results = -1,
    .schema = &schema_of<OpaqueAttrs>,
    .infer = infer,
    .vjp = vjp,
};

std::vector<Var> opaque(Builder& builder, std::span<const Var> operands, const OpaqueAttrs& attrs) {
  return builder.call(op::opaque, operands, pack(attrs));
}

}  // namespace tidemark
