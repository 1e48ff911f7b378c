// What the command does with the files it is given and asked to write.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/command.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::CommandRun;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_command;
using testing::ScratchFolder;

CommandRun tidemark(const std::string& arguments, const std::string& before = "") {
  return run_command(before + TIDEMARK_CLI " " + arguments);
}

class Files : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return "'" + folder_.path(name) + "'"; }
  std::string lifetimes() const {
    folder_.write("in.csv", "id,lower,upper,size\na,0,2,64\nb,1,3,64\n");
    return at("in.csv");
  }
  std::string chain() const {
    folder_.write(
        "chain.dag.json",
        R"({"nodes":[{"name":"a","cost":1,"bytes":4},{"name":"b","cost":1,"bytes":4}],"edges":[[0,1]]})");
    return at("chain.dag.json");
  }
  std::string oddly_named() const {  // no UTF-8
    folder_.write("\xff.ir", "graph @f(%x: f32[8]) -> (f32[8]) {\n  %y = sin(%x) : f32[8]\n  return %y\n}\n");
    return at("\xff.ir");
  }
  ScratchFolder folder_;
};

TEST_F(Files, OutputThatCannotBeWrittenIsExitOne) {
  for (const std::string& arguments :
       {std::string("schedule --steps 10 --slots 3 --json"), "layout " + lifetimes() + " --json",
        "plan " + chain() + " --json", std::string("ops --json"), std::string("plan mlp --json"),
        std::string("--help"), std::string("schedule --help")}) {
    const CommandRun run = tidemark(arguments + " > /dev/full");
    EXPECT_EQ(run.exit_code, 1) << arguments << run.err;
  }
}

TEST_F(Files, AFullDiskLeavesTheOldFileAndIsExitOne) {
  const std::string small = "trap '' XFSZ; ulimit -f 1; ";  // files of at most one block
  folder_.write("old", "precious");
  for (const std::string& arguments :
       {"schedule --steps 5000 --slots 3 --actions " + at("old"),
        "schedule --steps 300 --slots 3 --svg " + at("old"), "plan mlp --output " + at("old"),
        "frontier " + chain() + " --points 2 --effort quick --svg " + at("old")}) {
    const CommandRun run = tidemark(arguments, small);
    EXPECT_EQ(run.exit_code, 1) << arguments << "\n" << run.err;
    EXPECT_THAT(run.err, HasSubstr("TM0705")) << arguments;
    EXPECT_EQ(folder_.read("old"), "precious") << arguments;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path("")), {}), 2) << "nothing else is left";
}

TEST_F(Files, OutputsGoThroughLinksAndLeaveThem) {
  folder_.write("target", "old");
  fs::create_symlink(folder_.path("target"), folder_.path("out"));
  EXPECT_EQ(tidemark("layout " + lifetimes() + " --output " + at("out")).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(folder_.path("out")));
  EXPECT_THAT(folder_.read("target"), HasSubstr("offset"));
  for (const char* own : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    const std::string out = tidemark("layout " + lifetimes() + " --output " + own).out;
    EXPECT_THAT(out, AllOf(HasSubstr("offset"), HasSubstr("lower bound"))) << own;
    EXPECT_TRUE(fs::is_symlink(own)) << own;
  }
}

TEST_F(Files, InputsWithoutAnEndAreRefused) {
  for (const char* name : {"zeros.ir", "zeros.dag.json", "zeros.csv", "zeros.json"})
    fs::create_symlink("/dev/zero", folder_.path(name));
  for (const std::string& arguments :
       {"plan " + at("zeros.ir"), "plan " + at("zeros.dag.json"), "layout " + at("zeros.csv"),
        "plan mlp --machine " + at("zeros.json"), "machine --show " + at("zeros.json"),
        "schedule --check " + at("zeros.csv"), "plan " + chain() + " --check " + at("zeros.csv")}) {
    const CommandRun run = tidemark(arguments, "ulimit -v 4000000; ");
    EXPECT_EQ(run.exit_code, 4) << arguments << run.err;
    EXPECT_THAT(run.err, HasSubstr("it is a device")) << arguments;
  }
  // Nor does a pipe take memory for ever.
  const CommandRun piped =
      run_command("head -c 100000000 /dev/zero | " TIDEMARK_CLI " schedule --check /dev/stdin");
  EXPECT_EQ(piped.exit_code, 4) << piped.err;
  EXPECT_THAT(piped.err, HasSubstr("too long"));
}

TEST_F(Files, DirectoriesAreNoFiles) {
  fs::create_directory(folder_.path("d"));
  for (const std::string& arguments :
       {"schedule --check " + at("d"), "layout " + at("d"), "plan mlp --machine " + at("d"),
        "machine --show " + at("d"), "plan " + chain() + " --check " + at("d"),
        "schedule --steps 10 --slots 2 --actions " + at("d")}) {
    const CommandRun run = tidemark(arguments);
    EXPECT_EQ(run.exit_code, 4) << arguments << run.err;
    EXPECT_THAT(run.err, HasSubstr("directory")) << arguments;
    EXPECT_THAT(run.err, Not(HasSubstr("basic_filebuf"))) << arguments;
  }
}

TEST_F(Files, ExitCodesAreThoseOfThePage) {
  const std::string list = at("list");
  ASSERT_EQ(tidemark("schedule --steps 10 --slots 3 --actions " + list).exit_code, 0);
  const struct {
    std::string arguments;
    int exit_code;
  } rows[] = {
      {"schedule --steps 10 --slots 3", 0},
      {"plan " + oddly_named() + " --json", 0},
      {"explain " + oddly_named() + " --json", 0},
      {"frontier " + oddly_named() + " --json", 0},
      {"", 2},
      {"nonsense", 2},
      {"schedule --nonsense", 2},
      {"layout", 2},
      {"layout " + lifetimes() + " --capacity 64", 3},
      {"layout " + lifetimes() + " --capacity 128", 0},
      {"plan " + chain() + " --memory 1", 3},
      {"schedule --steps 10 --slots 0 --kind binomial", 3},
      {"schedule --check " + list + " --slots 1", 3},
      {"layout " + at("none"), 4},
      {"plan " + at("none"), 4},
      {"schedule --check " + at("none"), 4},
      {"machine --show " + at("none"), 4},
      {"layout " + lifetimes() + " --output " + at("none/out"), 4},
  };
  for (const auto& row : rows) {
    const CommandRun run = tidemark(row.arguments);
    EXPECT_EQ(run.exit_code, row.exit_code) << row.arguments << "\n" << run.err;
  }
}

}  // namespace
}  // namespace tidemark
