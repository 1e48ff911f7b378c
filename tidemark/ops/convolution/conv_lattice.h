// Which elements a convolution reads for which results, as lattices, so that one packing routine serves the
// forward convolution and the gradient of its input with any stride and dilation.
//
// The gradient of the input gathers: x at padded position u = v stride + phase gets y at v - m from the taps
// k with k dilation = m stride + phase. Each phase is a convolution of stride 1 with those taps, which are
// evenly spaced, and its results lie on a lattice of x. No product meets a zero that a stride has put there.
#pragma once
#include "tidemark/kernel/gemm.h"
#include "tidemark/ops/convolution/conv_geometry.h"

namespace tidemark {

// The result at point o reads tap k of the source at o · stride + k · step + base, where that is inside, else
// 0.
struct PatchLattice {
  using Triple = ConvGeometry::Triple;
  Triple in{}, out{}, taps{};  // sizes: of the source, of the points, of the taps
  Triple stride{}, step{}, base{};
  std::int64_t channels = 0, groups = 1;

  static std::int64_t product(const Triple& t) { return t[0] * t[1] * t[2]; }
  std::int64_t in_points() const { return product(in); }
  std::int64_t out_points() const { return product(out); }
  std::int64_t tap_count() const { return product(taps); }
  std::int64_t depth() const { return channels * tap_count(); }
};

// Where the results lie in their plane of `plane` elements: first + Σ o · stride.
struct ResultLattice {
  ConvGeometry::Triple size{}, stride{};
  std::int64_t first = 0, plane = 0;
  bool is_whole() const { return PatchLattice::product(size) == plane; }
};

// The weights a phase takes, in elements of one pair of channels: first + Σ k · stride.
struct TapLattice {
  ConvGeometry::Triple stride{};
  std::int64_t first = 0;
};

struct ConvPhase {
  PatchLattice source;
  ResultLattice result;
  TapLattice taps;
};
ConvPhase forward_phase(const ConvGeometry& g);

// Phase number `index` of the input gradient. Phases without taps or results exist; their lattices are empty.
std::int64_t input_phases(const ConvGeometry& g);
ConvPhase input_phase(const ConvGeometry& g, std::int64_t index);

// The product that computes a part. Columns are the points of all images, or, where an image has points
// enough and results need no conversion, those of one: then blocks are made where they belong (`direct`)
// instead of being copied there.
struct ConvProduct {
  gemm::Sizes sizes;
  bool direct = false;
};
ConvProduct phase_product(const ConvGeometry& g, const ConvPhase& phase, std::int64_t rows, DType dtype);
ConvProduct weight_product(const ConvGeometry& g, DType dtype);

std::int64_t conv_scratch(const ConvGeometry& g, ConvPart part, DType dtype);

}  // namespace tidemark
