// Random differentiable programs of real ops: views, in-place updates, fan-out, several results, donated
// inputs, cumulative sums and, if asked for, random numbers and dropout. The same seed gives the same
// program, with every compiler: no two draws or nodes are arguments of one call, which may be evaluated in
// any order.
#pragma once
#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "tests/support/literals.h"
#include "tidemark/autodiff/reverse.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/softmax.h"
#include "tidemark/ops/random/dropout.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/constant.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/storage.h"
#include "tidemark/trace/tensor.h"

namespace tidemark::testing {

struct ProgramKind {
  int nodes = 5;        // at least; up to 40 more
  int most_rows = 6;    // of the inputs, and columns
  bool random = false;  // random numbers and dropout among the ops
};

// A random program over matrices: (inputs…) → a scalar and some of the intermediate values.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed, const ProgramKind& kind = {})
      : random_(seed), kind_(kind), builder_(graph_) {
    const int inputs = 2 + draw(3);
    for (int i = 0; i < inputs; ++i) {
      const Shape shape = {1 + draw(kind.most_rows), 1 + draw(kind.most_rows)};
      const bool donated = draw(3) == 0;
      pool_.emplace_back(builder_, graph_.add_input({DType::f32, shape}, "x", donated));
    }
    const int nodes = kind.nodes + draw(40);
    for (int n = 0; n < nodes; ++n) step();
    Var loss = constant(builder_, DType::f32, 0);
    for (const Var& v : pool_) {
      if (draw(2)) loss = loss + reduce_sum(sin(v), all_axes(2));
    }
    graph_.add_output(loss.id());
    for (int i = 0; i < 2; ++i) graph_.add_output(pick().id());
  }

  // The program with the gradients of its loss.
  Graph joint() const {
    std::unique_ptr<bool[]> wrt(new bool[graph_.inputs().size()]);
    std::fill_n(wrt.get(), graph_.inputs().size(), true);
    return gradient_graph(graph_, {wrt.get(), graph_.inputs().size()});
  }

 private:
  int draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  Var pick() { return pool_[static_cast<std::size_t>(draw(static_cast<int>(pool_.size())))]; }

  // Each use of randomness has a key of its own.
  Var key() { return random_key(builder_, 100 + static_cast<std::int64_t>(pool_.size())); }

  void step() {
    const Var x = pick();
    const std::int64_t rows = x.shape()[0], columns = x.shape()[1];
    switch (draw(kind_.random ? 15 : 12)) {
      case 0:
        return pool_.push_back(transpose(x, {1, 0}));
      case 1:
        return pool_.push_back(reshape(x, {columns, rows}));
      case 2: {
        const int first = draw(static_cast<int>(columns)), step = 1 + draw(2);
        return pool_.push_back(slice_axis(x, 1, first, columns, step));
      }
      case 3:
        return pool_.push_back(flip(x, {draw(2)}));
      case 4:
        return pool_.push_back(
            contract(x, x, {.lhs_batch = {}, .rhs_batch = {}, .lhs_contract = {0}, .rhs_contract = {0}}));
      case 5: {
        const Var y = pick();
        if (x.shape() != y.shape()) {
          const Var bounded = tanh(x);
          return pool_.push_back(bounded * reduce_sum(y, {0, 1}, true) * 0.1);
        }
        if (draw(2)) return pool_.push_back(x * y);
        const Var above = greater(x, y);
        return pool_.push_back(select(above, x, y * 0.5));
      }
      case 6:
        return pool_.push_back(update_slice(x, slice_axis(x * 2.0, 0, 0, 1), {rows - 1, 0}, {1, 1}));
      case 7: {
        const std::vector<Var> parts = {x, cos(x)};
        return pool_.push_back(concat(parts, draw(2)));
      }
      case 8:
        return pool_.push_back(reduce_max(x, {draw(2)}, true));
      case 9: {
        if (columns < 2) return pool_.push_back(relu(x));
        for (const Var& part : split(x, 1, {1, columns - 1})) pool_.push_back(part);
        return;
      }
      case 10:
        return pool_.push_back(cumsum(sigmoid(x), draw(2)));
      case 12:
        return pool_.push_back(dropout(x, 0.3, key()));
      case 13:
        return pool_.push_back(x * random_normal(key(), {.dtype = DType::f32, .shape = x.shape()}));
      case 14:
        return pool_.push_back(draw(2) ? softmax(x, draw(2)) : cumsum(x * 0.5, draw(2), true));
      default:
        return pool_.push_back(draw(2) ? relu(x - 0.25) : tanh(x));
    }
  }

  std::mt19937 random_;
  ProgramKind kind_;
  Graph graph_;
  Builder builder_;
  std::vector<Var> pool_;
};

inline std::vector<Literal> inputs_of(const Graph& graph) {
  std::vector<Literal> inputs;
  for (const Input& input : graph.inputs()) {
    const Type& type = graph.type(input.value);
    inputs.push_back(random_literal(type.dtype, type.shape, 31 + inputs.size()));
  }
  return inputs;
}

inline Tensor tensor_of(const Literal& literal) {
  AlignedBytes memory = allocate_aligned(static_cast<std::int64_t>(literal.bytes.size()));
  std::copy(literal.bytes.begin(), literal.bytes.end(), memory.get());
  return Tensor::from_storage(
      {literal.dtype, literal.shape},
      std::make_shared<Storage>(std::move(memory), static_cast<std::int64_t>(literal.bytes.size())));
}

}  // namespace tidemark::testing
