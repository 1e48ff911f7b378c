// A contraction as products of matrices that cuBLASLt takes: one batched product, or several one after the
// other. Facts (the workspace that is claimed) and the call itself read the same struct. Plain data: no
// library is needed to plan for it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tidemark/ir/op.h"
#include "tidemark/ops/quantization/fp8_number.h"

namespace tidemark::cuda {

// A matrix in column-major order, as the library sees it; `transposed`: it is to be read the other way.
struct ProductMatrix {
  std::int64_t rows = 0, columns = 0, leading = 0;  // elements
  std::int64_t batch_stride = 0;                    // elements
  bool transposed = false;
};

// Elements from the first to the last.
std::int64_t extent(const ProductMatrix& matrix, std::int64_t batch);

struct ProductForm {
  DType dtype = DType::f32, result_dtype = DType::f32;
  bool tf32 = false;  // of f32: operands are rounded to TF32
  // Operands are codes (of the dtype u8) of our left and our right one, each with a scale.
  struct Fp8 {
    Fp8Format lhs = Fp8Format::e4m3, rhs = Fp8Format::e4m3;
  };
  std::optional<Fp8> fp8 = {};
  // The result, row-major (m, n), is its own transpose in column-major order: left is our right operand.
  ProductMatrix left, right, result;
  std::int64_t m = 0, n = 0, k = 0;  // of our result and sum
  std::int64_t batch = 1;
  struct Offsets {
    std::int64_t lhs = 0, rhs = 0, out = 0;  // elements
  };
  std::vector<Offsets> parts;        // products of this form, at these offsets
  std::int64_t workspace_bytes = 0;  // that may be used
  // Operands whose dimensions do not merge into matrices: copied beforehand, dense with their dimensions in
  // this order, to scratch behind the workspace.
  struct Packed {
    int operand = 0;
    Dims order;
    std::int64_t offset = 0;  // bytes, in the scratch
  };
  std::vector<Packed> packed;
  // Of the operand that is added: the same row is added to every row of the result.
  bool adds_row = false;
  bool copies_sum = false;  // it is neither dense nor a row: copied to the result beforehand
  std::int64_t scratch_bytes = 0;
};

// All of it that decides how a product is computed best, as text; offsets play no part.
std::string key_of(const ProductForm& form);

// One product of matrices: result (m, n), row-major with rows so far apart, = lhs (m, k) × rhs (k, n). Of
// each operand one stride is 1.
struct MatrixProduct {
  DType dtype = DType::f32, result_dtype = DType::f32;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lhs_row = 0, lhs_depth = 0, rhs_depth = 0, rhs_column = 0;  // strides, in elements
  std::int64_t leading = 0;
};
ProductForm matrix_product(const MatrixProduct& product);

// None: nothing is multiplied, or the dtype is one that the library does not multiply here. Of codes it takes
// sizes that are multiples of 16, and gives 16-bit floats.
std::optional<ProductForm> product_form(const Call& call);
// The operand that is added, of a call that has one.
int sum_operand(const Call& call);

}  // namespace tidemark::cuda
