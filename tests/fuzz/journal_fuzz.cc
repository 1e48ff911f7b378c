// Whatever the records of a journal say, with checksums that hold: a run that goes on from it gives the right
// gradient or a clean Error.
#include "tests/fuzz/crafted_run.h"
#include "tests/fuzz/fuzz_entry.h"

extern "C" int journal_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::schedule::testing;
  const CraftedRun& run = crafted_run(size % 2 == 0);
  CraftedJournal journal = CraftedJournal::from(run.folder().bytes("journal"));
  for (const Edit& edit : edits_of(data, size)) {
    if (journal.frames.empty()) break;
    const auto at = journal.frames.begin() + edit.target % static_cast<std::ptrdiff_t>(journal.frames.size());
    switch (edit.kind >> 5) {
      case 0: {
        const CraftedFrame copy = *at;
        journal.frames.insert(at, copy);
        break;
      }
      case 1:
        journal.frames.erase(at);
        break;
      case 2:
        at->kind = static_cast<char>("IPLHSAN?"[edit.at % 8]);
        break;
      case 3:
        std::swap(*at, journal.frames[edit.at % journal.frames.size()]);
        break;
      default:
        apply(edit, at->payload);
    }
  }
  run.go_on_after([&] { put_bytes(run.folder().path("journal"), journal.bytes()); });
  return 0;
}
