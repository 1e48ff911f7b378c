#include "tests/support/random_dags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tidemark/base/repeatable_math.h"

namespace tidemark::testing {
namespace {

class DagMaker {
 public:
  explicit DagMaker(std::uint64_t seed) : random_(seed * 2654435761 + 17) {}

  Dag layered(int nodes);
  Dag chain(int nodes, bool uneven);
  Dag unet(int nodes);
  Dag resnet(int nodes);

 private:
  using Inputs = std::vector<int>;

  int draw(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double between(double low, double high) { return low * repeatable::pow(high / low, unit()); }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  int add(double cost, double bytes, Inputs inputs) {
    const int node = dag_.size();
    dag_.names.push_back(fmt::format("n{}", node));
    dag_.cost.push_back(std::floor(cost));
    dag_.bytes.push_back(static_cast<std::int64_t>(bytes));
    dag_.backward.push_back(false);
    std::ranges::sort(inputs);
    for (int input : inputs) dag_.edges.push_back({input, node});
    return node;
  }
  // Most layers take some hundreds; what only moves bytes takes less.
  double layer_cost() { return between(150, 700); }
  double light_cost() { return between(20, 200); }

  // Adds the loss of the last node and the way back.
  Dag trained();
  // The nodes renumbered in an order that goes deep before it goes wide.
  Dag in_depth_first_order() const;

  std::mt19937_64 random_;
  Dag dag_;
};

Dag DagMaker::trained() {
  const int forward = dag_.size();
  std::vector<Inputs> readers(at(forward));
  for (const DagEdge& edge : dag_.edges) readers[at(edge.producer)].push_back(edge.consumer);
  std::vector<int> gradient(at(forward));
  const int loss = add(layer_cost() * 2, 128, {forward - 1});
  for (int node = forward - 1; node >= 0; --node) {
    Inputs inputs{node};
    if (readers[at(node)].empty()) inputs.push_back(loss);
    for (int reader : readers[at(node)]) {
      inputs.push_back(reader);
      inputs.push_back(gradient[at(reader)]);
    }
    gradient[at(node)] = add(dag_.cost[at(node)] * (0.8 + 1.7 * unit()) + 1,
                             static_cast<double>(dag_.bytes[at(node)]), inputs);
  }
  for (int node = loss; node < dag_.size(); ++node) dag_.backward[at(node)] = true;
  std::ranges::sort(dag_.edges, {}, [](const DagEdge& e) { return std::pair(e.consumer, e.producer); });
  return std::move(dag_);
}

Dag DagMaker::in_depth_first_order() const {
  std::vector<Inputs> readers(at(dag_.size()));
  std::vector<int> missing(at(dag_.size()), 0), number(at(dag_.size()), -1), ready, order;
  for (const DagEdge& edge : dag_.edges) {
    readers[at(edge.producer)].push_back(edge.consumer);
    ++missing[at(edge.consumer)];
  }
  for (int node = dag_.size() - 1; node >= 0; --node) {
    if (missing[at(node)] == 0) ready.push_back(node);
  }
  while (!ready.empty()) {
    const int node = ready.back();
    ready.pop_back();
    number[at(node)] = static_cast<int>(order.size());
    order.push_back(node);
    for (int reader : readers[at(node)]) {
      if (--missing[at(reader)] == 0) ready.push_back(reader);
    }
  }
  Dag sorted;
  for (int node : order) {
    sorted.names.push_back(dag_.names[at(node)]);
    sorted.cost.push_back(dag_.cost[at(node)]);
    sorted.bytes.push_back(dag_.bytes[at(node)]);
    sorted.backward.push_back(false);
  }
  for (const DagEdge& edge : dag_.edges)
    sorted.edges.push_back({number[at(edge.producer)], number[at(edge.consumer)]});
  std::ranges::sort(sorted.edges, {}, [](const DagEdge& e) { return std::pair(e.consumer, e.producer); });
  return sorted;
}

Dag DagMaker::layered(int nodes) {
  const auto cost = [&] { return 1000 * unit(); };
  const auto bytes = [&] {
    const double first = 700 * unit();
    return 10 * std::floor(8 + first * unit());
  };
  std::vector<int> before{add(0, bytes(), {})};
  while (dag_.size() < nodes - 1) {
    const int width = std::min(nodes - 1 - dag_.size(), 3 + draw(nodes >= 200 ? 10 : 7));
    std::vector<int> layer;
    for (int k = 0; k < width; ++k) {
      // Neighbours in one layer read neighbours in the layer before; every seventh reads something older too.
      const int size = static_cast<int>(before.size()), middle = k * size / width;
      Inputs inputs{before[at(middle)]};
      for (int step : {-1, 1, 2}) {
        const int other = middle + step;
        if (other >= 0 && other < size && draw(2) == 0) inputs.push_back(before[at(other)]);
      }
      if (draw(7) == 0) {
        const int older = draw(before.front() + 1);
        if (std::ranges::count(inputs, older) == 0) inputs.push_back(older);
      }
      const double time = cost();
      layer.push_back(add(time, bytes(), inputs));
    }
    for (int k = width - 1; k > 0; --k) std::swap(layer[at(k)], layer[at(draw(k + 1))]);
    before = layer;
  }
  std::vector<bool> read(at(dag_.size()), false);
  for (const DagEdge& edge : dag_.edges) read[at(edge.producer)] = true;
  Inputs last;
  for (int node = 0; node < dag_.size(); ++node) {
    if (!read[at(node)]) last.push_back(node);
  }
  add(0, bytes(), last);
  return in_depth_first_order();
}

Dag DagMaker::chain(int nodes, bool uneven) {
  const int forward = nodes / 2;
  double bytes = 2e9;
  for (int k = 0; k < forward; ++k) {
    Inputs inputs;
    if (k > 0) inputs.push_back(k - 1);
    if (uneven) {
      const double cost = between(1, 1e6);
      add(cost, between(1e3, 1e9), inputs);
    } else if (k > 1 && draw(std::max(3, forward / 6)) == 0) {
      add(light_cost(), bytes /= 4, inputs);  // a pooling, then twice the channels
      bytes *= 2;
    } else {
      const double cost = draw(3) == 0 ? light_cost() : layer_cost();
      add(cost, bytes * (draw(5) == 0 ? 1.03 : 1), inputs);
    }
  }
  return trained();
}

Dag DagMaker::unet(int nodes) {
  const int levels = nodes < 60 ? 2 : 3 + draw(2);
  const int per_level = std::max(2, nodes / 2 / (2 * levels + 1));
  double bytes = 2e9;
  int last = add(layer_cost(), bytes, {});
  std::vector<int> across;
  for (int level = 0; level < levels; ++level) {
    for (int k = 1; k < per_level; ++k) last = add(layer_cost(), bytes, {last});
    across.push_back(last);
    last = add(light_cost(), bytes / 4, {last});
    bytes /= draw(2) ? 2 : 4;
  }
  for (int k = 0; k < per_level; ++k) last = add(layer_cost(), bytes, {last});
  for (int level = levels - 1; level >= 0; --level) {
    const double joined = static_cast<double>(dag_.bytes[at(across[at(level)])]);
    last = add(light_cost(), bytes * 4, {last});
    last = add(light_cost(), bytes * 4 + joined, {across[at(level)], last});
    bytes = joined / (draw(2) ? 1 : 2);
    for (int k = 2; k < per_level; ++k) last = add(layer_cost(), bytes, {last});
  }
  return trained();
}

Dag DagMaker::resnet(int nodes) {
  const int forward = nodes / 2;
  double bytes = 1.5e9;
  int last = add(layer_cost(), bytes, {});
  const int inner = 3 + draw(4);  // convolutions, normalisations and activations of a block
  while (dag_.size() < forward) {
    int skip = last;
    if (draw(4) == 0) {
      bytes /= 2;
      skip = add(layer_cost(), bytes, {last});  // a projection
    }
    for (int k = 0; k < inner; ++k) {
      const bool narrow = inner > 4 && k < inner - 2;
      last = add(k % 3 == 0 ? layer_cost() : light_cost(), narrow ? bytes / 4 : bytes, {last});
    }
    last = add(light_cost(), bytes, {skip, last});
    last = add(light_cost(), bytes, {last});
  }
  return trained();
}

}  // namespace

const char* name_of(DagFamily family) {
  switch (family) {
    case DagFamily::layered:
      return "layered";
    case DagFamily::chain:
      return "chain";
    case DagFamily::unet:
      return "unet";
    case DagFamily::resnet:
      return "resnet";
    case DagFamily::uneven:
      return "uneven";
  }
  return "";
}

Dag random_dag(DagFamily family, int nodes, std::uint64_t seed) {
  DagMaker maker(seed);
  nodes = std::max(12, nodes);
  switch (family) {
    case DagFamily::layered:
      return maker.layered(nodes);
    case DagFamily::unet:
      return maker.unet(nodes);
    case DagFamily::resnet:
      return maker.resnet(nodes);
    case DagFamily::chain:
    case DagFamily::uneven:
      break;
  }
  return maker.chain(nodes, family == DagFamily::uneven);
}

}  // namespace tidemark::testing
