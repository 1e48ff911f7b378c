// What is said of a command or an option that does not exist: its name, and the one that was probably meant;
// and of one that is not there and has to be.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace tidemark::cli {

// The first word that is no option, if it names no subcommand.
std::optional<std::string> unknown_command(const CLI::App& app, int argc, const char* const* argv);

// After a parse that failed: an option that the chosen subcommand, or the command itself, does not have.
std::optional<std::string> unknown_option(const CLI::App& app);

// Where the parse failed for want of a command, an argument or an option.
std::optional<std::string> missing_word(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tidemark::cli
