#include "tidemark/ops/normalization/labels.h"

#include <fmt/core.h>

#include "tidemark/base/error.h"

namespace tidemark {

void Labels::require_below(std::int64_t classes, std::string_view op, SourceLine where) const {
  for (std::int64_t i = 0; i < count(); ++i) {
    const std::int64_t label = read(i);
    if ((label >= 0 && label < classes) || (ignore_ && label == ignore_index_)) continue;
    fail(ErrorCode::index_out_of_range,
         {.what = fmt::format("{}: label {} of example {}", op, label, i),
          .expected = fmt::format("0 ≤ label < {} classes", classes),
          .where = where,
          .help =
              "examples that should not count may have a label of their own, such as -1: an option of nn's "
              "losses is {.ignore = -1}, of operations {.ignore = true, .ignore_index = -1}"});
  }
}

}  // namespace tidemark
