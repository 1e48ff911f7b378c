#include "tidemark/nn/generate.h"

#include <fmt/format.h>

#include "tidemark/base/call_site.h"

namespace tidemark::nn {

Tensor sample(const Operand& logits, const Tensor& key, const SamplingOptions& options) {
  const CallSite site(logits.where());
  const Tensor& given = logits.tensor();
  if (!(options.temperature >= 0) || options.top < 0 || (given.rank() > 0 && options.top > given.size(-1))) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("sample: temperature {}, top {}, of logits {}", options.temperature,
                              options.top, to_string(given.type())),
          .expected = "a temperature of 0 or more, and at most as many tokens as there are",
          .where = logits.where()});
  }
  if (options.temperature == 0) return argmax(logits, -1);
  Tensor scores = cast(logits, DType::f32), token;
  if (options.top > 0) std::tie(scores, token) = top_k(scores, options.top);
  // The largest of scores with Gumbel noise is a draw from their softmax.
  const Tensor noise = -log(-log(random_uniform(key, scores.shape())));
  const Tensor drawn = argmax(scores / options.temperature + noise, -1);
  return options.top > 0 ? squeeze(gather(token, expand_dims(drawn, -1), -1), -1) : drawn;
}

void check_generation(const Operand& prompt, std::int64_t count) {
  const Tensor& given = prompt.tensor();
  if (given.rank() != 2 || given.size(1) < 1 || is_float(given.dtype())) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("generate behind {}", to_string(given.type())),
                                     .expected = "a prompt of integers (B, T), T at least 1",
                                     .where = prompt.where()});
  }
  if (count < 1) {
    fail(
        ErrorCode::bad_attribute,
        {.what = fmt::format("generate {} tokens", count), .expected = "1 or more", .where = prompt.where()});
  }
}

}  // namespace tidemark::nn
