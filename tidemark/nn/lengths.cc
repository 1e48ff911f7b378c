#include "tidemark/nn/lengths.h"

#include <fmt/format.h>

#include "tidemark/ops/indexing/index.h"
#include "tidemark/trace/trace.h"

namespace tidemark::nn {

Tensor checked_lengths(std::string_view what, const Operand& lengths, std::int64_t most) {
  if (!is_integer(lengths.tensor().dtype())) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("{}s are {}", what, to_string(lengths.tensor().type())),
          .expected = "integers",
          .where = lengths.where(),
          .help = "cast them, cast(lengths, DType::i64), or read them as integers"});
  }
  // Looking a length up among 0, …, most gives the length itself, and throws where there is none such.
  const Tensor places = arange(most + 1, DType::i64, lengths.where()), wide = cast(lengths, DType::i64);
  return build({{places, lengths.where()}, wide},
               [&](Builder&, std::span<const Var> v) { return take(v[0], v[1], 0, std::string(what)); });
}

}  // namespace tidemark::nn
