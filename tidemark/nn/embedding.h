// A table of vectors, one for each token.
#pragma once
#include <optional>

#include "tidemark/trace/functions.h"
#include "tidemark/trace/model_functions.h"
#include "tidemark/trace/tree.h"

namespace tidemark::nn {

struct Embedding {
  Tensor table;               // (vocabulary, width)
  std::int64_t padding = -1;  // the vector of this token is never trained; -1: all are
  TM_FIELDS(Embedding, table, padding)

  // The vector of the padding token is 0.
  static Embedding init(const Tensor& key, std::int64_t vocabulary, std::int64_t width,
                        std::optional<std::int64_t> padding = {},
                        SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& tokens) const;  // (…) → (…, width)
};

}  // namespace tidemark::nn
