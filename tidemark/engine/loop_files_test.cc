// The same gradient, bit for bit, when states of a loop lie in files; what is on disk is gone afterwards.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::int64_t steps = 200, width = 64, state_bytes = 2 * 4 * width;

class LoopFiles : public testing::Test {
 protected:
  LoopFiles() : folder_(fs::path(testing::TempDir()) / fmt::format("tidemark_loop_files_{}", getpid())) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~LoopFiles() override { fs::remove_all(folder_); }

  // A state of two tensors, one captured matrix, a slice and an output at each step.
  static auto net(LoopOptions options) {
    return [options](Tensor w, Tensor xs) {
      const auto body = [&](std::pair<Tensor, Tensor> s, Tensor x) {
        const Tensor h = tanh(matmul(s.first, w) + x), v = s.second * 0.9 + h * h;
        return std::pair(std::pair(h, v), sum(sin(v)));
      };
      const auto [end, ys] = scan(body, std::pair(ones({1, width}), zeros({1, width})), xs, options);
      return sum(end.first) + sum(end.second) + sum(ys * ys);
    };
  }
  static auto gradients(const auto& f) {
    const Tensor w = sin(reshape(arange(width * width, DType::f32), {width, width}) * 0.37) * 0.2;
    const Tensor xs = sin(reshape(arange(steps * width, DType::f32), {steps, 1, width}) * 0.11);
    const auto [dw, dxs] = f(w, xs);
    return std::pair(dw.to_vector(), dxs.to_vector());
  }
  LoopOptions options(std::int64_t memory, std::int64_t disk) const {
    return {
        .memory = Bytes(memory * state_bytes), .disk = Bytes(disk * state_bytes), .folder = folder_.string()};
  }

  const fs::path folder_;
};

TEST_F(LoopFiles, GiveTheSameBitsAsKeepingEverything) {
  const auto expected = gradients(compile(grad<0, 1>(net({}))));
  for (const auto& [memory, disk] : {std::pair(6, 1), {6, 10}, {8, 40}, {20, 200}, {1, 500}}) {
    const auto f = compile(grad<0, 1>(net(options(memory, disk))));
    EXPECT_EQ(gradients(f), expected) << memory << " and " << disk;
    EXPECT_EQ(gradients(f), expected) << "a second time";
    EXPECT_EQ(f.arena_high_water().count, f.plan().plan.arena_bytes);
    const std::vector<LoopForecast> loops = f.plan().loops();
    ASSERT_EQ(loops.size(), 1u);
    EXPECT_GT(loops[0].disk_slots, 0);
    EXPECT_LE(loops[0].disk_slots, disk);
    EXPECT_THAT(f.plan().summary(), HasSubstr("on disk"));
    EXPECT_TRUE(fs::is_empty(folder_));
  }
}

TEST_F(LoopFiles, TakeFewerStepsThanTheSameMemoryAlone) {
  const auto with = compile(grad<0, 1>(net(options(8, 100)))),
             without = compile(grad<0, 1>(net(options(8, 0))));
  gradients(with), gradients(without);
  EXPECT_LT(with.plan().loops()[0].forward_steps, without.plan().loops()[0].forward_steps);
}

TEST_F(LoopFiles, AreNotUsedWhereMemoryIsEnough) {
  const auto f = compile(grad<0, 1>(net(options(100 * steps, 10))));
  EXPECT_EQ(gradients(f), gradients(compile(grad<0, 1>(net({})))));
  EXPECT_TRUE(f.plan().loops().empty());
}

TEST_F(LoopFiles, AFolderThatIsNotThereIsNamed) {
  LoopOptions missing = options(6, 10);
  missing.folder = (folder_ / "nowhere").string();
  const auto f = compile(grad<0, 1>(net(missing)));
  try {
    gradients(f);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::run_directory);
    EXPECT_THAT(error.what(), HasSubstr("nowhere"));
    EXPECT_TRUE(error.where().known());
  }
}

TEST_F(LoopFiles, LieInTheFolderForTemporaryFilesByDefault) {
  LoopOptions plain = options(6, 10);
  plain.folder.clear();
  EXPECT_EQ(gradients(compile(grad<0, 1>(net(plain)))), gradients(compile(grad<0, 1>(net({})))));
}

}  // namespace
}  // namespace tidemark
