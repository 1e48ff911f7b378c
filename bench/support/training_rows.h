// The models that training is measured on, at the sizes of docs/benchmarks.md: loss, gradients and AdamW as
// the graph of one step, with the values of its inputs. bench/peers/ has the same models in PyTorch and JAX.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/support/tiny_models.h"

namespace tidemark::bench {

struct TrainingRow {
  std::string name;
  std::string about;
  std::function<tiny::TinyModel()> build;
};

// The zoo's LSTM with its steps as one scan instead of nodes of their own.
struct ScanLstm {
  nn::Lstm lstm;
  TM_FIELDS(ScanLstm, lstm)

  Tensor operator()(const Tensor& tokens) const;  // (T, B) → logits (T, B, vocabulary)
};

// A GPT whose blocks are the steps of one scan, their weights stacked.
struct ScanGpt {
  Tensor token_table, position_table;  // as nn::Gpt's
  nn::TransformerBlock blocks;         // every weight with a first dimension more
  nn::LayerNorm norm;
  std::int64_t heads = 1;
  TM_FIELDS(ScanGpt, token_table, position_table, blocks, norm, heads)

  static ScanGpt init(const Tensor& key, const nn::GptConfig& config);
  Tensor operator()(const Tensor& tokens) const;  // (B, T) → logits (B, T, vocabulary)
};

std::vector<TrainingRow> training_rows();

// Of the products alone (contractions, convolutions, attention) and of loops, as they stand in the graph:
// what any way of computing the step has to do.
double product_flops(const Graph& graph, const Plan& plan);
// Floating-point inputs that are neither moments nor data.
std::int64_t parameter_count(const tiny::TinyModel& model);

}  // namespace tidemark::bench
