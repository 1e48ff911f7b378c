#include "tests/programs/shrink.h"

#include <algorithm>

#include "tidemark/ir/builder.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/constant.h"

namespace tidemark::testing {

std::string kind_of(const std::string& what) {
  std::string kind;
  for (char c : what) {
    const bool number = (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!number || !kind.ends_with('#')) kind += number ? '#' : c;
    if (kind.size() == 40) break;
  }
  return kind;
}

namespace {

// What a smaller graph leaves out.
struct Cut {
  std::vector<bool> nodes;  // something else stands for what they make: a new input, in a region a constant
  std::vector<bool> outputs = {};  // none: all stay
  bool hints = false;
};
enum class Level { program, region };

bool is_cut(const std::vector<bool>& list, std::size_t i) { return i < list.size() && list[i]; }

Literal stand_in(const Type& type, std::uint64_t seed) {
  const bool is_index = !is_float(type.dtype);
  return random_literal(type.dtype, type.shape, seed, is_index ? 0 : -1, is_index ? 2 : 1);
}

std::vector<bool> used_values(const Graph& graph, const Cut& cut) {
  std::vector<bool> used(graph.values().size());
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    if (!is_cut(cut.outputs, i)) used[graph.outputs()[i].index] = true;
  }
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    const bool wanted = std::ranges::any_of(node.results, [&](ValueId v) { return used[v.index]; });
    if (!wanted || is_cut(cut.nodes, n)) continue;
    for (ValueId v : node.operands) used[v.index] = true;
  }
  return used;
}

GraphCase smaller(const GraphCase& program, const Cut& cut, Level level = Level::program) {
  const Graph& from = program.graph;
  const std::vector<bool> used = used_values(from, cut);
  GraphCase result;
  Graph& to = result.graph;
  Builder builder(to);
  std::vector<ValueId> image(from.values().size());
  for (std::size_t i = 0; i < from.inputs().size(); ++i) {
    const ValueId v = from.inputs()[i].value;
    if (!used[v.index] && level == Level::program) continue;
    image[v.index] = to.add_input(from.type(v), {}, from.inputs()[i].donated);
    if (level == Level::program) result.inputs.push_back(program.inputs[i]);
  }
  for (std::size_t n = 0; n < from.nodes().size(); ++n) {
    if (!is_cut(cut.nodes, n)) continue;
    for (ValueId v : from.nodes()[n].results) {
      if (!used[v.index]) continue;
      const Literal literal = stand_in(from.type(v), v.index);
      if (level == Level::region) {
        image[v.index] = builder.call1(op::constant, {}, pack(ConstantAttrs{literal})).id();
      } else {
        image[v.index] = to.add_input(from.type(v));
        result.inputs.push_back(literal);
      }
    }
  }
  const std::uint32_t shift = cut.hints ? 0 : copy_checkpoints(from, to);
  for (std::size_t n = 0; n < from.nodes().size(); ++n) {
    const Node& node = from.nodes()[n];
    const bool wanted = std::ranges::any_of(node.results, [&](ValueId v) { return used[v.index]; });
    if (!wanted || is_cut(cut.nodes, n)) continue;
    Node copy = node;
    copy.where = {};
    copy.results.clear();
    copy.checkpoint = cut.hints ? CheckpointId() : shifted(node.checkpoint, shift);
    std::vector<Type> types;
    for (ValueId& v : copy.operands) v = image[v.index];
    for (ValueId v : node.results) types.push_back(from.type(v));
    const NodeId added = to.add_node(std::move(copy), types);
    for (std::size_t r = 0; r < node.results.size(); ++r) image[node.results[r].index] = to[added].results[r];
  }
  if (!cut.hints) copy_hints(from, to, shift, image);
  for (std::size_t i = 0; i < from.outputs().size(); ++i) {
    if (!is_cut(cut.outputs, i)) to.add_output(image[from.outputs()[i].index]);
  }
  return result;
}

std::vector<bool> only(std::size_t i) {
  std::vector<bool> list(i + 1);
  list[i] = true;
  return list;
}

class Shrinker {
 public:
  Shrinker(std::uint64_t seed, const Thoroughness& thoroughness, const Finding& first, Patience patience)
      : seed_(seed),
        thoroughness_(thoroughness),
        patience_(patience),
        kind_(kind_of(first.what)),
        best_{{}, first, {}} {}

  Smaller run() {
    leave_out_steps();
    if (best_.finding.part != Part::eager) cut_graph();
    return best_;
  }

 private:
  bool fails(const Outcome& outcome) const {
    return outcome.finding && kind_of(outcome.finding.what) == kind_;
  }

  void leave_out_steps() {
    const int steps = RandomFunction(seed_).steps();
    for (bool again = true; again;) {
      again = false;
      for (int s = steps - 1; s >= 0; --s) {
        if (best_.left_out.contains(s)) continue;
        std::set<int> fewer = best_.left_out;
        fewer.insert(s);
        const Outcome outcome = run_apart(
            patience_, [&](const Progress& progress) { check(seed_, thoroughness_, fewer, progress); });
        if (!fails(outcome)) continue;
        best_.left_out = fewer;
        best_.finding = outcome.finding;
        again = true;
      }
    }
  }

  bool accept(const GraphCase& candidate) {
    const Outcome outcome = run_apart(patience_, [&](const Progress& progress) {
      Finding finding = best_.finding;
      finding.what.clear();
      progress(finding);
      try {
        finding.what = finding.part == Part::gradient ? gradient_difference(candidate, finding.variation)
                                                      : difference(candidate, finding.variation);
      } catch (const std::exception& error) {
        finding.what = error.what();
      }
      progress(finding);
    });
    if (!fails(outcome)) return false;
    best_.finding = outcome.finding;
    best_.program = candidate;
    return true;
  }

  const Graph& graph() const { return best_.program.graph; }

  void cut_graph() {
    const auto make = [&] { return graph_of(RandomFunction(seed_, best_.left_out), best_.finding.part); };
    if (run_apart(patience_, [&](const Progress&) { make(); }).crashed) return;
    if (!accept(make())) return;
    while (cut_once()) {
    }
  }

  bool cut_once() {
    bool any = false;
    for (std::size_t i = graph().outputs().size(); i-- > 0 && graph().outputs().size() > 1;)
      any |= accept(smaller(best_.program, {.nodes = {}, .outputs = only(i)}));
    if (!graph().hints().empty() || !graph().checkpoints().empty())
      any |= accept(smaller(best_.program, {.nodes = {}, .hints = true}));
    for (std::size_t n = graph().nodes().size(); n-- > 0;) {
      if (n < graph().nodes().size()) any |= accept(smaller(best_.program, {.nodes = only(n)}));
    }
    for (std::size_t n = 0; n < graph().nodes().size(); ++n) {
      for (std::size_t r = 0; r < graph().nodes()[n].regions.size(); ++r) {
        for (std::size_t m = graph().nodes()[n].regions[r].nodes().size(); m-- > 0;)
          any |= cut_in_region(n, r, m);
      }
    }
    return any;
  }

  bool cut_in_region(std::size_t n, std::size_t r, std::size_t m) {
    const Graph& region = graph().nodes()[n].regions[r];
    if (m >= region.nodes().size() || region.nodes()[m].op == &op::constant) return false;
    GraphCase candidate = best_.program;
    candidate.graph[NodeId(n)].regions[r] = smaller({region, {}}, {.nodes = only(m)}, Level::region).graph;
    return accept(candidate);
  }

  const std::uint64_t seed_;
  const Thoroughness thoroughness_;
  const Patience patience_;
  const std::string kind_;
  Smaller best_;
};

}  // namespace

Smaller shrink(std::uint64_t seed, const Thoroughness& thoroughness, const Finding& first,
               Patience patience) {
  return Shrinker(seed, thoroughness, first, patience).run();
}

}  // namespace tidemark::testing
