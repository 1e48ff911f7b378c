// Scripts for shells, run in the shells themselves where they are installed.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/support/command.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/solve/remat/solvers.h"

namespace tidemark::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::string script_for(const std::string& shell) {
  const CommandRun ran = run_command(std::string(TIDEMARK_CLI) + " completion " + shell);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return ran.out;
}

bool installed(const std::string& program) { return run_command("command -v " + program).exit_code == 0; }

class BashCompletion : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!installed("bash")) GTEST_SKIP() << "bash is not installed";
    folder_.write("tidemark.bash", script_for("bash"));
  }

  // What bash offers for the last of these words.
  std::vector<std::string> offered(const std::string& words) {
    folder_.write("ask.bash", "source tidemark.bash\nCOMP_WORDS=(" + words +
                                  ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_tidemark\n"
                                  "for word in \"${COMPREPLY[@]}\"; do echo \"$word\"; done\n");
    const CommandRun ran = run_command("cd " + folder_.path() + " && bash ask.bash");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    std::vector<std::string> lines;
    std::istringstream stream(ran.out);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  ScratchFolder folder_;
};

TEST_F(BashCompletion, OffersCommands) {
  EXPECT_THAT(offered("tidemark ''"), IsSupersetOf({"plan", "frontier", "schedule", "completion", "help"}));
  EXPECT_THAT(offered("tidemark sch"), ElementsAre("schedule"));
  EXPECT_THAT(offered("tidemark help fr"), ElementsAre("frontier"));
  EXPECT_THAT(offered("tidemark --h"), ElementsAre("--help"));
}

TEST_F(BashCompletion, OffersTheOptionsOfTheCommand) {
  EXPECT_THAT(offered("tidemark plan gpt --me"), ElementsAre("--memory"));
  EXPECT_THAT(offered("tidemark frontier gpt --po"), ElementsAre("--points"));
  EXPECT_THAT(offered("tidemark plan --po"), IsEmpty());
}

TEST_F(BashCompletion, OffersTheValuesThatAreKnown) {
  std::vector<std::string> models, solvers;
  for (const nn::ZooModel& model : nn::zoo()) models.emplace_back(model.name);
  for (const SolverInfo& solver : solver_list()) solvers.emplace_back(solver.name);
  EXPECT_THAT(offered("tidemark plan ''"), IsSupersetOf(models));
  EXPECT_THAT(offered("tidemark frontier --points 4 gpt2-1.5"), ElementsAre("gpt2-1.5b"));
  EXPECT_EQ(offered("tidemark plan gpt --solver ''"), solvers);
  EXPECT_THAT(offered("tidemark plan gpt --dtype ''"), ElementsAre("f32", "bf16", "f16"));
  EXPECT_THAT(offered("tidemark plan gpt --device = c"), ElementsAre("cpu", "cuda")) << "bash cuts at =";
  EXPECT_THAT(offered("tidemark plan gpt --effort ''"), ElementsAre("quick", "normal", "best"));
  EXPECT_THAT(offered("tidemark plan gpt --disable fus"), ElementsAre("fuse"));
  EXPECT_THAT(offered("tidemark plan gpt --memory ''"), IsEmpty()) << "bytes are nobody's to guess";
  EXPECT_THAT(offered("tidemark completion ''"), ElementsAre("bash", "zsh", "fish"));
}

TEST_F(BashCompletion, OffersTheRestOfAList) {
  EXPECT_THAT(offered("tidemark plan gpt --allow rec"), ElementsAre("recompute"));
  EXPECT_THAT(offered("tidemark plan gpt --allow recompute,d"), ElementsAre("recompute,disk"));
  EXPECT_THAT(offered("tidemark plan gpt --allow recompute,"), Not(Contains("recompute,recompute")));
}

TEST_F(BashCompletion, OffersFilesAndFolders) {
  folder_.write("my graph.ir", "");
  folder_.write("machine.json", "");
  EXPECT_THAT(offered("tidemark plan my"), ElementsAre("my graph.ir"));
  EXPECT_THAT(offered("tidemark plan gpt --machine mach"), ElementsAre("machine.json"));
  EXPECT_THAT(offered("tidemark plan gpt --disk mach"), IsEmpty()) << "not a folder";
  EXPECT_THAT(offered("tidemark plan gpt --disk /us"), ElementsAre("/usr"));
  EXPECT_THAT(offered("tidemark ops my"), IsEmpty()) << "it takes none";
}

TEST(Completion, EveryOptionOfHelpIsInEveryScript) {
  const std::string bash = script_for("bash"), zsh = script_for("zsh"), fish = script_for("fish");
  for (const std::string command : {"plan", "schedule", "layout"}) {
    std::istringstream help(run_command(std::string(TIDEMARK_CLI) + " help " + command).out);
    for (std::string line; std::getline(help, line);) {
      const std::size_t at = line.find("--");
      if (!line.starts_with("  -") || at == std::string::npos) continue;
      const std::string name = line.substr(at, line.find(' ', at) - at);
      EXPECT_THAT(bash, HasSubstr(name));
      EXPECT_THAT(zsh, HasSubstr(name));
      EXPECT_THAT(fish, HasSubstr("-l " + name.substr(2)));
    }
  }
}

TEST(Completion, ZshTakesItsScript) {
  if (!installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  const ScratchFolder folder;
  const std::string file = folder.write("_tidemark", script_for("zsh"));
  EXPECT_EQ(run_command("zsh -n " + file).exit_code, 0);
  const CommandRun loaded = run_command("zsh -f -c 'autoload -U compinit && compinit -u -D && source " +
                                        file + " && print $_comps[tidemark]'");
  EXPECT_EQ(loaded.out, "_tidemark\n") << loaded.err;
}

TEST(Completion, FishOffersWhatItsScriptSays) {
  if (!installed("fish")) GTEST_SKIP() << "fish is not installed";
  const ScratchFolder folder;
  const std::string file = folder.write("tidemark.fish", script_for("fish"));
  EXPECT_EQ(run_command("fish -n " + file).exit_code, 0);
  const auto offered = [&](const std::string& line) {
    return run_command("HOME=" + folder.path() + " fish -c 'source " + file + "; complete -C\"" + line +
                       "\"'")
        .out;
  };
  EXPECT_THAT(offered("tidemark sch"), HasSubstr("schedule\t"));
  EXPECT_THAT(offered("tidemark plan --mem"), HasSubstr("--memory\t"));
  EXPECT_THAT(offered("tidemark plan gpt2-1.5"), HasSubstr("gpt2-1.5b"));
  EXPECT_THAT(offered("tidemark plan gpt --solver ann"), HasSubstr("anneal"));
}

TEST(Completion, AShellThatIsNoneIsRefused) {
  EXPECT_EQ(run_command(std::string(TIDEMARK_CLI) + " completion tcsh").exit_code, 4);
}

}  // namespace
}  // namespace tidemark::testing
