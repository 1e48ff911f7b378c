#include "tidemark/solve/pack/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"

namespace tidemark::packing {
namespace {

constexpr std::int64_t load_limit = std::int64_t{1} << 61;

void require(const PackItem& item, std::size_t index) {
  auto reject = [&](std::string what, std::string expected) {
    fail(ErrorCode::bad_layout_input, {.what = std::move(what), .expected = std::move(expected)});
  };
  if (item.size < 0)
    reject(fmt::format("item {} has a negative size: {}", index, item.size), "sizes of 0 or more");
  if (item.lower > item.upper)
    reject(fmt::format("the lifetime of item {} is reversed: [{}, {})", index, item.lower, item.upper),
           "lower <= upper");
  if (item.alignment <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(item.alignment)))
    reject(fmt::format("the alignment of item {} is {}", index, item.alignment), "a power of two");
  if (item.size > load_limit || item.alignment > load_limit)
    reject(fmt::format("item {} is too large: {} bytes", index, item.size), "sizes up to 2^61 bytes");
}

bool takes_room(const PackItem& item) { return item.size > 0 && item.lower < item.upper; }

struct Edge {
  std::int64_t time;
  int kind;  // 0 ends, 1 begins: ends first
  std::size_t item;
  friend auto operator<=>(const Edge&, const Edge&) = default;
};

std::vector<Edge> edges_of(std::span<const PackItem> items) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < items.size(); ++i) {
    require(items[i], i);
    if (!takes_room(items[i])) continue;
    edges.push_back({items[i].lower, 1, i});
    edges.push_back({items[i].upper, 0, i});
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

std::int64_t rounded(const PackItem& item) { return align_up(item.size, item.alignment); }

std::int64_t max_load(std::span<const PackItem> items, std::span<const Edge> edges) {
  std::int64_t load = 0, most = 0;
  for (const Edge& edge : edges) {
    load += edge.kind == 1 ? rounded(items[edge.item]) : -rounded(items[edge.item]);
    if (load > load_limit)
      fail(ErrorCode::bad_layout_input,
           {.what = fmt::format("the sizes that live at time {} overflow", edge.time),
            .expected = "at most 2^61 bytes alive at one time"});
    most = std::max(most, load);
  }
  return most;
}

void finish(Problem& problem) {
  problem.load.assign(static_cast<std::size_t>(problem.sections) + 1, 0);
  for (const Block& block : problem.blocks) {
    problem.load[static_cast<std::size_t>(block.first)] += block.size;
    problem.load[static_cast<std::size_t>(block.last)] -= block.size;
    if (block.alignment > 1) problem.aligned = false;
  }
  std::partial_sum(problem.load.begin(), problem.load.end(), problem.load.begin());
  problem.load.pop_back();
  problem.bound = *std::max_element(problem.load.begin(), problem.load.end());
}

}  // namespace

std::int64_t Problem::area() const {
  std::int64_t sum = 0;
  for (const Block& block : blocks) sum += block.length();
  return sum;
}

Reduction reduce(std::span<const PackItem> items) {
  const std::vector<Edge> edges = edges_of(items);
  max_load(items, edges);
  Reduction reduction;
  if (edges.empty()) return reduction;
  reduction.unit = 0;
  for (const Edge& edge : edges) reduction.unit = std::gcd(reduction.unit, rounded(items[edge.item]));

  std::vector<int> block_of(items.size());
  std::size_t alive = 0;
  bool ended = true;  // since the last beginning
  for (const Edge& edge : edges) {
    const PackItem& item = items[edge.item];
    if (edge.kind == 0) {
      reduction.problems.back().blocks[static_cast<std::size_t>(block_of[edge.item])].last =
          reduction.problems.back().sections;
      --alive;
      ended = true;
      continue;
    }
    if (alive++ == 0) reduction.problems.emplace_back();
    Problem& problem = reduction.problems.back();
    if (ended) ++problem.sections;
    ended = false;
    block_of[edge.item] = static_cast<int>(problem.blocks.size());
    problem.blocks.push_back({.first = problem.sections - 1,
                              .size = rounded(item) / reduction.unit,
                              .alignment = item.alignment / std::gcd(item.alignment, reduction.unit)});
    problem.origin.push_back(edge.item);
  }
  for (Problem& problem : reduction.problems) finish(problem);
  std::stable_sort(reduction.problems.begin(), reduction.problems.end(),
                   [](const Problem& a, const Problem& b) { return a.bound > b.bound; });
  return reduction;
}

}  // namespace tidemark::packing

namespace tidemark {

std::int64_t max_load(std::span<const PackItem> items) {
  return packing::max_load(items, packing::edges_of(items));
}

}  // namespace tidemark
