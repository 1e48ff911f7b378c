// Runs that are killed, damaged and gone on with. TIDEMARK_KILLS says how many (200 if it does not).
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/crafted_journals.h"
#include "tests/support/killed_runs.h"
#include "tidemark/base/philox.h"

namespace tidemark::schedule {
namespace {

namespace fs = std::filesystem;
using testing::calls_of;
using testing::CraftedJournal;
using testing::Halves;
using testing::MortalRing;
using testing::reference;
using testing::Ring;
using testing::run_and_die;
using testing::Scratch;

// Damages a file of the run: a bit, a cut, a word, the file itself; of a journal also one word of a record,
// with a checksum that holds. True when it was such a record.
bool damage(const Scratch& scratch, std::array<std::uint32_t, 4> draw) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(scratch.path()))
    if (entry.is_regular_file() && entry.path().filename() != "lock") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty()) return false;
  const fs::path& file = files[draw[0] % files.size()];
  std::string bytes = testing::bytes_in(file);
  if (bytes.empty()) return false;
  const std::size_t at = draw[1] % bytes.size();
  const bool is_journal = file.filename() == "journal";
  bool crafted = false;
  switch (draw[2] % 5) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << draw[3] % 8));
      break;
    case 1:
      bytes.resize(at);
      break;
    case 2:
      bytes.replace(at, 8, std::string(8, static_cast<char>(draw[3])));
      break;
    case 3:
      fs::remove(file);
      return false;
    default:
      if (is_journal) {
        CraftedJournal journal = CraftedJournal::from(bytes);
        auto& frame = journal.frames[draw[1] % journal.frames.size()];
        if (frame.words() > 0)
          frame.set_word(draw[3] % frame.words(), std::uint64_t{draw[0]} << draw[3] % 33);
        bytes = journal.bytes();
        crafted = true;
      } else {
        bytes += std::string(draw[3] % 100, 'x');
      }
  }
  testing::put_bytes(file, bytes);
  return crafted;
}

TEST(ResumeSlow, GivesTheSameBitsAfterKillsAndDamage) {
  const char* const asked = std::getenv("TIDEMARK_KILLS");
  const unsigned kills = asked ? static_cast<unsigned>(std::strtoul(asked, nullptr, 10)) : 200;
  const Step steps = 400;
  const Ring::Adjoint expected = reference(steps);
  const auto schedule = Halves(steps, 3, 5).schedule();
  const Scratch scratch;
  RunOptions options{.levels = {{.slots = 3}, {.slots = 5, .directory = scratch.path()}},
                     .verify = Verify::replay,
                     .resume = true};
  const std::int64_t calls = calls_of(schedule, options);
  int forward = 0, reverse = 0, anew = 0, refused = 0, damaged = 0;
  for (unsigned seed = 0; seed < kills; ++seed) {
    options.io = seed % 2 ? Io::thread : Io::automatic;
    options.verify = seed % 3 ? Verify::replay : Verify::none;
    const auto draw = Philox{99}(seed);
    ASSERT_TRUE(run_and_die(schedule, options, draw[0] % calls)) << seed;
    if (seed % 4 == 0) run_and_die(schedule, options, draw[1] % calls);  // and once more while it goes on
    bool crafted = false;
    if (seed % 3 == 1) {
      crafted = damage(scratch, Philox{100}(seed));
      ++damaged;
    }
    MortalRing ring;
    Ring::State state = Ring::initial();
    Ring::Adjoint adjoint = Ring::zero();
    try {
      const Report report = run(ring, state, adjoint, schedule, options);
      (!report.resumed ? anew : report.resumed->in_reverse ? reverse : forward) += 1;
    } catch (const Error& error) {  // what cannot be true is refused; damage alone is healed
      ASSERT_TRUE(crafted) << seed << ": " << error.what();
      ++refused;
      fs::remove_all(scratch.path() + "/tidemark-run");
      continue;
    }
    ASSERT_EQ(adjoint, expected) << seed;
    ASSERT_TRUE(scratch.empty());
  }
  std::printf("%u kills, %d damaged: %d went on in the reverse, %d forward, %d anew, %d were refused\n",
              kills, damaged, reverse, forward, anew, refused);
  EXPECT_GT(reverse, static_cast<int>(kills) / 3);
  EXPECT_GT(forward + anew, 0);
  EXPECT_EQ(damaged, static_cast<int>((kills + 1) / 3));
}

}  // namespace
}  // namespace tidemark::schedule
