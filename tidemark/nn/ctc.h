// Connectionist temporal classification (Graves et al. 2006): the loss of a sequence of labels under scores
// per step of time when nobody says which step belongs to which label. It is the sum over all ways to stretch
// the labels over the steps, repeating labels and putting blanks between them, and is computed by their
// recursion, in logarithms, in one `scan`.
#pragma once
#include "tidemark/nn/losses.h"

namespace tidemark::nn {

struct CtcOptions {
  // mean: each loss is divided by the number of its labels (at least 1), then the mean is taken.
  Reduction reduction = Reduction::mean;
  std::int64_t blank = 0;      // the class that stands for no label
  bool zero_infinity = false;  // losses of labels that do not fit into the steps are 0 instead of infinite
};

// log_probabilities (T, B, classes) as log_softmax makes them; labels (B, S), of which the first
// label_lengths (B) count; of the T steps the first step_lengths (B). Lengths are integers; beyond S or T, or
// below 0, they are an error while running. An infinite loss has gradient 0.
Tensor ctc_loss(const Operand& log_probabilities, const Operand& labels, const Operand& step_lengths,
                const Operand& label_lengths, const CtcOptions& options = {});

}  // namespace tidemark::nn
