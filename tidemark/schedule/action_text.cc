#include "tidemark/schedule/action_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <istream>
#include <iterator>
#include <ostream>
#include <set>
#include <string_view>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark::schedule {
namespace {

constexpr std::string_view magic = "tidemark-schedule";
constexpr std::string_view action_forms =
    "advance A to B, record A [in L:S], reverse A [from L:S], store A in L:S, load A from L:S or drop A from "
    "L:S";

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

constexpr std::size_t longest_line = 1 << 16;  // a header with a hundred levels has a tenth of it

// False at the end. A line that is too long is cut after one character more than that.
bool read_line(std::istream& in, std::string& line) {
  line.clear();
  if (in.peek() == std::istream::traits_type::eof()) return false;
  for (int c; line.size() <= longest_line && (c = in.get()) != std::istream::traits_type::eof() && c != '\n';)
    line += static_cast<char>(c);
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

class LineParser {
 public:
  LineParser(std::string_view name, std::uint32_t line) : where_(intern(name), line) {}

  [[noreturn]] void reject(std::string what, std::string_view expected) const {
    fail(ErrorCode::syntax, {.what = std::move(what), .expected = std::string(expected), .where = where_});
  }

  template <class T>
  T number(std::string_view text, std::string_view what) const {
    T value{};
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || end != text.data() + text.size())
      reject(fmt::format("'{}' is no {}", text.substr(0, 60), what), fmt::format("a {}", what));
    return value;
  }

  void require_length(std::string_view text) const {
    if (text.size() > longest_line)
      reject("the line is too long for a list of actions",
             fmt::format("at most {} characters", longest_line));
  }

  double cost(std::string_view text) const {
    const auto value = number<double>(text, "number");
    if (!(value >= 0 && value <= 1e15))
      reject(fmt::format("a cost of {}", text.substr(0, 60)), "a number from 0 to 1e15");
    return value;
  }

  Question header(std::string_view text) const {
    require_length(text);
    const std::vector<std::string_view> words = split(text, ' ');
    if (words.size() < 2 || words[0] != magic)
      reject("this is no list of actions: it has no header",
             fmt::format("a first line that begins '{} 1 kind=... steps=...'", magic));
    if (words[1] != "1")
      reject(fmt::format("version '{}' of the list is not known", words[1].substr(0, 20)), "version 1");
    Question question;
    std::set<std::string_view> seen;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      if (equals == std::string_view::npos)
        reject(fmt::format("'{}' in the header is no key=value", words[i].substr(0, 60)), "as in steps=10");
      const std::string_view key = words[i].substr(0, equals);
      if (!seen.insert(key).second)
        reject(fmt::format("the header says {} twice", key.substr(0, 60)), "each key once");
      set(question, key, words[i].substr(equals + 1));
    }
    if (!seen.contains("steps")) reject("the header has no steps=", "the number of steps");
    if (question.steps < 1 || question.steps > most_steps)
      reject(fmt::format("{} steps", question.steps), fmt::format("at least 1, at most {}", most_steps));
    if (question.state_bytes < 1 || question.record_bytes < 0)
      reject("a state or a record of no bytes", "at least 1 for state, 0 for record");
    return question;
  }

  Action action(std::string_view text) const {
    require_length(text);
    const std::vector<std::string_view> words = split(text, ' ');
    for (ActionKind kind : {ActionKind::advance, ActionKind::record, ActionKind::reverse, ActionKind::store,
                            ActionKind::load, ActionKind::drop}) {
      if (words[0] == name_of(kind)) return action(kind, words);
    }
    reject(text.empty() ? "an empty line" : fmt::format("'{}' is no action", words[0].substr(0, 60)),
           action_forms);
  }

 private:
  template <class Set>
  void each_level(Question& question, std::string_view key, std::string_view text, Set&& set_level) const {
    const std::vector<std::string_view> parts = split(text, ',');
    if (question.levels.empty()) question.levels.resize(parts.size());
    if (question.levels.size() != parts.size() || parts.size() > 100)
      reject(fmt::format("{} lists {} levels", key, parts.size()),
             fmt::format("{}, as the keys before it", question.levels.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) set_level(question.levels[i], parts[i]);
  }

  void set(Question& question, std::string_view key, std::string_view text) const {
    const auto limit = [&](std::string_view part) {
      return part == "-" ? std::int64_t{-1} : number<std::int64_t>(part, "whole number or -");
    };
    if (key == "kind") {
      const std::optional<Kind> kind = kind_named(text);
      if (!kind)
        reject(fmt::format("'{}' is no kind of schedule", text.substr(0, 60)), "binomial, for instance");
      question.kind = *kind;
    } else if (key == "steps") {
      question.steps = number<Step>(text, "whole number");
    } else if (key == "state") {
      question.state_bytes = number<std::int64_t>(text, "whole number");
    } else if (key == "record") {
      question.record_bytes = number<std::int64_t>(text, "whole number");
    } else if (key == "forward") {
      question.forward_cost = cost(text);
    } else if (key == "reverse") {
      question.reverse_cost = cost(text);
    } else if (key == "slots") {
      each_level(question, key, text,
                 [&](Level& level, std::string_view part) { level.slots = limit(part); });
    } else if (key == "bytes") {
      each_level(question, key, text,
                 [&](Level& level, std::string_view part) { level.bytes = limit(part); });
    } else if (key == "write") {
      each_level(question, key, text,
                 [&](Level& level, std::string_view part) { level.write_cost = cost(part); });
    } else if (key == "read") {
      each_level(question, key, text,
                 [&](Level& level, std::string_view part) { level.read_cost = cost(part); });
    } else {
      reject(fmt::format("'{}' is no key of the header", key.substr(0, 60)),
             "kind, steps, slots, bytes, state, record, write, read, forward or reverse");
    }
  }

  Action action(ActionKind kind, const std::vector<std::string_view>& words) const {
    const bool may_lack_place = kind == ActionKind::record || kind == ActionKind::reverse;
    const bool into = kind == ActionKind::record || kind == ActionKind::store;
    const std::string_view preposition = kind == ActionKind::advance ? "to" : into ? "in" : "from";
    if (!(words.size() == 4 && words[2] == preposition) && !(words.size() == 2 && may_lack_place))
      reject(fmt::format("'{}' does not go on like this", words[0]), action_forms);
    Action action{.kind = kind, .step = number<Step>(words[1], "step")};
    action.to = action.step;
    if (words.size() == 2) return action;
    if (kind == ActionKind::advance) {
      action.to = number<Step>(words[3], "step");
      return action;
    }
    const std::size_t colon = words[3].find(':');
    if (colon == std::string_view::npos)
      reject(fmt::format("'{}' is no place", words[3].substr(0, 60)), "LEVEL:SLOT, as in 0:3");
    action.level = number<std::int16_t>(words[3].substr(0, colon), "level");
    action.slot = number<std::int32_t>(words[3].substr(colon + 1), "slot");
    if (action.level < 0 || action.slot < 0)
      reject(fmt::format("'{}' is no place", words[3].substr(0, 60)), "LEVEL:SLOT, as in 0:3");
    return action;
  }

  SourceLine where_;
};

void append_text(fmt::memory_buffer& out, const Action& action) {
  fmt::format_to(std::back_inserter(out), "{} {}", name_of(action.kind), action.step);
  if (action.kind == ActionKind::advance) {
    fmt::format_to(std::back_inserter(out), " to {}", action.to);
  } else if (action.level != working) {
    const bool into = action.kind == ActionKind::record || action.kind == ActionKind::store;
    fmt::format_to(std::back_inserter(out), " {} {}:{}", into ? "in" : "from", action.level, action.slot);
  }
}

}  // namespace

std::string to_text(const Action& action) {
  fmt::memory_buffer out;
  append_text(out, action);
  return fmt::to_string(out);
}

std::string header_text(const Question& question) {
  const auto list = [&](auto&& of_level) {
    std::string text;
    for (const Level& level : question.levels)
      text += fmt::format("{}{}", text.empty() ? "" : ",", of_level(level));
    return text;
  };
  const auto limit = [](std::int64_t value) { return value < 0 ? "-" : fmt::format("{}", value); };
  std::string text = fmt::format("{} 1 kind={} steps={}", magic, name_of(question.kind), question.steps);
  if (!question.levels.empty()) {
    text += " slots=" + list([&](const Level& level) { return limit(level.slots); });
    text += " bytes=" + list([&](const Level& level) { return limit(level.bytes); });
    text += " write=" + list([](const Level& level) { return level.write_cost; });
    text += " read=" + list([](const Level& level) { return level.read_cost; });
  }
  return text + fmt::format(" state={} record={} forward={} reverse={}", question.state_bytes,
                            question.record_bytes, question.forward_cost, question.reverse_cost);
}

void write_actions(std::ostream& out, const Question& question, const Schedule& schedule) {
  Question asked = question;
  asked.kind = schedule.promise().kind;
  if (asked.levels.empty()) asked.levels.resize(schedule.promise().slots.size());
  out << header_text(asked) << '\n';
  const std::unique_ptr<ActionStream> actions = schedule.actions();
  std::array<Action, 256> batch;
  for (std::size_t count; out && (count = actions->fill(batch)) > 0;) {
    fmt::memory_buffer text;
    for (std::size_t i = 0; i < count; ++i) {
      append_text(text, batch[i]);
      text.push_back('\n');
    }
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
}

ActionReader::ActionReader(std::istream& in, std::string name) : in_(in), name_(std::move(name)) {
  read_line(in_, text_);
  question_ = LineParser(name_, line_).header(text_);
}

bool ActionReader::next(Action& action) {
  if (!read_line(in_, text_)) return false;
  ++line_;
  action = LineParser(name_, line_).action(text_);
  return true;
}

}  // namespace tidemark::schedule
