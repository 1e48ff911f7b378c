#include "tidemark/schedule/store/snapshot.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"

namespace tidemark::schedule::detail {

void refuse_snapshot(const char* what, std::size_t there, std::size_t needed) {
  fail(ErrorCode::run_directory,
       {.what =
            fmt::format("a snapshot does not have the form of its type: {} of {} bytes, where there are {}",
                        what, needed, there),
        .expected = "bytes that this program has saved from a value of the same type",
        .help = "after a change to the type, remove the run's folder or say resume = false"});
}

}  // namespace tidemark::schedule::detail
