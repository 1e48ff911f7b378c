#include "tools/help/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tools/help/option_values.h"

namespace tidemark::cli {
namespace {

constexpr std::size_t option_indent = 2, text_indent = 8;

// A description is a line, which lists of commands show, and paragraphs behind it.
std::string first_line(const std::string& description) {
  return description.substr(0, description.find('\n'));
}

std::string paragraphs(const std::string& description) {
  const std::size_t end = description.find("\n\n");
  std::string rest = end == std::string::npos ? "" : description.substr(end + 2), text;
  while (!rest.empty()) {
    const std::size_t next = rest.find("\n\n");
    text += "\n" + wrapped(rest.substr(0, next), 0);
    rest = next == std::string::npos ? "" : rest.substr(next + 2);
  }
  return text;
}

// Letters beyond ASCII take several bytes and one column.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string others(const char* word, const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::ranges::sort(names);  // the set is in the order of addresses
  return names.empty() ? "" : fmt::format(" {} {}.", word, fmt::join(names, ", "));
}

std::string sentence(std::string text) {
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

std::string option_text(const CLI::Option& option) {
  std::string text = sentence(option.get_description());
  if (option.get_required()) text += " Required.";
  text += others("Needs", option.get_needs()) + others("Not with", option.get_excludes());
  if (!option.get_default_str().empty()) text += fmt::format(" Default: {}.", option.get_default_str());
  return text;
}

std::string entry(const std::string& head, const std::string& text) {
  return fmt::format("{}{}\n{}", std::string(option_indent, ' '), head, wrapped(text, text_indent));
}

std::string arguments_of(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string type = type_of(*option), name = argument_name(*option);
    text += entry(type == name || type == "TEXT" ? name : name + "  " + type, option_text(*option));
  }
  return text.empty() ? "" : "\nArguments:\n" + text;
}

std::string options_of(const CLI::App& app) {
  std::string text;
  for (const std::string& group : app.get_groups()) {
    std::string entries;
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() != group || !option->nonpositional()) continue;
      const std::string type = type_of(*option);
      entries += entry(names_of(*option) + (type.empty() ? "" : " " + type), option_text(*option));
    }
    if (!group.empty() && !entries.empty()) text += fmt::format("\n{}:\n{}", group, entries);
  }
  return text;
}

std::string commands_of(const CLI::App& app) {
  std::string text;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!sub->get_group().empty())
      text += fmt::format("  {:<12}{}\n", sub->get_name(), first_line(sub->get_description()));
  return text.empty() ? "" : "\nCommands:\n" + text;
}

std::string exits_text(const std::vector<ExitCode>& exits) {
  std::string text = "Exit status:\n";
  for (const ExitCode code : exits)
    text += fmt::format("  {}  {}\n", static_cast<int>(code), meaning_of(code));
  return text;
}

}  // namespace

std::string argument_name(const CLI::Option& option) {
  std::string name = option.get_name(true);
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::string usage_of(const CLI::App& app, const std::string& name) {
  std::string usage = name;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string shown = argument_name(*option);
    usage += option->get_required() ? " " + shown : " [" + shown + "]";
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional() && option->get_required())
      usage += fmt::format(" --{} {}", option->get_lnames().front(), type_of(*option));
  }
  if (!app.get_subcommands([](const CLI::App*) { return true; }).empty()) usage += " COMMAND";
  return usage + " [OPTIONS]";
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t columns) {
  std::istringstream words(text);
  std::string word, line, lines;
  const auto flush = [&] {
    if (!line.empty()) lines += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  while (words >> word) {
    if (!line.empty() && indent + columns_of(line) + 1 + columns_of(word) > columns) flush();
    line += (line.empty() ? "" : " ") + word;
  }
  flush();
  return lines;
}

void describe(CLI::App& command, const CommandText& text) {
  command.description(first_line(command.get_description()) + "\n\n" + text.about);
  std::string footer = command.get_footer();
  if (!footer.empty()) footer += footer.ends_with('\n') ? "\n" : "\n\n";
  if (!text.examples.empty()) {
    footer += "Examples:\n";
    for (const CommandExample& example : text.examples)
      footer += fmt::format("  {}\n{}", example.call, wrapped(example.what, text_indent));
    footer += "\n";
  }
  command.footer(footer + exits_text(text.exits));
}

std::string Manual::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const {
  const std::string description = app->get_description();
  std::string text =
      fmt::format("{}: {}\n\nUsage:\n  {}\n", name, first_line(description), usage_of(*app, name));
  text += paragraphs(description) + arguments_of(*app) + commands_of(*app) + options_of(*app);
  std::string footer = app->get_footer();
  if (footer.find("Exit status:") == std::string::npos) {
    if (!footer.empty()) footer += footer.ends_with('\n') ? "\n" : "\n\n";
    footer += exits_text(CommandText{.about = ""}.exits);
  }
  return text + "\n" + footer;
}

}  // namespace tidemark::cli
