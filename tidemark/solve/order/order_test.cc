#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "tidemark/solve/at.h"
#include "tidemark/solve/order/model.h"
#include "tidemark/solve/order/search.h"

namespace tidemark {
namespace {

TaskOrder own_order(const OrderModel& model) {
  TaskOrder order(at(model.tasks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}
std::int64_t own_peak(const OrderModel& model) { return loads_of(model, own_order(model)).peak; }

// One item per task, of the sizes given, used along the edges.
OrderModel simple_model(const std::vector<std::int64_t>& sizes,
                        const std::vector<std::pair<int, int>>& edges) {
  OrderParts parts;
  parts.size = sizes;
  parts.before.resize(sizes.size());
  parts.uses.resize(sizes.size());
  parts.scratch.assign(sizes.size(), 0);
  parts.reuses.resize(sizes.size());
  parts.pinned.assign(sizes.size(), false);
  parts.present.assign(sizes.size(), false);
  for (std::size_t t = 0; t < sizes.size(); ++t) parts.makes.push_back({static_cast<int>(t)});
  for (auto [a, b] : edges) {
    parts.before[at(b)].push_back(a);
    parts.uses[at(b)].push_back(a);
  }
  return make_model(std::move(parts));
}

OrderModel random_model(std::mt19937& random, int tasks, double density) {
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  OrderParts parts;
  for (int t = 0; t < tasks; ++t) {
    parts.before.emplace_back();
    parts.uses.emplace_back();
    parts.makes.emplace_back();
    parts.reuses.emplace_back();
    parts.scratch.push_back(draw(4) == 0 ? 1 + draw(20) : 0);
    for (int b = 0; b < t; ++b) {
      if (draw(1000) >= static_cast<int>(density * 1000)) continue;
      parts.before.back().push_back(b);
      for (int i : parts.makes[at(b)]) parts.uses.back().push_back(i);
    }
    const int results = draw(5) == 0 ? draw(3) : 1;
    for (int r = 0; r < results; ++r) {
      const int item = static_cast<int>(parts.size.size());
      parts.makes.back().push_back(item);
      parts.size.push_back(1 + draw(12));
      parts.pinned.push_back(draw(8) == 0);
      parts.present.push_back(false);
      for (int u : parts.uses.back()) {
        if (draw(2) == 0 && !parts.pinned[at(u)]) {
          parts.size.back() = parts.size[at(u)];
          parts.reuses.back().push_back({item, u});
          break;
        }
      }
    }
  }
  return make_model(std::move(parts));
}

std::int64_t exhaustive_peak(const OrderModel& model) {
  TaskOrder order = own_order(model);
  std::int64_t best = own_peak(model);
  while (std::ranges::next_permutation(order).found) {
    if (is_valid_order(model, order)) best = std::min(best, loads_of(model, order).peak);
  }
  return best;
}

TEST(Order, FindsTheOptimumOfSmallGraphs) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 64; ++trial) {
    const int tasks = trial < 60 ? 2 + trial % 7 : 9;
    const OrderModel model = random_model(random, tasks, 0.1 + 0.1 * (trial % 5));
    Work work{1'000'000};
    const TaskOrder order = best_order(model, 0, work);
    ASSERT_TRUE(is_valid_order(model, order));
    EXPECT_EQ(loads_of(model, order).peak, exhaustive_peak(model)) << trial;
  }
}

TEST(Order, IsNeverAboveTheGivenOrderNorBelowTheBound) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 150; ++trial) {
    const OrderModel model = random_model(random, 20 + trial, 2.5 / (20 + trial));
    Work work{200'000};
    const TaskOrder order = best_order(model, 0, work);
    ASSERT_TRUE(is_valid_order(model, order));
    const std::int64_t peak = loads_of(model, order).peak;
    EXPECT_LE(peak, own_peak(model));
    EXPECT_GE(peak, order_bound(model));
  }
}

TEST(Order, SearchesAgreeWithTheEvaluator) {
  std::mt19937 random(13);
  for (int trial = 0; trial < 60; ++trial) {
    const OrderModel model = random_model(random, 50, 0.05);
    Work work{1'000'000};
    TaskOrder order = greedy_order(model, {.noise = 0.1, .seed = static_cast<std::uint64_t>(trial)}, work);
    ASSERT_TRUE(is_valid_order(model, order));
    ASSERT_TRUE(is_valid_order(model, backward_greedy_order(model, {}, 0.1, 3, work)));
    const std::int64_t before = loads_of(model, order).peak;
    improve_order(model, order, 0, work);
    ASSERT_TRUE(is_valid_order(model, order));
    EXPECT_LE(loads_of(model, order).peak, before);
  }
}

TEST(Order, CutsAreComparableWithEveryTask) {
  // 0 → {1, 2} → 3 → {4, 5} → 6
  const OrderModel model =
      simple_model({1, 1, 1, 1, 1, 1, 1}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {3, 5}, {4, 6}, {5, 6}});
  EXPECT_EQ(cuts_of(model, own_order(model)), (std::vector<int>{0, 3, 6}));
}

TEST(Order, LoadsOfAPieceAreThoseOfTheWhole) {
  std::mt19937 random(17);
  for (int trial = 0; trial < 40; ++trial) {
    const OrderModel model = random_model(random, 40, 0.08);
    const TaskOrder order = own_order(model);
    const OrderLoads whole = loads_of(model, order);
    std::vector<int> room(at(model.items), -1);
    const OrderModel piece = piece_of(model, order, order, 10, 30, whole.resident[10], room);
    const OrderLoads part = loads_of(piece, own_order(piece));
    for (int p = 0; p < 20; ++p) EXPECT_EQ(part.during[at(p)], whole.during[at(10 + p)]);
  }
}

TEST(Order, RunsUpdatesAsSoonAsTheirGradientIsThere) {
  // A backward chain g0 → g1 → …, a weight gradient off each, consumed by an update that makes nothing.
  OrderParts parts;
  const int layers = 200;
  const auto add = [&](std::vector<int> before, std::vector<int> uses, std::int64_t size) {
    parts.before.push_back(std::move(before));
    parts.uses.push_back(std::move(uses));
    parts.makes.emplace_back();
    if (size > 0) {
      parts.makes.back().push_back(static_cast<int>(parts.size.size()));
      parts.size.push_back(size);
      parts.pinned.push_back(false);
      parts.present.push_back(false);
    }
    parts.scratch.push_back(0);
    parts.reuses.emplace_back();
    return static_cast<int>(parts.makes.size()) - 1;
  };
  std::vector<int> gradients;
  for (int l = 0; l < layers; ++l) {
    const int g = 2 * l;  // task and item numbers agree: every task so far makes one item
    add(l == 0 ? std::vector<int>{} : std::vector{g - 2}, l == 0 ? std::vector<int>{} : std::vector{g - 2},
        10);
    gradients.push_back(add({g}, {g}, 100));
  }
  for (int d : gradients) add({d}, {d}, 0);
  const OrderModel model = make_model(std::move(parts));
  EXPECT_GT(own_peak(model), 100 * layers);
  Work work{400'000};
  EXPECT_LE(loads_of(model, best_order(model, 0, work)).peak, 120);
}

// Instances of the literature; without the files there is nothing to compare with.
OrderModel instance(const std::string& name) {
  std::ifstream file(std::string(TIDEMARK_SHARED_DATA) + "/graphs/" + name + ".dag.json");
  if (!file) return simple_model({}, {});
  const auto json = nlohmann::json::parse(file);
  std::vector<std::int64_t> sizes;
  for (const auto& node : json["nodes"]) sizes.push_back(node["bytes"].get<std::int64_t>());
  std::vector<std::pair<int, int>> edges;
  for (const auto& edge : json["edges"]) edges.emplace_back(edge[0].get<int>(), edge[1].get<int>());
  return simple_model(sizes, edges);
}

TEST(Order, ReachesKnownPeaksOfLayeredGraphs) {
  for (const auto& [name, given, known] :
       {std::tuple("layered100", 46'319, 36'790), {"layered250", 146'840, 105'170}}) {
    const OrderModel model = instance(name);
    if (model.tasks == 0) GTEST_SKIP() << "no shared data";
    EXPECT_EQ(own_peak(model), given);
    Work work{3'000'000};
    const std::int64_t peak = loads_of(model, best_order(model, 0, work)).peak;
    EXPECT_LE(peak, known * 1.01) << name;
    RecordProperty(name, std::to_string(peak));
  }
}

}  // namespace
}  // namespace tidemark
