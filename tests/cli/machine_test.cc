// `tidemark machine` as a person uses it. Nothing is asserted about how fast the machine is.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tidemark/plan/machine.h"
#include "tidemark/plan/profile/profile.h"

namespace tidemark::testing {
namespace {

CommandRun run_machine(const std::string& arguments) {
  return run_command(std::string(TIDEMARK_CLI) + " machine " + arguments);
}

TEST(CliMachine, MeasuresAndWritesAFileThatLoads) {
  const ScratchFolder folder;
  const CommandRun ran = run_machine("--effort quick --threads 1 --json --output " + folder.path("m.json"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Machine machine = load_machine(folder.path("m.json"));
  EXPECT_EQ(machine.threads, 1);
  EXPECT_EQ(machine_from_json(ran.out), machine);
}

TEST(CliMachine, ShowsAFileAsATable) {
  const ScratchFolder folder;
  const std::string file = folder.write("m.json", to_json(reference_machine()));
  const CommandRun ran = run_machine("--show " + file);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("reference"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("contraction"), std::string::npos);
  EXPECT_NE(ran.out.find("Gflop/s"), std::string::npos);
}

TEST(CliMachine, ListsDevicesOrSaysWhyThereAreNone) {
  const CommandRun ran = run_machine("--devices");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("CUDA: none: ") || ran.out.starts_with("CUDA 0: ")) << ran.out;
  EXPECT_NE(ran.out.find("\nCUDA compiler: "), std::string::npos) << ran.out;
  EXPECT_EQ(run_machine("--devices --json").exit_code, 2);
  EXPECT_EQ(run_machine("--devices --output m.json").exit_code, 2);
}

TEST(CliMachine, IsFittedToAProfileOfTheDemo) {
  const ScratchFolder folder;
  const std::string profile = folder.path("p.json"), trace = folder.path("t.json");
  const CommandRun demo = run_command(std::string(TIDEMARK_CLI) +
                                      " demo --json --steps 3 --batch 2 --width 16 --memory 95% --profile " +
                                      profile + " --trace " + trace);
  ASSERT_EQ(demo.exit_code, 0) << demo.err;
  EXPECT_EQ(load_profile(profile).runs.size(), 3u);
  EXPECT_TRUE(nlohmann::json::parse(folder.read("t.json")).at("traceEvents").is_array());

  const CommandRun ran = run_machine("--from " + profile + " --output " + folder.path("m.json"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("contraction"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("before"), std::string::npos) << ran.out;
  const Machine fitted = load_machine(folder.path("m.json"));
  EXPECT_EQ(fitted.name, "reference (fitted to 1 profile)");
  EXPECT_EQ(fitted[WorkKind::sort], reference_machine()[WorkKind::sort]) << "which the demo has none of";
  EXPECT_FALSE(fitted[WorkKind::contraction] == reference_machine()[WorkKind::contraction]);
  const CommandRun again =
      run_machine("--json --from " + profile + " " + profile + " --base " + folder.path("m.json"));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(machine_from_json(again.out).name, "reference (fitted to 2 profiles)");

  EXPECT_EQ(run_machine("--from " + trace).exit_code, 4);  // no profile
  EXPECT_EQ(run_machine("--from " + profile + " --effort quick").exit_code, 4);
  EXPECT_EQ(run_machine("--base " + folder.path("m.json")).exit_code, 4);
}

TEST(CliMachine, BadInputIsExitCodeFourWithThePlace) {
  const ScratchFolder folder;
  const std::string broken = folder.write("broken.json", "{\"format\": \"tidemark-machine\"}");
  const CommandRun ran = run_machine("--show " + broken);
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_NE(ran.err.find("TM0105"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("version"), std::string::npos) << ran.err;
  EXPECT_EQ(run_machine("--show " + folder.path("absent.json")).exit_code, 4);
  EXPECT_EQ(run_machine("--output /no/such/folder/m.json").exit_code, 4);
  EXPECT_EQ(run_machine("--effort heroic").exit_code, 4);
}

}  // namespace
}  // namespace tidemark::testing
