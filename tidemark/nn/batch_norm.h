// Batch normalisation with running statistics. Parameters and statistics are trees of their own: optimizers
// see the parameters alone, and a training step hands the statistics on beside its loss.
//
//   const auto loss = [](const ResNet& model, const NormStatistics& old, Tensor images, Tensor labels) {
//     auto [logits, statistics] = model.train(images, old);
//     return std::tuple(classification_loss(logits, labels), statistics);
//   };
//   auto statistics = fresh_statistics(model);
//   auto [next, values] = train(state, statistics, images, labels);     // train: of optim::step(…, loss)
//   statistics = std::get<1>(values);
//   next.parameters.infer(images, statistics);
#pragma once
#include <utility>
#include <vector>

#include "tidemark/trace/functions.h"
#include "tidemark/trace/model_functions.h"
#include "tidemark/trace/tree.h"

namespace tidemark::nn {

// Averages over the batches seen, of each channel; the variance is that of the population, estimated. Never
// of 16 bits, in which a small share of a batch would be lost: optim::computed_in leaves them alone.
struct RunningStatistics {
  Tensor mean, variance;  // (channels)
  TM_FIELDS(RunningStatistics, mean, variance)
  using tm_keeps_dtype = void;
};
// Of all batch norms of a model, in the order in which they are used.
using NormStatistics = std::vector<RunningStatistics>;

// For x (N, C, …) of any number of dimensions.
struct BatchNorm2d {
  Tensor gain, bias;  // (channels)
  TM_FIELDS(BatchNorm2d, gain, bias)

  static BatchNorm2d init(std::int64_t channels, SourceLine where = std::source_location::current());
  // By the statistics of the batch, of two numbers per channel or more: one alone has no variance.
  Tensor operator()(const Operand& x) const;
  // The same, and the running statistics moved by the share `momentum`, 0 to 1, towards those of the batch:
  // f32 where those given have 16 bits. They have no gradient.
  std::pair<Tensor, RunningStatistics> train(const Operand& x, const RunningStatistics& running,
                                             double momentum = 0.1) const;
  Tensor infer(const Operand& x, const RunningStatistics& running) const;  // by the running ones
};

// How the batch norms of a model normalise in one pass through it.
class NormPass {
 public:
  NormPass() = default;  // by the statistics of the batch
  static NormPass training(NormStatistics running, double momentum = 0.1);
  static NormPass inference(NormStatistics running);

  Tensor operator()(const BatchNorm2d& norm, const Operand& x);
  // Behind the pass: throws unless every one of the statistics was used.
  void check_all_used(SourceLine where = std::source_location::current()) const;
  // After a pass of training, moved towards the batch.
  NormStatistics statistics(SourceLine where = std::source_location::current()) const;

 private:
  enum class By : std::uint8_t { batch, batch_and_average, running };
  NormPass(By by, NormStatistics running, double momentum)
      : by_(by), running_(std::move(running)), momentum_(momentum) {}

  By by_ = By::batch;
  NormStatistics running_;
  double momentum_ = 0;
  std::size_t used_ = 0;
};

// Mean 0 and variance 1 for each of the norms; never of 16 bits.
NormStatistics fresh_statistics(const std::vector<BatchNorm2d>& norms,
                                SourceLine where = std::source_location::current());
template <class Model>
NormStatistics fresh_statistics(const Model& model, SourceLine where = std::source_location::current()) {
  return fresh_statistics(model.norms(), where);
}

}  // namespace tidemark::nn
