// Any text is either a clean Error or a machine that is written and read back as itself, and predicts finite
// times.
#include <cmath>
#include <string_view>

#include "tests/fuzz/fuzz_entry.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/plan/machine.h"

extern "C" int machine_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  Machine machine;
  try {
    machine = machine_from_json({reinterpret_cast<const char*>(data), size});
  } catch (const Error& error) {
    TM_CHECK(error.code() == ErrorCode::bad_machine_file, "{}", error.what());
    return 0;
  }
  const std::string text = to_json(machine);
  TM_CHECK(to_json(machine_from_json(text)) == text, "a machine changes when it is written and read");
  return 0;
}
