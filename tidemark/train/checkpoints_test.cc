#include "tidemark/train/checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>

#include "tests/support/errors.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tidemark::testing::code_of;
using tidemark::testing::ScratchFolder;

struct State {
  std::vector<Tensor> weights;
  Tensor key;
  TM_FIELDS(State, weights, key)
};
State state(float value) { return {{full({3, 2}, value), zeros({0})}, tidemark::key(7)}; }

std::vector<std::string> names_in(const ScratchFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(TrainingCheckpoints, EverythingComesBack) {
  const ScratchFolder folder;
  const TrainingCheckpoints checkpoints(folder.path("a/run"));
  State other = state(9);
  EXPECT_FALSE(checkpoints.resume(other)) << "a new run";
  const data::Position position{.epoch = 3, .batch = 17, .loader = ~std::uint64_t{0}};
  checkpoints.save(state(2), {.step = 40,
                              .position = position,
                              .numbers = {{"best", 0.1},
                                          {"seen", std::int64_t{INT64_MIN}},
                                          {"least", -INFINITY},
                                          {"one", 1.0},
                                          {"tiny", 5e-324},
                                          {"name with = and \"", true}}});
  const auto found = checkpoints.resume(other);
  ASSERT_TRUE(found);
  EXPECT_EQ(other.weights[0].to_vector(), std::vector<double>(6, 2));
  EXPECT_EQ(other.key.to_vector(), tidemark::key(7).to_vector());
  EXPECT_EQ(found->step, 40);
  EXPECT_EQ(found->position, position);
  EXPECT_EQ(found->numbers.at("best").real(), 0.1);
  EXPECT_FALSE(found->numbers.at("best").is_whole());
  EXPECT_EQ(found->numbers.at("seen").whole(), INT64_MIN);
  EXPECT_EQ(found->numbers.at("least").real(), -INFINITY);
  EXPECT_FALSE(found->numbers.at("one").is_whole());
  EXPECT_EQ(found->numbers.at("tiny").real(), 5e-324);
  EXPECT_EQ(found->numbers.at("name with = and \"").whole(), 1);
  EXPECT_EQ(found->path, checkpoints.path_of(40));
  EXPECT_TRUE(found->skipped.empty());
}

TEST(TrainingCheckpoints, TheNewestAreKept) {
  const ScratchFolder folder;
  const TrainingCheckpoints checkpoints(folder.path(), {.keep = 2, .name = "gpt"});
  folder.write("notes.txt", "mine");
  folder.write("gpt-7.safetensors", "not one of ours: names have twelve digits");
  for (const int step : {5, 100, 20, 1000}) checkpoints.save(state(1), {.step = step});
  EXPECT_THAT(names_in(folder), ElementsAre("gpt-000000000100.safetensors", "gpt-000000001000.safetensors",
                                            "gpt-7.safetensors", "notes.txt"));
  EXPECT_EQ(checkpoints.latest()->step, 1000);
  checkpoints.save(state(1), {.step = 50});
  EXPECT_EQ(checkpoints.latest()->step, 1000) << "those of later steps are not touched";
  EXPECT_EQ(names_in(folder).size(), 5u);
  const TrainingCheckpoints other(folder.path(), {.name = "other"});
  EXPECT_FALSE(other.latest());
}

TEST(TrainingCheckpoints, AnyDamageIsNoticedAndTheOneBeforeIsTaken) {
  const ScratchFolder folder;
  const TrainingCheckpoints checkpoints(folder.path());
  checkpoints.save(state(1), {.step = 1, .numbers = {{"x", 1}}});
  checkpoints.save(state(2), {.step = 2, .numbers = {{"x", 2}}});
  const std::string name = "checkpoint-000000000002.safetensors", whole = folder.read(name);
  for (std::size_t i = 0; i < whole.size(); i += 3) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    folder.write(name, damaged);
    State found = state(0);
    const auto resumed = checkpoints.resume(found);
    // A space behind the header may become another one.
    const bool harmless =
        resumed->step == 2 && found.weights[0].to_vector()[0] == 2 && resumed->numbers.at("x").whole() == 2;
    if (harmless) continue;
    ASSERT_EQ(resumed->step, 1) << i;
    ASSERT_EQ(resumed->skipped.size(), 1u);
    EXPECT_THAT(resumed->skipped[0], HasSubstr(name));
    EXPECT_EQ(found.weights[0].to_vector()[0], 1);
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{100}, whole.size() - 1}) {
    folder.write(name, whole.substr(0, size));
    EXPECT_EQ(checkpoints.latest()->step, 1);
  }
  folder.write(name, whole + "x");
  EXPECT_EQ(checkpoints.latest()->step, 1);
  save(checkpoints.path_of(2), state(5));  // a sound file, and no checkpoint
  EXPECT_THAT(checkpoints.latest()->skipped[0], HasSubstr("no checkpoint of this version"));
}

TEST(TrainingCheckpoints, WhereAllAreDamagedNothingBeginsAnewInSilence) {
  const ScratchFolder folder;
  const TrainingCheckpoints checkpoints(folder.path());
  folder.write("checkpoint-000000000002.safetensors", "");
  folder.write("checkpoint-000000000001.safetensors", "abc");
  State found = state(0);
  try {
    checkpoints.resume(found);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_checkpoint);
    EXPECT_THAT(error.what(), HasSubstr("none of the 2 checkpoints is whole"));
    EXPECT_THAT(error.what(), HasSubstr("checkpoint-000000000001.safetensors: it has 3 bytes"));
    EXPECT_THAT(error.what(), HasSubstr("checkpoints_test.cc"));
  }
}

TEST(TrainingCheckpoints, AnotherTreeIsTheUsersMistakeAndNotDamage) {
  const ScratchFolder folder;
  const TrainingCheckpoints checkpoints(folder.path());
  checkpoints.save(state(1), {.step = 1});
  State other{{zeros({2, 3}), zeros({0})}, tidemark::key(7)};
  EXPECT_EQ(code_of([&] { checkpoints.resume(other); }), ErrorCode::tensors_differ);
  State fewer{{full({3, 2}, 4)}, tidemark::key(7)};
  EXPECT_EQ(code_of([&] { checkpoints.resume(fewer); }), ErrorCode::tensors_differ);
  EXPECT_EQ(fewer.weights[0].to_vector()[0], 4);
  // The help is about this call, which takes no options.
  State narrow{{zeros({3, 2}, DType::bf16), zeros({0})}, tidemark::key(7)};
  for (State* mistaken : {&other, &fewer, &narrow}) {
    try {
      checkpoints.resume(*mistaken);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_THAT(error.parts().help, HasSubstr("resume with the tree that was saved"));
      EXPECT_THAT(error.parts().help, HasSubstr("td::load(\"" + checkpoints.path_of(1)));
      EXPECT_THAT(error.what(), HasSubstr("checkpoints_test.cc"));
    }
  }
}

TEST(TrainingCheckpoints, WhatAKilledRunLeftIsRemoved) {
  const ScratchFolder folder;
  const TrainingCheckpoints checkpoints(folder.path());
  folder.write(".tidemark-0123456789abcdef", "half a checkpoint");
  EXPECT_FALSE(checkpoints.latest());
  checkpoints.save(state(1), {.step = 1});
  EXPECT_THAT(names_in(folder), ElementsAre("checkpoint-000000000001.safetensors"));
}

TEST(TrainingCheckpoints, ADiskThatIsFullLeavesTheOldOnes) {
  const ScratchFolder folder;
  const TrainingCheckpoints checkpoints(folder.path(), {.keep = 1});
  checkpoints.save(state(1), {.step = 1});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 500, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(code_of([&] {
              checkpoints.save(State{{zeros({1000})}, tidemark::key(1)}, {.step = 2});
            }),
            ErrorCode::disk_full);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(names_in(folder), ElementsAre("checkpoint-000000000001.safetensors"));
  EXPECT_EQ(checkpoints.latest()->step, 1);
}

TEST(TrainingCheckpoints, OptionsThatMeanNothingAreRefused) {
  const ScratchFolder folder;
  for (const TrainingCheckpointOptions& options :
       {TrainingCheckpointOptions{.keep = 0}, {.name = ""}, {.name = "a/b"}, {.name = ".tidemark"}}) {
    EXPECT_EQ(code_of([&] { TrainingCheckpoints(folder.path(), options); }), ErrorCode::bad_attribute);
  }
  folder.write("file", "");
  EXPECT_EQ(code_of([&] { TrainingCheckpoints(folder.path("file/x")); }), ErrorCode::bad_file);
  EXPECT_EQ(code_of([&] { TrainingCheckpoints(folder.path("file")); }), ErrorCode::bad_file);
  const TrainingCheckpoints checkpoints(folder.path());
  EXPECT_EQ(code_of([&] { checkpoints.save(state(1), {.step = -1}); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { checkpoints.save(State(), {.step = 1}); }), ErrorCode::traced_value_read);
}

}  // namespace
}  // namespace tidemark
