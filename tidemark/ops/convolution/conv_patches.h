// The matrix of patches as an operand of a product (kernel/gemm.h): packed panel by panel straight from the
// images, never whole. And what takes finished pieces of the products to where they belong.
#pragma once
#include "tidemark/kernel/gemm.h"
#include "tidemark/ops/convolution/conv_lattice.h"

namespace tidemark {

// Columns are points, over images in turn; depth is (channel, tap). A batch is an image and a group, or, over
// all images, a group.
template <class S>
struct PointColumns {
  const PatchLattice& lattice;
  const S* x;
  gemm::Source<compute_t<S>> source() const;
};

// Columns are (channel, tap), depth is points over images in turn: the transpose. Several channels of one tap
// pack fast, so tap comes before channel within blocks of as many channels as a panel is wide.
template <class S>
struct PatchColumns {
  const PatchLattice& lattice;
  const S* x;
  gemm::Source<compute_t<S>> source() const;
};

// Results at points, columns as those of PointColumns; a row is a channel of `channels`.
template <class S>
struct PointResults {
  const ResultLattice& lattice;
  std::int64_t channels, groups;
  S* y;
  gemm::Epilogue<compute_t<S>> epilogue() const;
};

// Gradients of the weights, columns as those of PatchColumns.
template <class S>
struct PatchResults {
  std::int64_t outputs, channels, taps;  // of a group
  S* w;
  gemm::Epilogue<compute_t<S>> epilogue() const;
};

}  // namespace tidemark
