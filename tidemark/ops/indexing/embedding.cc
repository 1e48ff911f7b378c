#include "tidemark/ops/indexing/embedding.h"

#include "tidemark/base/error.h"
#include "tidemark/ops/indexing/index.h"

namespace tidemark {

Var embedding(const Var& table, const Var& positions) {
  if (table.shape().rank() != 2) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("embedding: the table is {}", to_string(table.type())),
          .expected = "a table (rows, width)",
          .where = table.builder().where()});
  }
  return take(table, positions, 0, "embedding: the index");
}

}  // namespace tidemark
