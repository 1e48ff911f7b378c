#include "tidemark/optim/settings.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/base/error.h"

namespace tidemark::optim {
namespace {

void require_setting(bool good, double value, std::string_view field, std::string_view expected,
                     SourceLine where) {
  if (good) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("an optimizer with .{} = {}", field, value),
                                  .expected = std::string(expected),
                                  .where = where});
}

}  // namespace

void require_rate(double value, std::string_view field, SourceLine where) {
  require_setting(std::isfinite(value) && value >= 0, value, field, "a finite number of at least 0", where);
}
void require_positive(double value, std::string_view field, SourceLine where) {
  require_setting(std::isfinite(value) && value > 0, value, field, "a finite number above 0", where);
}
void require_share(double value, std::string_view field, SourceLine where) {
  require_setting(value >= 0 && value < 1, value, field, "at least 0 and less than 1", where);
}
void require_float(DType value, std::string_view field, SourceLine where) {
  if (is_float(value)) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("an optimizer with .{} = {}", field, name_of(value)),
                                  .expected = "a floating-point dtype",
                                  .where = where});
}

}  // namespace tidemark::optim
