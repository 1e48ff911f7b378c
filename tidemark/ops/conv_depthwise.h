// Convolutions with one input channel per group, without a matrix of patches: too thin for BLAS, they are limited by
// memory. Sums run in the compute type over at most `chunk` columns held on the stack, taps in order.
#pragma once
#include "tidemark/base/parallel.h"
#include "tidemark/ops/conv_geometry.h"

namespace tidemark {

template <class S>
void depthwise_forward(ThreadPool& pool, const ConvGeometry& g, const S* x, const S* w, S* y);
template <class S>
void depthwise_input_grad(ThreadPool& pool, const ConvGeometry& g, const S* y, const S* w, S* x);
template <class S>
void depthwise_weight_grad(ThreadPool& pool, const ConvGeometry& g, const S* x, const S* y, S* w);

}  // namespace tidemark
