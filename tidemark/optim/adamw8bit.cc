#include "tidemark/optim/adamw8bit.h"

#include <algorithm>

#include "tidemark/ops/quantization/quantize.h"
#include "tidemark/trace/functions.h"
#include "tidemark/trace/trace.h"

namespace tidemark::optim {
namespace {

constexpr QuantFormat mean_format = QuantFormat::e4m3, variance_format = QuantFormat::e5m2;
static_assert(facts_of(mean_format).code_bits == facts_of(variance_format).code_bits);

std::int64_t coded_bytes(DType moment, std::int64_t count) {
  return quantized_bytes(mean_format, {moment, {count}});
}

// Rounded at random; `stream` tells apart uses of one key.
Tensor coded(const Tensor& x, QuantFormat format, const Tensor& key, std::int64_t stream) {
  return build({x, key},
               [&](Builder&, std::span<const Var> v) { return quantize(v[0], format, v[1], stream); });
}
Tensor decoded(const Tensor& codes, QuantFormat format, const Type& type) {
  return build({codes}, [&](Builder&, std::span<const Var> v) { return dequantize(v[0], format, type); });
}

// Numbers that are updated at once: whole blocks, an eighth of the parameter, so that decoded moments take a
// quarter of what its gradient does, and no more than 4 MiB each in f32; not so few that there are many
// kernels for little.
std::int64_t piece_of(std::int64_t count) {
  constexpr std::int64_t least = std::int64_t{1} << 13, most = std::int64_t{1} << 20;
  const std::int64_t eighth = (count / 8 + quant_block - 1) / quant_block * quant_block;
  return std::clamp(eighth, least, most);
}

}  // namespace

Tensor AdamW8bit::zero_codes(const Tensor& parameter) {
  if (!is_float(parameter.dtype())) return zeros({0}, DType::u8);
  return zeros({coded_bytes(moment_dtype(parameter.dtype()), parameter.count())}, DType::u8);
}

void AdamW8bit::advance(StateLists& state, const Tensors& gradients, SourceLine where) const {
  require_adam(beta1, beta2, eps, where);
  const Tensor before = state.count_step();
  Tensors &parameters = state["parameters"], &mean = state["mean"], &variance = state["variance"];
  const auto chosen =
      choose({lr, weight_decay, decay_rank, groups}, state.names(), parameters, before, where);
  const BiasCorrection correction(beta1, beta2, eps, before);
  const Tensor key = cast(before, DType::i64);
  std::int64_t stream = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (chosen[i].frozen) continue;
    // In pieces, each in place: what is decoded and coded again is never more than a piece.
    const std::int64_t count = parameters[i].count(), piece = piece_of(count);
    Tensor w = reshape(parameters[i], {count});
    const Tensor g = reshape(gradients[i], {count});
    for (std::int64_t begin = 0; begin < count; begin += piece) {
      const std::int64_t end = std::min(count, begin + piece);
      const Type type{moment_dtype(w.dtype()), {end - begin}};
      const std::int64_t first_code = coded_bytes(type.dtype, begin);
      const Range numbers{begin, end}, codes{first_code, first_code + coded_bytes(type.dtype, end - begin)};
      const auto part = [](const Tensor& whole, Range range) { return whole.at(range); };
      const Tensor slope = widened(part(g, numbers)), old = widened(part(w, numbers));
      const Tensor old_m = decoded(part(mean[i], codes), mean_format, type);
      const Tensor old_v = decoded(part(variance[i], codes), variance_format, type);
      const Tensor known_m = select(old_v > 0, old_m, scalar(0, type.dtype));  // its v was not lost
      const Tensor m = moving_mean(known_m, slope, beta1), v = moving_mean(old_v, square(slope), beta2);
      const Tensor rest = chosen[i].decayed(old);
      const Tensor change = correction.change(m, v, chosen[i]);
      w.at(numbers) = cast(rest - change, w.dtype());
      mean[i].at(codes) = coded(m, mean_format, key, stream++);
      variance[i].at(codes) = coded(v, variance_format, key, stream++);
    }
    parameters[i] = reshape(w, parameters[i].shape());
  }
}

}  // namespace tidemark::optim
