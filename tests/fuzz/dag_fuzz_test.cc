// The fuzz targets of graphs of costs and bytes and of their schedules on fixed mutations. For open-ended
// fuzzing build dag_fuzz with -DTIDEMARK_FUZZ=ON (clang) and run it on tests/fuzz/dag_corpus.
#include <gtest/gtest.h>

#include <string>

#include "tests/fuzz/fuzz_entry.h"
#include "tests/fuzz/mutator.h"
#include "tidemark/base/error.h"
#include "tidemark/solve/dag/schedule.h"

namespace tidemark {
namespace {

const std::vector<std::string> words = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\"",
                                        "\\u0000",
                                        "\\ud800",
                                        "null",
                                        "true",
                                        "NaN",
                                        "Infinity",
                                        "-1",
                                        "1.5",
                                        "1e308",
                                        "1e-320",
                                        "1e999",
                                        "-0.0",
                                        "[0, 1],",
                                        "[1, 0],",
                                        "[2, 2],",
                                        "[0, 9],",
                                        "\"nodes\": [],",
                                        "\"edges\": [], ",
                                        "\"name\": \"x\",",
                                        "\"cost\": 1,",
                                        "\"bytes\": 2305843009213693952,",
                                        "\"backward\": true,",
                                        "\xff",
                                        "\xef\xbb\xbf",
                                        "\n"};

int run_target(const std::string& text) {
  return dag_fuzz(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

std::vector<std::string> corpus() { return testing::texts_in(TIDEMARK_TEST_DIR "/dag_corpus"); }

TEST(DagFuzz, TheCorpusIsValid) {
  ASSERT_GE(corpus().size(), 3u);
  for (const std::string& text : corpus()) {
    EXPECT_NO_THROW(dag_from_json(text, "corpus")) << text;
    EXPECT_EQ(run_target(text), 0);
  }
}

TEST(DagFuzz, MutatedTextsGiveOnlyCleanErrors) {
  testing::Mutator mutator(corpus(), words);
  int failures = 0;
  for (int i = 0; i < 20000 && failures < 5; ++i) {
    const std::string text = mutator.next();
    try {
      ASSERT_EQ(run_target(text), 0);
    } catch (const std::exception& error) {
      ++failures;
      ADD_FAILURE() << "mutation " << i << ": " << error.what() << "\n" << text;
    }
  }
}

TEST(DagFuzz, MutatedSchedulesAreJudgedOrRefused) {
  const Dag dag = dag_from_json(corpus().front(), "corpus");
  testing::Mutator mutator({"0 1 2 3 4 5\n", "0 1 2 0 1 3 4\n2 5"},
                           {" ", "-", "0 ", "99999999999", "x", "\n", "5"});
  int valid = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = mutator.next();
    try {
      const ScheduleCheck check = check_schedule(dag, schedule_from_text(text, "mutated"));
      valid += !check.fault;
      EXPECT_TRUE(check.fault || check.cost >= 0);
    } catch (const Error& error) {
      EXPECT_TRUE(error.where().known()) << error.what();
    }
  }
  EXPECT_GT(valid, 0);
}

}  // namespace
}  // namespace tidemark
