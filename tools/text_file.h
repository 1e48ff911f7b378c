// The command's own files: graphs and schedules come in whole, reports go out whole or not at all.
#pragma once
#include <string>

#include "tidemark/base/text_file.h"

namespace tidemark::cli {

inline constexpr Bytes most_input_bytes = Bytes(std::int64_t{256} << 20);

inline std::string read_text(const std::string& path, std::string_view what) {
  return read_text_file(path, what, most_input_bytes);
}
inline void write_text(const std::string& path, std::string_view text) { write_text_file(path, text); }

// What went to standard output has reached it; else Error `disk_full` or `bad_file`.
void flush_output();

}  // namespace tidemark::cli
