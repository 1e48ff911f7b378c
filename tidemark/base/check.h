// TM_CHECK guards our own invariants and is always on; a failure is an InternalError with the place and the
// values.
#pragma once
#include <fmt/core.h>

#include <string>

#include "tidemark/base/source.h"

namespace tidemark::detail {
[[noreturn]] void check_failed(const char* condition, SourceLine where, const std::string& message);
}

#define TM_CHECK(condition, ...)                                                                  \
  (static_cast<bool>(condition)                                                                   \
       ? void(0)                                                                                  \
       : ::tidemark::detail::check_failed(#condition, ::tidemark::SourceLine(__FILE__, __LINE__), \
                                          ::fmt::format("" __VA_ARGS__)))

#ifdef NDEBUG
#define TM_DCHECK(condition, ...) void(0)
#else
#define TM_DCHECK(condition, ...) TM_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#endif
