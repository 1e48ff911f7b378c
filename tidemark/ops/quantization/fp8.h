// Products of matrices from numbers in 8 bits (fp8_number.h), with one scale for each tensor, taken from its
// own largest magnitude:
//
//   fp8_scale(x) {format}                            floats of any shape → f32: a power of two
//   fp8_codes(x, scale) {format, rows, transposed}   x / scale in codes, as a matrix: u8[M, N], where it is
//                                                    transposed u8[N, M]; M: elements of the first `rows`
//                                                    dimensions
//   fp8_product(a, b, a_scale, b_scale[, sum]) {lhs, rhs, dtype, shape}
//                                                    u8[M, K], u8[N, K] → dtype[shape], M · N elements:
//                                                    [sum +] a_scale · b_scale · a bᵀ, summed in f32
//
// Nothing of earlier calls plays a part, and a maximum is the same in any order: so is every bit. The scale
// is that of finite numbers, and 1 where there are none but zero; infinities and NaN become NaN, which stays
// in what is multiplied with it, and leave the scale alone. A code is off by at most 2⁻⁴ (e4m3) or 2⁻³ (e5m2)
// of its number, and by 2⁻¹⁰ or 2⁻¹⁷ of the scale where that is more.
//
// Programs are not written with these: opt/fp8_products.h puts them in where a target multiplies so. They are
// not differentiated: what is coded is a gradient's product as much as any other.
#pragma once
#include <string>

#include "tidemark/ir/builder.h"
#include "tidemark/ops/quantization/fp8_number.h"

namespace tidemark {

std::string_view name_of(Fp8Format format);
std::optional<Fp8Format> fp8_format_named(std::string_view name);

struct Fp8ScaleAttrs {
  std::string format = "e4m3";
  TM_FIELDS(Fp8ScaleAttrs, format)
};
struct Fp8CodesAttrs {
  std::string format = "e4m3";
  std::int64_t rows = 1;  // dimensions
  bool transposed = false;
  TM_FIELDS(Fp8CodesAttrs, format, rows, transposed)
};
struct Fp8ProductAttrs {
  std::string lhs = "e4m3", rhs = "e4m3";
  DType dtype = DType::bf16;
  Dims shape = {};
  TM_FIELDS(Fp8ProductAttrs, lhs, rhs, dtype, shape)
};

// Attributes as kernels take them. A matrix of `rows` by `columns` elements is coded.
struct Fp8CodesForm {
  Fp8Format format = Fp8Format::e4m3;
  std::int64_t rows = 0, columns = 0;
  bool transposed = false;
};
struct Fp8ProductForm {
  Fp8Format lhs = Fp8Format::e4m3, rhs = Fp8Format::e4m3;
  std::int64_t m = 0, n = 0, k = 0;
};
Fp8Format fp8_scale_format(const Call& call);
Fp8CodesForm fp8_codes_form(const Call& call);
Fp8ProductForm fp8_product_form(const Call& call);

}  // namespace tidemark
