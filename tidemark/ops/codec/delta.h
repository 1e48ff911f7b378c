// A value as its difference to the one of the step before, quantized, and back: for the steps of a loop,
// whose neighbours are close, so that the difference has far fewer digits to lose. Two ops, ordinary nodes:
//
//   to_delta(x, c) {format}             floats, f64 of the same shape  →  u8[quantized_bytes], the next c
//   from_delta(q, c) {format, dtype}    bytes, the next c  →  dtype: what stands for x, f64: the c before it
//
// The loop is closed (DPCM): c is what a reader has of the step before, not what it was, so that errors do
// not add up, and |x - decoded x| is at most the error of the format (quantization/quant_format.h) times the
// largest difference in the block. Forwards c grows by what the bytes stand for. Backwards it is taken off
// again: a reader comes from the last step and needs nothing but the c that was left there.
//
// Why c is an f64: no floating-point type has a + b - b = a whatever a and b are, and on a grid, where it
// holds (ops/reversible/couple.h), the step would have to be known before the first value is. An f64 has 29
// digits more than the f32 that is added and taken off: sums are exact while differences are above 2⁻²² of
// the values, and else off by 2⁻⁵³ of them, which is nothing beside what quantizing loses. What rules read is
// in any case what from_delta gives, whether bytes were kept or made again, so bits do not depend on that.
//
// c holds a quarter of the value, so that no difference of two numbers is beyond the type, and begins as NaN:
// there is no step before. The first finite number is then taken as it is: its difference is 0. An infinity
// or NaN comes back as what it is and leaves c alone: later steps, and earlier ones, do not see it.
//
// Bits depend on the operands alone, not on threads. Neither op has a gradient.
#pragma once
#include <string>

#include "tidemark/ir/builder.h"
#include "tidemark/ops/quantization/quant_format.h"

namespace tidemark {

struct ToDeltaAttrs {
  std::string format = "int8";
  TM_FIELDS(ToDeltaAttrs, format)
};
struct FromDeltaAttrs {
  std::string format = "int8";
  DType dtype = DType::f32;
  TM_FIELDS(FromDeltaAttrs, format, dtype)
};

Type delta_chain_type(const Type& type);  // of c for values of this type

struct DeltaStep {
  Var bytes, next;
};
DeltaStep to_delta(const Var& x, const Var& chain, QuantFormat format);
struct UndoneDelta {
  Var value, before;
};
UndoneDelta from_delta(const Var& bytes, const Var& chain, QuantFormat format, DType dtype);

// By how much a value may be off, as a share of the largest magnitude in its block over all steps, whatever
// they hold: a difference is then at most twice as large. Where neighbours are close, it is far less.
double delta_error(QuantFormat format, DType dtype);

}  // namespace tidemark
