#include "tidemark/nn/batch_norm.h"

#include <fmt/format.h>

#include "tidemark/base/call_site.h"

namespace tidemark::nn {
namespace {

constexpr double batch_norm_eps = 1e-5;

// (channels) → (channels, 1, …), to meet the channels of x (N, C, …).
Tensor along_channels(const Tensor& t, int rank) {
  Dims shape{-1};
  for (int i = 2; i < rank; ++i) shape.push_back(1);
  return rank < 3 ? t : reshape(t, Shape(shape));
}

DType statistics_dtype(DType dtype) { return size_of(dtype) == 2 ? DType::f32 : dtype; }

// The batch's share is `momentum` of batch · scale.
Tensor moved_average(const Tensor& running, const Tensor& batch, double momentum, double scale) {
  const DType dtype = statistics_dtype(running.dtype());
  const Tensor before = stop_gradient(cast(running, dtype)) * (1 - momentum);
  const Tensor seen = stop_gradient(cast(batch, dtype));
  return before + seen * (momentum * scale);
}

void check_channels(const Operand& x, const Tensor& gain) {
  const Tensor& t = x.tensor();
  if (t.rank() >= 2 && t.size(1) == gain.count()) return;
  fail(ErrorCode::shape_mismatch,
       {.what = fmt::format("batch norm of {} channels over {}", gain.count(), to_string(t.type())),
        .expected = fmt::format("(N, {}, …)", gain.count()),
        .where = x.where()});
}

void check_running(const Operand& x, const RunningStatistics& running, const Tensor& gain) {
  const Tensor &mean = running.mean, &variance = running.variance;
  if (mean.shape() == gain.shape() && variance.shape() == gain.shape() && is_float(mean.dtype()) &&
      mean.dtype() == variance.dtype()) {
    return;
  }
  fail(ErrorCode::shape_mismatch,
       {.what = fmt::format("batch norm of {} channels with statistics {} and {}", gain.count(),
                            to_string(mean.type()), to_string(variance.type())),
        .expected = fmt::format("a mean and a variance of shape {} and one floating-point dtype",
                                to_string(gain.shape())),
        .where = x.where(),
        .help = "begin with fresh_statistics(model)"});
}

// How many numbers of x each channel has.
std::int64_t numbers_per_channel(const Operand& x, const Tensor& gain) {
  const std::int64_t each = x.tensor().count() / std::max<std::int64_t>(gain.count(), 1);
  if (each < 2) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("batch norm by the statistics of {}, {} numbers per channel",
                              to_string(x.tensor().type()), each),
          .expected = "two or more numbers per channel, which have a variance",
          .where = x.where(),
          .help = "make batches of two examples or more, or use infer()"});
  }
  return each;
}

}  // namespace

BatchNorm2d BatchNorm2d::init(std::int64_t channels, SourceLine where) {
  return {ones({channels}, DType::f32, where), zeros({channels}, DType::f32, where)};
}
Tensor BatchNorm2d::operator()(const Operand& x) const {
  const CallSite site(x.where());
  check_channels(x, gain);
  numbers_per_channel(x, gain);
  return batch_norm(x, gain, bias, batch_norm_eps).y;
}

std::pair<Tensor, RunningStatistics> BatchNorm2d::train(const Operand& x, const RunningStatistics& running,
                                                        double momentum) const {
  const CallSite site(x.where());
  check_channels(x, gain);
  check_running(x, running, gain);
  if (!(momentum >= 0 && momentum <= 1)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("batch norm with momentum {}", momentum),
                                    .expected = "a share from 0 to 1",
                                    .where = x.where()});
  }
  const std::int64_t each = numbers_per_channel(x, gain);
  const BatchNormResult batch = batch_norm(x, gain, bias, batch_norm_eps);
  const double unbiased = static_cast<double>(each) / static_cast<double>(each - 1);
  const Tensor mean = moved_average(running.mean, batch.mean, momentum, 1);
  return {batch.y, {mean, moved_average(running.variance, batch.variance, momentum, unbiased)}};
}

Tensor BatchNorm2d::infer(const Operand& x, const RunningStatistics& running) const {
  const CallSite site(x.where());
  check_channels(x, gain);
  check_running(x, running, gain);
  const int rank = x.tensor().rank();
  const DType dtype = running.mean.dtype();
  const Tensor wide = cast(x, dtype), wide_gain = cast(gain, dtype);
  const Tensor scale = wide_gain * rsqrt(running.variance + batch_norm_eps);
  const Tensor centred = wide - along_channels(running.mean, rank);
  const Tensor scaled = centred * along_channels(scale, rank);
  return cast(scaled + along_channels(cast(bias, dtype), rank), x.tensor().dtype());
}

NormPass NormPass::training(NormStatistics running, double momentum) {
  return {By::batch_and_average, std::move(running), momentum};
}
NormPass NormPass::inference(NormStatistics running) { return {By::running, std::move(running), 0}; }

Tensor NormPass::operator()(const BatchNorm2d& norm, const Operand& x) {
  if (by_ == By::batch) return norm(x);
  if (used_ == running_.size()) {
    fail(ErrorCode::structure_mismatch,
         {.what = fmt::format("a model with more batch norms than the {} statistics it was given", used_),
          .expected = "fresh_statistics(model), or what train() returned",
          .where = x.where()});
  }
  RunningStatistics& own = running_[used_++];
  if (by_ == By::running) return norm.infer(x, own);
  auto [y, moved] = norm.train(x, own, momentum_);
  own = std::move(moved);
  return y;
}

void NormPass::check_all_used(SourceLine where) const {
  if (used_ == running_.size()) return;
  fail(ErrorCode::structure_mismatch,
       {.what = fmt::format("{} statistics for a model with {} batch norms", running_.size(), used_),
        .expected = "fresh_statistics(model), or what train() returned",
        .where = where});
}
NormStatistics NormPass::statistics(SourceLine where) const {
  check_all_used(where);
  return running_;
}

NormStatistics fresh_statistics(const std::vector<BatchNorm2d>& norms, SourceLine where) {
  const CallSite site(where);
  NormStatistics result;
  for (const BatchNorm2d& norm : norms) {
    const DType dtype = statistics_dtype(norm.gain.dtype());
    result.push_back({zeros(norm.gain.shape(), dtype), ones(norm.gain.shape(), dtype)});
  }
  return result;
}

}  // namespace tidemark::nn
