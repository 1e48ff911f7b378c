// Ways to keep less of each step: which values are worth computing again.
#include "tidemark/autodiff/record_cut.h"
#include "tidemark/ops/cpu_target.h"

namespace tidemark {
namespace {

// Goes from records to leaner ones, one value or a few at a time.
class Thinning {
 public:
  Thinning(const LoopReverseAttrs& attrs, const Graph& joint) : graph_(joint), cut_(attrs, joint) {
    for (const Node& node : joint.nodes()) {
      const Cost cost = cpu_target().cost(NodeCall(joint, node));
      // What a machine does of the one while it does one of the other, more or less: only ratios count here.
      constexpr double flops_per_byte = 10;
      cost_.push_back(cost.flops / flops_per_byte + cost.bytes);
    }
  }

  std::vector<LeanerRecords> run() {
    std::vector<LeanerRecords> list;
    std::vector<bool> again(graph_.nodes().size(), false);
    State now = measure(again);
    for (;;) {
      std::vector<bool> best;
      double least = 0;
      const auto consider = [&](const std::vector<bool>& more) {
        State then = measure(more);
        const auto saved = static_cast<double>(now.bytes - then.bytes);
        const double price = (then.cost - now.cost) / saved;
        if (saved > 0 && (best.empty() || price < least)) best = more, least = price;
        return then;
      };
      // One value from what it is made of, and that in turn.
      for (ValueId v : now.stacked) {
        std::vector<bool> more = again;
        std::vector<ValueId> next = {v};
        for (int depth = 0; depth < most_depth && grow(more, next); ++depth) {
          const State then = consider(more);
          next.clear();
          for (ValueId other : then.stacked) {
            if (std::ranges::count(now.stacked, other) == 0) next.push_back(other);
          }
        }
      }
      // All that is made element by element of one value.
      for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
        if (again[n] || graph_.nodes()[n].results.size() != 1) continue;
        std::vector<bool> more = again;
        if (grow_from(more, n)) consider(more);
      }
      if (best.empty()) return list;
      again = std::move(best);
      now = measure(again);
      list.push_back({now.bytes, again});
    }
  }

 private:
  static constexpr int most_depth = 8;
  struct State {
    std::int64_t bytes = 0;
    double cost = 0;
    std::vector<ValueId> stacked;
  };

  State measure(const std::vector<bool>& again) {
    const LoopRecords& records = cut_.with(again);
    State state{.bytes = records.bytes(1), .cost = 0, .stacked = records.stacked};
    for (std::size_t n = 0; n < again.size(); ++n) state.cost += records.again[n] ? cost_[n] : 0;
    return state;
  }
  // Those that make `values` are computed again too. False: one of them cannot be, or there is none.
  bool grow(std::vector<bool>& again, const std::vector<ValueId>& values) const {
    bool any = false;
    for (ValueId v : values) {
      if (graph_.is_input(v)) continue;  // what is carried
      const Node& node = graph_[graph_[v].producer];
      if (!node.regions.empty() || !is_repeatable(node)) return false;
      again[graph_[v].producer.index] = true;
      any = true;
    }
    return any;
  }

  // What works element by element and depends on the node's result. False: nothing does.
  bool grow_from(std::vector<bool>& again, std::size_t node) const {
    std::vector<bool> depends(graph_.values().size(), false);
    depends[graph_.nodes()[node].results[0].index] = true;
    bool any = false;
    for (std::size_t n = node + 1; n < graph_.nodes().size(); ++n) {
      const Node& reader = graph_.nodes()[n];
      const bool reads = std::ranges::any_of(reader.operands, [&](ValueId v) { return depends[v.index]; });
      const bool light = reader.op->kind == OpKind::elementwise || reader.op->view;
      if (!reads || !light || !is_repeatable(reader)) continue;
      for (ValueId v : reader.results) depends[v.index] = true;
      any = any || !again[n];
      again[n] = true;
    }
    return any;
  }

  const Graph& graph_;
  RecordCut cut_;
  std::vector<double> cost_;
};

}  // namespace

std::vector<LeanerRecords> leaner_records(const LoopReverseAttrs& attrs, const Graph& joint) {
  return Thinning(attrs, joint).run();
}

}  // namespace tidemark
