#include "tidemark/autodiff/several_steps.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "tidemark/ir/effects.h"
#include "tidemark/ir/failure.h"
#include "tidemark/ops/control/loop.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

constexpr std::int64_t most_steps = 8;  // at once: beyond, halos take what is won
// What the steps hand over, stacked, is copied once more: no more than so small a part of the state.
constexpr std::int64_t least_state_of_output = 8;

std::int64_t bytes_of(std::span<const Type> types) {
  std::int64_t bytes = 0;
  for (const Type& type : types) bytes += type.bytes();
  return bytes;
}

// Per value: is what is handed on made of it?
std::vector<bool> needed_for_carries(const Graph& body, std::size_t carries) {
  std::vector<bool> needed(body.values().size(), false);
  for (std::size_t c = 0; c < carries; ++c) needed[body.outputs()[c].index] = true;
  for (std::size_t n = body.nodes().size(); n-- > 0;) {
    const Node& node = body.nodes()[n];
    if (std::ranges::none_of(node.results, [&](ValueId v) { return needed[v.index]; })) continue;
    for (const ValueId v : node.operands) needed[v.index] = true;
  }
  return needed;
}

// How far the elements that are handed on depend on those before, along each dimension, and how many nodes
// compute them. None: they depend on them otherwise.
struct Stencil {
  std::int64_t reach = 0, nodes = 0;
};
std::optional<Stencil> stencil_of(const Graph& body, std::size_t carries, const Target& target) {
  std::vector<std::optional<std::int64_t>> reach(body.values().size());  // none: on nothing that is handed on
  std::optional<Shape> shape;
  for (std::size_t c = 0; c < carries; ++c) {
    const ValueId v = body.inputs()[c].value;
    if (body.type(v).count() == 1) return {};
    if (shape && *shape != body.type(v).shape) return {};
    shape = body.type(v).shape;
    reach[v.index] = 0;
  }
  if (!shape || shape->rank() < 1 || shape->rank() > 3 || element_count(*shape) == 0) return {};
  const std::vector<bool> needed = needed_for_carries(body, carries);
  Stencil stencil;
  for (const Node& node : body.nodes()) {
    const NodeCall call(body, node);
    if (!node.regions.empty() || !is_pure(node) || failure_of(call).when != Fails::never) return {};
    if (std::ranges::none_of(node.results, [&](ValueId v) { return needed[v.index]; })) continue;
    const bool depends =
        std::ranges::any_of(node.operands, [&](ValueId v) { return reach[v.index].has_value(); });
    if (!depends) continue;
    ++stencil.nodes;
    const Fusion fusion = target.fusion(call);
    std::int64_t further = 0;
    if (fusion == Fusion::window) {
      const std::optional<Dims> shift = target.shift(call);
      if (!shift) return {};
      for (const std::int64_t n : *shift) further = std::max(further, std::abs(n));
    } else if (fusion != Fusion::pointwise) {
      return {};
    }
    std::int64_t most = 0;
    for (const ValueId v : node.operands) most = std::max(most, reach[v.index].value_or(0));
    for (const ValueId v : node.results) {
      if (body.type(v).shape != *shape) return {};
      reach[v.index] = most + further;
    }
  }
  for (std::size_t c = 0; c < carries; ++c)
    stencil.reach = std::max(stencil.reach, reach[body.outputs()[c].index].value_or(0));
  return stencil;
}

// Steps to take at once; 1: the loop stays.
std::int64_t steps_at_once(const Node& node, const Target& target) {
  if (node.op != &op::loop || target.most_halo == 0) return 1;
  const auto attrs = unpack<LoopAttrs>(node.attrs);
  const auto carries = static_cast<std::size_t>(attrs.carries);
  if (attrs.keep != 0 || attrs.disk != 0 || carries == 0) return 1;
  const Graph& body = node.regions[0];
  const std::vector<Type> outputs = output_types(body);
  const std::int64_t state = bytes_of(std::span(outputs).first(carries));
  if (bytes_of(std::span(outputs).subspan(carries)) * least_state_of_output > state) return 1;
  const std::optional<Stencil> stencil = stencil_of(body, carries, target);
  if (!stencil || stencil->reach == 0) return 1;
  // The first of the steps reads what is in memory: only those behind it need a halo.
  const std::int64_t by_halo = 1 + target.most_halo / stencil->reach;
  const std::int64_t by_size = max_tiled_steps / std::max<std::int64_t>(stencil->nodes, 1);
  return std::max<std::int64_t>(1, std::min({by_halo, by_size, most_steps, attrs.trips}));
}

class Joining {
 public:
  Joining(const Graph& source, const Target& target) : source_(source), machine_(target) {}

  Graph run() {
    made_.name = source_.name;
    image_.resize(source_.values().size());
    for (const Input& input : source_.inputs())
      image_[input.value.index] = Var(builder_, made_.copy_input(source_, input));
    copy_checkpoints(source_, made_);
    for (const Node& node : source_.nodes()) {
      builder_.set_origin(node);
      const std::int64_t steps = steps_at_once(node, machine_);
      std::vector<Var> results;
      if (steps > 1) {
        results = joined(node, steps);
      } else {
        std::vector<Graph> regions;
        for (const Graph& region : node.regions) regions.push_back(take_several_steps(region, machine_));
        results = builder_.call(*node.op, operands(node), node.attrs, std::move(regions));
      }
      for (std::size_t r = 0; r < node.results.size(); ++r) {
        image_[node.results[r].index] = results[r];
        if (!source_[node.results[r]].name.empty())
          made_[results[r].id()].name = source_[node.results[r]].name;
      }
    }
    for (const ValueId v : source_.outputs()) made_.add_output(image_[v.index].id());
    copy_hints(source_, made_, 0, ids_of(image_));
    return std::move(made_);
  }

 private:
  std::vector<Var> operands(const Node& node) const {
    std::vector<Var> in;
    for (const ValueId v : node.operands) in.push_back(image_[v.index]);
    return in;
  }

  // So many steps as one, of slices that lie side by side. The body overwrites nothing: neighbours read it.
  //
  // States between two of the steps that something else reads, such as what a receiver hears, are handed on
  // too, though nobody reads them there: what is handed on has two places in turns, so the next steps need
  // not wait for that reader. `extra`: how many of these there are, of the first state's type.
  static Graph several(const Graph& body, const LoopAttrs& attrs, std::int64_t steps, const Node& origin,
                       std::size_t extra = 0) {
    const auto carries = static_cast<std::size_t>(attrs.carries),
               scanned = static_cast<std::size_t>(attrs.scanned);
    Graph joined;
    joined.name = body.name;
    Builder builder(joined);
    builder.set_where(origin.where);  // and not its checkpoint, which is none of the body's
    builder.set_backward(origin.backward);
    std::vector<Var> in;
    const Type state = body.type(body.inputs()[0].value);
    for (std::size_t i = 0; i < body.inputs().size(); ++i) {
      for (std::size_t e = 0; i == carries && e < extra; ++e) builder.input(state);
      const Input& input = body.inputs()[i];
      const Type type = body.type(input.value);
      const bool is_x = i >= carries && i < carries + scanned;
      in.push_back(builder.input(is_x ? stacked(steps, type) : type, body[input.value].name));
    }
    std::vector<Var> step_in = in;
    for (std::size_t e = 0; body.inputs().size() == carries && e < extra; ++e) builder.input(state);
    std::vector<Var> states;  // between two steps
    std::vector<std::vector<Var>> ys(body.outputs().size() - carries,
                                     std::vector<Var>(static_cast<std::size_t>(steps)));
    for (std::int64_t k = 0; k < steps; ++k) {
      const std::int64_t at = attrs.reverse ? steps - 1 - k : k;
      for (std::size_t i = carries; i < carries + scanned; ++i) {
        const Var slice = slice_axis(in[i], 0, at, at + 1);
        step_in[i] = reshape(slice, body.type(body.inputs()[i].value).shape);
      }
      const std::vector<Var> out = inline_graph(builder, body, step_in);
      std::copy_n(out.begin(), carries, step_in.begin());
      if (k + 1 < steps)
        states.insert(states.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(carries));
      for (std::size_t y = 0; y < ys.size(); ++y) ys[y][static_cast<std::size_t>(at)] = out[carries + y];
    }
    for (std::size_t c = 0; c < carries; ++c) joined.add_output(step_in[c].id());
    std::vector<ValueId> watched = watched_states(joined, states, carries);
    std::erase_if(watched, [&](ValueId v) { return joined.type(v) != state; });
    if (watched.size() != extra) return several(body, attrs, steps, origin, watched.size());
    for (const ValueId v : watched) joined.add_output(v);
    for (std::vector<Var>& of_steps : ys) {
      for (Var& y : of_steps) y = reshape(y, stacked(1, y.type()).shape);
      joined.add_output(concat(of_steps, 0).id());
    }
    return joined;
  }

  // Those that are not handed on and that something besides what is handed on is made of.
  static std::vector<ValueId> watched_states(const Graph& joined, const std::vector<Var>& states,
                                             std::size_t carries) {
    const std::vector<bool> needed = needed_for_carries(joined, carries);
    std::vector<bool> read(joined.values().size(), false);
    for (const Node& node : joined.nodes()) {
      if (std::ranges::any_of(node.results, [&](ValueId v) { return needed[v.index]; })) continue;
      for (const ValueId v : node.operands) read[v.index] = true;
    }
    std::vector<ValueId> watched;
    for (const Var& state : states) {
      const ValueId v = state.id();
      if (read[v.index] && !joined.is_input(v) && std::ranges::count(joined.outputs(), v) == 0 &&
          std::ranges::count(watched, v) == 0)
        watched.push_back(v);
    }
    return watched;
  }

  // A part of the loop: iterations [first, first + count) of those that were, by their slices.
  std::vector<Var> part(const Node& node, const Graph& body, LoopAttrs attrs, std::span<const Var> carried,
                        std::int64_t first, std::int64_t count, std::int64_t steps) {
    const auto carries = static_cast<std::size_t>(attrs.carries),
               scanned = static_cast<std::size_t>(attrs.scanned);
    std::vector<Var> in = operands(node);
    std::copy_n(carried.begin(), carries, in.begin());
    for (std::size_t i = carries; i < carries + scanned; ++i) {
      if (count < attrs.trips) in[i] = slice_axis(in[i], 0, first, first + count);
      if (steps == 1) continue;
      Shape shape{count / steps, steps};
      for (int d = 1; d < in[i].shape().rank(); ++d) shape.push_back(in[i].shape()[d]);
      in[i] = reshape(in[i], shape);
    }
    const std::size_t extra = body.inputs().size() - in.size();
    in.insert(in.begin() + static_cast<std::ptrdiff_t>(carries), extra, in[0]);
    attrs.carries += static_cast<std::int64_t>(extra);
    attrs.trips = count / steps;
    std::vector<Var> out = builder_.call(op::loop, in, pack(attrs), {body});
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(carries),
              out.begin() + static_cast<std::ptrdiff_t>(carries + extra));
    for (std::size_t y = carries; y < out.size() && steps > 1; ++y) {
      Shape shape{count};
      for (int d = 2; d < out[y].shape().rank(); ++d) shape.push_back(out[y].shape()[d]);
      out[y] = reshape(out[y], shape);
    }
    return out;
  }

  std::vector<Var> joined(const Node& node, std::int64_t steps) {
    const auto attrs = unpack<LoopAttrs>(node.attrs);
    const auto carries = static_cast<std::size_t>(attrs.carries);
    const std::int64_t left = attrs.trips % steps, most = attrs.trips - left;
    const Graph body = several(node.regions[0], attrs, steps, node);
    std::vector<Var> out = part(node, body, attrs, operands(node), attrs.reverse ? left : 0, most, steps);
    if (left == 0) return out;
    const std::vector<Var> rest = part(node, node.regions[0], attrs, out, attrs.reverse ? 0 : most, left, 1);
    for (std::size_t r = 0; r < out.size(); ++r) {
      if (r < carries) {
        out[r] = rest[r];
      } else {
        const std::vector<Var> both =
            attrs.reverse ? std::vector<Var>{rest[r], out[r]} : std::vector<Var>{out[r], rest[r]};
        out[r] = concat(both, 0);
      }
    }
    return out;
  }

  const Graph& source_;
  const Target& machine_;
  Graph made_;
  Builder builder_{made_};
  std::vector<Var> image_;
};

}  // namespace

bool has_steps_to_join(const Graph& graph, const Target& target) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return steps_at_once(node, target) > 1 || std::ranges::any_of(node.regions, [&](const Graph& region) {
             return has_steps_to_join(region, target);
           });
  });
}

Graph take_several_steps(const Graph& graph, const Target& target) {
  return has_steps_to_join(graph, target) ? Joining(graph, target).run() : graph;
}

}  // namespace tidemark
