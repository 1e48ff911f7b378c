#include "tidemark/nn/lengths.h"

#include <fmt/format.h>

namespace tidemark::nn {

Tensor checked_lengths(std::string_view whose, const Operand& lengths, std::int64_t most) {
  if (!is_integer(lengths.tensor().dtype())) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("{} with lengths {}", whose, to_string(lengths.tensor().type())),
          .expected = "integers",
          .where = lengths.where(),
          .help = "cast them, cast(lengths, DType::i64), or read them as integers"});
  }
  // Looking a length up among 0, …, most gives the length itself, and throws where there is none such.
  return take({arange(most + 1), lengths.where()}, cast(lengths, DType::i64), 0);
}

}  // namespace tidemark::nn
