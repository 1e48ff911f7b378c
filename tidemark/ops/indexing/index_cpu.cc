#include "tidemark/ops/indexing/index_cpu.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"

namespace tidemark {

void check_indices(const KernelArgs& args, const TensorRef& indices, std::int64_t bound, const char* op,
                   std::string_view what) {
  with_indices(indices, [&](const auto* data) {
    const std::int64_t count = indices.count();
    for (std::int64_t i = 0; i < count; ++i) {
      if (0 <= data[i] && data[i] < bound) continue;
      Dims position = indices.shape;
      std::int64_t rest = i;
      for (int d = position.rank() - 1; d >= 0; --d) {
        position[d] = rest % indices.shape[d];
        rest /= indices.shape[d];
      }
      if (!what.empty()) {
        fail(ErrorCode::index_out_of_range,
             {.what = fmt::format("{} {} at {}", what, data[i], to_string(position)),
              .expected = fmt::format("0 to {}", bound - 1),
              .where = args.where});
      }
      fail(ErrorCode::index_out_of_range,
           {.what =
                fmt::format("{}: the index {} at {} of the indices is outside of the {} positions there are",
                            op, data[i], to_string(position), bound),
            .expected = fmt::format("indices in [0, {})", bound),
            .where = args.where,
            .help = data[i] < 0 ? "negative indices do not count from the end; add the size to them" : ""});
    }
  });
}

std::int64_t wide_sums_scratch(const Call& call) {
  const bool narrow = is_float(call.in[0].dtype) && size_of(call.in[0].dtype) == 2;
  return narrow ? call.out[0].count() * 4 : 0;
}

}  // namespace tidemark
