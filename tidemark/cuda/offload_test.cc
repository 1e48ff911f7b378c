// Values of plans for a GPU that wait in the host's memory or on a disk: the plans are right where there is
// no GPU, and where there is one the bits are those of plans without.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <random>

#include "tests/support/errors.h"
#include "tests/support/gpu.h"
#include "tests/support/random_programs.h"
#include "tests/support/run_on_device.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/simulated_device.h"
#include "tests/support/tiny_models.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cuda/device.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/cuda/machine.h"
#include "tidemark/cuda/target.h"
#include "tidemark/plan/costs.h"
#include "tidemark/plan/makespan.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/runtime/device.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;
using namespace tidemark::literals;

ThreadPool& pool() {
  static CpuDevice cpu(1);
  return cpu.pool();
}

struct Case {
  std::string name;
  Graph graph;
  std::vector<Literal> inputs;
};

Case case_of(const tiny::TinyModel& model) {
  Case made{.name = model.name,
            .graph = prepare_graph(expand(
                model.step, [](const Node& node) { return node.op->expand && !cuda_target().runs(*node.op); },
                ExpandRegions::inside)),
            .inputs = {}};
  for (const Tensor& x : model.inputs())
    made.inputs.push_back(literal_of(x.dtype(), x.shape(), x.to_vector()));
  return made;
}

std::vector<Case> models() {
  std::vector<Case> list;
  list.push_back(case_of(tiny::gpt(3)));
  list.push_back(case_of(tiny::llama(3)));
  return list;
}

Case random_case(unsigned seed) {
  Case made{.name = "seed " + std::to_string(seed),
            .graph = expand(
                RandomProgram(seed).joint(),
                [](const Node& node) { return node.op->expand && !cuda_target().runs(*node.op); },
                ExpandRegions::inside),
            .inputs = {}};
  made.inputs = inputs_of(made.graph);
  return made;
}

int moved(const Plan& plan) {
  return static_cast<int>(std::ranges::count(plan.steps, StepKind::copy, &Step::kind));
}

enum class Behind { host, disk, both };

std::vector<TierBudget> tiers_of(Behind behind) {
  constexpr std::int64_t much = std::int64_t{1} << 30, little = 16 << 10;
  std::vector<TierBudget> tiers;
  if (behind != Behind::disk)
    tiers.push_back({std::string(host_memory_name), behind == Behind::host ? much : little});
  if (behind != Behind::host) tiers.push_back({std::string(disk_memory_name), much});
  return tiers;
}

// For a share of what the plan without a budget takes beside its inputs; nothing runs again, unless it may.
Result<Plan, Infeasible> within(const Graph& graph, const Plan& free, int percent, bool may_repeat = false,
                                Behind behind = Behind::host) {
  return try_plan(graph, cuda_target(),
                  {.memory = free.input_bytes + free.arena_bytes * percent / 100,
                   .tiers = tiers_of(behind),
                   .allow = may_repeat ? Choices{Choice::recompute, Choice::host, Choice::disk}
                                       : Choices{Choice::host, Choice::disk},
                   .machine = &h200_machine(),
                   .effort = 0.1,
                   .floor = false});
}

// Some steps take a thousand times as long as others: lanes drift apart as far as waits let them.
std::vector<double> delays(const Plan& plan, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> seconds;
  for (std::size_t t = 0; t < plan.steps.size(); ++t)
    seconds.push_back(random() % 4 == 0 ? 1000.0 : 1.0 + static_cast<double>(random() % 16));
  return seconds;
}

TEST(CudaOffload, PlansAreVerifiedKeepBothBudgetsAndGiveTheSameBitsHoweverLanesDrift) {
  int moving = 0;
  std::vector<Case> cases = models();
  for (unsigned seed = 0; seed < seeds(20); ++seed) cases.push_back(random_case(seed));
  for (const Case& c : cases) {
    const std::vector<Literal> expected = interpret(c.graph, c.inputs, pool());
    const Plan free = make_plan(c.graph, cuda_target(), {.machine = &h200_machine()});
    for (const int percent : {80, 65}) {
      for (const bool may_repeat : {false, true}) {
        const std::string what = c.name + " at " + std::to_string(percent) + "%";
        const auto planned = within(c.graph, free, percent, may_repeat);
        if (!planned) continue;
        const Plan& plan = planned.value();
        ASSERT_TRUE(problems(c.graph, plan, cuda_target()).empty()) << what;
        EXPECT_LE(plan.peak(), plan.input_bytes + free.arena_bytes * percent / 100) << what;
        for (const PlanMemory& memory : plan.further) EXPECT_LE(memory.peak(), memory.budget) << what;
        moving += moved(plan) > 0;
        for (std::uint64_t seed = 0; seed < seeds(3); ++seed) {
          const std::vector<double> seconds = delays(plan, seed);
          const SimulatedRun run =
              run_simulated(c.graph, plan, c.inputs, {.seconds = seconds, .seed = seed}, pool());
          ASSERT_EQ(bit_difference(run.outputs, expected), "") << what << ", delays " << seed;
        }
        const std::vector<double> seconds = step_seconds(c.graph, plan, cuda_target(), h200_machine());
        if (!is_plain(plan)) {
          EXPECT_EQ(plan.seconds, timetable(plan, seconds).makespan) << what;
        }
      }
    }
  }
  EXPECT_GT(moving, few ? 0 : 10);
}

TEST(CudaOffload, PlansWithADiskAreVerifiedKeepAllBudgetsAndGiveTheSameBits) {
  int moving = 0, to_both = 0;
  std::vector<Case> cases = models();
  for (unsigned seed = 0; seed < seeds(10); ++seed) cases.push_back(random_case(seed));
  for (const Case& c : cases) {
    const std::vector<Literal> expected = interpret(c.graph, c.inputs, pool());
    const Plan free = make_plan(c.graph, cuda_target(), {.machine = &h200_machine()});
    for (const Behind behind : {Behind::disk, Behind::both}) {
      const std::string what = c.name + (behind == Behind::both ? " with both" : " with a disk");
      const auto planned = within(c.graph, free, 75, false, behind);
      if (!planned) continue;
      const Plan& plan = planned.value();
      ASSERT_TRUE(problems(c.graph, plan, cuda_target()).empty()) << what;
      EXPECT_LE(plan.peak(), plan.input_bytes + free.arena_bytes * 75 / 100) << what;
      for (const PlanMemory& memory : plan.further) EXPECT_LE(memory.peak(), memory.budget) << what;
      if (moved(plan) == 0) continue;
      EXPECT_EQ(plan.further.back().name, disk_memory_name) << what;
      moving += plan.further.back().arena_bytes > 0;
      to_both += plan.further.size() == 2 && plan.further[0].arena_bytes > 0;
      for (std::uint64_t seed = 0; seed < seeds(3); ++seed) {
        const std::vector<double> seconds = delays(plan, seed);
        const SimulatedRun run =
            run_simulated(c.graph, plan, c.inputs, {.seconds = seconds, .seed = seed}, pool());
        ASSERT_EQ(bit_difference(run.outputs, expected), "") << what << ", delays " << seed;
      }
    }
  }
  EXPECT_GT(moving, few ? 0 : 5);
  EXPECT_GT(to_both, 0);
}

TEST(CudaOffload, AWaitThatIsMissingGivesOtherBits) {
  const Case c = models()[0];
  const std::vector<Literal> expected = interpret(c.graph, c.inputs, pool());
  const Plan free = make_plan(c.graph, cuda_target(), {.machine = &h200_machine()});
  const auto planned = within(c.graph, free, 80);
  ASSERT_TRUE(planned);
  Plan plan = planned.value();
  for (Step& step : plan.steps) step.waits.clear();
  EXPECT_FALSE(problems(c.graph, plan, cuda_target()).empty());
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const std::vector<double> seconds = delays(plan, seed);
    const SimulatedRun run =
        run_simulated(c.graph, plan, c.inputs, {.seconds = seconds, .seed = seed}, pool());
    wrong += !bit_difference(run.outputs, expected).empty();
  }
  EXPECT_GT(wrong, 0);
}

TEST(CudaOffload, GivesTheBitsOfPlansWithoutWhetherRecordedOrNot) {
  TM_NEEDS_GPU();
  const std::shared_ptr<Device> gpu = device();
  std::vector<Case> cases = models();
  for (unsigned seed = 0; seed < 6; ++seed)
    cases.push_back(random_case(seed));  // kernels take long to compile
  int moving = 0;
  for (const Case& c : cases) {
    const Plan free = make_plan(c.graph, cuda_target(), {.machine = &h200_machine()});
    const std::vector<Literal> expected = DeviceRun(*gpu, c.graph, free).run(c.inputs);
    for (const int percent : {80, 65}) {
      const auto planned = within(c.graph, free, percent, percent == 65);
      if (!planned || moved(planned.value()) == 0) continue;
      ++moving;
      DeviceRun run(*gpu, c.graph, planned.value());
      for (int round = 0; round < 4; ++round) {
        ASSERT_EQ(bit_difference(run.run(c.inputs), expected), "")
            << c.name << " at " << percent << "%, round " << round;
      }
    }
  }
  EXPECT_GT(moving, 2);
}

// Files of this process grow no larger meanwhile.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit less{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &less);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_ = {};
};

// Values of a deep chain that its way back needs again; nothing may be computed again. `at` names rows of a
// table, late; a sort of so many elements runs on the CPU, in the middle.
Tensor there_and_back(const Tensor& x, const Tensor& w, const Tensor& table, const Tensor& at) {
  std::vector<Tensor> made = {x};
  for (int i = 0; i < 12; ++i) made.push_back(tanh(matmul(made.back(), w)));
  Tensor back = made.back() + sum(sort(reshape(made.back(), {1024 * 1024})).first) * 1e-3;
  for (std::size_t i = made.size(); i-- > 0;) back = matmul(back * made[i], w);
  return back + sum(take(table, at, 0));
}

struct ThereAndBack {
  Tensor x = random_normal(key(1), {1024, 1024}), w = random_normal(key(2), {1024, 1024}) * 0.02,
         table = random_normal(key(3), {8, 4});
  Tensor good = tensor<std::int64_t>({1, 3, 7}), bad = tensor<std::int64_t>({1, 8, 7});
  Bytes budget;

  ThereAndBack() {
    auto free = compile(there_and_back, {.device = device()});
    (void)free(x, w, table, good);
    budget = Bytes(free.plan().peak().count * 8 / 10);
  }
};

TEST(CudaOffload, AFunctionTakesOfTheHostWhatItsPlanSays) {
  TM_NEEDS_GPU();
  const ThereAndBack c;
  auto free = compile(there_and_back, {.device = device()});
  auto f = compile(there_and_back,
                   {.memory = c.budget, .host = 64_MiB, .allow = {Choice::host}, .device = device()});
  const std::vector<double> expected = free(c.x, c.w, c.table, c.good).to_vector();
  for (int round = 0; round < 4; ++round)
    EXPECT_EQ(f(c.x, c.w, c.table, c.good).to_vector(), expected) << "round " << round;
  const Plan& plan = f.plan().plan;
  ASSERT_EQ(plan.further.size(), 1u);
  EXPECT_GT(plan.further[0].arena_bytes, 0);
  EXPECT_EQ(f.memory_report().host.count, plan.further[0].arena_bytes);
  EXPECT_EQ(f.memory_report().disk.count, 0);
  EXPECT_LE(f.memory_report().arena.count, plan.arena_bytes);
  EXPECT_LE(plan.peak(), c.budget.count);
}

TEST(CudaOffload, AFunctionTakesOfTheDiskWhatItsPlanSaysAndLeavesNothingThere) {
  TM_NEEDS_GPU();
  const ScratchFolder folder;
  const ThereAndBack c;
  auto free = compile(there_and_back, {.device = device()});
  const std::vector<double> expected = free(c.x, c.w, c.table, c.good).to_vector();
  for (const DiskCompression compress :
       {DiskCompression::none, DiskCompression::automatic, DiskCompression::always}) {
    auto f = compile(there_and_back,
                     {.memory = c.budget,
                      .disk = DiskBudget{.folder = folder.path(), .bytes = 256_MiB, .compress = compress},
                      .allow = {Choice::disk},
                      .device = device()});
    for (int round = 0; round < 6; ++round)
      ASSERT_EQ(f(c.x, c.w, c.table, c.good).to_vector(), expected) << "round " << round;
    const Plan& plan = f.plan().plan;
    ASSERT_EQ(plan.further.size(), 1u);
    EXPECT_EQ(plan.further[0].name, disk_memory_name);
    EXPECT_GT(plan.further[0].arena_bytes, 0);
    const FunctionMemory memory = f.memory_report();
    EXPECT_EQ(memory.disk.count, plan.further[0].arena_bytes);
    EXPECT_EQ(memory.host.count, disk_staging_bytes);
    EXPECT_GE(memory.disk_values.count, 6 * plan.further[0].arena_bytes);
    EXPECT_LE(plan.peak(), c.budget.count);
    EXPECT_TRUE(folder.empty()) << "a file without a name";
  }
}

TEST(CudaOffload, HostAndDiskTogetherGiveTheSameBits) {
  TM_NEEDS_GPU();
  const ScratchFolder folder;
  const ThereAndBack c;
  auto free = compile(there_and_back, {.device = device()});
  const std::vector<double> expected = free(c.x, c.w, c.table, c.good).to_vector();
  // Room for one value of 4 MiB on the host beside what copies to the disk go through.
  const Bytes host = Bytes(disk_staging_bytes + (4 << 20));
  auto f = compile(there_and_back, {.memory = c.budget,
                                    .host = host,
                                    .disk = DiskBudget{.folder = folder.path(), .bytes = 256_MiB},
                                    .allow = {Choice::host, Choice::disk},
                                    .device = device()});
  for (int round = 0; round < 4; ++round)
    ASSERT_EQ(f(c.x, c.w, c.table, c.good).to_vector(), expected) << "round " << round;
  const Plan& plan = f.plan().plan;
  ASSERT_EQ(plan.further.size(), 2u);
  EXPECT_GT(plan.further[0].arena_bytes, 0);
  EXPECT_GT(plan.further[1].arena_bytes, 0);
  EXPECT_EQ(f.memory_report().host.count, plan.further[0].arena_bytes + disk_staging_bytes);
  EXPECT_LE(f.memory_report().host.count, host.count);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(code_of([&] { (void)f(c.x, c.w, c.table, c.bad); }), ErrorCode::index_out_of_range);
    EXPECT_EQ(f(c.x, c.w, c.table, c.good).to_vector(), expected) << "round " << round;
  }
}

TEST(CudaOffload, ADiskThatIsFullOrMissingIsAnErrorAndAnotherFunctionGoesOn) {
  TM_NEEDS_GPU();
  const ScratchFolder folder;
  const ThereAndBack c;
  CompileOptions options{.memory = c.budget,
                         .disk = DiskBudget{.folder = folder.path("none"), .bytes = 256_MiB},
                         .allow = {Choice::disk},
                         .device = device()};
  EXPECT_EQ(code_of([&] { (void)compile(there_and_back, options); }), ErrorCode::bad_file);
  options.disk->folder = folder.path();
  auto f = compile(there_and_back, options);
  {
    const FileSizeLimit limit(1 << 20);
    EXPECT_EQ(code_of([&] { (void)f(c.x, c.w, c.table, c.good); }), ErrorCode::disk_full);
  }
  auto free = compile(there_and_back, {.device = device()});
  EXPECT_EQ(f(c.x, c.w, c.table, c.good).to_vector(), free(c.x, c.w, c.table, c.good).to_vector());
}

TEST(CudaOffload, WhatIsWrongWithDataIsTheCallersErrorAndTheNextRunIsRight) {
  TM_NEEDS_GPU();
  const ThereAndBack c;
  auto f = compile(there_and_back,
                   {.memory = c.budget, .host = 64_MiB, .allow = {Choice::host}, .device = device()});
  const std::vector<double> expected = f(c.x, c.w, c.table, c.good).to_vector();
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(code_of([&] { (void)f(c.x, c.w, c.table, c.bad); }), ErrorCode::index_out_of_range);
    EXPECT_EQ(f(c.x, c.w, c.table, c.good).to_vector(), expected) << "round " << round;
  }
}

TEST(CudaOffload, TrainingOnADonatedStateHasTheSameLosses) {
  TM_NEEDS_GPU();
  const auto train = [](CompileOptions options) {
    const auto loss = [](const nn::Gpt& model, Tensor in, Tensor next) { return model.loss(in, next); };
    const auto optimizer = optim::AdamW{.lr = 1e-2};
    options.donate = {0};
    auto step = compile(optim::step(optimizer, loss), options);
    auto state = optimizer.init(
        nn::Gpt::init(key(0), {.layers = 4, .width = 64, .heads = 4, .vocabulary = 101, .context = 32}));
    std::vector<double> losses;
    for (int s = 0; s < 6; ++s) {
      auto [next, value] = step(std::move(state), tiny::random_labels(s, {8, 32}, 101),
                                tiny::random_labels(s + 1, {8, 32}, 101));
      state = std::move(next);
      losses.push_back(value.item());
    }
    return std::tuple(losses, step.plan().peak(), moved(step.plan().plan));
  };
  const auto [losses, peak, none] = train({.device = device()});
  int moving = 0;
  for (const int percent : {90, 75}) {
    try {
      const auto [there, low, copies] = train({.memory = Bytes(peak.count * percent / 100),
                                               .host = 64_MiB,
                                               .allow = {Choice::host},
                                               .device = device()});
      EXPECT_EQ(there, losses) << percent << "%";
      EXPECT_LE(low.count, peak.count * percent / 100);
      moving += copies > 0;
    } catch (const InfeasibleBudget&) {
      continue;  // what cannot wait is too much
    }
  }
  EXPECT_GT(moving, 0);
}

}  // namespace
}  // namespace tidemark::cuda
