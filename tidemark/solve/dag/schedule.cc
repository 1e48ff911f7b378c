#include "tidemark/solve/dag/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/solve/at.h"

namespace tidemark {
namespace {

std::vector<std::vector<int>> inputs_of(const Dag& dag) {
  std::vector<std::vector<int>> inputs(at(dag.size()));
  for (const DagEdge& edge : dag.edges) inputs[at(edge.consumer)].push_back(edge.producer);
  return inputs;
}

}  // namespace

ScheduleCheck check_schedule(const Dag& dag, std::span<const int> schedule) {
  ScheduleCheck check;
  const std::vector<std::vector<int>> inputs = inputs_of(dag);
  const int steps = static_cast<int>(schedule.size());
  std::vector<int> made(at(dag.size()), -1),
      read(at(dag.size()), -1);  // the latest version: its first and last step
  std::vector<std::int64_t> change(at(steps) + 1, 0);
  const auto close_version = [&](int node) {
    if (made[at(node)] < 0) return;
    change[at(made[at(node)])] += dag.bytes[at(node)];
    change[at(read[at(node)]) + 1] -= dag.bytes[at(node)];
  };
  int firsts = 0;
  for (int p = 0; p < steps; ++p) {
    const int node = schedule[at(p)];
    if (node < 0 || node >= dag.size()) {
      check.fault = fmt::format("entry {} is {}, but the nodes are 0 to {}", p, node, dag.size() - 1);
      return check;
    }
    for (int input : inputs[at(node)]) {
      if (made[at(input)] < 0) {
        check.fault = fmt::format("entry {} runs {} before its input {}", p, node_label(dag, node),
                                  node_label(dag, input));
        return check;
      }
      read[at(input)] = p;
    }
    if (made[at(node)] < 0) {
      check.in_order = check.in_order && node == firsts;
      ++firsts;
    } else {
      close_version(node);
      ++check.repeats;
    }
    made[at(node)] = read[at(node)] = p;
    check.cost += dag.cost[at(node)];
  }
  if (firsts < dag.size()) {
    const auto never = std::find(made.begin(), made.end(), -1);
    check.fault = fmt::format("{} never runs", node_label(dag, static_cast<int>(never - made.begin())));
    return check;
  }
  for (int node = 0; node < dag.size(); ++node) close_version(node);
  std::int64_t load = 0;
  for (int p = 0; p < steps; ++p) {
    load += change[at(p)];
    if (load > check.peak) check.peak = load, check.peak_at = p;
  }
  return check;
}

std::vector<int> alive_at(const Dag& dag, std::span<const int> schedule, int position) {
  const std::vector<std::vector<int>> inputs = inputs_of(dag);
  std::vector<bool> made(at(dag.size()), false), made_again(at(dag.size()), false),
      alive(at(dag.size()), false);
  for (int p = 0; p <= position; ++p) made[at(schedule[at(p)])] = true;
  alive[at(schedule[at(position)])] = true;
  for (std::size_t p = at(position); p < schedule.size(); ++p) {
    for (int input : inputs[at(schedule[p])]) {
      if (made[at(input)] && !made_again[at(input)]) alive[at(input)] = true;
    }
    if (p > at(position)) made_again[at(schedule[p])] = true;
  }
  std::vector<int> nodes;
  for (int i = 0; i < dag.size(); ++i) {
    if (alive[at(i)]) nodes.push_back(i);
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](int a, int b) { return dag.bytes[at(a)] > dag.bytes[at(b)]; });
  return nodes;
}

Sequence schedule_from_text(std::string_view text, std::string_view origin) {
  Sequence schedule;
  std::uint32_t line = 1;
  for (std::size_t i = 0; i < text.size();) {
    if (const char c = text[i]; c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      line += c == '\n';
      ++i;
      continue;
    }
    const std::string_view word = text.substr(i, text.find_first_of(" \t\r\n", i) - i);
    int node = 0;
    const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), node);
    if (status != std::errc() || end != word.data() + word.size()) {
      std::string shown(word.substr(0, 40));
      std::replace_if(
          shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
      fail(ErrorCode::bad_file,
           {.what = fmt::format("entry {} is no index of a node: '{}'", schedule.size(), shown),
            .expected = "indices of nodes separated by white space",
            .where = SourceLine(intern(origin), line)});
    }
    schedule.push_back(node);
    i += word.size();
  }
  return schedule;
}

std::string schedule_text(std::span<const int> schedule) {
  constexpr std::size_t per_line = 20;
  fmt::memory_buffer out;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const bool last = i + 1 == schedule.size() || (i + 1) % per_line == 0;
    fmt::format_to(std::back_inserter(out), "{}{}", schedule[i], last ? '\n' : ' ');
  }
  return fmt::to_string(out);
}

}  // namespace tidemark
