#include "bench/scalar/problems/published.h"

namespace tidemark::bench {

std::vector<double> spread(std::size_t count, double from, double to, double frequency) {
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = from + (to - from) * 0.5 * (1 + std::sin(frequency * static_cast<double>(i + 1) * 1.618));
  }
  return numbers;
}

std::vector<Problem> published_problems() { return {Burgers(), Heat(), Euler(), LstmStep(), GmmFit()}; }

std::vector<Problem> small_problems() {
  LstmStep lstm;
  lstm.sequence.resize(8 * lstm.width);
  GmmFit gmm;
  gmm.x.resize(20 * gmm.dimensions);
  return {Burgers{50, 20}, Heat{12, 10}, Euler{8, 5}, lstm, gmm};
}

}  // namespace tidemark::bench
