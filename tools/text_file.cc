#include "tools/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tidemark/base/error.h"

namespace tidemark::cli {

void flush_output() {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !failed_before) return;
  fail(ErrorCode::disk_full,
       {.what = fmt::format("the output could not be written: {}",
                            errno != 0 ? std::strerror(errno) : "a write failed before")});
}

}  // namespace tidemark::cli
