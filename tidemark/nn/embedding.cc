#include "tidemark/nn/embedding.h"

#include <fmt/format.h>

#include "tidemark/base/call_site.h"

namespace tidemark::nn {

Embedding Embedding::init(const Tensor& key, std::int64_t vocabulary, std::int64_t width,
                          std::optional<std::int64_t> padding, SourceLine where) {
  const CallSite site(where);
  if (padding && (*padding < 0 || *padding >= vocabulary)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("an embedding with padding {}", *padding),
                                    .expected = fmt::format("one of the {} tokens", vocabulary),
                                    .where = where});
  }
  Tensor table = random_normal({key, where}, {vocabulary, width});
  if (padding) table.at(*padding) = 0;
  return {table, padding.value_or(-1)};
}
Tensor Embedding::operator()(const Operand& tokens) const {
  const CallSite site(tokens.where());
  const Tensor y = tidemark::embedding({table, tokens.where()}, tokens);
  if (padding < 0) return y;
  const Tensor pads = broadcast(expand_dims(tokens == padding, -1), y.shape());
  return select(pads, stop_gradient(y), y);
}

}  // namespace tidemark::nn
