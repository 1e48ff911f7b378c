// --device of the commands: plans for a GPU are made anywhere; what runs on one says why it cannot where
// there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/cuda/machine.h"

namespace tidemark::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

CommandRun tidemark_command(const std::string& arguments) {
  return run_command(std::string(TIDEMARK_CLI) + " " + arguments);
}
Json report(const std::string& arguments) {
  const CommandRun ran = tidemark_command(arguments + " --json");
  EXPECT_EQ(ran.exit_code, 0) << arguments << "\n" << ran.err;
  return Json::parse(ran.out, nullptr, false);
}

constexpr const char* no_kernel_there = R"(graph @factors(%x: f32[64, 8]) -> (f32[8]) {
  %u, %s, %v = svd(%x) : f32[64, 8], f32[8], f32[8, 8]  @ "model.cc":12
  %d = neg(%s) : f32[8]  @ "model.cc":13
  return %d
}
)";

constexpr const char* wave =
    R"(graph(%u: f32[512, 512], %v: f32[512, 512], %x: f32[64], %m: f32[512, 512]) -> (f32[512, 512], f32[512, 512]) {
  %4, %5 = loop(%u, %v, %x, %m) {trips = 64, carries = 2, scanned = 1} [
    graph(%a: f32[512, 512], %b: f32[512, 512], %p: f32[], %c: f32[512, 512]) -> (f32[512, 512], f32[512, 512]) {
      %4 = constant() {value = f32[] 0} : f32[]
      %5 = pad(%a, %4) {low = [1, 0], high = [-1, 0], interior = [0, 0]} : f32[512, 512]
      %6 = pad(%a, %4) {low = [-1, 0], high = [1, 0], interior = [0, 0]} : f32[512, 512]
      %7 = add(%5, %6) : f32[512, 512]
      %8 = mul(%7, %c) : f32[512, 512]
      %9 = sub(%8, %b) : f32[512, 512]
      %10 = mul(%9, %p) : f32[512, 512]
      return %10, %a
    }
  ] : f32[512, 512], f32[512, 512]
  return %4, %5
}
)";

TEST(CliDevice, PlansForAGpuThatIsNotThere) {
  const Json gpu = report("plan gpt --memory 70% --effort quick --device cuda");
  EXPECT_EQ(gpu["device"], "cuda");
  EXPECT_LE(gpu["peak"], gpu["budget"]);
  EXPECT_EQ(gpu["on_host"], Json::array());
  const Json cpu = report("plan gpt --memory 70% --effort quick");
  EXPECT_EQ(cpu["device"], "cpu");
  EXPECT_LT(gpu["predicted_seconds"], cpu["predicted_seconds"]);
  const CommandRun text = tidemark_command("plan gpt --effort quick --device cuda");
  EXPECT_THAT(text.out, Not(HasSubstr("CPU"))) << text.out;
  EXPECT_THAT(text.out, Not(HasSubstr("thread"))) << text.out;
}

TEST(CliDevice, CallsWithoutAKernelThereAreNamedWithTheirLinesAndCopies) {
  const ScratchFolder folder;
  const std::string file = folder.write("factors.ir", no_kernel_there);
  const CommandRun text = tidemark_command("plan " + file + " --device cuda");
  EXPECT_THAT(text.out, HasSubstr("1 call runs on the CPU, with copies of 4.28 KiB: svd (model.cc:12)"))
      << text.out;
  const Json gpu = report("plan " + file + " --device cuda");
  ASSERT_EQ(gpu["on_host"].size(), 1u);
  const Json expected = {
      {"op", "svd"}, {"where", "model.cc:12"}, {"runs", 1}, {"copied_bytes", 4384}, {"in_region", false}};
  EXPECT_EQ(gpu["on_host"][0], expected);
  // What it takes there counts, and the copies.
  EXPECT_GT(gpu["predicted_seconds"], report("plan " + file)["predicted_seconds"]);
  EXPECT_THAT(tidemark_command("plan " + file).out, Not(HasSubstr("CPU")));
}

// Though nothing in it is kept or computed again.
TEST(CliDevice, ALoopOfAStencilTakesSeveralStepsAtOnceWhereThereIsRoom) {
  const ScratchFolder folder;
  const std::string file = folder.write("wave.ir", wave);
  const Json free = report("plan " + file + " --device cuda"),
             tight = report("plan " + file + " --device cuda --memory 6MiB");
  EXPECT_LE(tight["peak"], 6 << 20);
  EXPECT_GT(free["peak"], 6 << 20);
  EXPECT_LT(free["predicted_seconds"], 0.5 * tight["predicted_seconds"].get<double>());
  const Json points = report("frontier " + file + " --points 3 --device cuda")["points"];
  EXPECT_EQ(points.front()["predicted_seconds"], tight["predicted_seconds"]);
  EXPECT_EQ(points.back()["predicted_seconds"], free["predicted_seconds"]);
}

TEST(CliDevice, AMachineFileStandsInForTheH200) {
  const ScratchFolder folder;
  Machine slow = cuda::h200_machine();
  slow.overhead *= 100;
  const std::string file = folder.write("slow.json", to_json(slow));
  const Json plain = report("plan mlp --device cuda"),
             slower = report("plan mlp --device cuda --machine " + file);
  EXPECT_GT(slower["predicted_seconds"], plain["predicted_seconds"]);
}

TEST(CliDevice, BudgetsThatDoNotFitAndFrontiersAreTheDevices) {
  const CommandRun none = tidemark_command("plan mlp --device cuda --memory 1000 --effort quick");
  EXPECT_EQ(none.exit_code, 3) << none.err;
  EXPECT_THAT(none.err, HasSubstr("TM0101"));
  const Json gpu = report("frontier mlp --points 3 --effort quick --device cuda");
  const Json cpu = report("frontier mlp --points 3 --effort quick");
  ASSERT_GE(gpu["points"].size(), 1u);
  EXPECT_LT(gpu["points"].back()["predicted_seconds"], cpu["points"].back()["predicted_seconds"]);
}

TEST(CliDevice, ValuesMayWaitInTheHostsMemory) {
  const Json moved =
      report("plan gpt --batch 2 --memory 85% --effort quick --device cuda --tier host=1GiB --allow host");
  EXPECT_EQ(moved["memories"][1]["name"], "host");
  EXPECT_GT(moved["memories"][1]["peak"], 0);
  EXPECT_GT(moved["choices"]["host"], 0);
  EXPECT_EQ(moved["choices"]["disk"], 0);
  EXPECT_EQ(moved["choices"]["recompute"], 0);
  const CommandRun cpu = tidemark_command("plan gpt --memory 85% --tier host=1GiB");
  EXPECT_EQ(cpu.exit_code, 4) << cpu.err;
  EXPECT_THAT(cpu.err, HasSubstr("no memory `host`"));
  EXPECT_EQ(tidemark_command("plan gpt --memory 85% --device cuda --allow host").exit_code, 4);
}

TEST(CliDevice, WhatIsNoDeviceOrHasNoEffectIsRefused) {
  const CommandRun ran = tidemark_command("plan mlp --device abacus");
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_THAT(ran.err, HasSubstr("--device abacus"));
  for (const char* name : {"cuda:", "cuda:x", "cuda:-1", "cuda1", "''"})
    EXPECT_EQ(tidemark_command(std::string("plan mlp --device ") + name).exit_code, 4) << name;
  EXPECT_EQ(tidemark_command("plan mlp --memory 90% --device cuda --disk /tmp --disk-memory 1GiB").exit_code,
            4);
  const ScratchFolder folder;
  const std::string dag =
      folder.write("a.dag.json", R"({"nodes": [{"name": "x", "cost": 1, "bytes": 1}], "edges": []})");
  EXPECT_EQ(tidemark_command("plan " + dag + " --device cuda").exit_code, 4);
  EXPECT_EQ(tidemark_command("frontier " + dag + " --device cuda").exit_code, 4);
}

TEST(CliDevice, TheDemoSaysWhyThereIsNoGpu) {
  const CommandRun ran = tidemark_command("demo --steps 1 --batch 2 --device cuda:999");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("TM0607"));
  EXPECT_THAT(ran.err, HasSubstr("there is no CUDA device 999: "));
  if (!cuda::devices().devices.empty()) return;
  EXPECT_THAT(ran.err, HasSubstr(cuda::devices().reason));
}

TEST(CliDevice, AMachineWithoutThatGpuSaysSoAndMeasuresNothing) {
  const CommandRun ran = tidemark_command("machine --device cuda:999 --effort quick");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("TM0607"));
  EXPECT_EQ(tidemark_command("machine --device cuda --threads 1").exit_code, 4);
  EXPECT_EQ(tidemark_command("machine --device cuda --disk /tmp").exit_code, 4);
  const ScratchFolder folder;
  const CommandRun shown =
      tidemark_command("machine --show " + folder.write("h200.json", to_json(cuda::h200_machine())));
  EXPECT_THAT(shown.out, HasSubstr("device → host")) << shown.out;
}

}  // namespace
}  // namespace tidemark::testing
