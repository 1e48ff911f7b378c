// Moving elements between strided windows of the same shape: what every movement op does. Dimensions are
// collapsed first; what remains is long stretches (memcpy), fills (stride 0), blocked transposes, or a plain
// strided loop.
#pragma once
#include "tidemark/kernel/args.h"

namespace tidemark {

// Element by element. The windows have equal shapes and dtype sizes and do not overlap, or are the same
// window (then nothing happens). Strides of `to` are not 0 where the size is above 1.
void copy_elements(const TensorRef& to, const TensorRef& from, ThreadPool& pool);

// Every element of `to` becomes the one at `element`.
void fill_elements(const TensorRef& to, const std::byte* element, ThreadPool& pool);
void zero_elements(const TensorRef& to, ThreadPool& pool);

// The part of `whole` that starts at `start` and takes `shape` elements `step` apart.
TensorRef window(const TensorRef& whole, const Dims& start, const Dims& step, const Shape& shape);

}  // namespace tidemark
