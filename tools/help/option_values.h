// What may stand behind an option, read from its type name, by which help and completion know it:
//
//   quick|normal|best|SECONDS    words in small letters are values; capitals are a name for values of a kind
//   recompute|compress,…         several of these, separated by commas
//   FILE, FOLDER                 a path
//   MODEL, SOLVER, PASS, COMMAND what the library, or the command itself, has a list of
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tidemark::cli {

struct OptionValues {
  std::vector<std::string> words;
  bool files = false, folders = false;
  bool list = false;  // of words, separated by commas
};

// A flag takes no value.
bool takes_value(const CLI::Option& option);

// As it is shown: "BYTES", or "f32|bf16|f16" for a value that is checked against a set; "" for a flag.
std::string type_of(const CLI::Option& option);

// `command`: the whole of it, whose subcommands a value may name.
OptionValues values_of(const CLI::Option& option, const CLI::App& command);

// The type name of several words: "a|b|c".
std::string alternatives(const std::vector<std::string>& words);

}  // namespace tidemark::cli
