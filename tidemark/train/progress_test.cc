#include "tidemark/train/progress.h"

#include <gtest/gtest.h>

#include <list>
#include <sstream>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

double now = 0;
double test_clock() { return now; }

ProgressOptions to(std::ostringstream& out, int columns = 0) {
  now = 0;
  return {.out = &out, .columns = columns, .seconds = test_clock};
}

std::vector<std::string> lines_of(const std::ostringstream& out) {
  std::vector<std::string> lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Progress, GivesTheElementsOfAnyRange) {
  std::ostringstream out;
  std::vector<int> numbers = {1, 2, 3};
  for (int& number : progress(numbers, to(out))) number *= 2;
  EXPECT_EQ(numbers, (std::vector<int>{2, 4, 6}));
  int sum = 0;
  for (const int number : progress(std::list<int>{4, 5}, to(out))) sum += number;
  EXPECT_EQ(sum, 9);
  for (const int number : progress(std::vector<int>{}, to(out))) sum += number;
  EXPECT_EQ(sum, 9);
}

TEST(Progress, OfALoaderKnowsHowManyBatchesAnEpochHas) {
  data::Loader loader(data::arrays(arange(20)), {.batch = 2});
  EXPECT_EQ(loader.size(), 10);
  std::ostringstream out;
  for (const Tensor& batch : progress(loader, to(out))) now += 0.5 * static_cast<double>(batch.size(0));
  std::vector<std::string> lines = lines_of(out);
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines[4], " 50% ━━━━━━━━━━────────── 5/10  1 it/s  0:05 < 0:05");
  EXPECT_EQ(lines[9], "100% ━━━━━━━━━━━━━━━━━━━━ 10/10  1 it/s  0:10");

  // Of an epoch that was begun before, the bar begins where it is.
  for (int i = 0; i < 4; ++i) loader.next();
  EXPECT_EQ(loader.size(), 10);
  EXPECT_EQ(loader.left(), 6);
  std::ostringstream rest;
  for (const Tensor& batch : progress(loader, to(rest))) now += static_cast<double>(batch.size(0));
  lines = lines_of(rest);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], " 50% ━━━━━━━━━━────────── 5/10  2 s/it  0:02 < 0:10");
  EXPECT_EQ(lines[5], "100% ━━━━━━━━━━━━━━━━━━━━ 10/10  2 s/it  0:12");
}

TEST(Progress, OutsideOfATerminalAddsALineForEveryTenth) {
  std::ostringstream out;
  auto bar = progress(std::vector<int>(40), to(out));
  for (int round : bar) {
    (void)round;
    now += 0.5;
    bar.show("loss", 2.5);
  }
  const std::vector<std::string> lines = lines_of(out);
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines[4], " 50% ━━━━━━━━━━────────── 20/40  loss 2.5  2 it/s  0:10 < 0:10");
  EXPECT_EQ(lines[9], "100% ━━━━━━━━━━━━━━━━━━━━ 40/40  loss 2.5  2 it/s  0:20");
}

TEST(Progress, OnATerminalDrawsTheLineOverAtMostTenTimesASecondAndNoWiderThanItIs) {
  std::ostringstream out;
  auto bar = progress(std::vector<int>(100), to(out, 30));
  for (int round : bar) {
    (void)round;
    now += 0.01;
  }
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 10);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.substr(text.rfind('\r') + 1), "100% ━━━━━━━━━━━━━━━━━━━━ 100/\x1b[K\n");
}

TEST(Progress, OfALoopThatIsLeftEarlySaysHowFarItCame) {
  std::ostringstream out;
  for (const int round : progress(std::vector<int>{0, 1, 2, 3}, to(out))) {
    if (round == 2) break;
  }
  EXPECT_EQ(lines_of(out).back().substr(0, 4), " 50%");
}

TEST(Progress, ARunThatGoesOnCountsFromWhereItWas) {
  std::ostringstream out;
  ProgressOptions options = to(out);
  options.total = 10, options.done = 6;
  auto bar = progress(std::vector<int>(4), options);
  for (int round : bar) {
    (void)round;
    now += 2;
  }
  EXPECT_EQ(lines_of(out)[0], " 70% ━━━━━━━━━━━━━━────── 7/10  2 s/it  0:02 < 0:06");
}

TEST(Progress, WithoutAnEndCounts) {
  std::ostringstream out;
  ProgressBar bar(to(out));
  for (int i = 0; i < 100; ++i) now += 1, bar.advance();
  bar.finish();
  bar.advance();
  const std::vector<std::string> lines = lines_of(out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "30  1 it/s  0:30");
  EXPECT_EQ(lines[3], "100  1 it/s  1:40");
}

TEST(Progress, ShowsTheMemoryOfAFunction) {
  std::ostringstream out;
  const auto f = [](Tensor x) {
    Tensor y = x;
    for (int i = 0; i < 12; ++i) y = tanh(y * 1.5);
    return sum(y);
  };
  const auto step = compile(grad(f), {.memory = Bytes(7 * 65536)});
  (void)step(ones({1 << 14}));
  ProgressBar bar(to(out));
  bar.show(step);
  const std::string line = bar.line();
  EXPECT_NE(line.find("mem "), std::string::npos) << line;
  EXPECT_NE(line.find("/448.0 KiB"), std::string::npos) << line;
  EXPECT_NE(line.find("recompute "), std::string::npos) << line;
}

}  // namespace
}  // namespace tidemark
