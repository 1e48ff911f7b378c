// Adafactor: the mean of squares of a matrix as the product of a column and a row (Shazeer & Stern 2018), so
// the state of an n × m matrix is n + m numbers. Steps are relative to the size of the parameter.
//
//   with b = t^beta2_decay:  r ← (1 - b) r + b rowmean(g²);  c ← (1 - b) c + b columnmean(g²)
//   v = r c / max(mean(r), eps);  u = g / max(√v, eps);  u ← u / max(1, rms(u) / largest_update)
//   w ← w (1 - lr weight_decay) - min(lr, 1/√t) max(least_scale, rms(w)) u
//
// Tensors of more dimensions are stacks of matrices, the last two; of those with fewer, v is kept whole.
#pragma once
#include <optional>

#include "tidemark/optim/groups.h"

namespace tidemark::optim {

template <class Parameters>
struct AdafactorState {
  Parameters parameters;
  Parameters rows;     // (…, n, 1), or the whole v of a vector
  Parameters columns;  // (…, 1, m), or no elements
  Tensor steps;        // i32, updates made so far
  TM_FIELDS(AdafactorState, parameters, rows, columns, steps)
};

struct Adafactor {
  Schedule lr = 0.01;
  double beta2_decay = -0.8;
  std::optional<double> eps = {};  // not given: the distance of the dtype's numbers beside 1
  double least_scale = 1e-3;
  double largest_update = 1;
  double weight_decay = 0;
  int decay_rank = 2;  // tensors of fewer dimensions (biases, gains) do not decay
  Groups groups = {};

  template <class Parameters>
  AdafactorState<Parameters> init(const Parameters& parameters) const {
    return {parameters, map_tree(zero_rows, parameters), map_tree(zero_columns, parameters), no_steps()};
  }
  template <class Parameters>
  AdafactorState<Parameters> update(const AdafactorState<Parameters>& state, const Parameters& gradients,
                                    SourceLine where = std::source_location::current()) const {
    return advanced(*this, state, gradients, where);
  }
  void advance(StateLists& state, const Tensors& gradients, SourceLine where) const;

  static Tensor zero_rows(const Tensor& parameter);
  static Tensor zero_columns(const Tensor& parameter);
};

}  // namespace tidemark::optim
