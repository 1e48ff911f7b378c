// A value in fewer bytes, and back: one op each way, ordinary nodes of a graph. Where a backward pass reads
// v, a graph may hold dequantize(quantize(v)) instead, and what waits in memory is the small one.
//
//   quantize(x) {format, stream}               floats of any shape  →  u8[quantized_bytes]
//   quantize(x, key) {format, stream}          the same, rounded stochastically; key: i64 of rank 0
//   dequantize(q) {format, dtype, shape}       u8[quantized_bytes]  →  dtype[shape]
//
// What the bytes are and how far off the numbers, quant_format.h says. Neither op has a gradient: bytes are
// piecewise constant. Who wants one to pass through the pair writes it around them.
//
// The bits depend on the operands alone, not on threads or vector width. With a key, element i depends on
// (key, stream, i) too, as in ops/random: a replay rounds the same way.
#pragma once
#include <string>

#include "tidemark/ir/builder.h"
#include "tidemark/ops/quantization/quant_format.h"

namespace tidemark {

struct QuantizeAttrs {
  std::string format = "int8";
  std::int64_t stream = 0;  // in [0, 2³²): tells apart uses of one key
  TM_FIELDS(QuantizeAttrs, format, stream)
};
struct DequantizeAttrs {
  std::string format = "int8";
  DType dtype = DType::f32;
  Dims shape;
  TM_FIELDS(DequantizeAttrs, format, dtype, shape)
};

Var quantize(const Var& x, QuantFormat format);
Var quantize(const Var& x, QuantFormat format, const Var& key, std::int64_t stream = 0);
Var dequantize(const Var& bytes, QuantFormat format, const Type& type);  // type: what x's was

}  // namespace tidemark
