// AdamW whose moments take 8 bits per number, in blocks of 128 with a scale each (quant_format.h): 2 ·
// 132/128 bytes per parameter in place of 8.
//
// Both moments are 8-bit floats, m of 4 significant bits (e4m3) and v of 3 (e5m2), because numbers of one
// block differ by orders of magnitude. Whole numbers in steps of the largest (int8) turn the smaller v into
// zeros, and m / √0 blows up: training diverged, with √v in place of v too. e5m2 reaches from the largest v
// of a block down to 2⁻³² of it, gradients down to 1.5e-5 of the largest. Where v is lost nevertheless, so is
// m: a step is then at most (1 - beta1) / √(1 - beta2) rates long, 3.2 with these.
//
// They are rounded up or down at random, so that the mean is right: an update changes v by a thousandth of
// itself, which rounding to nearest would drop for ever. Random bits follow from the number of the update, so
// a run repeats to the bit.
#pragma once
#include "tidemark/optim/adam.h"

namespace tidemark::optim {

struct AdamW8bit {
  Schedule lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  int decay_rank = 2;  // tensors of fewer dimensions (biases, gains) do not decay
  Groups groups = {};

  // mean and variance: vectors of u8, not of the parameters' shapes
  template <class Parameters>
  AdamState<Parameters> init(const Parameters& parameters) const {
    return {parameters, map_tree(zero_codes, parameters), map_tree(zero_codes, parameters), no_steps()};
  }
  template <class Parameters>
  AdamState<Parameters> update(const AdamState<Parameters>& state, const Parameters& gradients,
                               SourceLine where = std::source_location::current()) const {
    return advanced(*this, state, gradients, where);
  }
  void advance(StateLists& state, const Tensors& gradients, SourceLine where) const;

  static Tensor zero_codes(const Tensor& parameter);
};

}  // namespace tidemark::optim
