// One graph run in many ways, each held to the same bits.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tests/support/literals.h"
#include "tidemark/engine/program.h"

namespace tidemark::testing {

// A graph and what to feed it.
struct GraphCase {
  Graph graph;
  std::vector<Literal> inputs;
};
GraphCase with_gradients(const GraphCase& program);  // of its first output

// One way to prepare, plan and run a graph.
struct Variation {
  std::string skip = {};  // a pass of opt/ or plan/, by name
  int threads = 1;
  int budget = -1;            // of `budget_steps`, from the smallest that fits up to what is free; -1: none
  std::uint64_t donated = 0;  // bit i: input i may be overwritten
  bool derivatives = false;   // instead: forward and backward mode agree
  std::string text() const;
};
inline constexpr int budget_steps = 5;
inline constexpr double trial_effort = 0.003;  // of planning: the programs are small

// Variations of one graph, one after the other. Those that differ in budget and threads alone are quick after
// the first.
class Trials {
 public:
  explicit Trials(GraphCase given);
  ~Trials();
  // What is wrong, in words; "" when nothing is. Throws what the library throws.
  std::string run(const Variation& variation);

 private:
  class Trial;
  GraphCase given_;
  std::unique_ptr<Trial> trial_;  // of the latest variation
};

// The graph as it is, node by node.
std::vector<Literal> run_as_written(const GraphCase& program);
std::vector<Literal> literals_of(const std::vector<Tensor>& tensors);

}  // namespace tidemark::testing
