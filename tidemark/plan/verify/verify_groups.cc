#include "tidemark/plan/verify/verify_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "tidemark/ir/graph.h"
#include "tidemark/plan/step_call.h"

namespace tidemark {
namespace {

class GroupVerifier {
 public:
  GroupVerifier(const Graph& graph, const Plan& plan, const Target& target, ProblemList& problems)
      : graph_(graph), plan_(plan), target_(target), problems_(problems) {}

  void run() {
    std::set<std::int32_t> seen;
    for (std::size_t t = 0; t < plan_.steps.size();) {
      const std::int32_t group = plan_.steps[t].group;
      first_ = t;
      last_ = t + 1;
      while (group >= 0 && last_ < plan_.steps.size() && plan_.steps[last_].group == group) ++last_;
      if (group < 0) {
        check_alone(t);
      } else if (group_ = group; !seen.insert(group).second) {
        report("its steps are not in a row");
      } else if (check_kinds()) {
        tiled_ = reads_window_inside();
        if (tiled_) check_tiles();
        for (std::size_t s = first_; s < last_; ++s) check_step(s);
        for (std::size_t s = first_; s < last_; ++s) check_writes(s);
      }
      t = last_;
    }
  }

 private:
  template <class... Args>
  void report(fmt::format_string<Args...> text, Args&&... args) {
    problems_.report("group {}: {}", group_, fmt::format(text, std::forward<Args>(args)...));
  }
  const Buffer& buffer(const Ref& ref) const { return plan_.buffers[ref.buffer.index]; }
  bool is_tile(const Ref& ref) const { return buffer(ref).binding == Binding::tile; }
  const Node& node(std::size_t t) const { return graph_[plan_.steps[t].node]; }

  Fusion fusion(std::size_t t) const { return target_.fusion(StepCall(graph_, plan_, plan_.steps[t])); }

  void check_alone(std::size_t t) {
    group_ = -1;
    for (const auto* refs : {&plan_.steps[t].in, &plan_.steps[t].out}) {
      for (const Ref& ref : *refs) {
        if (is_tile(ref)) report("step {} has %{} in a tile", t, ref.value.index);
      }
    }
  }

  // Every op may join, and there is one shape that they share.
  bool check_kinds() {
    bool shaped = false;
    const auto must_have = [&](std::size_t t, const Shape& shape) {
      if (shaped && shape != shape_) {
        report("step {} is of shape {}, others of {}", t, to_string(shape), to_string(shape_));
        return false;
      }
      shape_ = shape;
      shaped = true;
      return true;
    };
    for (std::size_t t = first_; t < last_; ++t) {
      const Node& n = node(t);
      const Fusion kind = fusion(t);
      if (kind == Fusion::reduction) {
        if (t + 1 != last_ || n.operands.size() != 1) report("step {} folds and is not the last", t);
        if (!must_have(t, graph_.type(n.operands[0]).shape)) return false;
        continue;
      }
      const bool by_elements = kind == Fusion::pointwise || kind == Fusion::window;
      if (!by_elements || n.results.empty() || !n.regions.empty()) {
        report("step {} ({}) cannot join", t, n.op->name);
        return false;
      }
      for (const Ref& out : plan_.steps[t].out) {
        const Type& type = graph_.type(out.value);
        // One element that nobody outside sees is the same in every tile.
        if (type.count() == 1 && is_tile(out)) continue;
        if (!must_have(t, type.shape)) return false;
      }
    }
    if (!shaped) shape_ = graph_.type(plan_.steps[last_ - 1].out[0].value).shape;
    return true;
  }

  bool is_aligned(const Ref& ref) const {
    const Type& type = graph_.type(ref.value);
    return ref.offset == 0 && type.shape == shape_ && is_dense(type.shape, ref.strides);
  }
  // All of its buffer, read or written element by element.
  bool is_whole(const Ref& ref) const {
    return is_aligned(ref) && graph_.type(ref.value).bytes() == buffer(ref).bytes;
  }
  // Is this where an earlier step of the group puts a result?
  const Ref* made_here(const Ref& ref, std::size_t t) const {
    for (std::size_t s = t; s-- > first_;) {
      for (const Ref& out : plan_.steps[s].out) {
        if (out.buffer == ref.buffer) return &out;
      }
    }
    return nullptr;
  }

  // Does the step take this operand's elements from anywhere?
  bool reads_window(std::size_t t, const Ref& in) const {
    return &in == plan_.steps[t].in.data() && fusion(t) == Fusion::window;
  }

  bool reads_window_inside() const {
    for (std::size_t t = first_; t < last_; ++t) {
      if (fusion(t) == Fusion::window && made_here(plan_.steps[t].in[0], t)) return true;
    }
    return false;
  }

  // As Target::most_halo says.
  void check_tiles() {
    const int rank = shape_.rank();
    if (target_.most_halo == 0) return report("it reads windows on what it makes, and there are no tiles");
    if (rank < 1 || rank > 3 || element_count(shape_) == 1)
      return report("tiles of shape {}", to_string(shape_));
    if (last_ - first_ > max_tiled_steps) return report("{} steps in tiles", last_ - first_);
    std::map<std::uint32_t, std::size_t> layers;  // of buffers that windows read
    for (std::size_t t = first_; t < last_; ++t) {
      if (fusion(t) == Fusion::reduction) report("step {} folds, in tiles", t);
      if (fusion(t) != Fusion::window) continue;
      const Ref& in = plan_.steps[t].in[0];
      if (!made_here(in, t)) continue;
      layers[in.buffer.index] = 0;
      if (graph_.type(in.value).count() == 1) return report("step {} reads a window on one element", t);
    }
    std::map<std::uint32_t, std::size_t> made_in;  // the layer in which a buffer is written
    std::vector<Dims> farthest(layers.size(), Dims::filled(rank, 0));
    std::int64_t elements = 0;  // in bytes, at each place of a tile
    for (std::size_t t = first_; t < last_; ++t) {
      const Step& step = plan_.steps[t];
      std::size_t layer = 0;
      for (const Ref& in : step.in) {
        if (!made_here(in, t)) continue;
        const auto array = layers.find(in.buffer.index);
        layer = std::max(layer, array == layers.end() ? made_in.at(in.buffer.index) : array->second + 1);
        if (array == layers.end() || !reads_window(t, in)) continue;
        const std::optional<Dims> shift = target_.shift(StepCall(graph_, plan_, step));
        if (!shift) return report("step {} reads %{} anywhere, which it makes", t, in.value.index);
        Dims& most = farthest[array->second];
        for (int d = 0; d < rank; ++d) most[d] = std::max(most[d], std::abs((*shift)[d]));
      }
      for (const Ref& out : step.out) {
        made_in[out.buffer.index] = layer;
        if (layers.contains(out.buffer.index)) {
          layers[out.buffer.index] = layer;
          elements += size_of(graph_.type(out.value).dtype);
        }
      }
    }
    Dims wide = least_tile(rank);
    for (int d = 0; d < rank; ++d) {
      std::int64_t halo = 0;
      for (const Dims& most : farthest) halo += most[d];
      if (halo > target_.most_halo) return report("its windows reach {} elements, together", halo);
      wide[d] += 2 * halo;
    }
    if (elements * element_count(wide) > target_.tile_bytes) report("its tiles are too large");
  }

  void check_step(std::size_t t) {
    const Step& step = plan_.steps[t];
    for (const auto* refs : {&step.in, &step.out}) {
      for (const Ref& ref : *refs) {
        const auto begin = static_cast<std::size_t>(buffer(ref).begin);
        const auto end = static_cast<std::size_t>(buffer(ref).end);
        if (is_tile(ref)) {
          if (begin < first_ || end > last_) report("tile b{} lives outside of it", ref.buffer.index);
        } else if (begin > first_ || end < last_) {
          report("b{} lives for a part of it only", ref.buffer.index);
        }
      }
    }
    for (const Ref& in : step.in) {
      const Ref* made = made_here(in, t);
      if (made && reads_window(t, in) && !tiled_)
        report("step {} reads %{} elsewhere than it was made", t, in.value.index);
      if (is_tile(in) && !made) report("step {} reads a tile that was not made", t);
      const bool folds = fusion(t) == Fusion::reduction;
      if (folds && !made) report("step {} folds %{}, which no step of it makes", t, in.value.index);
      if (!made) continue;
      if (graph_.type(made->value).count() == 1) {  // the same in every tile
        if (folds && graph_.type(in.value).count() != 1)
          report("step {} folds one element, %{}, as if it were many", t, in.value.index);
        continue;
      }
      if (!is_whole(in) || !is_whole(*made))
        report("step {} reads %{} elsewhere than it was made", t, in.value.index);
    }
    for (const Ref& out : step.out) {
      if (is_tile(out) && out.offset != 0) report("step {}: an offset in a tile", t);
      if (is_tile(out) && fusion(t) == Fusion::reduction) report("step {} folds into a tile", t);
    }
  }

  // Steps interleave, so what one writes may be read by others only at the same elements, and not afterwards
  // unless it is what they want (which the play of the plan has seen to).
  void check_writes(std::size_t writer) {
    for (const Ref& out : plan_.steps[writer].out) {
      if (is_tile(out)) continue;
      for (std::size_t t = first_; t < last_; ++t) {
        for (const Ref& in : plan_.steps[t].in) {
          if (in.buffer != out.buffer) continue;
          const bool read_there = t > writer || !tiled_;  // by tiles, what is made is read where it is made
          const bool elementwise = is_whole(in) && is_whole(out) && (tiled_ || !reads_window(t, in)) &&
                                   fusion(writer) != Fusion::reduction && read_there;
          if (!elementwise && graph_.type(out.value).count() > 0)
            report("step {} writes where step {} reads", writer, t);
        }
        for (const Ref& other : plan_.steps[t].out) {
          if (&other != &out && other.buffer == out.buffer && graph_.type(out.value).count() > 0)
            report("steps {} and {} write b{}", std::min(t, writer), std::max(t, writer), out.buffer.index);
        }
      }
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  const Target& target_;
  ProblemList& problems_;
  std::int32_t group_ = -1;
  std::size_t first_ = 0, last_ = 0;
  Shape shape_;
  bool tiled_ = false;
};

}  // namespace

void verify_groups(const Graph& graph, const Plan& plan, const Target& target, ProblemList& problems) {
  GroupVerifier(graph, plan, target, problems).run();
}

double unmoved_bytes(const Graph& graph, const Plan& plan, std::size_t step) {
  const Step& s = plan.steps[step];
  if (s.group < 0) return 0;
  std::size_t first = step;
  while (first > 0 && plan.steps[first - 1].group == s.group) --first;
  double bytes = 0;
  const auto at_hand = [&](std::size_t k) {
    for (std::size_t j = 0; j < k; ++j) {
      if (s.in[j].value == s.in[k].value) return true;
    }
    for (std::size_t t = first; t < step; ++t) {
      for (const Ref& in : plan.steps[t].in) {
        if (in.value == s.in[k].value) return true;
      }
      for (const Ref& out : plan.steps[t].out) {
        if (out.buffer == s.in[k].buffer) return true;
      }
    }
    return false;
  };
  for (std::size_t k = 0; k < s.in.size(); ++k) {
    if (at_hand(k)) bytes += static_cast<double>(graph.type(s.in[k].value).bytes());
  }
  for (const Ref& out : s.out) {
    if (plan.buffers[out.buffer.index].binding == Binding::tile)
      bytes += static_cast<double>(graph.type(out.value).bytes());
  }
  return bytes;
}

}  // namespace tidemark
