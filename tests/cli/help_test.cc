// Help, and what is said of commands and options that do not exist. Laws over all commands: what is added to
// the command is held to them by itself.
#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <sstream>

#include "tests/support/command.h"

namespace tidemark::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CommandRun run_tidemark(const std::string& arguments) {
  return run_command(std::string(TIDEMARK_CLI) + " " + arguments);
}

std::string help_of(const std::string& command) {
  const CommandRun ran = run_tidemark(command + " --help");
  EXPECT_EQ(ran.exit_code, 0) << command << ran.err;
  return ran.out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Of a section that is headed so: its lines up to the next empty one.
std::vector<std::string> section_of(const std::string& help, const std::string& head) {
  std::vector<std::string> found;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    if (line.empty()) inside = false;
    if (inside) found.push_back(line);
    if (line == head) inside = true;
  }
  return found;
}

std::vector<std::string> commands() {
  std::vector<std::string> names;
  for (const std::string& line : section_of(help_of(""), "Commands:"))
    names.push_back(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

// Options with the text below them.
std::map<std::string, std::string> options_of(const std::string& help) {
  std::map<std::string, std::string> options;
  std::string* last = nullptr;
  for (const std::string& line : section_of(help, "Options:")) {
    if (line.starts_with("  -"))
      last = &options[line.substr(2)];
    else if (last)
      *last += line.substr(7);
  }
  return options;
}

TEST(CliHelp, WhatIsMissingIsSaidWithTheWholeCall) {
  const std::map<std::string, std::string> said = {
      {"", "which command?"},
      {"fit",
       "tidemark fit: MODEL and --memory are missing\nUsage: tidemark fit MODEL --memory BYTES [OPTIONS]\n"},
      {"fit gpt", "tidemark fit: --memory is missing\n"},
      {"completion", "tidemark completion: SHELL is missing\nUsage: tidemark completion SHELL [OPTIONS]\n"}};
  for (const auto& [arguments, text] : said) {
    const CommandRun ran = run_tidemark(arguments);
    EXPECT_EQ(ran.exit_code, 2) << arguments;
    EXPECT_THAT(ran.err, HasSubstr(text)) << arguments;
    EXPECT_THAT(ran.err, HasSubstr(arguments.empty() ? "`tidemark help`" : " --help`")) << arguments;
    EXPECT_EQ(ran.out, "") << arguments;
  }
}

TEST(CliHelp, EveryCommandHasUsageOptionsExamplesAndExitStatuses) {
  const std::vector<std::string> names = commands();
  EXPECT_GE(names.size(), 9u);
  for (const std::string& name : names) {
    const std::string help = help_of(name);
    EXPECT_THAT(help, HasSubstr("Usage:\n  tidemark " + name)) << name;
    EXPECT_FALSE(options_of(help).empty()) << name;
    EXPECT_FALSE(section_of(help, "Examples:").empty())
        << name << ": describe() it with examples (tools/help/manual.h)";
    EXPECT_GE(section_of(help, "Exit status:").size(), 3u) << name;
    EXPECT_EQ(run_tidemark("help " + name).out, help) << name;
  }
  EXPECT_EQ(run_tidemark("help").out, help_of(""));
}

TEST(CliHelp, EveryOptionThatTakesAValueSaysOfWhichKindAndWhatHoldsWithoutIt) {
  for (const std::string& name : commands()) {
    for (const auto& [option, text] : options_of(help_of(name))) {
      EXPECT_THAT(text, Not(::testing::IsEmpty())) << name << " " << option;
      if (option.find(' ', option.rfind('-')) == std::string::npos) continue;  // a flag
      EXPECT_THAT(option, Not(HasSubstr(" TEXT")))
          << name << ": a type_name that says more (tools/help/option_values.h)";
      EXPECT_TRUE(text.find("Default:") != std::string::npos || text.find("Required") != std::string::npos)
          << name << " " << option << ": say what holds without it, by default_str";
    }
  }
}

TEST(CliHelp, ExamplesUseOptionsThatThereAre) {
  int seen = 0;
  for (const std::string& name : commands()) {
    const std::string help = help_of(name);
    for (const std::string& line : section_of(help, "Examples:")) {
      if (!line.starts_with("  tidemark ")) continue;
      EXPECT_TRUE(line.starts_with("  tidemark " + name)) << line;
      const std::regex option("--[a-z-]+");
      for (std::sregex_iterator at(line.begin(), line.end(), option), end; at != end; ++at, ++seen)
        EXPECT_THAT(help, HasSubstr("  " + at->str())) << line;
    }
  }
  EXPECT_GE(seen, 20);
}

TEST(CliHelp, QuickExamplesRun) {
  const ScratchFolder folder;
  for (const std::string& line : section_of(help_of("schedule"), "Examples:")) {
    if (!line.starts_with("  tidemark ")) continue;
    const CommandRun ran = run_command("cd " + folder.path() + " && " + TIDEMARK_CLI + line.substr(10));
    EXPECT_EQ(ran.exit_code, 0) << line << "\n" << ran.err;
  }
}

TEST(CliHelp, LinesFitATerminal) {
  for (const std::string& name : commands())
    for (const std::string& line : lines_of(help_of(name)))
      if (line.starts_with("        ")) EXPECT_LE(line.size(), 92u) << line;  // text; … is three bytes
}

TEST(CliHelp, ProposesTheCommandThatWasMeant) {
  for (const std::string call : {"plann mlp", "--json pln", "help plna"}) {
    const CommandRun ran = run_tidemark(call);
    EXPECT_EQ(ran.exit_code, 2) << call;
    EXPECT_THAT(ran.err, HasSubstr("did you mean 'plan'?")) << call;
  }
  const CommandRun far = run_tidemark("quux");
  EXPECT_EQ(far.exit_code, 2);
  EXPECT_THAT(far.err, HasSubstr("there is no command 'quux'."));
  EXPECT_THAT(far.err, Not(HasSubstr("did you mean")));
}

TEST(CliHelp, ProposesTheOptionThatWasMeant) {
  for (const std::string call :
       {"plan mlp --memroy 90%", "plan --memroy=90%", "frontier mlp --point 4", "schedule --stepss 4"}) {
    const CommandRun ran = run_tidemark(call);
    EXPECT_EQ(ran.exit_code, 2) << call;
    EXPECT_THAT(ran.err, HasSubstr("there is no option '--")) << call;
    EXPECT_THAT(ran.err, HasSubstr("did you mean '--")) << call;
  }
  EXPECT_THAT(run_tidemark("plan mlp --memroy 90%").err, HasSubstr("'--memory'"));
  EXPECT_THAT(run_tidemark("plan mlp --zzzzzz").err, Not(HasSubstr("did you mean")));
  EXPECT_THAT(run_tidemark("plan gtp2").err, HasSubstr("did you mean 'gpt2'?"));
}

}  // namespace
}  // namespace tidemark::testing
