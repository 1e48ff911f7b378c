#include "tools/options/schedule_option.h"

#include <fmt/format.h>

#include <string_view>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tools/options/number_option.h"

namespace tidemark::cli {
namespace {

using schedule::Kind;
using schedule::Level;
using schedule::Question;

[[noreturn]] void reject(std::string_view option, std::string_view text, std::string_view why,
                         std::string expected) {
  fail(ErrorCode::bad_schedule,
       {.what = fmt::format("{} {}: {}", option, text.substr(0, 60), why), .expected = std::move(expected)});
}

double number(std::string_view option, std::string_view text) {
  return parse_number(option, text, ErrorCode::bad_schedule);
}
std::int64_t count(std::string_view option, std::string_view text) {
  return parse_count(option, text, ErrorCode::bad_schedule);
}

std::int64_t bytes(std::string_view option, std::string_view text) {
  return parse_size(option, text, ErrorCode::bad_schedule);
}

std::vector<std::string_view> list(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

// One value for each level; a single one is the last level's.
void set_costs_of(std::vector<Level>& levels, double Level::*cost, std::string_view option,
                  std::string_view text) {
  if (text.empty()) return;
  const std::vector<std::string_view> parts = list(text);
  if (parts.size() != 1 && parts.size() != levels.size())
    reject(option, text, fmt::format("{} values for {} levels", parts.size(), levels.size()),
           "one for each level, or one for the last");
  for (Level& level : levels) level.*cost = 0;
  for (std::size_t i = 0; i < parts.size(); ++i)
    levels[levels.size() - parts.size() + i].*cost = number(option, parts[i]);
}

}  // namespace

std::vector<Level> ScheduleOption::levels() const {
  std::vector<Level> levels;
  if (!slots.empty()) {
    for (std::string_view part : list(slots)) {
      const std::int64_t value = part == "-" ? -1 : count("--slots", part);
      if (part != "-" && value < 0)
        reject("--slots", slots, "below zero", "0 or more for each level, or -: any number");
      levels.push_back({.slots = value});
    }
  } else if (!memory.empty()) {
    levels.push_back({.bytes = bytes("--memory", memory)});
    if (!disk.empty()) levels.push_back({.bytes = bytes("--disk", disk)});
  }
  // A disk of any size needs no words.
  const bool has_disk = kind == name_of(Kind::disk) || kind == name_of(Kind::background);
  if (has_disk && levels.size() == 1) levels.emplace_back();
  return levels;
}

void ScheduleOption::set_sizes(Question& question) const {
  const auto size = [](std::string_view option, const std::string& text) {
    const std::int64_t value = bytes(option, text);
    if (value < 1) reject(option, text, "nothing", "at least one byte");
    return value;
  };
  if (!state.empty()) question.state_bytes = size("--state", state);
  if (!record.empty()) question.record_bytes = size("--record", record);
}

void ScheduleOption::set_costs(Question& question) const {
  if (!forward_cost.empty()) question.forward_cost = number("--forward-cost", forward_cost);
  if (!reverse_cost.empty()) question.reverse_cost = number("--reverse-cost", reverse_cost);
  set_costs_of(question.levels, &Level::write_cost, "--write-cost", write_cost);
  set_costs_of(question.levels, &Level::read_cost, "--read-cost", read_cost);
}

Question ScheduleOption::question() const {
  Question question;
  if (steps.empty()) throw CLI::RequiredError("--steps");
  question.steps = count("--steps", steps);
  if (!kind.empty()) {
    const std::optional<Kind> named = schedule::kind_named(kind);
    if (!named)
      reject("--kind", kind, "no such kind",
             "automatic, store-all, uniform, bisection, binomial, mixed, multilevel, disk, online or "
             "background");
    question.kind = *named;
  }
  if (slots.empty() && memory.empty() && question.kind != Kind::store_all)
    throw CLI::RequiredError("--slots, or --memory with --state");
  if (!memory.empty() && state.empty() && question.kind != Kind::store_all)
    throw CLI::RequiredError("--state");
  question.levels = levels();
  if (record.empty() && !memory.empty()) question.record_bytes = 0;  // not known
  set_sizes(question);
  if (question.levels.empty()) {
    question.levels.emplace_back();
  }
  set_costs(question);
  return question;
}

Question ScheduleOption::over(Question header) const {
  if (!steps.empty() && count("--steps", steps) != header.steps)
    reject("--steps", steps, fmt::format("the list is for {} steps", header.steps), "the same number");
  if (std::vector<Level> given = levels(); !given.empty()) {
    for (std::size_t i = 0; i < std::min(given.size(), header.levels.size()); ++i) {
      given[i].write_cost = header.levels[i].write_cost;
      given[i].read_cost = header.levels[i].read_cost;
    }
    header.levels = std::move(given);
  }
  set_sizes(header);
  if (!header.levels.empty()) set_costs(header);
  return header;
}

void add_schedule_options(CLI::App& command, ScheduleOption& option) {
  add_text_option(
      command, "--steps", option.steps,
      "how many steps are reversed, as 1000 or 1e6; at most 1e12. Required, unless --check has them")
      ->type_name("N");
  add_text_option(command, "--kind", option.kind, "which schedule; automatic is the cheapest that fits")
      ->type_name("automatic|store-all|uniform|bisection|binomial|mixed|multilevel|disk|online|background")
      ->default_str("automatic");
  CLI::Option* const slots =
      add_text_option(command, "--slots", option.slots,
                      "states that fit; several levels with commas, fastest first (3,5); -: any number")
          ->type_name("N,…")
          ->default_str("what --memory has room for");
  CLI::Option* const memory = add_text_option(command, "--memory", option.memory,
                                              "bytes on the first level, as 64MiB, instead of --slots")
                                  ->type_name("BYTES")
                                  ->default_str("what --slots says");
  CLI::Option* const disk =
      add_text_option(command, "--disk", option.disk, "bytes on a second level, as 20GiB")
          ->type_name("BYTES")
          ->default_str("no second level");
  add_text_option(command, "--state", option.state, "bytes of a state; --memory needs it")
      ->type_name("BYTES")
      ->default_str("not known");
  add_text_option(command, "--record", option.record,
                  "bytes of a step's record, which may be kept in place of states")
      ->type_name("BYTES")
      ->default_str("records are not kept");
  add_text_option(
      command, "--write-cost", option.write_cost,
      "what writing a state costs, in units of --forward-cost; one for each level (0,2), or one for the last")
      ->type_name("COST,…")
      ->default_str("0");
  add_text_option(command, "--read-cost", option.read_cost, "what reading a state costs, likewise")
      ->type_name("COST,…")
      ->default_str("0");
  add_text_option(command, "--forward-cost", option.forward_cost, "what a step costs, in any unit")
      ->type_name("COST")
      ->default_str("1");
  add_text_option(command, "--reverse-cost", option.reverse_cost,
                  "what the reverse of a step costs, in the same unit")
      ->type_name("COST")
      ->default_str("1");
  slots->excludes(memory);
  slots->excludes(disk);
  disk->needs(memory);
}

}  // namespace tidemark::cli
