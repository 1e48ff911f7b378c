// Large products of bf16 and f16 from 8-bit codes (ops/quantization/fp8.h), for targets whose tensor cores
// take those (Target::fp8_seconds):
//
//   contract(a, b[, sum])    fp8_product(codes of a, codes of b, scale of a, scale of b[, sum])
//
// The codes of both lie with the summed dimensions together and last, which is what such products read; those
// of an operand that lies otherwise are made transposed. All sizes are multiples of 16. A tensor that several
// products read has one scale, and one matrix of codes for each way that it is read.
//
// Bits must be the same at every budget, and a tighter budget may mean another graph: a loop whose reverse
// computes its steps again, say, holds products a second time. So what becomes of a product follows from its
// own types and attributes, not from what else is in the graph: it is written in codes where the time that is
// won is more than its operands' codes and half of their scales take. Half, since in training every tensor is
// read by two products, forward and for the gradient of the other operand, in different ways.
//
// All codes are E4M3, those of gradients too: telling gradients apart would look at other nodes again. E5M2,
// which others take for them, has a wider range and twice the error; the scale of each tensor, taken from
// itself, leaves E4M3 18 powers of two below its largest number (docs/cuda.md has figures).
#pragma once
#include "tidemark/ir/target.h"
#include "tidemark/opt/known_ops.h"

namespace tidemark {

Graph fp8_products(const Graph& graph, const KnownOps& ops, const Target& target);

}  // namespace tidemark
