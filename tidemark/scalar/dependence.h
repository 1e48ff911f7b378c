// On which inputs numbers depend, without looking at each number's set while it is computed: a graph of
// unions, which is written down along with a computation and asked about a few of its nodes afterwards.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tidemark/scalar/matrix.h"

namespace tidemark::scalars {

class DependenceGraph {
 public:
  using Node = std::uint32_t;
  static constexpr Node nothing = 0;

  // While it lives, numbers that are computed on this thread are written down here. They nest.
  DependenceGraph();
  ~DependenceGraph();
  DependenceGraph(const DependenceGraph&) = delete;
  DependenceGraph& operator=(const DependenceGraph&) = delete;
  static DependenceGraph& active() { return *active_; }

  // Inputs have numbers from 0, in the order of these calls.
  Node input() { return add({nothing, inputs_++}); }
  Node unite(Node a, Node b) {
    if (a == b || b == nothing) return a;
    if (a == nothing) return b;
    return new_union(a, b);
  }
  // A branch was taken by a number that depends on inputs: at another point all may be different.
  void branch() { branched_ = true; }
  bool branched() const { return branched_; }

  // A row for each root: the inputs on which it depends.
  SparsePattern pattern(std::span<const Node> roots) const;
  // The same with bits for sets, 256 inputs at a time: what is taken where sets become large. Only for tests
  // by itself.
  SparsePattern pattern_by_bits(std::span<const Node> roots) const;

 private:
  struct Parts {  // of a union; of an input: nothing, and its number
    Node first = nothing;
    std::uint32_t second = 0;
  };
  struct Known {
    Node a = nothing, b = nothing, both = nothing;
  };
  static constexpr unsigned cache_bits = 12;

  Node add(const Parts& parts);
  Node new_union(Node a, Node b);
  std::vector<std::uint8_t> uses_of(std::span<const Node> roots) const;

  std::vector<Parts> nodes_ = {{}};  // parts come before their union
  std::uint32_t inputs_ = 0;
  bool branched_ = false;
  std::vector<Known> cache_;  // unions of late: a program asks for the same one again and again
  DependenceGraph* before_;
  static inline constinit thread_local DependenceGraph* active_ = nullptr;
};

}  // namespace tidemark::scalars
