// Any bytes are either a clean Error or tokens that are read, all of them and by windows.
#include <string>

#include "tests/fuzz/fuzz_entry.h"
#include "tidemark/base/check.h"
#include "tidemark/data/token_file.h"

extern "C" int tokens_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  try {
    const data::TokenFile file({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    const Tensor all = file.tokens(0, file.size());
    for (const std::int32_t token : all.data<std::int32_t>()) TM_CHECK(token >= 0);
    const auto windows = data::windows(file, 2, 1);
    TM_CHECK(windows.size == std::max<std::int64_t>(0, file.size() - 2));
    const std::int64_t last[] = {windows.size - 1};
    if (windows.size > 0) TM_CHECK(windows.gather(last).shape() == (Shape{1, 3}));
  } catch (const Error& error) {
    TM_CHECK(error.code() == ErrorCode::bad_data_file, "{}", error.what());
  }
  return 0;
}
