// Small whole numbers in as many bits as they need, and back, to the bit: masks, positions, one-hot rows. One
// op each way, ordinary nodes of a graph, as those of ops/quantization/quantize.h.
//
//   pack_integers(x) {bits}                     any shape  →  u8[packed_bytes]
//   unpack_integers(q) {bits, dtype, shape}     u8[packed_bytes]  →  dtype[shape]
//
// `bits` is 1, 8, 16 or 32. With 1 the operand is of any dtype, and an element is whether it is 0: the first
// in the lowest bit of the first byte, zeros behind the last. With more it holds integers from 0 up, the
// lowest byte first; of any other number the high bits are lost. Who packs knows that nothing is:
// value_range.h. Neither op has a gradient.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct PackIntegersAttrs {
  std::int64_t bits = 1;
  TM_FIELDS(PackIntegersAttrs, bits)
};
struct UnpackIntegersAttrs {
  std::int64_t bits = 1;
  DType dtype = DType::boolean;
  Dims shape;
  TM_FIELDS(UnpackIntegersAttrs, bits, dtype, shape)
};

std::int64_t packed_bytes(std::int64_t bits, const Type& type);

Var pack_integers(const Var& x, std::int64_t bits);
Var unpack_integers(const Var& bytes, std::int64_t bits, const Type& type);  // type: what x's was

}  // namespace tidemark
