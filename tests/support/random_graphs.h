// Random graphs of fake ops, for laws about plans: chains, layers, fan-out, several results, views of views,
// in-place chains, scratch, effects, donated inputs and training-shaped graphs. The same seed gives the same
// graph.
#pragma once
#include <memory>
#include <random>

#include "tests/support/fake_ops.h"

namespace tidemark::fake {

class RandomGraph {
 public:
  RandomGraph(unsigned seed, int nodes) : random_(seed), sketch_(std::make_unique<Sketch>()) {
    switch (seed % 4) {
      case 0:
        mixed(nodes, 8);
        break;  // deep: reads recent values
      case 1:
        mixed(nodes, 1000);
        break;  // wide: reads any value
      case 2:
        training(std::max(1, nodes / 8));
        break;
      default:
        mixed(nodes, 30);
        break;
    }
  }
  const Graph& graph() const { return sketch_->graph; }

 private:
  int draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool often(int percent) { return draw(100) < percent; }
  Var& pick(std::vector<Var>& pool, int reach) {
    const int n = static_cast<int>(pool.size());
    return pool[static_cast<std::size_t>(n - 1 - draw(std::min(n, reach)))];
  }

  void mixed(int nodes, int reach) {
    Sketch& s = *sketch_;
    std::vector<Var> pool;
    const int inputs = 1 + draw(4);
    for (int i = 0; i < inputs; ++i) {
      const int rows = 1 + draw(12), columns = 16 << draw(3);
      pool.push_back(s.input(rows, columns, "x", often(40)));
    }
    for (int n = 0; n < nodes; ++n) {
      const Var x = pick(pool, reach), y = pick(pool, reach);
      const std::int64_t rows = x.shape()[0], columns = x.shape()[1];
      switch (draw(10)) {
        case 0:
          pool.push_back(s.transposed(x));
          break;
        case 1: {
          const int first = draw(static_cast<int>(rows) + 1);
          pool.push_back(s.rows(x, first, first + draw(static_cast<int>(rows) - first + 1)));
          break;
        }
        case 2:
          pool.push_back(s.reshaped(x, columns, rows));
          break;
        case 3: {
          for (const Var& v : s.build.call(halves, std::vector{x})) pool.push_back(v);
          break;
        }
        case 4: {
          const WorkAttrs attrs{.rows = {1 + draw(9), rows, 1},
                                .columns = {32, columns, 1},
                                .scratch = draw(500),
                                .in_place = true,
                                .strided = often(50)};
          for (const Var& v : s.many({x, y}, attrs)) pool.push_back(v);
          break;
        }
        case 5:
          s.many({x}, {.rows = {1}, .columns = {1}}, effect);
          break;
        case 6:
          pool.push_back(s.node({}, 1 + draw(6)));
          break;
        case 7:
          pool.push_back(s.reads({x, y, x}, 1 + draw(20)));
          break;
        case 8: {
          const int height = 1 + draw(20);
          pool.push_back(s.node({x, y}, height, 64, draw(3) * 100));
          break;
        }
        default:
          pool.push_back(s.over({x, y}));
          break;
      }
    }
    const int outputs = 1 + draw(4);
    for (int i = 0; i < outputs; ++i) s.output(pick(pool, 1000));
  }

  // A chain of layers, its gradient, and an update of every donated weight, all updates last.
  void training(int layers) {
    Sketch& s = *sketch_;
    std::vector<Var> weights, values{s.input(4 + draw(20), 64, "x")};
    const std::int64_t batch = values[0].shape()[0];
    for (int l = 0; l < layers; ++l) {
      weights.push_back(s.input(1 + draw(40), 64, "w", true));
      const Var h = s.node({values.back(), weights.back()}, batch, 64, draw(2) * 64);
      values.push_back(s.over({h}));
    }
    Var g = s.over({values.back()});
    std::vector<Var> gradients(weights.size());
    for (int l = layers - 1; l >= 0; --l) {
      const auto k = static_cast<std::size_t>(l);
      g = s.over({g, values[k + 1]});
      gradients[k] = s.reads({s.transposed(values[k]), g}, weights[k].shape()[0]);
      g = s.node({g, weights[k]}, batch);
    }
    for (std::size_t k = 0; k < weights.size(); ++k) s.output(s.over({s.over({weights[k]}), gradients[k]}));
    s.output(s.node({g}, 1));
  }

  std::mt19937 random_;
  std::unique_ptr<Sketch> sketch_;
};

}  // namespace tidemark::fake
