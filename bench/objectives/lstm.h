// The loss of an LSTM whose weight matrices are diagonal, over a sequence of characters: the objective LSTM
// of ADBench.
#pragma once
#include <vector>

#include "bench/objectives/scalar_functions.h"

namespace tidemark::bench {

struct Lstm {
  std::size_t layers = 0, width = 0;
  std::vector<double> state;     // of each layer: hidden, then cell
  std::vector<double> sequence;  // characters by width

  std::size_t characters() const { return sequence.size() / width; }
  // Of each layer four weights and four biases (forget, in, out, change); then the input's weight, the
  // output's weight and bias. All of them vectors of `width`.
  std::size_t parameters() const { return (8 * layers + 3) * width; }

  template <class T>
  T operator()(std::span<const T> parameters) const {
    using std::exp, std::log;
    const T* extra = parameters.data() + 8 * layers * width;
    std::vector<T> now(state.begin(), state.end()), output(width);
    T loss = 0.0;
    for (std::size_t t = 0; t + 1 < characters(); ++t) {
      for (std::size_t i = 0; i < width; ++i) output[i] = sequence[t * width + i] * extra[i];
      const T* input = output.data();
      for (std::size_t layer = 0; layer < layers; ++layer) {
        T* hidden = now.data() + 2 * layer * width;
        advance(parameters.data() + 8 * layer * width, hidden, hidden + width, input);
        input = hidden;
      }
      T sum = 2.0;  // as ADBench has it
      for (std::size_t i = 0; i < width; ++i) {
        output[i] = input[i] * extra[width + i] + extra[2 * width + i];
        sum += exp(output[i]);
      }
      const T log_sum = log(sum);
      const double* wanted = &sequence[(t + 1) * width];
      for (std::size_t i = 0; i < width; ++i) loss += wanted[i] * (output[i] - log_sum);
    }
    return -loss / static_cast<double>(width * (characters() - 1));
  }

 private:
  // One layer's step. `input` may be the layer below's hidden state, never its own.
  template <class T>
  void advance(const T* p, T* hidden, T* cell, const T* input) const {
    using std::tanh;
    const std::size_t w = width;
    for (std::size_t i = 0; i < w; ++i) {
      const T forget = logistic<T>(input[i] * p[i] + p[4 * w + i]);
      const T in = logistic<T>(hidden[i] * p[w + i] + p[5 * w + i]);
      const T out = logistic<T>(input[i] * p[2 * w + i] + p[6 * w + i]);
      const T change = tanh(hidden[i] * p[3 * w + i] + p[7 * w + i]);
      cell[i] = cell[i] * forget + in * change;
      hidden[i] = out * tanh(cell[i]);
    }
  }
};

}  // namespace tidemark::bench
