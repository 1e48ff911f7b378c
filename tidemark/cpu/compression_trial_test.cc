#include "tidemark/cpu/compression_trial.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

TEST(CompressionTrial, TheFasterWayIsTakenAndLittleIsNotEnough) {
  for (const auto& [compressed, taken] :
       {std::pair(0.5, true), {0.97, true}, {0.99, false}, {1.0, false}, {3.0, false}}) {
    CompressionTrial trial;
    for (int run = 0; run < 7; ++run) trial.end_run(trial.compresses() ? compressed : 1, true);
    EXPECT_EQ(trial.compresses(), taken) << compressed;
    EXPECT_FALSE(trial.samples());
    EXPECT_FALSE(trial.is_plain());
  }
}

TEST(CompressionTrial, TheFirstRunOnlySamplesAndNothingIsCompressedBeforePlainRunsWereTimed) {
  CompressionTrial trial;
  EXPECT_TRUE(trial.samples());
  trial.end_run(100, true);  // a file's first run is slow, and does not count
  for (int run = 0; run < 3; ++run) {
    EXPECT_TRUE(trial.is_plain());
    EXPECT_FALSE(trial.compresses());
    trial.end_run(1, true);
  }
  for (int run = 0; run < 3; ++run) {
    EXPECT_TRUE(trial.compresses());
    trial.end_run(2, true);
  }
  EXPECT_FALSE(trial.compresses());
}

TEST(CompressionTrial, WhatPromisesNothingIsNotTried) {
  CompressionTrial trial;
  for (int run = 0; run < 5000; ++run) {
    EXPECT_FALSE(trial.compresses()) << run;
    trial.end_run(1, false);
  }
}

TEST(CompressionTrial, IsRepeatedEverLessOftenAndSoonWhenItEndsOtherwise) {
  CompressionTrial trial;
  int tried = 0, sampled = 0;
  for (int run = 0; run < 10'000; ++run) {
    tried += trial.compresses();
    sampled += trial.samples();
    trial.end_run(trial.compresses() ? 2 : 1, true);
  }
  EXPECT_EQ(tried, 3 * sampled);
  EXPECT_GT(sampled, 10);
  EXPECT_LT(sampled, 20);
  // The disk has become slow: compressing is taken at the next trial, and then goes on.
  int compressed = 0;
  for (int run = 0; run < 2000; ++run) {
    compressed += trial.compresses();
    trial.end_run(trial.compresses() ? 1 : 2, true);
  }
  EXPECT_GT(compressed, 900);
}

TEST(CompressionTrial, PromisesComeFromWhatTheDiskTakes) {
  EXPECT_TRUE(is_promising(0.5, 1e-9, 10e-9));
  EXPECT_FALSE(is_promising(0.92, 1e-9, 10e-9));
  EXPECT_FALSE(is_promising(1.0, 0, 1));
  EXPECT_FALSE(is_promising(0.5, 1e-9, 0.6e-9));
}

}  // namespace
}  // namespace tidemark
