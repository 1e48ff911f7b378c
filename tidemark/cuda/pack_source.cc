#include "tidemark/cuda/pack_source.h"

#include "tidemark/cuda/call_source.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark::cuda {

KernelText write_pack(const Call& product, const ProductForm::Packed& packed) {
  const Type& in = product.in[static_cast<std::size_t>(packed.operand)];
  Type out{in.dtype, {}};
  for (const std::int64_t d : packed.order) out.shape.push_back(in.shape[static_cast<int>(d)]);
  const Attrs attrs = pack(TransposeAttrs{packed.order});
  const Strides strides = operand_strides(product, packed.operand);
  return write_call({.op = &op::transpose,
                     .in = std::span(&in, 1),
                     .out = std::span(&out, 1),
                     .attrs = &attrs,
                     .where = product.where,
                     .in_strides = std::span(&strides, 1)},
                    "tidemark_pack");
}

}  // namespace tidemark::cuda
