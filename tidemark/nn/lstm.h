// A language model of LSTM layers, unrolled: every step is nodes of its own in the graph, and the recurrent
// weights are read by all of them.
#pragma once
#include <vector>

#include "tidemark/nn/layers.h"
#include "tidemark/nn/recurrent.h"

namespace tidemark::nn {

struct LstmConfig {
  std::int64_t layers = 2, width = 650, vocabulary = 10000;  // "medium" of Zaremba et al. 2014
};

struct Lstm {
  Tensor token_table;  // (vocabulary, width)
  std::vector<LstmLayer> layers;
  Linear head;
  TM_FIELDS(Lstm, token_table, layers, head)

  static Lstm init(const Tensor& key, const LstmConfig& config,
                   SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& tokens) const;  // (T, B) → logits (T, B, vocabulary)
};

}  // namespace tidemark::nn
