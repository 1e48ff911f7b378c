// Losses that models share. Classes are the last dimension of logits and probabilities, labels integers of
// the shape before it. docs/layers.md has the names by which PyTorch knows them.
#pragma once
#include <cstdint>
#include <optional>

#include "tidemark/trace/model_functions.h"

namespace tidemark::nn {

// What becomes of the losses of the examples or elements.
enum class Reduction : std::uint8_t {
  mean,  // 0 over nothing: no examples, or none that counts
  sum,
  none,        // one by one
  batch_mean,  // their sum, divided by the size of the first dimension
};
Tensor reduced(const Operand& losses, Reduction reduction);

struct ClassLossOptions {
  Reduction reduction = Reduction::mean;    // mean: over the weights of the examples that count; 0 for none
  std::optional<std::int64_t> ignore = {};  // examples with this label have loss and gradient 0
  double smoothing = 0;                     // this share of each label is spread evenly over all classes
  Tensor weights = {};                      // (classes), how much a label counts; empty: all alike
};

// The cross entropy of logits (…, classes) and labels (…).
Tensor classification_loss(const Operand& logits, const Operand& labels,
                           const ClassLossOptions& options = {});
// The same of logarithms of probabilities, as log_softmax makes them; they need not add up to one.
Tensor nll_loss(const Operand& log_probabilities, const Operand& labels,
                const ClassLossOptions& options = {});

// The cross entropy of targets y in [0, 1] and probabilities x. Logarithms are cut at -100, so that a sure
// and wrong answer costs 100 and its gradient there is 0.
Tensor binary_loss(const Operand& x, const Operand& y, Reduction reduction = Reduction::mean);
// The same with x = sigmoid(logits), exact at any logits. positive_weight, which broadcasts to the logits and
// never enlarges them: how much more positives count; empty: no more.
struct BinaryLogitsOptions {
  Reduction reduction = Reduction::mean;
  Tensor positive_weight = {};
};
Tensor binary_logits_loss(const Operand& logits, const Operand& y, const BinaryLogitsOptions& options = {});

// Of two tensors of one shape, with d = x - y:
Tensor squared_error(const Operand& x, const Operand& y, Reduction reduction = Reduction::mean);   // d²
Tensor absolute_error(const Operand& x, const Operand& y, Reduction reduction = Reduction::mean);  // |d|
// d²/2 where |d| is less than delta, and on from there along the tangent, delta (|d| - delta/2).
Tensor huber_loss(const Operand& x, const Operand& y, double delta = 1,
                  Reduction reduction = Reduction::mean);
// huber_loss(x, y, beta) / beta: slope ±1 far away. beta 0: absolute_error.
Tensor smooth_absolute_error(const Operand& x, const Operand& y, double beta = 1,
                             Reduction reduction = Reduction::mean);

// The Kullback-Leibler divergence Σ p (log p - log q), element by element: p the target, q the model's, given
// by its logarithm. Where p is 0 it is 0, whatever log q. log_target: p too is given by its logarithm.
struct DivergenceOptions {
  Reduction reduction = Reduction::batch_mean;
  bool log_target = false;
};
Tensor divergence_loss(const Operand& log_q, const Operand& p, const DivergenceOptions& options = {});

// Of pairs of vectors x, y (…, D) with labels (…) of 1 and -1: 1 - cos(x, y) for those alike, and for the
// others what cos(x, y) exceeds the margin by.
Tensor cosine_loss(const Operand& x, const Operand& y, const Operand& labels, double margin = 0,
                   Reduction reduction = Reduction::mean);

}  // namespace tidemark::nn
