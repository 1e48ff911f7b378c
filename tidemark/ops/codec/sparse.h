// A value of which many elements are zero, as a bitmap and the others without gaps, and back, to the bit. One
// op each way, ordinary nodes of a graph.
//
//   to_sparse(x) {share}                    any dtype and shape  →  u8[sparse_bytes]
//   from_sparse(q) {share, dtype, shape}    u8[sparse_bytes]  →  dtype[shape]
//
//   | room for `share` of the elements: those that are not +0, then zero bytes | a bit for each element |
//
// Left out is an element whose bits are all zero, and nothing else: -0, NaN with what they carry and denormal
// numbers are kept. How many there are shows only when it runs. Where they are more than there is room for,
// the call fails before it writes anything, with a SparseOverflow: whoever planned it plans without.
#pragma once
#include "tidemark/base/error.h"
#include "tidemark/ir/builder.h"

namespace tidemark {

struct ToSparseAttrs {
  double share = 0.5;  // of the elements, in (0, 1]
  TM_FIELDS(ToSparseAttrs, share)
};
struct FromSparseAttrs {
  double share = 0.5;
  DType dtype = DType::f32;
  Dims shape;
  TM_FIELDS(FromSparseAttrs, share, dtype, shape)
};

class SparseOverflow : public Error {
  using Error::Error;
};

std::int64_t sparse_capacity(double share, std::int64_t count);  // elements that there is room for
std::int64_t sparse_bytes(double share, const Type& type);

Var to_sparse(const Var& x, double share);
Var from_sparse(const Var& bytes, double share, const Type& type);  // type: what x's was

}  // namespace tidemark
