// Programs of many steps that tests and benchmarks share: a wave, and a recurrent layer.
#pragma once
#include "tidemark/nn/recurrent.h"
#include "tidemark/trace/control_flow.h"

namespace tidemark::testing {

// A wave on cells × cells, fourth-order differences, a sponge around it, a source in the middle and a row of
// receivers; what bench/peers/wave_jax.py computes. Half the sum of the squares of what is heard.
struct Wave {
  std::int64_t cells = 512;

  struct Medium {
    Tensor courant2, keep, source;  // (cells, cells)
    TM_FIELDS(Medium, courant2, keep, source)
  };
  Medium medium() const;
  Tensor wavelet(std::int64_t steps) const;
  // The squares of what each step is heard as, summed.
  Tensor heard(const Tensor& courant2, const Medium& medium, const Tensor& wavelet) const;
};

// Σ h² over an LSTM's outputs.
Tensor lstm_loss(const nn::LstmLayer& layer, const Tensor& x);

}  // namespace tidemark::testing
