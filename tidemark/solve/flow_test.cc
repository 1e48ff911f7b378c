#include "tidemark/solve/flow.h"

#include <gtest/gtest.h>

#include <random>

namespace tidemark {
namespace {

constexpr std::int64_t plenty = 1'000'000;

struct Pipe {
  int from, to;
  std::int64_t capacity;
};

// Over all sets that hold the source, node 0, and not the sink, node 1.
std::int64_t cheapest_cut(const std::vector<Pipe>& pipes, int nodes) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (unsigned set = 1; set < 1u << nodes; set += 4) {
    std::int64_t cost = 0;
    for (const Pipe& p : pipes) {
      if ((set >> p.from & 1) && !(set >> p.to & 1)) cost += p.capacity;
    }
    least = std::min(least, cost);
  }
  return least;
}

TEST(FlowNetwork, FlowsAsMuchAsTheCheapestCutLets) {
  std::mt19937 random(1);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int turn = 0; turn < 500; ++turn) {
    SCOPED_TRACE(turn);
    const int nodes = 3 + draw(6);
    std::vector<Pipe> pipes;
    FlowNetwork network(nodes);
    for (int k = 4 * nodes; k > 0; --k) {
      pipes.push_back({draw(nodes), draw(nodes), draw(20)});
      network.add_edge(pipes.back().from, pipes.back().to, pipes.back().capacity);
    }
    std::int64_t visits = plenty;
    const std::int64_t flow = network.run(0, 1, visits);
    EXPECT_EQ(flow, cheapest_cut(pipes, nodes));
    std::int64_t cut = 0;
    for (const Pipe& p : pipes) cut += network.is_taken(p.from) && !network.is_taken(p.to) ? p.capacity : 0;
    EXPECT_EQ(flow, cut);
    for (std::int64_t few = 1; few < plenty - visits; few += 7) {
      std::int64_t left = few;
      EXPECT_LE(network.run(0, 1, left), flow);
    }
  }
}

TEST(FlowNetwork, TakesNewCapacities) {
  FlowNetwork network(3);
  const int first = network.add_edge(0, 2, 5);
  network.add_edge(2, 1, 8);
  std::int64_t visits = plenty;
  EXPECT_EQ(network.run(0, 1, visits), 5);
  network.set_capacity(first, FlowNetwork::endless);
  EXPECT_EQ(network.run(0, 1, visits), 8);
  network.set_capacity(first, 0);
  EXPECT_EQ(network.run(0, 1, visits), 0);
}

}  // namespace
}  // namespace tidemark
