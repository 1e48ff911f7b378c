// Small questions answered by trying everything: Dijkstra's search over the states of the abstract machine,
// which knows nothing of segments, trees or tables.
#include <gtest/gtest.h>

#include <array>
#include <queue>
#include <unordered_map>

#include "tests/support/sanitized.h"
#include "tidemark/schedule/action_text.h"
#include "tidemark/schedule/kinds/online.h"
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {
namespace {

struct Node {
  int end = 0;                                  // steps from here on are reversed
  int state = 0;                                // the working state
  std::array<unsigned, 3> states{}, records{};  // by level, a bit for each step

  std::uint64_t key() const {
    std::uint64_t key = static_cast<std::uint64_t>(end) << 4 | static_cast<unsigned>(state);
    for (int i = 0; i < 3; ++i)
      key = key << 16 | states[static_cast<std::size_t>(i)] << 8 | records[static_cast<std::size_t>(i)];
    return key;
  }
};

// `records`: they may be kept on level 0, and every forward step costs, recorded or not.
double least_cost(const Question& question, bool records) {
  struct Entry {
    double cost;
    Node node;
    bool operator<(const Entry& other) const { return cost > other.cost; }
  };
  std::priority_queue<Entry> queue;
  std::unordered_map<std::uint64_t, double> known;
  const auto reach = [&](const Node& node, double cost) {
    const auto [at, is_new] = known.try_emplace(node.key(), cost);
    if (!is_new && at->second <= cost) return;
    at->second = cost;
    queue.push({cost, node});
  };
  Node start;
  start.end = static_cast<int>(question.steps);
  reach(start, 0);
  while (!queue.empty()) {
    const auto [cost, node] = queue.top();
    queue.pop();
    if (node.end == 0) return cost;
    if (known.at(node.key()) < cost) continue;
    const unsigned here = 1u << node.state;
    const double forward = question.forward_cost, recording = records ? forward : 0;
    if (node.state < node.end - 1) {
      Node next = node;
      ++next.state;
      reach(next, cost + forward);
    } else if (node.state == node.end - 1) {
      Node next = node;
      next.end = next.state;
      next.state = 15;  // of no use
      reach(next, cost + recording + question.reverse_cost);
    }
    if (const unsigned last = 1u << (node.end - 1); node.records[0] & last) {
      Node next = node;
      next.records[0] &= ~last;
      --next.end;
      reach(next, cost + question.reverse_cost);
    }
    for (std::size_t level = 0; level < question.levels.size(); ++level) {
      const Level& limits = question.levels[level];
      const auto fits = [&](const Node& n) {
        const std::int64_t kept = __builtin_popcount(n.states[level]),
                           taped = __builtin_popcount(n.records[level]);
        if (limits.slots >= 0 && kept + taped > limits.slots) return false;
        return limits.bytes < 0 ||
               kept * question.state_bytes + taped * question.record_bytes <= limits.bytes;
      };
      for (int i = 0; i < node.end; ++i) {
        const unsigned bit = 1u << i;
        if (node.states[level] & bit) {
          Node next = node;
          next.states[level] &= ~bit;
          reach(next, cost);
          next = node;
          next.state = i;
          if (i != node.state) reach(next, cost + limits.read_cost);
        }
      }
      if (node.state >= node.end) continue;
      Node next = node;
      next.states[level] |= here;
      if (!(node.states[level] & here) && fits(next)) reach(next, cost + limits.write_cost);
      next = node;
      next.records[level] |= here;
      next.state += 1;
      if (records && level == 0 && !(node.records[0] & here) && fits(next)) reach(next, cost + recording);
    }
  }
  return -1;
}

constexpr Step most = few ? 5 : 8;

TEST(Exhaustive, OneLevel) {
  for (Step n = 1; n <= most; ++n) {
    for (std::int64_t s = 1; s <= 4; ++s) {
      const Question question{.steps = n, .kind = Kind::binomial, .levels = {{.slots = s}}};
      EXPECT_EQ(make_schedule(question)->promise().cost, least_cost(question, false))
          << header_text(question);
    }
  }
}

TEST(Exhaustive, SeveralLevels) {
  for (Step n = 2; n <= most; ++n) {
    for (std::int64_t ram = 0; ram <= 2; ++ram) {
      for (std::int64_t disk = 1; disk <= 2; ++disk) {
        for (const auto& [write, read] : {std::pair(2.0, 2.0), {1.0, 8.0}, {5.0, 0.5}}) {
          Question question{
              .steps = n,
              .kind = Kind::multilevel,
              .levels = {{.slots = ram}, {.slots = disk, .write_cost = write, .read_cost = read}}};
          EXPECT_DOUBLE_EQ(make_schedule(question)->promise().cost, least_cost(question, false))
              << header_text(question);
          if (n > 6) continue;
          question.levels[0].write_cost = 0.25, question.levels[0].read_cost = 0.5;
          EXPECT_DOUBLE_EQ(make_schedule(question)->promise().cost, least_cost(question, false))
              << header_text(question);
          question.levels.push_back({.slots = 1, .write_cost = 2 * write, .read_cost = 3 * read});
          EXPECT_DOUBLE_EQ(make_schedule(question)->promise().cost, least_cost(question, false))
              << header_text(question);
        }
      }
    }
  }
}

TEST(Exhaustive, StatesAndRecords) {
  for (Step n = 1; n <= most; ++n) {
    for (const auto& [state, record] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 1}, {1, 2}, {3, 2}}) {
      for (std::int64_t bytes = state; bytes <= 5; ++bytes) {
        const Question question{.steps = n,
                                .kind = Kind::mixed,
                                .levels = {{.bytes = bytes}},
                                .state_bytes = state,
                                .record_bytes = record,
                                .reverse_cost = 0};
        EXPECT_EQ(make_schedule(question)->promise().total_forward(), least_cost(question, true))
            << header_text(question);
      }
    }
  }
}

}  // namespace
}  // namespace tidemark::schedule
