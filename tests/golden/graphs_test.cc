// Tracing gives the same graph with every compiler: C++ lets it choose in which order it evaluates the
// arguments of a call, so no function of the library makes two nodes in the arguments of one call. After a
// change of models or derivative rules that is meant, run with TIDEMARK_UPDATE_GOLDEN=1 and review the
// difference, in plan_hashes.txt too.
#include <gtest/gtest.h>

#include "tests/golden/golden_graphs.h"

namespace tidemark {
namespace {

void expect_those_of_files(const std::vector<golden::Traced>& list) {
  for (const golden::Traced& traced : list) {
    const std::string text = golden::bare_text(traced.graph);
    if (golden::updating()) std::ofstream(golden::path_of(traced.name)) << text;
    EXPECT_EQ(text, golden::read(golden::path_of(traced.name))) << traced.name;
  }
}

TEST(GoldenGraphs, OfModelsAreTracedAsEverywhere) { expect_those_of_files(golden::traced_models()); }
TEST(GoldenGraphs, OfLoopsAreTracedAsEverywhere) { expect_those_of_files(golden::traced_loops()); }

}  // namespace
}  // namespace tidemark
