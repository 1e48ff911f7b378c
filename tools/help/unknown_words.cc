#include "tools/help/unknown_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "tidemark/base/spelling.h"
#include "tools/help/manual.h"

namespace tidemark::cli {
namespace {

std::string message(const std::string& what, std::string_view name, const std::vector<std::string>& known,
                    const std::string& help) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string meant = nearest_name(name, names);
  return fmt::format("{} '{}'{}\nSee `{}`.\n", what, name.substr(0, 60),
                     meant.empty() ? "." : fmt::format("; did you mean '{}'?", meant), help);
}

std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

std::optional<std::string> unknown_command(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with('-')) continue;
    for (const std::string& name : names)
      if (name == word) return std::nullopt;
    return message("tidemark: there is no command", word, names, "tidemark help");
  }
  return std::nullopt;
}

std::optional<std::string> unknown_option(const CLI::App& app) {
  const auto look = [](const CLI::App& own, const std::string& name) -> std::optional<std::string> {
    for (const std::string& word : own.remaining()) {
      if (!word.starts_with('-') || word.size() < 2) continue;
      const std::string option = word.substr(0, word.find('='));
      return message(name + ": there is no option", option, long_names(own), name + " --help");
    }
    return std::nullopt;
  };
  for (const CLI::App* sub : app.get_subcommands())
    if (const auto found = look(*sub, "tidemark " + sub->get_name())) return found;
  return look(app, "tidemark");
}

std::optional<std::string> missing_word(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) return std::nullopt;
  for (const CLI::App* sub : app.get_subcommands()) {  // the one that was called
    const std::string name = "tidemark " + sub->get_name();
    std::vector<std::string> missing;
    for (const CLI::Option* option : sub->get_options()) {
      if (!option->get_required() || option->count() > 0) continue;
      missing.push_back(option->get_positional() ? argument_name(*option) : option->get_name());
    }
    const std::string what = missing.empty() ? error.what()
                                             : fmt::format("{} {} missing", fmt::join(missing, " and "),
                                                           missing.size() == 1 ? "is" : "are");
    return fmt::format("{}: {}\nUsage: {}\nSee `{} --help`.\n", name, what, usage_of(*sub, name), name);
  }
  return "tidemark: which command? `tidemark help` lists them; `tidemark demo` is a first look.\n";
}

}  // namespace tidemark::cli
