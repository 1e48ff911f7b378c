#include "tools/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tidemark/base/error.h"

namespace tidemark::cli {

std::string read_text(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.is_open() || in.bad() || errno == EISDIR)
    fail(ErrorCode::bad_file, {.what = fmt::format("cannot read {}: {}", path, std::strerror(errno))});
  return text;
}

void write_text(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out)
    fail(ErrorCode::bad_file, {.what = fmt::format("cannot write {}: {}", path, std::strerror(errno))});
}

}  // namespace tidemark::cli
