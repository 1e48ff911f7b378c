#include "tidemark/base/check.h"

#include "tidemark/base/error.h"

namespace tidemark::detail {

void check_failed(const char* condition, SourceLine where, const std::string& message) {
  throw InternalError(fmt::format("internal error: {} does not hold ({}){}{}", condition, short_form(where),
                                  message.empty() ? "" : ": ", message));
}

}  // namespace tidemark::detail
