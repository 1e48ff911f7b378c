// Any text is either a clean Error or a plan that is written and read back as itself.
#include <string_view>

#include "tests/fuzz/fuzz_entry.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/plan/report/plan_json.h"

extern "C" int plan_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  PlanFile file;
  try {
    file = plan_file_from_json({reinterpret_cast<const char*>(data), size});
  } catch (const Error& error) {
    TM_CHECK(error.code() == ErrorCode::bad_plan_file, "{}", error.what());
    return 0;
  }
  const std::string text = to_json(file.plan, file.origin);
  const PlanFile again = plan_file_from_json(text);
  TM_CHECK(to_json(again.plan, again.origin) == text, "a plan changes when it is written and read");
  return 0;
}
