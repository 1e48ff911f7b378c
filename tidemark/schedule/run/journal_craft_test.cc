// Journals whose checksums hold and whose contents do not: a run that goes on from one gives the right
// gradient or an Error, whatever a record says.
#include <gmock/gmock.h>

#include "tests/support/crafted_journals.h"
#include "tests/support/sanitized.h"
#include "tidemark/schedule/run.h"

namespace tidemark::schedule {
namespace {

using ::testing::AnyOf;
using testing::bytes_in;
using testing::CraftedFrame;
using testing::CraftedJournal;
using testing::Fate;
using testing::fate_of;
using testing::FolderCopy;
using testing::Halves;
using testing::put_bytes;
using testing::reference;
using testing::Ring;
using testing::Scratch;

constexpr Step steps = 60;

// A ring whose steps ask the log for their size, which is always the same: the gradient is the ring's own.
struct LoggingRing : testing::MortalRing {
  void advance(State& x, Steps range, StepLog& log) {
    for (Step i = range.begin; i < range.end; ++i) {
      scale = log.once(i, [] { return 1.0; });
      x[0] *= scale;
      MortalRing::advance(x, {i, i + 1});
    }
  }
  State record(State& x, Step i, StepLog& log) {
    x[0] *= log.once(i, [] { return 1.0; });
    return MortalRing::record(x, i);
  }
  double scale = 1;
};

// One way to run: begun in a child that dies after some calls, gone on with in another.
struct Case {
  const char* name;
  std::function<Ring::Adjoint(LoggingRing&, const RunOptions&)> go;
  std::int64_t slots_in_memory;
};

Ring::Adjoint on_a_schedule(LoggingRing& ring, const RunOptions& options) {
  Ring::State state = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  run(ring, state, adjoint, Halves(steps, 2, 4).schedule(), options);
  return adjoint;
}

Ring::Adjoint for_steps(LoggingRing& ring, const RunOptions& options) {
  Ring::State state = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  run(ring, state, adjoint, steps, options);
  return adjoint;
}

Ring::Adjoint until_the_end(LoggingRing& ring, const RunOptions& options) {
  Ring::State state = Ring::initial();
  RunOptions one = options;
  one.levels.erase(one.levels.begin());
  const auto final = [](const Ring::State& last) {
    Ring::Adjoint adjoint = Ring::zero();
    Ring().seed(last, adjoint);
    return adjoint;
  };
  return run_while(
             ring, state, final, [](const Ring::State&, Step i) { return i < steps; }, one)
      .adjoint;
}

const std::vector<Case> cases = {{"on a schedule", on_a_schedule, 2},
                                 {"for a number of steps", for_steps, 2},
                                 {"until the end", until_the_end, 2}};

RunOptions options_in(const Scratch& scratch) {
  return {
      .levels = {{.slots = 2}, {.slots = 4, .directory = scratch.path(), .write_cost = 1, .read_cost = 1}},
      .kind = Kind::multilevel,
      .verify = Verify::replay,
      .resume = true,
      .io = Io::blocking};
}

// Kills the run after so many calls; false when it was over by then.
bool leave_behind(const Case& way, const RunOptions& options, std::int64_t calls) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      LoggingRing ring;
      ring.calls_left = calls;
      way.go(ring, options);
    } catch (...) {
      ::_exit(2);
    }
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

class Attack {
 public:
  Attack(const Case& way, std::int64_t calls) : way_(way), options_(options_in(scratch_)) {
    died_ = leave_behind(way, options_, calls);
    if (died_) folder_.emplace(scratch_.path() + "/tidemark-run");
  }
  bool ready() const { return died_; }
  CraftedJournal journal() const { return CraftedJournal::from(folder_->bytes("journal")); }
  const FolderCopy& folder() const { return *folder_; }

  Fate with(const CraftedJournal& journal, std::string* text = nullptr) const {
    return after([&] { put_bytes(folder_->path("journal"), journal.bytes()); }, text);
  }
  Fate after(const std::function<void()>& damage, std::string* text = nullptr) const {
    folder_->restore();
    damage();
    return fate_of(
        [&] {
          LoggingRing ring;
          return way_.go(ring, options_) == reference(steps);
        },
        text);
  }

 private:
  Scratch scratch_;
  const Case& way_;
  RunOptions options_;
  bool died_ = false;
  std::optional<FolderCopy> folder_;
};

#define EXPECT_HARMLESS(fate, ...)                                                             \
  do {                                                                                         \
    const Fate got = (fate);                                                                   \
    EXPECT_TRUE(got == Fate::right || got == Fate::error) << name_of(got) << ": " __VA_ARGS__; \
  } while (false)

constexpr std::uint64_t largest = ~std::uint64_t{0}, half = std::uint64_t{1} << 63;

TEST(CraftedJournal, LeftAloneItIsGoneOnWith) {
  for (const Case& way : cases) {
    const Attack attack(way, 200);
    ASSERT_TRUE(attack.ready()) << way.name;
    CraftedJournal journal = attack.journal();
    EXPECT_EQ(journal.bytes(), attack.folder().bytes("journal")) << way.name;
    for (const char kind : {'I', 'P', 'S', 'A', 'H', 'L'})
      EXPECT_TRUE(journal.last(kind)) << kind << way.name;
    std::string text;
    EXPECT_EQ(attack.with(journal, &text), Fate::right) << way.name << text;
  }
}

TEST(CraftedJournal, HashesBeyondTheEndAreRefused) {
  const Attack attack(cases[0], 200);
  for (const std::uint64_t first : {largest, largest - 1, half, half - 1, std::uint64_t{1} << 60,
                                    std::uint64_t{1} << 32, std::uint64_t{1} << 31, std::uint64_t{61}}) {
    CraftedJournal journal = attack.journal();
    journal.last('H')->set_word(0, first);
    EXPECT_HARMLESS(attack.with(journal), << first);
  }
}

TEST(CraftedJournal, AnAdjointElsewhereInTheScheduleIsRefused) {
  for (const Case& way : cases) {
    const Attack attack(way, 200);
    const std::uint64_t action = attack.journal().last('A')->word(testing::action_word);
    for (const std::uint64_t to : {half, half - 1, largest, largest - 1, action + 1, action - 1, action + 7,
                                   action / 2, std::uint64_t{0}, std::uint64_t{1} << 40}) {
      CraftedJournal journal = attack.journal();
      journal.last('A')->set_word(testing::action_word, to);
      EXPECT_HARMLESS(attack.with(journal), << way.name << ", action " << to << " instead of " << action);
    }
  }
}

TEST(CraftedJournal, APlanForAnotherNumberOfStepsIsRefused) {
  const Attack attack(cases[1], 200);
  const std::string whole = attack.journal().last('P')->payload;
  for (const char* number : {"59", "61", "30", "1", "0", "-1", "1000000000000", "1e12", "\"60\"", "null"}) {
    CraftedJournal journal = attack.journal();
    std::string& plan = journal.last('P')->payload;
    const std::size_t at = plan.find("\"steps\":60");
    ASSERT_NE(at, std::string::npos) << plan;
    plan.replace(at, 10, std::string("\"steps\":") + number);
    EXPECT_HARMLESS(attack.with(journal), << plan);
  }
}

TEST(CraftedJournal, SizesThatNoFileHasAreRefused) {
  const Attack attack(cases[0], 200);
  for (const char kind : {'A', 'S'})
    for (const std::uint64_t bytes :
         {largest, largest - 63, largest - 64, half, std::uint64_t{1} << 62, std::uint64_t{8} << 30,
          std::uint64_t{1} << 40, std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{39}, std::uint64_t{41}}) {
      CraftedJournal journal = attack.journal();
      for (CraftedFrame& frame : journal.frames)
        if (frame.kind == kind) frame.set_word(testing::bytes_word, bytes);
      EXPECT_HARMLESS(attack.with(journal), << kind << " of " << bytes << " bytes");
    }
}

// Every word of every record, one at a time; the numbers in what is text.
TEST(CraftedJournal, AnyFieldOfAnyRecordIsHarmless) {
  if (looks_for_races) GTEST_SKIP() << "one thread reads a journal";
  const std::vector<std::uint64_t> values = {
      0, 1, largest, std::uint64_t{1} << 31, std::uint64_t{1} << 32, half, half - 1, std::uint64_t{1} << 40};
  const std::vector<const char*> numbers = {
      "0", "1", "-1", "2147483648", "1000000000000", "9223372036854775807", "1e308", "\"x\"", "[]"};
  int tried = 0;
  for (const Case& way : cases)
    for (const std::int64_t calls :
         few ? std::vector<std::int64_t>{200} : std::vector<std::int64_t>{45, 200}) {
      const Attack attack(way, calls);
      if (!attack.ready()) continue;
      const CraftedJournal whole = attack.journal();
      const auto attempt = [&](const CraftedJournal& journal, const std::string& what) {
        std::string text;
        const Fate fate = attack.with(journal, &text);
        ++tried;
        EXPECT_TRUE(fate == Fate::right || fate == Fate::error)
            << name_of(fate) << ": " << way.name << " after " << calls << " calls, " << what << "\n"
            << text;
      };
      for (std::size_t f = 0; f < whole.frames.size(); ++f) {
        const CraftedFrame& frame = whole.frames[f];
        const std::string name = std::string("record ") + std::to_string(f) + " '" + frame.kind + "'";
        const std::size_t share = few ? 20 : 10;  // of the values, others for each field
        if (frame.kind == 'I' || frame.kind == 'P') {
          for (std::size_t at = 0; at < frame.payload.size(); ++at) {
            const std::size_t end = frame.payload.find_first_not_of("0123456789", at);
            if (end == at || end == std::string::npos) continue;
            for (std::size_t n = f % share; n < numbers.size(); n += share) {
              CraftedJournal journal = whole;
              journal.frames[f].payload.replace(at, end - at, numbers[n]);
              attempt(journal, name + ": " + journal.frames[f].payload);
            }
            at = end;
          }
        } else {
          const std::size_t words = std::min<std::size_t>(frame.words(), 12);
          for (std::size_t w = 0; w < words; ++w) {
            std::vector<std::uint64_t> all = values;
            all.insert(all.end(), {frame.word(w) + 1, frame.word(w) - 1});
            for (std::size_t v = (f + w) % share; v < all.size(); v += share) {
              if (all[v] == frame.word(w)) continue;
              CraftedJournal journal = whole;
              journal.frames[f].set_word(w, all[v]);
              attempt(journal, name + ", word " + std::to_string(w) + " = " + std::to_string(all[v]));
            }
          }
        }
        for (const std::size_t length :
             {frame.payload.size() - 1, frame.payload.size() / 2, std::size_t{0}}) {
          CraftedJournal journal = whole;
          journal.frames[f].payload.resize(length);
          attempt(journal, name + " cut to " + std::to_string(length));
        }
        CraftedJournal without = whole, twice = whole;
        without.frames.erase(without.frames.begin() + static_cast<std::ptrdiff_t>(f));
        attempt(without, name + " left out");
        twice.frames.insert(twice.frames.begin() + static_cast<std::ptrdiff_t>(f), frame);
        attempt(twice, name + " twice");
        if (f > 0) {
          CraftedJournal swapped = whole;
          std::swap(swapped.frames[f], swapped.frames[f - 1]);
          attempt(swapped, name + " before the one before it");
        }
      }
    }
  EXPECT_GT(tried, few ? 100 : 600);
}

}  // namespace
}  // namespace tidemark::schedule
