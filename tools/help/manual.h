// Help as a page of a manual: what a command does, how it is called, its arguments and options with their
// units and defaults, examples, exit statuses. Everything comes from the definition of the command, so that
// what is added there stands here; `describe` adds what a definition has no place for.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/exit_code.h"

namespace tidemark::cli {

struct CommandExample {
  std::string call;  // "tidemark plan gpt2 --memory 60%"
  std::string what;
};

struct CommandText {
  std::string about;  // paragraphs, with an empty line between them
  std::vector<CommandExample> examples = {};
  std::vector<ExitCode> exits = {exit_ok, exit_failure, exit_usage, exit_bad_input};
};

// A footer that is already there stays, in front.
void describe(CLI::App& command, const CommandText& text);

// Its help: set it before subcommands are added, which take it over.
class Manual : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

std::string argument_name(const CLI::Option& option);  // "MODEL"
// "tidemark fit MODEL --memory BYTES [OPTIONS]": what has to be there, by itself.
std::string usage_of(const CLI::App& app, const std::string& name);

// Lines of at most so many columns, each behind an indent. What is one word is not cut.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t columns = 88);

}  // namespace tidemark::cli
