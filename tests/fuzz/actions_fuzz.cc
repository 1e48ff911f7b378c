// Any text is either a clean Error with a place, or a list that is judged; one that is a schedule is written
// and read back as itself.
#include <sstream>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_entry.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/schedule/action_text.h"
#include "tidemark/schedule/verify.h"

extern "C" int actions_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  using namespace tidemark::schedule;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    std::istringstream in(text);
    ActionReader reader(in, "fuzz.actions");
    const Verdict verdict = verify(reader.question(), reader);
    TM_CHECK(verdict.fault || verdict.seen.recorded >= reader.question().steps);
    std::istringstream again(text);
    ActionReader copy(again, "fuzz.actions");
    std::string written = header_text(copy.question()) + '\n';
    std::vector<Action> actions;
    for (Action action; copy.next(action);) {
      actions.push_back(action);
      written += to_text(action) + '\n';
    }
    std::istringstream in_back(written);
    ActionReader back(in_back, "back.actions");
    for (const Action& action : actions) {
      Action read;
      TM_CHECK(back.next(read) && read == action, "'{}'", to_text(action));
    }
  } catch (const Error& error) {
    TM_CHECK(error.where().known(), "an error without a place: {}", error.what());
  }
  return 0;
}
