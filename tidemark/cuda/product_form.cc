#include "tidemark/cuda/product_form.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/ops/contraction/contract_layout.h"
#include "tidemark/ops/quantization/fp8.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark::cuda {
namespace {

constexpr std::int64_t most_parts = 64;
// Products of one batch are blocks along a dimension of the grid that has no more of them.
constexpr std::int64_t most_batch = 65535;
// What the library's own advice is for this kind of GPU; it needs none for small products.
constexpr std::int64_t most_workspace = std::int64_t{32} << 20;
constexpr double small_product = 1 << 24;  // multiplications

// (rows, columns) with these strides; none where neither is 1, or rows would lie on each other.
std::optional<ProductMatrix> matrix_of(std::int64_t rows, std::int64_t row_stride, std::int64_t columns,
                                       std::int64_t column_stride) {
  if (row_stride == 1 || rows == 1) {
    const std::int64_t leading = columns == 1 ? rows : column_stride;
    if (leading >= rows)
      return ProductMatrix{.rows = rows, .columns = columns, .leading = std::max<std::int64_t>(leading, 1)};
  }
  if (column_stride == 1 || columns == 1) {
    const std::int64_t leading = rows == 1 ? columns : row_stride;
    if (leading >= columns) {
      return ProductMatrix{.rows = columns,
                           .columns = rows,
                           .leading = std::max<std::int64_t>(leading, 1),
                           .transposed = true};
    }
  }
  return std::nullopt;
}

std::int64_t stride_of(const gemm::Axes& axes) { return axes.inner_stride(); }

// The largest batch that the library takes and of which `count` products are whole batches.
std::int64_t batch_within(std::int64_t count) {
  std::int64_t parts = (count + most_batch - 1) / most_batch;
  while (parts <= most_parts && count % parts != 0) ++parts;
  return parts > most_parts ? 1 : count / parts;
}

}  // namespace

ProductForm matrix_product(const MatrixProduct& product) {
  const auto left = matrix_of(product.n, product.rhs_column, product.k, product.rhs_depth);
  const auto right = matrix_of(product.k, product.lhs_depth, product.m, product.lhs_row);
  TM_CHECK(left && right, "a product of what are no matrices");
  ProductForm form;
  form.dtype = product.dtype, form.result_dtype = product.result_dtype;
  form.m = product.m, form.n = product.n, form.k = product.k;
  form.left = *left, form.right = *right;
  form.result = {.rows = product.n, .columns = product.m, .leading = product.leading};
  form.parts = {{}};
  return form;
}

namespace {

// Batch, then free, then contracted dimensions; those of the right operand with the last two the other way.
Dims packed_order(const ContractAttrs& attrs, const Type& type, int operand) {
  const Dims& batch = operand == 0 ? attrs.lhs_batch : attrs.rhs_batch;
  const Dims& contracted = operand == 0 ? attrs.lhs_contract : attrs.rhs_contract;
  const Dims free = free_dims(type.rank(), batch, contracted);
  Dims order = batch;
  for (const Dims* part : {operand == 0 ? &free : &contracted, operand == 0 ? &contracted : &free}) {
    for (const std::int64_t d : *part) order.push_back(d);
  }
  return order;
}

// The strides, by dimension, of an operand that lies dense in the order.
Strides packed_strides(const Shape& shape, const Dims& order) {
  Strides strides(shape);
  std::int64_t step = 1;
  for (int i = order.rank() - 1; i >= 0; --i) {
    const int d = static_cast<int>(order[i]);
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

// Is what is added the same row of n for all rows? The library adds it on the way to the result.
bool is_row(const Call& call, const ProductForm& form) {
  if (form.batch * std::ssize(form.parts) != 1 || form.dtype == DType::f64) return false;
  const int sum = sum_operand(call);
  const Shape& shape = call.in[static_cast<std::size_t>(sum)].shape;
  const Strides strides = operand_strides(call, sum);
  std::int64_t count = 1;  // elements of the dimensions behind this one
  for (int d = shape.rank() - 1; d >= 0; --d) {
    if (shape[d] == 1) continue;
    if (strides[d] != (count < form.n ? count : 0)) return false;
    count *= shape[d];
    if (strides[d] != 0 && count > form.n) return false;
  }
  return form.m > 1;
}

void claim_workspace(ProductForm& form) {
  const auto count = [](std::int64_t x) { return static_cast<double>(x); };
  if (count(form.m) * count(form.n) * count(form.k) * count(form.batch) > small_product)
    form.workspace_bytes = std::min(most_workspace, align_up(form.m * form.n * form.batch * 16, 256));
  form.scratch_bytes = form.workspace_bytes;
}

// With these strides of the operands; none where they are not those of matrices.
std::optional<ProductForm> form_with(const Call& call, const Strides& lhs, const Strides& rhs) {
  const DType dtype = call.in[0].dtype;
  const ContractLayout layout = contract_layout(call.attrs_as<ContractAttrs>(), dtype, call.in[0].shape, lhs,
                                                call.in[1].shape, rhs, call.in.size() == 3);
  const gemm::Sizes& sizes = layout.sizes;
  for (const gemm::Axes* axes : {&layout.m, &layout.n, &layout.k_lhs, &layout.k_rhs}) {
    if (axes->size.rank() > 1) return std::nullopt;
  }
  ProductForm form;
  form.dtype = form.result_dtype = dtype;
  form.m = sizes.m, form.n = sizes.n, form.k = sizes.k;
  const auto left = matrix_of(sizes.n, stride_of(layout.n), sizes.k, stride_of(layout.k_rhs));
  const auto right = matrix_of(sizes.k, stride_of(layout.k_lhs), sizes.m, stride_of(layout.m));
  if (!left || !right) return std::nullopt;
  form.left = *left, form.right = *right;
  form.result = {.rows = sizes.n, .columns = sizes.m, .leading = sizes.n};

  // The innermost axis of the batch is the library's, the others are parts.
  const int batch_rank = layout.batch_out.size.rank();
  if (batch_rank > 0) {
    form.batch = batch_within(layout.batch_out.size.back());
    form.left.batch_stride = layout.batch_rhs.stride.back();
    form.right.batch_stride = layout.batch_lhs.stride.back();
    form.result.batch_stride = layout.batch_out.stride.back();
  }
  const std::int64_t parts = sizes.batch / form.batch;
  if (parts > most_parts) return std::nullopt;
  for (std::int64_t p = 0; p < parts; ++p) {
    const std::int64_t first = p * form.batch;
    form.parts.push_back({.lhs = layout.batch_lhs.offset(first),
                          .rhs = layout.batch_rhs.offset(first),
                          .out = layout.batch_out.offset(first)});
  }
  claim_workspace(form);
  return form;
}

void look_at_sum(const Call& call, ProductForm& form) {
  const int sum = sum_operand(call);
  if (sum >= std::ssize(call.in) || call.is_dense_operand(sum)) return;
  form.adds_row = is_row(call, form);
  form.copies_sum = !form.adds_row;
}

// Both operands lie with their depth last, the only way that all GPUs take them.
std::optional<ProductForm> form_of_codes(const Call& call) {
  constexpr std::int64_t multiple = 16;
  const Fp8ProductForm codes = fp8_product_form(call);
  const DType result = call.out[0].dtype;
  if (result != DType::bf16 && result != DType::f16) return std::nullopt;
  if (codes.lhs == Fp8Format::e5m2 && codes.rhs == Fp8Format::e5m2) return std::nullopt;
  for (const std::int64_t size : {codes.m, codes.n, codes.k}) {
    if (size == 0 || size % multiple != 0) return std::nullopt;
  }
  ProductForm form = matrix_product({.dtype = DType::u8,
                                     .result_dtype = result,
                                     .m = codes.m,
                                     .n = codes.n,
                                     .k = codes.k,
                                     .lhs_row = codes.k,
                                     .lhs_depth = 1,
                                     .rhs_depth = 1,
                                     .rhs_column = codes.k,
                                     .leading = codes.n});
  form.fp8 = ProductForm::Fp8{codes.lhs, codes.rhs};
  claim_workspace(form);
  look_at_sum(call, form);
  return form;
}

}  // namespace

std::int64_t extent(const ProductMatrix& matrix, std::int64_t batch) {
  return (batch - 1) * matrix.batch_stride + (matrix.columns - 1) * matrix.leading + matrix.rows;
}

std::string key_of(const ProductForm& form) {
  const auto text = [](const ProductMatrix& m) {
    return fmt::format("{}x{} by {}, {}{}", m.rows, m.columns, m.leading, m.batch_stride,
                       m.transposed ? ", transposed" : "");
  };
  const std::string dtype = form.fp8 ? fmt::format("{} x {}", name_of(form.fp8->lhs), name_of(form.fp8->rhs))
                            : form.tf32 ? "f32 as TF32"
                                        : std::string(name_of(form.dtype));
  return fmt::format("{} to {}: {} products ({}) ({}) ({}){}, {} bytes", dtype, name_of(form.result_dtype),
                     form.batch, text(form.left), text(form.right), text(form.result),
                     form.adds_row ? " and a row" : "", form.workspace_bytes);
}

int sum_operand(const Call& call) { return call.op == &op::fp8_product ? 4 : 2; }

std::optional<ProductForm> product_form(const Call& call) {
  if (call.op == &op::fp8_product) return form_of_codes(call);
  if (call.op != &op::contract || !is_float(call.in[0].dtype)) return std::nullopt;
  if (call.in[0].count() == 0 || call.in[1].count() == 0) return std::nullopt;
  const auto attrs = call.attrs_as<ContractAttrs>();
  for (int packed = 0; packed < 4; ++packed) {  // in bits: which operands are
    Strides strides[2];
    std::vector<ProductForm::Packed> list;
    for (int operand = 0; operand < 2; ++operand) {
      const auto o = static_cast<std::size_t>(operand);
      strides[o] = operand_strides(call, operand);
      if (((packed >> operand) & 1) == 0) continue;
      const Dims order = packed_order(attrs, call.in[o], operand);
      strides[o] = packed_strides(call.in[o].shape, order);
      list.push_back({.operand = operand, .order = order});
    }
    std::optional<ProductForm> form = form_with(call, strides[0], strides[1]);
    if (!form) continue;
    for (ProductForm::Packed& copy : list) {
      copy.offset = form->scratch_bytes;
      form->scratch_bytes += align_up(call.in[static_cast<std::size_t>(copy.operand)].bytes(), 256);
    }
    form->packed = std::move(list);
    look_at_sum(call, *form);
    return form;
  }
  return std::nullopt;
}

}  // namespace tidemark::cuda
