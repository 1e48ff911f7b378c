// The log posterior of a mixture of Gaussians with a Wishart prior on the precisions: the objective GMM of
// ADBench (Šrajer, Kukelova, Fitzgibbon, arXiv:1807.10129, section 4.1).
#pragma once
#include <numbers>
#include <vector>

#include "bench/objectives/scalar_functions.h"

namespace tidemark::bench {

struct Gmm {
  std::size_t dimensions = 0, components = 0;
  std::vector<double> x;  // points by dimensions
  double gamma = 1;       // the prior's precision
  int degrees = 0;        // its degrees of freedom above dimensions + 1

  std::size_t points() const { return x.size() / dimensions; }
  std::size_t below_diagonal() const { return dimensions * (dimensions - 1) / 2; }
  // Weights, means, logarithms of the factors' diagonals, what is below the diagonals, column by column.
  std::size_t parameters() const { return components * (1 + 2 * dimensions + below_diagonal()); }

  template <class T>
  T operator()(std::span<const T> parameters) const {
    using std::exp;
    const std::size_t d = dimensions, k = components, l = below_diagonal();
    const std::span<const T> weights = parameters.first(k), means = parameters.subspan(k, k * d),
                             logs = parameters.subspan(k + k * d, k * d), lower = parameters.last(k * l);
    std::vector<T> diagonal(k * d), log_determinant(k);
    for (std::size_t i = 0; i < k * d; ++i) diagonal[i] = exp(logs[i]);
    for (std::size_t c = 0; c < k; ++c) {
      log_determinant[c] = 0.0;
      for (std::size_t i = 0; i < d; ++i) log_determinant[c] += logs[c * d + i];
    }
    std::vector<T> centred(d), whitened(d), terms(k);
    T likelihood = 0.0;
    for (std::size_t p = 0; p < points(); ++p) {
      for (std::size_t c = 0; c < k; ++c) {
        for (std::size_t i = 0; i < d; ++i) centred[i] = x[p * d + i] - means[c * d + i];
        whiten<T>(std::span<const T>(diagonal).subspan(c * d, d), lower.subspan(c * l, l), centred, whitened);
        terms[c] = weights[c] + log_determinant[c] - 0.5 * sum_of_squares<T>(whitened);
      }
      likelihood += log_sum_exp<T>(terms);
    }
    T prior = 0.0;
    for (std::size_t c = 0; c < k; ++c) {
      const T squares = sum_of_squares<T>(std::span<const T>(diagonal).subspan(c * d, d)) +
                        sum_of_squares<T>(lower.subspan(c * l, l));
      prior += degrees * log_determinant[c] - 0.5 * gamma * gamma * squares;
    }
    return likelihood - static_cast<double>(points()) * log_sum_exp<T>(weights) + prior + constant();
  }

 private:
  // The lower triangular factor of a precision times a vector.
  template <class T>
  static void whiten(std::span<const T> diagonal, std::span<const T> lower, const std::vector<T>& in,
                     std::vector<T>& out) {
    const std::size_t d = in.size();
    for (std::size_t i = 0; i < d; ++i) out[i] = diagonal[i] * in[i];
    const T* entry = lower.data();
    for (std::size_t column = 0; column + 1 < d; ++column) {
      for (std::size_t row = column + 1; row < d; ++row) out[row] += *entry++ * in[column];
    }
  }

  // Of the Gaussians and of the prior, the latter with the logarithm of the multivariate gamma function.
  double constant() const {
    const double d = static_cast<double>(dimensions), n = d + degrees + 1;
    double log_gamma = 0.25 * d * (d - 1) * std::log(std::numbers::pi);
    for (std::size_t i = 0; i < dimensions; ++i) log_gamma += std::lgamma(0.5 * (n - static_cast<double>(i)));
    const double prior = n * d * (std::log(gamma) - 0.5 * std::numbers::ln2) - log_gamma;
    return static_cast<double>(components) * prior -
           0.5 * static_cast<double>(points()) * d * std::log(2 * std::numbers::pi);
  }
};

}  // namespace tidemark::bench
