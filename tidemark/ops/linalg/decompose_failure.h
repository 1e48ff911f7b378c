// What iterations over matrices can fail for: the first matrix of a batch that is no matrix of numbers, or on
// which LAPACK gave up.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tidemark/base/error.h"
#include "tidemark/ops/linalg/batch_slots.h"

namespace tidemark {

// On what is not finite LAPACK may give up late, or print a message of its own.
template <class T>
bool all_finite(const T* values, std::int64_t count) {
  return std::all_of(values, values + count, [](T x) { return std::isfinite(x); });
}

class DecomposeFailure {
 public:
  void not_finite(std::int64_t matrix) { first_.note(2 * matrix); }
  void diverged(std::int64_t matrix) { first_.note(2 * matrix + 1); }

  void raise(std::string_view op, const SourceLine& where) const {
    if (!first_.any()) return;
    const bool diverged = first_.number() % 2 == 1;
    fail(ErrorCode::numeric,
         {.what = fmt::format("{}: matrix {} {}", op, first_.number() / 2,
                              diverged ? "needs more iterations than LAPACK makes" : "holds NaN or infinity"),
          .expected = "matrices of finite numbers",
          .where = where,
          .help = diverged ? "scale its rows and columns to similar magnitudes, or add a little noise"
                           : "check how the matrix is made: isfinite(x) finds the elements"});
  }

 private:
  FirstFailure first_;
};

}  // namespace tidemark
