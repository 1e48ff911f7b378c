// Laws of running schedules, on the wave equation in f64: whatever the kind, wherever states are kept and
// however replays are verified, the gradient passes the Taylor test and has the bits of storing everything.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/schedule_laws/wave_case.h"
#include "tests/support/sanitized.h"
#include "tidemark/schedule/run.h"

namespace tidemark::testing {
namespace {

using namespace schedule;

constexpr Step steps = few ? 24 : 72;
constexpr std::int64_t state_bytes = 2 * sizeof(double) * wave_rows * wave_columns;

enum class SlotStore { memory, files, files_by_thread };
constexpr const char* place_names[] = {"memory", "files", "files by a thread"};

// A folder of this test's own, gone with it.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tidemark_wave_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  const std::string& path() const { return path_; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

// Room for a tenth of the states on one level, or for a few of them in memory and more beyond. The costs are
// given, so that no clock decides the plan.
std::vector<RunLevel> levels_for(Kind kind, const std::string& directory) {
  const RunLevel last{
      .bytes = Bytes(8 * state_bytes), .directory = directory, .write_cost = 1, .read_cost = 1};
  switch (kind) {
    case Kind::store_all:
      return {{.directory = directory, .write_cost = 0, .read_cost = 0}};
    case Kind::multilevel:
      return {{.bytes = Bytes(3 * state_bytes)}, last};
    case Kind::disk:
    case Kind::background:
      return {{.bytes = Bytes(3 * state_bytes)}, {.directory = directory, .write_cost = 1, .read_cost = 1}};
    default:
      return {last};
  }
}

class WaveLaws : public ::testing::TestWithParam<Kind> {};

TEST_P(WaveLaws, GradientsAreTrueAndHaveTheBitsOfStoringEverything) {
  const WaveCase<double> test(steps);
  const wave::Adjoint<double> expected = test.store_all();
  for (const SlotStore place : {SlotStore::memory, SlotStore::files, SlotStore::files_by_thread})
    for (const Verify verify : {Verify::none, Verify::replay}) {
      const bool files = place != SlotStore::memory;
      SCOPED_TRACE(std::string(place_names[static_cast<std::size_t>(place)]) +
                   (verify == Verify::replay ? ", replay" : ""));
      const Scratch scratch;
      const std::vector<RunLevel> levels = levels_for(GetParam(), files ? scratch.path() : "");
      wave::Stepper<double> stepper = test.stepper();
      wave::State<double> state = test.start;
      wave::Adjoint<double> adjoint(wave_rows, wave_columns);
      const Report report = run(stepper, state, adjoint, steps,
                                {.levels = levels,
                                 .kind = GetParam(),
                                 .verify = verify,
                                 .io = place == SlotStore::files_by_thread ? Io::thread : Io::automatic});

      EXPECT_TRUE(adjoint == expected);
      EXPECT_NEAR(taylor_rate(test, adjoint), 2, 0.02);
      EXPECT_EQ(report.reversed, steps);
      EXPECT_EQ(report.actual_forward(), report.predicted_forward());
      EXPECT_GE(report.actual_forward(), steps);
      if (GetParam() != Kind::automatic) {
        EXPECT_EQ(report.promise.kind, GetParam());
      }
      ASSERT_EQ(report.levels.size(), levels.size());
      for (std::size_t l = 0; l < levels.size(); ++l) {
        if (levels[l].bytes.count >= 0) {
          EXPECT_LE(report.levels[l].peak_bytes, levels[l].bytes);
        }
      }
      EXPECT_EQ(report.levels.back().place == "memory", !files);
      EXPECT_EQ(report.hashed > 0, verify == Verify::replay);
      EXPECT_TRUE(report.healed.empty());
      EXPECT_TRUE(scratch.empty());
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, WaveLaws,
                         ::testing::Values(Kind::automatic, Kind::store_all, Kind::uniform, Kind::bisection,
                                           Kind::binomial, Kind::mixed, Kind::multilevel, Kind::disk,
                                           Kind::online, Kind::background),
                         [](const auto& info) {
                           std::string name(name_of(info.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tidemark::testing
