// Any text is either a clean Error or a profile that is written and read back as itself, and of which a page
// and a trace can be made.
#include <string_view>

#include "tests/fuzz/fuzz_entry.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/plan/profile/profile.h"

extern "C" int profile_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  Profile profile;
  try {
    profile = profile_from_json({reinterpret_cast<const char*>(data), size});
  } catch (const Error& error) {
    TM_CHECK(error.code() == ErrorCode::bad_plan_file, "{}", error.what());
    return 0;
  }
  const std::string text = to_json(profile);
  TM_CHECK(to_json(profile_from_json(text)) == text, "a profile changes when it is written and read");
  TM_CHECK(!profile.summary().empty() && !profile.to_trace().empty());
  return 0;
}
