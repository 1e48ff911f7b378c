#include "tidemark/nn/losses.h"

#include <fmt/format.h>

#include <limits>

#include "tidemark/base/call_site.h"
#include "tidemark/trace/functions.h"

namespace tidemark::nn {
namespace {

void check_same_shape(std::string_view loss, const Operand& x, const Operand& y) {
  if (x.is_number() || y.is_number() || x.tensor().shape() == y.tensor().shape()) return;
  fail(ErrorCode::shape_mismatch, {.what = fmt::format("{} of {} and {}", loss, to_string(x.tensor().type()),
                                                       to_string(y.tensor().type())),
                                   .expected = "two tensors of one shape",
                                   .where = x.where()});
}

Shape without_last(const Shape& shape) {
  Shape result;
  for (int i = 0; i + 1 < shape.rank(); ++i) result.push_back(shape[i]);
  return result;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 1; i <= from.rank(); ++i) {
    const std::int64_t size = from[from.rank() - i];
    if (size != 1 && size != to[to.rank() - i]) return false;
  }
  return true;
}

void check_number(std::string_view loss, std::string_view name, double value, bool good,
                  std::string_view expected, const Operand& x) {
  if (good) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("{} with {} {}", loss, name, value),
                                  .expected = std::string(expected),
                                  .where = x.where()});
}

// What each example counts in a mean, and labels that may be looked up: 0 in place of those that are ignored.
struct Counted {
  Tensor labels;
  Tensor ignored, weights;  // empty where none is ignored, and where all count alike
};
Counted counted(const Operand& given, const ClassLossOptions& options, DType dtype) {
  const Tensor& labels = given.tensor();
  Counted result{labels, {}, {}};
  if (options.ignore) {
    result.ignored = labels == *options.ignore;
    result.labels = select(result.ignored, zeros_like(labels), labels);
  }
  if (!options.weights.empty()) {
    result.weights = cast(take({options.weights, given.where()}, result.labels, 0), dtype);
    if (options.ignore) result.weights = select(result.ignored, zeros_like(result.weights), result.weights);
  } else if (options.ignore) {
    result.weights = cast(!result.ignored, dtype);
  }
  return result;
}

// Σ losses / Σ weights, 0 where nothing counts; the losses are weighted already.
Tensor weighted_mean(const Tensor& losses, const Tensor& weights) {
  const Tensor total = sum(weights), none = total == 0, divisor = select(none, ones_like(total), total);
  return sum(losses) / divisor;
}

void check_class_options(std::string_view loss, const Operand& scores, const ClassLossOptions& options) {
  check_number(loss, "smoothing", options.smoothing, options.smoothing >= 0 && options.smoothing <= 1,
               "a share from 0 to 1", scores);
  const Tensor& x = scores.tensor();
  if (options.weights.empty() || x.rank() == 0 || options.weights.shape() == Shape{x.size(-1)}) return;
  fail(ErrorCode::shape_mismatch,
       {.what = fmt::format("{} of {} with class weights {}", loss, to_string(x.type()),
                            to_string(options.weights.type())),
        .expected = fmt::format("one weight for each of the {} classes", x.size(-1)),
        .where = scores.where()});
}

// losses: of the labels alone, unweighted, 0 where they are ignored. log_probabilities are read for smoothing
// alone.
Tensor finished_class_loss(Tensor losses, const Tensor& log_probabilities, const Counted& counts,
                           const ClassLossOptions& options) {
  if (!counts.weights.empty()) losses = losses * counts.weights;
  if (options.smoothing > 0) {
    Tensor spread = log_probabilities;
    if (!options.weights.empty()) spread = spread * cast(options.weights, spread.dtype());
    spread = sum(spread, {-1}) * (-options.smoothing / static_cast<double>(log_probabilities.size(-1)));
    if (options.ignore) spread = select(counts.ignored, zeros_like(spread), spread);
    losses = losses * (1 - options.smoothing) + spread;
  }
  if (options.reduction != Reduction::mean || counts.weights.empty()) {
    return reduced(losses, options.reduction);
  }
  return weighted_mean(losses, counts.weights);
}

DType loss_dtype(const Tensor& x) { return size_of(x.dtype()) == 2 ? DType::f32 : x.dtype(); }

// max(log x, -100), whose gradient is 0 where x is 0.
Tensor cut_log(const Tensor& x) {
  const Tensor zero = x == 0, logarithm = log(select(zero, ones_like(x), x));
  const Tensor lowest = full(x.shape(), -100, x.dtype());
  return select(zero, lowest, maximum(logarithm, -100));
}

}  // namespace

Tensor reduced(const Operand& given, Reduction reduction) {
  const CallSite site(given.where());
  const Tensor& losses = given.tensor();
  const bool mean_of_nothing = losses.count() == 0 && reduction != Reduction::none;
  if (mean_of_nothing) return sum(losses);  // 0, as the sum is: a batch without examples changes nothing
  switch (reduction) {
    case Reduction::mean:
      return mean(losses);
    case Reduction::sum:
      return sum(losses);
    case Reduction::none:
      return losses;
    case Reduction::batch_mean:
      return losses.rank() == 0 ? losses : sum(losses) / static_cast<double>(losses.size(0));
  }
  TM_CHECK(false, "an unknown reduction");
}

Tensor classification_loss(const Operand& logits, const Operand& labels, const ClassLossOptions& options) {
  const CallSite site(logits.where());
  check_class_options("classification_loss", logits, options);
  const CrossEntropyAttrs attrs{.ignore = options.ignore.has_value(),
                                .ignore_index = options.ignore.value_or(0)};
  const Tensor losses = cross_entropy(logits, labels, attrs);
  const Counted counts = counted(labels, options, losses.dtype());
  const Tensor spread = options.smoothing > 0 ? log_softmax(cast(logits, losses.dtype())) : Tensor();
  return finished_class_loss(losses, spread, counts, options);
}

Tensor nll_loss(const Operand& log_probabilities, const Operand& labels, const ClassLossOptions& options) {
  const CallSite site(log_probabilities.where());
  check_class_options("nll_loss", log_probabilities, options);
  const Tensor& x = log_probabilities.tensor();
  if (x.rank() == 0 || labels.tensor().shape() != without_last(x.shape())) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("nll_loss of {} and labels {}", to_string(x.type()),
                                                         to_string(labels.tensor().type())),
                                     .expected = "(…, classes) and labels (…)",
                                     .where = log_probabilities.where()});
  }
  const Tensor wide = cast(log_probabilities, loss_dtype(x));
  const Counted counts = counted(labels, options, wide.dtype());
  Tensor losses = -squeeze(gather({wide, labels.where()}, expand_dims(counts.labels, -1), -1), -1);
  if (options.ignore) losses = select(counts.ignored, zeros_like(losses), losses);
  return finished_class_loss(losses, wide, counts, options);
}

Tensor binary_loss(const Operand& x, const Operand& y, Reduction reduction) {
  const CallSite site(x.where());
  check_same_shape("binary_loss", x, y);
  const Tensor wide = cast(x, loss_dtype(x.tensor())), target = cast(y, wide.dtype());
  const Tensor positive = target * cut_log(wide), rest = 1 - target;
  return reduced(-(positive + rest * cut_log(1 - wide)), reduction);
}

Tensor binary_logits_loss(const Operand& logits, const Operand& y, const BinaryLogitsOptions& options) {
  const CallSite site(logits.where());
  check_same_shape("binary_logits_loss", logits, y);
  if (const Tensor& weight = options.positive_weight;
      !weight.empty() && !broadcasts_to(weight.shape(), logits.tensor().shape())) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("binary_logits_loss of {} with positive_weight {}",
                              to_string(logits.tensor().type()), to_string(weight.type())),
          .expected = "a weight whose shape broadcasts to that of the logits",
          .where = logits.where()});
  }
  const Tensor wide = cast(logits, loss_dtype(logits.tensor())), target = cast(y, wide.dtype());
  Tensor positive = target * softplus(-wide);
  if (!options.positive_weight.empty()) positive = positive * cast(options.positive_weight, wide.dtype());
  const Tensor rest = 1 - target;
  return reduced(positive + rest * softplus(wide), options.reduction);
}

Tensor squared_error(const Operand& x, const Operand& y, Reduction reduction) {
  const CallSite site(x.where());
  check_same_shape("squared_error", x, y);
  return reduced(square(x - y), reduction);
}

Tensor absolute_error(const Operand& x, const Operand& y, Reduction reduction) {
  const CallSite site(x.where());
  check_same_shape("absolute_error", x, y);
  return reduced(abs(x - y), reduction);
}

Tensor huber_loss(const Operand& x, const Operand& y, double delta, Reduction reduction) {
  const CallSite site(x.where());
  check_same_shape("huber_loss", x, y);
  check_number("huber_loss", "delta", delta, delta > 0, "a number above 0", x);
  const Tensor distance = abs(x - y), near = minimum(distance, delta);
  return reduced(near * (distance - near * 0.5), reduction);
}

Tensor smooth_absolute_error(const Operand& x, const Operand& y, double beta, Reduction reduction) {
  const CallSite site(x.where());
  check_number("smooth_absolute_error", "beta", beta, beta >= 0, "0 or a number above it", x);
  if (beta == 0) return absolute_error(x, y, reduction);
  return huber_loss(x, y, beta, reduction) / beta;
}

Tensor divergence_loss(const Operand& log_q, const Operand& p, const DivergenceOptions& options) {
  const CallSite site(log_q.where());
  check_same_shape("divergence_loss", log_q, p);
  const Tensor& target = p.tensor();
  // Where p is 0, numbers without infinities stand in for all three, so that their gradients are 0.
  const Tensor none = options.log_target ? target == -std::numeric_limits<double>::infinity() : target == 0;
  const Tensor zero = zeros_like(target), q = select(none, zeros_like(log_q), log_q);
  const Tensor one = ones_like(target);
  const Tensor log_p = options.log_target ? select(none, zero, target) : log(select(none, one, target));
  const Tensor weight = options.log_target ? exp(log_p) : target;
  return reduced(select(none, zero, weight * (log_p - q)), options.reduction);
}

Tensor cosine_loss(const Operand& x, const Operand& y, const Operand& labels, double margin,
                   Reduction reduction) {
  const CallSite site(x.where());
  check_same_shape("cosine_loss", x, y);
  const Tensor& vectors = x.is_number() ? y.tensor() : x.tensor();
  if (vectors.rank() == 0 || labels.tensor().shape() != without_last(vectors.shape())) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("cosine_loss of {} and labels {}", to_string(vectors.type()),
                              to_string(labels.tensor().type())),
          .expected = "vectors (…, D) and labels (…)",
          .where = x.where()});
  }
  constexpr double eps = 1e-12;  // under the roots, so that a vector of zeros has a cosine and a gradient
  const Tensor dot = sum(x * y, {-1}), xx = sum(square(x), {-1}) + eps, yy = sum(square(y), {-1}) + eps;
  const Tensor cosine = dot / sqrt(xx * yy), alike = labels > 0;
  const Tensor apart = relu(cosine - margin);
  return reduced(select(alike, 1 - cosine, apart), reduction);
}

}  // namespace tidemark::nn
