#include "tools/help/option_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "tidemark/nn/zoo.h"
#include "tidemark/opt/optimize.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/solve/remat/solvers.h"

namespace tidemark::cli {
namespace {

constexpr std::string_view list_mark = ",…";

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t bar = text.find('|');
    parts.emplace_back(text.substr(0, bar));
    if (bar == std::string_view::npos) return parts;
    text.remove_prefix(bar + 1);
  }
}

bool is_word(std::string_view part) {
  return !part.empty() && std::ranges::none_of(part, [](char c) { return c >= 'A' && c <= 'Z'; });
}

void add_kind(OptionValues& values, std::string_view kind, const CLI::App& command) {
  if (kind == "FILE") values.files = true;
  if (kind == "FOLDER") values.folders = true;
  if (kind == "MODEL") {
    values.files = true;
    for (const nn::ZooModel& model : nn::zoo()) values.words.emplace_back(model.name);
  }
  if (kind == "SOLVER")
    for (const SolverInfo& solver : solver_list()) values.words.emplace_back(solver.name);
  if (kind == "PASS") {
    for (const PassInfo& pass : opt_pass_list()) values.words.emplace_back(pass.name);
    for (const PassInfo& pass : pass_list()) values.words.emplace_back(pass.name);
  }
  if (kind == "COMMAND")
    for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
      values.words.push_back(sub->get_name());
}

}  // namespace

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string type_of(const CLI::Option& option) {
  if (!takes_value(option)) return "";
  std::string name = option.get_type_name();
  // A set of words that a value is checked against shows as TYPE:{a,b,c}.
  const std::size_t open = name.find(":{");
  if (open == std::string::npos || !name.ends_with('}')) return name;
  name = name.substr(open + 2, name.size() - open - 3);
  std::ranges::replace(name, ',', '|');
  return name;
}

OptionValues values_of(const CLI::Option& option, const CLI::App& command) {
  OptionValues values;
  std::string type = type_of(option);
  if (type.empty()) return values;
  if (type.ends_with(list_mark)) {
    values.list = true;
    type.resize(type.size() - list_mark.size());
  }
  for (const std::string& part : parts_of(type)) {
    if (is_word(part)) values.words.push_back(part);
    add_kind(values, part, command);
  }
  return values;
}

std::string alternatives(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, "|"));
}

}  // namespace tidemark::cli
