// Functions that may do without their disk: they go on with the same bits where that fits the memory, and say
// why; where it does not fit, or may not be, the disk's error is the caller's.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/process_counts.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/ops/custom/custom.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using ::testing::HasSubstr;
using testing::ScratchFolder;

constexpr int net_layers = 6;

Tensor chain_loss(Tensor w, Tensor x) {
  for (int l = 0; l < net_layers; ++l) x = offload(tanh(matmul(x, w)), disk);
  return mean(square(x));
}
Tensor chain_weight() { return random_normal(key(1), {64, 64}, 0, 0.2); }
Tensor chain_rows() { return random_normal(key(2), {1024, 64}); }

CompileOptions with_fallback_in(const std::string& folder, bool fallback = true) {
  return {.memory = 64_MiB, .disk = DiskBudget{folder, 1_GiB, fallback}, .effort = 0.1};
}

const std::vector<double>& chain_gradient() {
  static const std::vector<double> right =
      compile(grad(chain_loss))(chain_weight(), chain_rows()).to_vector();
  return right;
}

bool uses_disk(const Plan& plan) { return !plan.further.empty() && plan.further[0].arena_bytes > 0; }

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// From now on nothing can be written to the files that the process has open in the folder.
void close_files_to_writers(const std::string& folder) {
  const int read_only = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  int closed = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with(folder + "/"))
      closed += ::dup3(read_only, std::stoi(entry.path().filename().string()), O_CLOEXEC) >= 0;
  }
  ::close(read_only);
  EXPECT_GT(closed, 0);
}

TEST(DiskFallback, AFolderThatIsNotThereIsDoneWithout) {
  const auto step = compile(grad(chain_loss), with_fallback_in("/no/such/folder"));
  EXPECT_EQ(step(chain_weight(), chain_rows()).to_vector(), chain_gradient());
  EXPECT_FALSE(uses_disk(step.plan().plan));
  EXPECT_THAT(step.memory_report().disk_failure, HasSubstr("/no/such/folder"));
  EXPECT_THAT(step.memory_report().text(), HasSubstr("not used: no values can be kept in /no/such/folder"));
  EXPECT_THAT(step.plan().summary(), HasSubstr("there is no disk to wait on"));
  EXPECT_EQ(
      testing::code_of([] { (void)compile(grad(chain_loss), with_fallback_in("/no/such/folder", false)); }),
      ErrorCode::bad_file);
}

TEST(DiskFallback, AFolderThatTakesNoFilesIsDoneWithout) {
  const auto step = compile(grad(chain_loss), with_fallback_in("/proc"));
  for (int call = 0; call < 2; ++call)
    EXPECT_EQ(step(chain_weight(), chain_rows()).to_vector(), chain_gradient());
  EXPECT_THAT(step.memory_report().disk_failure, HasSubstr("values cannot be kept in /proc"));
  EXPECT_EQ(step.memory_report().disk.count, 0);
  const auto strict = compile(grad(chain_loss), with_fallback_in("/proc", false));
  EXPECT_THAT(message_of([&] { (void)strict(chain_weight(), chain_rows()); }), HasSubstr("TM0606"));
}

TEST(DiskFallback, AFolderThatVanishedBetweenCallsIsDoneWithout) {
  const ScratchFolder scratch;
  for (const bool fallback : {true, false}) {
    const std::string folder = scratch.path("values");
    std::filesystem::create_directory(folder);
    const auto step = compile(grad(chain_loss), with_fallback_in(folder, fallback));
    EXPECT_EQ(step(chain_weight(), chain_rows()).to_vector(), chain_gradient());
    EXPECT_TRUE(uses_disk(step.plan().plan));
    std::filesystem::remove(folder);
    EXPECT_EQ(step(chain_weight(), chain_rows()).to_vector(), chain_gradient()) << "the file is still there";
    step.set_memory(60_MiB);
    if (fallback) {
      EXPECT_EQ(step(chain_weight(), chain_rows()).to_vector(), chain_gradient());
      EXPECT_FALSE(uses_disk(step.plan().plan));
      EXPECT_THAT(step.memory_report().disk_failure, HasSubstr("the folder was removed"));
    } else {
      const std::string text = message_of([&] { (void)step(chain_weight(), chain_rows()); });
      EXPECT_THAT(text, HasSubstr("values cannot be kept in " + folder + ": the folder was removed"));
      EXPECT_THAT(text, HasSubstr("disk_fallback_test.cc:"));
      // Made again, it is found again.
      std::filesystem::create_directory(folder);
      EXPECT_EQ(step(chain_weight(), chain_rows()).to_vector(), chain_gradient());
      EXPECT_TRUE(uses_disk(step.plan().plan));
      EXPECT_EQ(step.memory_report().disk_failure, "");
    }
  }
}

TEST(DiskFallback, ADiskThatFailsInACallIsDoneWithoutInTheSameCall) {
  const ScratchFolder scratch;
  const std::size_t files = testing::open_files();
  {
    const auto step = compile(grad(chain_loss), with_fallback_in(scratch.path()));
    EXPECT_EQ(step(chain_weight(), chain_rows()).to_vector(), chain_gradient());
    ASSERT_TRUE(uses_disk(step.plan().plan));
    close_files_to_writers(scratch.path());
    for (int call = 0; call < 2; ++call)
      EXPECT_EQ(step(chain_weight(), chain_rows()).to_vector(), chain_gradient());
    EXPECT_FALSE(uses_disk(step.plan().plan));
    EXPECT_THAT(step.memory_report().disk_failure, HasSubstr("writing failed"));
    EXPECT_EQ(step.memory_report().disk.count, 0) << "the file is given back";
    EXPECT_LE(testing::open_files(), files + 2) << "the folder, and no file";
  }
  EXPECT_EQ(testing::open_files(), files);
}

TEST(DiskFallback, WithoutItACallFailsAndTheNextOnesTryAgain) {
  const ScratchFolder scratch;
  const auto step = compile(grad(chain_loss), with_fallback_in(scratch.path(), false));
  EXPECT_EQ(step(chain_weight(), chain_rows()).to_vector(), chain_gradient());
  close_files_to_writers(scratch.path());
  for (int call = 0; call < 2; ++call) {
    const std::string text = message_of([&] { (void)step(chain_weight(), chain_rows()); });
    EXPECT_THAT(text, HasSubstr("TM0606"));
    EXPECT_THAT(text, HasSubstr("disk_fallback_test.cc:"));
  }
  step.set_memory(63_MiB);  // gives the file back
  EXPECT_EQ(step(chain_weight(), chain_rows()).to_vector(), chain_gradient());
}

TEST(DiskFallback, DonatedWeightsAreUpdatedOnce) {
  const ScratchFolder scratch;
  const auto train = [](Tensor w, Tensor x) { return w - grad(chain_loss)(w, x) * 0.5; };
  CompileOptions options = with_fallback_in(scratch.path());
  options.donate = {0};
  const auto step = compile(train, options), reference = compile(train);
  Tensor w = chain_weight(), right = chain_weight();
  for (int call = 0; call < 3; ++call) {
    w = step(w, chain_rows());
    right = reference(right, chain_rows());
    EXPECT_EQ(w.to_vector(), right.to_vector()) << call;
    if (call == 0) close_files_to_writers(scratch.path());
  }
  EXPECT_NE(step.memory_report().disk_failure, "");
}

// The update of the state is the first thing that the program does.
TEST(DiskFallback, WhatWasWrittenAlreadyIsLostAndSaysSo) {
  const ScratchFolder scratch;
  const auto f = [](Tensor state, Tensor w, Tensor x) {
    const Tensor next = state + 1;
    return std::pair(next, grad(chain_loss)(w, x));
  };
  CompileOptions options = with_fallback_in(scratch.path());
  options.donate = {0};
  options.program.plan.fixed_order = true;
  const auto step = compile(f, options);
  Tensor state = random_normal(key(3), {4096});
  state = step(state, chain_weight(), chain_rows()).first;
  ASSERT_TRUE(uses_disk(step.plan().plan)) << step.plan().summary();
  close_files_to_writers(scratch.path());
  EXPECT_THAT(message_of([&] { (void)step(state, chain_weight(), chain_rows()); }),
              HasSubstr("writing failed"));
  EXPECT_THAT(message_of([&] { (void)state.to_vector(); }), HasSubstr("was lost when a function failed"));
  EXPECT_EQ(step.memory_report().disk_failure, "");
}

int effects_seen = 0;
const Op& counted_op() {
  static const Op& op = make_custom_op(
      {.name = "counted_before_the_disk_fails",
       .infer = [](std::span<const Type>) { return std::vector<Type>(); },
       .kernel = [](std::span<const TensorRef>, std::span<const TensorRef>) { ++effects_seen; },
       .effect = {.domain = "count"},
       .derivative = Derivative::zero});
  return op;
}

TEST(DiskFallback, EffectsDoNotHappenTwice) {
  const ScratchFolder scratch;
  const auto loss = [](Tensor w, Tensor x) {
    (void)call(counted_op(), {x});
    return chain_loss(w, x);
  };
  const auto step = compile(grad(loss), with_fallback_in(scratch.path()));
  EXPECT_EQ(step(chain_weight(), chain_rows()).to_vector(), chain_gradient());
  EXPECT_EQ(effects_seen, 1);
  close_files_to_writers(scratch.path());
  EXPECT_THAT(message_of([&] { (void)step(chain_weight(), chain_rows()); }), HasSubstr("writing failed"));
  EXPECT_LE(effects_seen, 2);
  // Where the disk fails before anything runs, nothing happened yet.
  const auto early = compile(grad(loss), with_fallback_in("/proc"));
  effects_seen = 0;
  EXPECT_EQ(early(chain_weight(), chain_rows()).to_vector(), chain_gradient());
  EXPECT_EQ(effects_seen, 1);
}

TEST(DiskFallback, ThreadsThatFailTogetherAllGoOn) {
  const ScratchFolder scratch;
  const auto step = compile(grad(chain_loss), with_fallback_in(scratch.path()));
  EXPECT_EQ(step(chain_weight(), chain_rows()).to_vector(), chain_gradient());
  close_files_to_writers(scratch.path());
  std::vector<std::thread> threads;
  std::vector<int> wrong(3, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int run = 0; run < 2; ++run)
        wrong[t] += step(chain_weight(), chain_rows()).to_vector() != chain_gradient();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0, 0}));
}

TEST(DiskFallback, WhatDoesNotFitWithoutTheDiskIsTheDisksError) {
  const ScratchFolder scratch;
  const auto loss = [](Tensor w, Tensor x) {
    for (int l = 0; l < net_layers; ++l) x = keep(tanh(matmul(x, w)));
    return mean(square(x));
  };
  const auto free = compile(grad(loss));
  const std::int64_t peak = free.prepare(chain_weight(), chain_rows()).peak().count;
  CompileOptions options = with_fallback_in("/proc");
  options.memory = Bytes(peak * 7 / 10);
  const auto step = compile(grad(loss), options);
  for (int call = 0; call < 2; ++call) {
    const std::string text = message_of([&] { (void)step(chain_weight(), chain_rows()); });
    EXPECT_THAT(text, HasSubstr("values cannot be kept in /proc"));
    EXPECT_THAT(text, HasSubstr("without it nothing fits: the smallest plan takes"));
  }
  options.disk->folder = "/no/such/folder";
  const auto nowhere = compile(grad(loss), options);
  EXPECT_THAT(message_of([&] { (void)nowhere(chain_weight(), chain_rows()); }),
              HasSubstr("without it nothing fits"));
  options.disk->folder = scratch.path();
  EXPECT_EQ(compile(grad(loss), options)(chain_weight(), chain_rows()).to_vector(),
            free(chain_weight(), chain_rows()).to_vector());
}

}  // namespace
}  // namespace tidemark
