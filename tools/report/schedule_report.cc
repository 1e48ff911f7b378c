#include "tools/report/schedule_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tidemark/base/bytes.h"
#include "tools/report/print_figures.h"

namespace tidemark::cli {
namespace {

using schedule::Promise;
using schedule::Question;
using Json = nlohmann::ordered_json;

// A list with one entry for each level, or the entry itself where there is one level.
Json by_level(const std::vector<std::int64_t>& values) {
  return values.size() == 1 ? Json(values[0]) : Json(values);
}

// As many as fit; where there is no limit, as many as are used.
std::vector<std::int64_t> slots_of(const Question& question, const Promise& promise) {
  std::vector<std::int64_t> slots = promise.slots;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const schedule::Level level = i < question.levels.size() ? question.levels[i] : schedule::Level{};
    if (level.slots >= 0) slots[i] = level.slots;
    if (level.slots < 0 && level.bytes < 0) slots[i] = promise.peak_slots[i];
  }
  return slots;
}

void add_counts(Json& json, const Promise& promise) {
  json["advances"] = promise.advances;
  json["recorded"] = promise.recorded;
  json["total_forward"] = promise.total_forward();
  json["overhead"] = promise.overhead();
  json["peak_slots"] = by_level(promise.peak_slots);
  json["writes"] = by_level(promise.writes);
  json["reads"] = by_level(promise.reads);
  json["cost"] = promise.cost;
}

}  // namespace

void print_promise(const Question& question, const Promise& promise, bool in_bytes) {
  fmt::print("{} schedule of {} steps\n\n", name_of(promise.kind), promise.steps);
  fmt::print("{:<16}{:>16}\n", "advances", promise.advances);
  fmt::print("{:<16}{:>16}\n", "recorded", promise.recorded);
  fmt::print("{:<16}{:>16}   {:.3f} for each step\n", "total forward", promise.total_forward(),
             promise.overhead());
  fmt::print("{:<16}{:>16.10g}   recording excluded\n\n", "cost", promise.cost);
  fmt::print("{:>5} {:>14} {:>14} {:>14} {:>14}", "level", "slots", "most used", "writes", "reads");
  if (in_bytes) fmt::print(" {:>14} {:>14}", "bytes", "most used");
  fmt::print("\n");
  for (std::size_t i = 0; i < promise.slots.size(); ++i) {
    const schedule::Level level = i < question.levels.size() ? question.levels[i] : schedule::Level{};
    const bool limited = level.slots >= 0 || level.bytes >= 0;
    fmt::print("{:>5} {:>14} {:>14} {:>14} {:>14}", i, limited ? fmt::format("{}", promise.slots[i]) : "any",
               promise.peak_slots[i], promise.writes[i], promise.reads[i]);
    if (in_bytes)
      fmt::print(" {:>14} {:>14}", level.bytes >= 0 ? to_string(Bytes(level.bytes)) : "any",
                 to_string(Bytes(promise.peak_bytes[i])));
    fmt::print("\n");
  }
}

void print_promise_json(const Question& question, const Promise& promise, bool in_bytes, double seconds) {
  Json json = {{"kind", name_of(promise.kind)},
               {"steps", promise.steps},
               {"slots", by_level(slots_of(question, promise))}};
  add_counts(json, promise);
  if (in_bytes) json["peak_bytes"] = by_level(promise.peak_bytes);
  json["seconds"] = seconds;
  print_figures(json);
}

void print_verdict(const schedule::Verdict& verdict) {
  const Promise& seen = verdict.seen;
  fmt::print("a schedule of {} steps: {} actions, {} advances, {} recorded, {:.3f} forward steps for each\n",
             seen.steps, verdict.actions, seen.advances, seen.recorded, seen.overhead());
  fmt::print("cost {:.10g}; slots used at most {}; writes {}, reads {}\n", seen.cost,
             fmt::join(seen.peak_slots, ", "), fmt::join(seen.writes, ", "), fmt::join(seen.reads, ", "));
}

void print_verdict_json(const schedule::Verdict& verdict) {
  Json json = {{"valid", !verdict.fault}, {"steps", verdict.seen.steps}, {"actions", verdict.actions}};
  if (verdict.fault) {
    json["fault"] = verdict.fault->what;
    json["line"] = verdict.fault->index + 2;
    json["over_budget"] = verdict.fault->over_budget;
  } else {
    add_counts(json, verdict.seen);
  }
  print_figures(json);
}

}  // namespace tidemark::cli
