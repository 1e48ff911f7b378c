#include "tidemark/scalar/star_colouring.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tidemark::scalars {
namespace {

using Edges = std::set<std::pair<std::int32_t, std::int32_t>>;

SparsePattern pattern_of(std::size_t n, Edges entries) {
  for (const auto& [i, j] : Edges(entries)) entries.insert({j, i});
  SparsePattern pattern(n, n);
  auto next = entries.begin();
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::int32_t> row;
    for (; next != entries.end() && next->first == static_cast<std::int32_t>(i); ++next)
      row.push_back(next->second);
    pattern.append_row(row);
  }
  return pattern;
}

Edges grid(int side) {
  Edges edges;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      const int at = i * side + j;
      edges.insert({at, at});
      if (j + 1 < side) edges.insert({at, at + 1});
      if (i + 1 < side) edges.insert({at, at + side});
    }
  return edges;
}

// What makes direct recovery right: where an entry is read, no other of its row has that colour.
void expect_entries_alone(const SparsePattern& pattern, const StarColouring& colouring) {
  ASSERT_EQ(colouring.colours.size(), pattern.rows);
  ASSERT_EQ(colouring.mirrored.size(), pattern.entries());
  const auto alone = [&](std::size_t row, std::size_t column) {
    int count = 0;
    for (const std::int32_t other : pattern.row(row))
      count += colouring.colours[static_cast<std::size_t>(other)] == colouring.colours[column];
    return count == 1;
  };
  for (std::size_t i = 0, entry = 0; i < pattern.rows; ++i) {
    ASSERT_GE(colouring.colours[i], 0);
    ASSERT_LT(colouring.colours[i], colouring.count);
    for (const std::int32_t column : pattern.row(i)) {
      const auto j = static_cast<std::size_t>(column);
      ASSERT_TRUE(colouring.mirrored[entry++] ? alone(j, i) : alone(i, j)) << i << ", " << j;
    }
  }
}

TEST(StarColouring, EachEntryIsAloneWhereItIsRead) {
  std::minstd_rand random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t n = 1 + random() % 40, count = random() % (3 * n);
    Edges edges;
    for (std::size_t k = 0; k < count; ++k)
      edges.insert({static_cast<std::int32_t>(random() % n), static_cast<std::int32_t>(random() % n)});
    if (trial % 3 == 0)
      for (std::size_t i = 0; i < n; ++i)
        edges.insert({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i)});
    const SparsePattern pattern = pattern_of(n, edges);
    expect_entries_alone(pattern, colour_stars(pattern));
  }
  for (const int side : {1, 2, 3, 10, 31}) {
    const SparsePattern pattern = pattern_of(static_cast<std::size_t>(side * side), grid(side));
    expect_entries_alone(pattern, colour_stars(pattern));
  }
}

TEST(StarColouring, AnArrowHeadTakesTwoColoursWhicheverWayItPoints) {
  for (const std::int32_t head : {0, 500, 999}) {
    Edges edges;
    for (std::int32_t i = 0; i < 1000; ++i) edges.insert({{i, i}, {head, i}});
    const SparsePattern pattern = pattern_of(1000, edges);
    const StarColouring colouring = colour_stars(pattern);
    EXPECT_EQ(colouring.count, 2);
    expect_entries_alone(pattern, colouring);
  }
}

TEST(StarColouring, OfBandsAndGridsTheNumberOfColoursDoesNotGrow) {
  for (const std::int32_t n : {50, 500, 5000}) {
    Edges edges;
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = i; j < std::min(i + 2, n); ++j) edges.insert({i, j});
    EXPECT_EQ(colour_stars(pattern_of(static_cast<std::size_t>(n), edges)).count, 3) << n;
  }
  for (const int side : {10, 30, 100})
    EXPECT_LE(colour_stars(pattern_of(static_cast<std::size_t>(side * side), grid(side))).count, 5) << side;
}

TEST(StarColouring, VariablesThatManyMeetTakeAColourEach) {
  std::mt19937 random(1);
  Edges edges;
  for (std::int32_t hub = 0; hub < 20; ++hub)
    for (int k = 0; k < 300; ++k) edges.insert({hub * 150 + 7, static_cast<std::int32_t>(random() % 3000)});
  const SparsePattern pattern = pattern_of(3000, edges);
  const StarColouring colouring = colour_stars(pattern);
  EXPECT_LE(colouring.count, 21);
  expect_entries_alone(pattern, colouring);
}

// Where rows are of many lengths, the fullest go first.
TEST(StarColouring, OfRandomPatterns) {
  std::minstd_rand random(1);
  Edges edges;
  for (int k = 0; k < 16000; ++k)
    edges.insert({static_cast<std::int32_t>(random() % 2000), static_cast<std::int32_t>(random() % 2000)});
  const SparsePattern pattern = pattern_of(2000, edges);
  const StarColouring colouring = colour_stars(pattern);
  EXPECT_LE(colouring.count, 39);
  expect_entries_alone(pattern, colouring);
}

TEST(StarColouring, EmptyDiagonalAndFull) {
  EXPECT_EQ(colour_stars(pattern_of(0, {})).count, 0);
  EXPECT_EQ(colour_stars(pattern_of(3, {})).count, 1);
  EXPECT_EQ(colour_stars(pattern_of(4, {{0, 0}, {1, 1}, {2, 2}, {3, 3}})).count, 1);
  const SparsePattern full = pattern_of(3, {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}});
  EXPECT_EQ(colour_stars(full).count, 3);
  expect_entries_alone(full, colour_stars(full));
}

}  // namespace
}  // namespace tidemark::scalars
