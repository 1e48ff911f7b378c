// A number of bytes as reports print it: exactly, and rounded beside it once that helps.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "tidemark/base/bytes.h"

namespace tidemark::cli {

inline std::string exact_size(std::int64_t bytes) {
  return bytes < 1024 ? fmt::format("{} bytes", bytes)
                      : fmt::format("{} bytes ({})", bytes, to_string(Bytes(bytes)));
}

}  // namespace tidemark::cli
