// What a run does when the machine fails it: damaged files, a full disk, directories that cannot be used.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <fstream>

#include "tests/support/killed_runs.h"
#include "tidemark/base/error.h"
#include "tidemark/schedule/store/store_files.h"

namespace tidemark::schedule {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::Halves;
using ::testing::HasSubstr;
using testing::MortalRing;
using testing::reference;
using testing::Ring;
using testing::run_and_die;
using testing::Scratch;
using testing::WrittenSchedule;

constexpr Step steps = 60;

// Every state in a file but the first, which is in memory: 0, 10, 20, …; records from memory.
WrittenSchedule outer_in_files() { return Halves(steps, 2, 4).schedule(); }

RunOptions options_in(const Scratch& scratch) {
  return {.levels = {{.slots = 2}, {.slots = 4, .directory = scratch.path()}}, .io = Io::blocking};
}

// Damages one file of the run in the middle of it.
struct Vandal : Ring {
  const Scratch* scratch = nullptr;
  std::function<void(const fs::path&)> damage = {};
  Step when = steps - 1;  // at the reverse of this step
  int damaged = 0;
  void reverse(const State& x, Adjoint& a, Step i) {
    if (i == when)
      for (const fs::path& file : scratch->snapshots())
        if (file.filename().string().starts_with("level")) damage(file), ++damaged;
    Ring::reverse(x, a, i);
  }
};

void flip_a_bit(const fs::path& file) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(-3, std::ios::end);
  const char byte = static_cast<char>(stream.get() ^ 4);
  stream.seekp(-3, std::ios::end);
  stream.put(byte);
}

TEST(RunFaults, HealsSnapshotsThatWereDamagedOnTheDisk) {
  const std::vector<std::function<void(const fs::path&)>> damages = {
      flip_a_bit, [](const fs::path& file) { fs::resize_file(file, 70); },
      [](const fs::path& file) { fs::resize_file(file, 0); }, [](const fs::path& file) { fs::remove(file); },
      [](const fs::path& file) {
        fs::copy_file(file.parent_path() / "lock", file, fs::copy_options::overwrite_existing);
      }};
  for (const auto& damage : damages)
    for (const bool resume : {false, true})
      for (const Verify verify : {Verify::none, Verify::replay}) {
        const Scratch scratch;
        Vandal vandal;
        vandal.scratch = &scratch;
        vandal.damage = damage;
        RunOptions options = options_in(scratch);
        options.resume = resume;
        options.verify = verify;
        Ring::State state = Ring::initial();
        Ring::Adjoint adjoint = Ring::zero();
        const Report report = run(vandal, state, adjoint, outer_in_files(), options);
        EXPECT_EQ(adjoint, reference(steps));
        EXPECT_GE(vandal.damaged, 2);
        ASSERT_FALSE(report.healed.empty());
        EXPECT_EQ(report.healed[0].level, 1);
        EXPECT_LT(report.healed[0].from, report.healed[0].step);
        EXPECT_GT(report.repeated, 0);
        EXPECT_THAT(report.summary(), HasSubstr("damaged snapshots recomputed"));
        EXPECT_TRUE(scratch.empty());
      }
}

TEST(RunFaults, SaysWhenNothingIsLeftToHealFrom) {
  const Scratch scratch;
  Vandal vandal;
  vandal.scratch = &scratch;
  vandal.damage = flip_a_bit;
  RunOptions options = options_in(scratch);
  options.levels = {{.slots = 0}, {.slots = 4, .directory = scratch.path()}};
  options.resume = true;
  const WrittenSchedule schedule = Halves(steps, 0, 4).schedule();  // state 0 is in a file, too
  Ring::State state = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  try {
    run(vandal, state, adjoint, schedule, options);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::snapshot_lost);
    EXPECT_THAT(error.what(), HasSubstr("state 0"));
  }
  // The caller has the initial state: with it, the run goes on.
  Ring ring;
  state = Ring::initial();
  adjoint = Ring::zero();
  const Report report = run(ring, state, adjoint, schedule, options);
  EXPECT_EQ(adjoint, reference(steps));
  EXPECT_TRUE(report.resumed);
}

TEST(RunFaults, HealsWhatWasDamagedWhileTheRunWasDown) {
  for (const bool adjoint_too : {false, true}) {
    const Scratch scratch;
    RunOptions options = options_in(scratch);
    options.resume = true;
    ASSERT_TRUE(run_and_die(outer_in_files(), options, 150));
    for (const fs::path& file : scratch.snapshots())
      if (adjoint_too || file.filename().string().starts_with("level")) flip_a_bit(file);
    Ring ring;
    Ring::State state = Ring::initial();
    Ring::Adjoint adjoint = Ring::zero();
    const Report report = run(ring, state, adjoint, outer_in_files(), options);
    EXPECT_EQ(adjoint, reference(steps));
    EXPECT_EQ(report.resumed.has_value(), !adjoint_too)
        << "without an adjoint there is nothing to go on from";
  }
}

TEST(RunFaults, GoesOnFromAJournalWithATornEnd) {
  const Scratch scratch;
  RunOptions options = options_in(scratch);
  options.resume = true;
  ASSERT_TRUE(run_and_die(outer_in_files(), options, 150));
  const fs::path journal = fs::path(scratch.path()) / "tidemark-run" / "journal";
  for (const std::uintmax_t cut : {7u, 30u, 200u}) {
    fs::resize_file(journal, fs::file_size(journal) - cut);
    Ring ring;
    Ring::State state = Ring::initial();
    Ring::Adjoint adjoint = Ring::zero();
    run(ring, state, adjoint, outer_in_files(), options);
    EXPECT_EQ(adjoint, reference(steps)) << cut;
    ASSERT_TRUE(run_and_die(outer_in_files(), options, 150));
  }
}

// In a child, because the limit is the process's: files may have `bytes` bytes, as on a disk that is full.
int run_with_small_files(const Scratch& scratch, Io io, rlim_t bytes) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    RunOptions options = options_in(scratch);
    options.resume = true;
    options.io = io;
    Ring ring;
    Ring::State state = Ring::initial();
    Ring::Adjoint adjoint = Ring::zero();
    try {
      run(ring, state, adjoint, outer_in_files(), options);
    } catch (const Error& error) {
      ::_exit(error.code() == ErrorCode::disk_full ? 3 : 4);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RunFaults, SaysThatTheDiskIsFullAndLosesNothing) {
  for (const Io io : {Io::automatic, Io::thread, Io::blocking})
    for (const rlim_t bytes :
         {80u, 1500u, 2500u}) {  // no room for a snapshot; for the journal, sooner and later
      const Scratch scratch;
      ASSERT_EQ(run_with_small_files(scratch, io, bytes), 3) << bytes;
      RunOptions options = options_in(scratch);
      options.resume = true;
      Ring ring;
      Ring::State state = Ring::initial();
      Ring::Adjoint adjoint = Ring::zero();
      const Report report = run(ring, state, adjoint, outer_in_files(), options);
      EXPECT_EQ(adjoint, reference(steps));
      EXPECT_EQ(report.resumed.has_value(), bytes > 80) << bytes;
      EXPECT_TRUE(scratch.empty());
    }
}

TEST(RunFaults, RefusesDirectoriesThatCannotBeUsed) {
  const Scratch scratch;
  std::ofstream(scratch.path() + "/file") << "not a directory";
  const auto refusal = [&](const std::string& directory, const std::string& name = "run") {
    RunOptions options{.levels = {{.slots = 2}, {.slots = 4, .directory = directory}}, .name = name};
    Ring ring;
    Ring::State state = Ring::initial();
    Ring::Adjoint adjoint = Ring::zero();
    try {
      run(ring, state, adjoint, outer_in_files(), options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(refusal(scratch.path() + "/missing"),
              AllOf(HasSubstr("TM0704"), HasSubstr("is not a directory")));
  EXPECT_THAT(refusal(scratch.path() + "/file"), AllOf(HasSubstr("TM0704"), HasSubstr("is not a directory")));
  EXPECT_THAT(refusal("/proc"), AllOf(HasSubstr("TM0704"), HasSubstr("cannot be made")));  // not even by root
  const Scratch untouched;
  Ring ring;
  Ring::State state = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  EXPECT_THROW(
      run(ring, state, adjoint, 50, {.levels = {{.bytes = Bytes(1), .directory = untouched.path()}}}), Error);
  EXPECT_TRUE(untouched.empty()) << "a run that cannot begin leaves nothing behind";
  EXPECT_THAT(refusal(scratch.path(), "../elsewhere"),
              AllOf(HasSubstr("TM0701"), HasSubstr("cannot be named")));
}

TEST(RunFaults, RefusesADirectoryThatAnotherRunIsUsing) {
  struct Second : Ring {
    const RunOptions* options = nullptr;
    std::string refusal = "not tried";
    void seed(const State& last, Adjoint& a) {
      Ring ring;
      State state = initial();
      Adjoint adjoint = zero();
      try {
        run(ring, state, adjoint, outer_in_files(), *options);
        refusal = "no error";
      } catch (const Error& error) {
        refusal = error.what();
      }
      Ring::seed(last, a);
    }
  } stepper;
  const Scratch scratch;
  const RunOptions options = options_in(scratch);
  stepper.options = &options;
  Ring::State state = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  run(stepper, state, adjoint, outer_in_files(), options);
  EXPECT_THAT(stepper.refusal, HasSubstr("another run is using"));
  EXPECT_EQ(adjoint, reference(steps));
}

TEST(RunFaults, LeavesFilesOfOthersAlone) {
  const Scratch scratch;
  fs::create_directory(scratch.path() + "/tidemark-run");
  std::ofstream(scratch.path() + "/tidemark-run/notes.txt") << "mine";
  std::ofstream(scratch.path() + "/precious") << "mine";
  Ring ring;
  Ring::State state = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  run(ring, state, adjoint, outer_in_files(), options_in(scratch));
  EXPECT_EQ(adjoint, reference(steps));
  EXPECT_TRUE(fs::exists(scratch.path() + "/tidemark-run/notes.txt"));
  EXPECT_TRUE(fs::exists(scratch.path() + "/precious"));
  EXPECT_TRUE(scratch.snapshots().empty());
}

std::string refusal(const RunOptions& options) {
  Ring ring;
  Ring::State state = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  try {
    run(ring, state, adjoint, outer_in_files(), options);
  } catch (const Error& error) {
    return error.what();
  }
  return adjoint == reference(steps) ? "no error" : "a wrong gradient";
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(RunFaults, RefusesALinkInThePlaceOfItsFolder) {
  const Scratch scratch, victim;
  write_file(victim.path() + "/level1-slot0-1.snapshot", "precious");
  fs::create_directory_symlink(victim.path(), scratch.path() + "/tidemark-run");
  for (const bool resume : {false, true}) {
    RunOptions options = options_in(scratch);
    options.resume = resume;
    EXPECT_THAT(refusal(options), AllOf(HasSubstr("TM0704"), HasSubstr("symbolic link")));
    EXPECT_EQ(text_of(victim.path() + "/level1-slot0-1.snapshot"), "precious");
  }
}

TEST(RunFaults, DoesNotFollowLinksWithinItsFolder) {
  for (const char* name : {"journal", "level1-slot0-1.snapshot", "level1-slot0-2.snapshot", "lock"})
    for (const bool resume : {false, true}) {
      const Scratch scratch, victim;
      write_file(victim.path() + "/precious", "mine");
      fs::create_directory(scratch.path() + "/tidemark-run");
      fs::create_symlink(victim.path() + "/precious", scratch.path() + "/tidemark-run/" + name);
      RunOptions options = options_in(scratch);
      options.resume = resume;
      EXPECT_THAT(refusal(options), ::testing::AnyOf(HasSubstr("no error"), HasSubstr("TM0704"))) << name;
      EXPECT_EQ(text_of(victim.path() + "/precious"), "mine") << name;
    }
}

TEST(RunFaults, KeepsItsFilesFromOtherUsers) {
  struct Looking : Ring {
    const Scratch* scratch = nullptr;
    int seen = 0;
    void reverse(const State& x, Adjoint& a, Step i) {
      for (const auto& entry : fs::recursive_directory_iterator(scratch->path())) {
        EXPECT_EQ(entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all),
                  fs::perms::none)
            << entry.path();
        ++seen;
      }
      Ring::reverse(x, a, i);
    }
  } stepper;
  const Scratch scratch;
  stepper.scratch = &scratch;
  RunOptions options = options_in(scratch);
  options.resume = true;
  Ring::State state = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  run(stepper, state, adjoint, outer_in_files(), options);
  EXPECT_GT(stepper.seen, 100);
}

TEST(RunFaults, FilesWithoutNamesAreNeverSeenAndLeaveNothingBehind) {
  struct Looking : Ring {
    const Scratch* scratch = nullptr;
    void reverse(const State& x, Adjoint& a, Step i) {
      EXPECT_TRUE(scratch->empty());
      Ring::reverse(x, a, i);
    }
  } stepper;
  const Scratch scratch;
  stepper.scratch = &scratch;
  for (const Io io : {Io::automatic, Io::thread, Io::blocking})
    for (const bool direct : {false, true}) {
      RunOptions options = options_in(scratch);
      options.unnamed = true;
      options.io = io;
      options.direct = direct;
      Ring::State state = Ring::initial();
      Ring::Adjoint adjoint = Ring::zero();
      const Report report = run(stepper, state, adjoint, outer_in_files(), options);
      EXPECT_EQ(adjoint, reference(steps));
      EXPECT_GT(report.levels[1].writes, 3);
      ASSERT_TRUE(run_and_die(outer_in_files(), options, 150));
      EXPECT_TRUE(scratch.empty()) << "nor after a kill";
    }
  RunOptions options = options_in(scratch);
  options.unnamed = options.resume = true;
  EXPECT_THAT(refusal(options), HasSubstr("cannot be resumed"));
}

TEST(RunFaults, ADurableRunGivesTheSameBits) {
  const Scratch scratch;
  RunOptions options = options_in(scratch);
  options.resume = options.durable = true;
  ASSERT_TRUE(run_and_die(outer_in_files(), options, 150));
  EXPECT_EQ(refusal(options), "no error");
  EXPECT_TRUE(scratch.empty());
}

TEST(RunFaults, KeepsAResumableRunWhenAStepThrows) {
  struct Interrupted : Ring {
    bool interrupt = true;
    void reverse(const State& x, Adjoint& a, Step i) {
      if (interrupt && i == 20) throw std::runtime_error("interrupted");
      Ring::reverse(x, a, i);
    }
  } stepper;
  const Scratch scratch;
  RunOptions options = options_in(scratch);
  options.resume = true;
  options.io = Io::automatic;
  Ring::State state = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  EXPECT_THROW(run(stepper, state, adjoint, outer_in_files(), options), std::runtime_error);
  stepper.interrupt = false;
  state = Ring::initial();
  adjoint = Ring::zero();
  const Report report = run(stepper, state, adjoint, outer_in_files(), options);
  EXPECT_EQ(adjoint, reference(steps));
  ASSERT_TRUE(report.resumed);
  EXPECT_TRUE(report.resumed->in_reverse);
}

}  // namespace
}  // namespace tidemark::schedule
