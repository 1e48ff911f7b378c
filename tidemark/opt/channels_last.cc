#include "tidemark/opt/channels_last.h"

#include <algorithm>
#include <limits>

#include "tidemark/ir/builder.h"
#include "tidemark/ir/effects.h"
#include "tidemark/opt/rewrite.h"

namespace tidemark {
namespace {

// Dimensions of (N, C, S…) in the order (N, S…, C), and of that in the order of the first.
Dims last_order(int rank) {
  Dims order = {0};
  for (int d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}
Dims first_order(int rank) {
  Dims order = {0, rank - 1};
  for (int d = 1; d + 1 < rank; ++d) order.push_back(d);
  return order;
}
Dims picked(const Dims& from, const Dims& order) {
  Dims list;
  for (const std::int64_t d : order) list.push_back(from[static_cast<int>(d)]);
  return list;
}
Dims to_last(const Dims& list) { return picked(list, last_order(list.rank())); }
// Where dimension d of a value is in its twin.
std::int64_t place_in_last(std::int64_t d, int rank) { return d == 0 ? 0 : d == 1 ? rank - 1 : d - 1; }

constexpr std::int64_t channel_pack = 8;   // 16 bytes, which kernels load at once
constexpr std::int64_t cell_channels = 4;  // of a point of a cell
// From rows of points to cells, and back.
Dims cell_order() { return {0, 1, 3, 2, 4, 5}; }

bool is_16_bit(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

class ChannelsLast {
 public:
  ChannelsLast(const Graph& graph, const KnownOps& ops)
      : graph_(graph),
        ops_(ops),
        readers_(consumers(graph)),
        is_output_(graph.values().size(), false),
        rewriter_(graph, [&](const Graph& region) { return channels_last(region, ops); }),
        builder_(rewriter_.target()),
        twins_(graph.values().size()),
        is_made_last_(graph.values().size(), false) {
    for (const ValueId v : graph.outputs()) is_output_[v.index] = true;
  }

  Graph run() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      builder_.set_origin(node);
      if (rewrite(node)) continue;
      for (const ValueId v : node.operands) own(v);
      rewriter_.copy(NodeId(n));
    }
    Graph& target = rewriter_.target();
    for (const ValueId v : graph_.outputs()) target.add_output(own(v));
    std::vector<ValueId> images(graph_.values().size());
    for (std::size_t v = 0; v < images.size(); ++v)
      images[v] = rewriter_.has_image(ValueId(v)) ? rewriter_.image(ValueId(v)) : twins_[v];
    copy_hints(graph_, target, 0, images);
    return std::move(target);
  }

 private:
  const Shape& shape(ValueId v) const { return graph_.type(v).shape; }
  int rank(ValueId v) const { return graph_.type(v).rank(); }
  // Was it made with channels last?
  bool lies_last(ValueId v) const { return is_made_last_[v.index]; }

  ValueId add(const Op& op, std::vector<ValueId> operands, Attrs attrs) {
    return add_several(op, std::move(operands), std::move(attrs)).front();
  }
  std::vector<ValueId> add_several(const Op& op, std::vector<ValueId> operands, Attrs attrs) {
    std::vector<Var> vars;
    for (const ValueId v : operands) vars.emplace_back(builder_, v);
    return ids_of(builder_.call(op, vars, std::move(attrs)));
  }
  ValueId transposed(ValueId v, const Dims& order) {
    return add(*ops_.transpose, {v}, attrs_with(*ops_.transpose, {{"order", order}}));
  }
  ValueId reshaped(ValueId v, const Shape& to) {
    if (rewriter_.target().type(v).shape == to) return v;
    return add(*ops_.reshape, {v}, attrs_with(*ops_.reshape, {{"shape", to}}));
  }

  void set_twin(ValueId v, ValueId twin) {
    twins_[v.index] = twin;
    is_made_last_[v.index] = !rewriter_.has_image(v);
    Value& value = rewriter_.target()[twin];
    if (value.name.empty()) value.name = graph_[v].name;
  }
  // In its own order.
  ValueId own(ValueId v) {
    if (!rewriter_.has_image(v)) rewriter_.map(v, transposed(twins_[v.index], first_order(rank(v))));
    return rewriter_.image(v);
  }
  // With channels last. What was cast or broadcast is so again, from what it was made of: one kernel then
  // reads the one order and writes the other, or makes it from less.
  ValueId last(ValueId v) {
    if (twins_[v.index].valid()) return twins_[v.index];
    ValueId twin;
    const Node *const maker = maker_of(v, ops_.cast), *const spread = maker_of(v, ops_.broadcast);
    if (maker) {
      twin = add(*ops_.cast, {moved(maker->operands[0])}, maker->attrs);
    } else if (spread && follows(spread->operands[0], rank(v))) {
      twin = add(*ops_.broadcast, {last_within(spread->operands[0], rank(v))},
                 attrs_with(*ops_.broadcast, {{"shape", to_last(shape(v))}}));
    } else {
      return moved(v);
    }
    set_twin(v, twin);
    return twin;
  }
  ValueId moved(ValueId v) {
    if (!twins_[v.index].valid()) set_twin(v, transposed(own(v), last_order(rank(v))));
    return twins_[v.index];
  }
  // Can it be broadcast to a twin of so many dimensions? Fewer dimensions stand for the last ones.
  bool follows(ValueId v, int wide) const {
    return rank(v) == wide || graph_.type(v).count() == 1 ||
           (rank(v) == wide - 1 && shape(v)[0] == graph_.type(v).count());
  }
  ValueId last_within(ValueId v, int wide) {
    if (rank(v) == wide) return moved(v);
    if (graph_.type(v).count() == 1) return own(v);
    Shape whole = shape(v);
    whole.insert(0, 1);
    return reshaped(own(v), to_last(whole));
  }
  const Node* maker_of(ValueId v, const Op* op) const {
    const NodeId producer = graph_[v].producer;
    return producer.valid() && graph_[producer].op == op ? &graph_[producer] : nullptr;
  }

  bool rewrite(const Node& node) {
    if (!node.regions.empty() || !is_pure(node)) return false;
    if (convolution(node)) return true;
    if (std::ranges::none_of(node.operands, [&](ValueId v) { return lies_last(v); })) return false;
    if (node.op->kind == OpKind::elementwise) return elementwise(node);
    if (node.op == ops_.batch_norm || node.op == ops_.batch_norm_grad || node.op == ops_.batch_norm_params)
      return batch_norm(node);
    if (node.op == ops_.max_pool || node.op == ops_.avg_pool || node.op == ops_.avg_pool_grad ||
        node.op == ops_.max_pool_grad)
      return pool(node);
    if (node.op == ops_.reduce_sum || node.op == ops_.reduce_mean || node.op == ops_.reduce_max ||
        node.op == ops_.reduce_min)
      return reduction(node);
    if (node.op == ops_.reshape) return reshape(node);
    if (node.op == ops_.transpose) return transpose(node);
    if (node.op == ops_.concat) return concat(node);
    if (node.op == ops_.split) return split(node);
    if (node.op == ops_.slice || node.op == ops_.pad) return window(node);
    if (node.op == ops_.broadcast) return broadcast(node);
    return false;
  }

  bool convolution(const Node& node) {
    const Op* const op = node.op == ops_.conv               ? ops_.conv_last
                         : node.op == ops_.conv_input_grad  ? ops_.conv_last_input_grad
                         : node.op == ops_.conv_weight_grad ? ops_.conv_last_weight_grad
                                                            : nullptr;
    if (!op || !is_16_bit(graph_.type(node.operands[0]).dtype) || rank(node.operands[0]) < 4) return false;
    if (cells(node)) return true;
    ValueId a = last(node.operands[0]), b = last(node.operands[1]);
    // Images of three channels: with zeros up to a pack they are an order of magnitude faster, and mean the
    // same.
    const bool has_x = node.op != ops_.conv_input_grad, has_w = node.op != ops_.conv_weight_grad;
    const std::int64_t channels = has_x ? shape(node.operands[0])[1] : shape(node.operands[1])[1];
    const bool is_thin =
        channels > 0 && channels < channel_pack && attribute<std::int64_t>(node, "groups") == 1;
    if (is_thin && has_x) a = with_channels(a, channel_pack);
    if (is_thin && has_w) b = with_channels(b, channel_pack);
    ValueId made = add(*op, {a, b}, node.attrs);
    if (!(has_x && has_w) && is_thin) {
      Shape limit = rewriter_.target().type(made).shape;
      limit.back() = channels;
      made = first_part(made, limit);
    }
    set_twin(node.results[0], made);
    return true;
  }
  ValueId padded(ValueId v, const Dims& low, const Dims& high) {
    const DType dtype = rewriter_.target().type(v).dtype;
    const Literal zero{dtype, {}, std::vector<std::byte>(static_cast<std::size_t>(size_of(dtype)))};
    const ValueId around = add(*ops_.constant, {}, attrs_with(*ops_.constant, {{"value", zero}}));
    return add(
        *ops_.pad, {v, around},
        attrs_with(*ops_.pad, {{"low", low}, {"high", high}, {"interior", Dims::filled(low.rank(), 0)}}));
  }
  ValueId with_channels(ValueId v, std::int64_t count) {
    const Shape from = rewriter_.target().type(v).shape;
    const Dims none = Dims::filled(from.rank(), 0);
    Dims high = none;
    high.back() = count - from.back();
    return padded(v, none, high);
  }
  ValueId first_part(ValueId v, const Shape& limit) {
    const Dims none = Dims::filled(limit.rank(), 0), ones = Dims::filled(limit.rank(), 1);
    return add(*ops_.slice, {v},
               attrs_with(*ops_.slice, {{"start", none}, {"limit", limit}, {"step", ones}}));
  }

  // A convolution of two dimensions in steps of two, of images of up to four channels: cells of 2 x 2 points
  // are points of 16 channels, on which it goes in steps of one, with half the taps each way. It means the
  // same, and suits tensor cores far better than 7 x 7 taps of three channels.
  bool cells(const Node& node) {
    const bool is_gradient = node.op == ops_.conv_weight_grad;
    if (node.op != ops_.conv && !is_gradient) return false;
    const ValueId x = node.operands[0];
    const Dims twos = {2, 2}, ones = {1, 1}, none = {0, 0};
    const std::int64_t channels = shape(x).rank() == 4 ? shape(x)[1] : 0;
    if (channels < 1 || channels > cell_channels || attribute<std::int64_t>(node, "groups") != 1 ||
        attribute<Dims>(node, "stride") != twos || attribute<Dims>(node, "dilation") != ones)
      return false;
    const Shape& w = shape(is_gradient ? node.results[0] : node.operands[1]);
    const Shape& y = shape(is_gradient ? node.operands[1] : node.results[0]);
    const auto& before = attribute<Dims>(node, "low");
    Dims low = {0, before[0], before[1], 0}, high = {0, 0, 0, cell_channels - channels}, taps;
    for (int d = 0; d < 2; ++d) {
      if (w[d + 2] < 3) return false;
      taps.push_back((w[d + 2] + 1) / 2);
      high[d + 1] = 2 * (y[d + 2] - 1 + taps[d]) - shape(x)[d + 2] - before[d];
    }
    const ValueId a = as_cells(padded(last(x), low, high));
    if (!is_gradient) {
      const Dims more = {0, 2 * taps[0] - w[2], 2 * taps[1] - w[3], cell_channels - channels};
      const ValueId b = as_cells(padded(last(node.operands[1]), Dims::filled(4, 0), more));
      const Attrs attrs =
          attrs_with(*ops_.conv_last, {{"stride", ones}, {"low", none}, {"high", none}, {"dilation", ones}});
      set_twin(node.results[0], add(*ops_.conv_last, {a, b}, attrs));
      return true;
    }
    const Attrs attrs =
        attrs_with(*ops_.conv_last_weight_grad,
                   {{"stride", ones}, {"low", none}, {"high", none}, {"dilation", ones}, {"size", taps}});
    const ValueId made = add(*ops_.conv_last_weight_grad, {a, last(node.operands[1])}, attrs);
    const ValueId apart =
        transposed(reshaped(made, {w[0], taps[0], taps[1], 2, 2, cell_channels}), cell_order());
    const ValueId points = reshaped(apart, {w[0], 2 * taps[0], 2 * taps[1], cell_channels});
    set_twin(node.results[0], first_part(points, to_last(w)));
    return true;
  }
  ValueId as_cells(ValueId v) {
    const Shape from = rewriter_.target().type(v).shape;
    const Shape apart = {from[0], from[1] / 2, 2, from[2] / 2, 2, from[3]};
    return reshaped(transposed(reshaped(v, apart), cell_order()),
                    {from[0], from[1] / 2, from[2] / 2, 4 * from[3]});
  }

  // Most of what it reads must lie so already: the rest is brought there. What is made by a broadcast, or is
  // small, weighs nothing.
  bool outweighs(const Node& node) const {
    std::int64_t there = 0, elsewhere = 0;
    for (const ValueId v : node.operands) {
      if (rank(v) != rank(node.results[0]) || maker_of(v, ops_.broadcast)) continue;
      const std::int64_t bytes = graph_.type(v).bytes();
      if (lies_last(v)) {
        there += bytes;
      } else if (!twins_[v.index].valid()) {
        elsewhere += bytes;
      }
    }
    return there > elsewhere;
  }

  bool elementwise(const Node& node) {
    const int wide = rank(node.results[0]);
    if (wide < 3 || !outweighs(node)) return false;
    if (!std::ranges::all_of(node.operands, [&](ValueId v) { return follows(v, wide); })) return false;
    std::vector<ValueId> operands;
    for (const ValueId v : node.operands)
      operands.push_back(rank(v) == wide ? last(v) : last_within(v, wide));
    const std::vector<ValueId> results = add_several(*node.op, operands, node.attrs);
    for (std::size_t r = 0; r < results.size(); ++r) set_twin(node.results[r], results[r]);
    return true;
  }

  // (N, S…, C) as (N · S, C): a channel's elements are those of a column.
  bool batch_norm(const Node& node) {
    const ValueId x = node.operands[0];
    if (rank(x) < 3) return false;
    const std::int64_t channels = shape(x)[1];
    const Shape flat = {channels == 0 ? 0 : graph_.type(x).count() / channels, channels};
    std::vector<ValueId> operands;
    for (const ValueId v : node.operands)
      operands.push_back(rank(v) == rank(x) ? reshaped(last(v), flat) : own(v));
    const std::vector<ValueId> results = add_several(*node.op, operands, node.attrs);
    for (std::size_t r = 0; r < results.size(); ++r) {
      if (rank(node.results[r]) == rank(x)) {
        set_twin(node.results[r], reshaped(results[r], to_last(shape(x))));
      } else {
        rewriter_.map(node.results[r], results[r]);
      }
    }
    return true;
  }

  // (N, H, W, C) as (N, 1, H, W, C), with windows of one channel. Positions in that are known to gradients
  // alone.
  bool pool(const Node& node) {
    const ValueId x = node.operands[0];
    if (rank(x) != 4) return false;
    if (node.op == ops_.max_pool && !positions_stay(node)) return false;
    if (node.op == ops_.max_pool_grad && !twins_[node.operands[1].index].valid()) return false;
    std::vector<ValueId> operands;
    for (const ValueId v : node.operands) {
      Shape deep = to_last(shape(v));
      deep.insert(1, 1);
      operands.push_back(reshaped(last(v), deep));
    }
    const bool has_size = node.op == ops_.avg_pool_grad || node.op == ops_.max_pool_grad;
    const auto with = [&](std::string_view name, std::int64_t more) {
      Dims list = attribute<Dims>(node, name);
      list.push_back(more);
      return list;
    };
    Attrs attrs = attrs_with(*node.op, {{"window", with("window", 1)},
                                        {"stride", with("stride", 1)},
                                        {"low", with("low", 0)},
                                        {"high", with("high", 0)}});
    if (has_size) {
      attrs = attrs_with(*node.op, {{"window", with("window", 1)},
                                    {"stride", with("stride", 1)},
                                    {"low", with("low", 0)},
                                    {"high", with("high", 0)},
                                    {"size", with("size", shape(x)[1])}});
    }
    const std::vector<ValueId> results = add_several(*node.op, operands, std::move(attrs));
    for (std::size_t r = 0; r < results.size(); ++r)
      set_twin(node.results[r], reshaped(results[r], to_last(shape(node.results[r]))));
    return true;
  }
  bool positions_stay(const Node& node) const {
    const ValueId position = node.results[1];
    const std::int64_t image =
        graph_.type(node.operands[0]).count() / std::max<std::int64_t>(1, shape(node.operands[0])[0]);
    return !is_output_[position.index] && image <= std::numeric_limits<std::int32_t>::max() &&
           std::ranges::all_of(readers_[position.index], [&](NodeId reader) {
             return graph_[reader].op == ops_.max_pool_grad && graph_[reader].operands[0] != position;
           });
  }

  bool reduction(const Node& node) {
    const ValueId x = node.operands[0], result = node.results[0];
    const auto& axes = attribute<Dims>(node, "axes");
    const bool keep = attribute<bool>(node, "keep");
    Dims left_first, left_last, mapped;
    const auto is_reduced = [&](std::int64_t d) {
      return std::find(axes.begin(), axes.end(), d) != axes.end();
    };
    for (std::int64_t d = 0; d < rank(x); ++d) {
      if (is_reduced(d)) mapped.push_back(place_in_last(d, rank(x)));
      if (!is_reduced(d)) left_first.push_back(d);
    }
    for (const std::int64_t d : last_order(rank(x))) {
      if (!is_reduced(d)) left_last.push_back(d);
    }
    std::sort(mapped.begin(), mapped.end());
    const bool same = !keep && left_first == left_last;
    const bool twin = keep || (left_first.rank() >= 3 && left_first[1] == 1);
    if (!same && !twin) return false;
    const ValueId made = add(*node.op, {last(x)}, attrs_with(*node.op, {{"axes", mapped}, {"keep", keep}}));
    if (same) {
      rewriter_.map(result, made);
    } else {
      set_twin(result, made);
    }
    return true;
  }

  // Where images keep their channels, or have a single point.
  bool reshape(const Node& node) {
    const ValueId x = node.operands[0], result = node.results[0];
    const Shape &from = shape(x), &to = shape(result);
    if (to.rank() >= 3 && from[0] == to[0] && from[1] == to[1]) {
      set_twin(result, reshaped(last(x), to_last(to)));
      return true;
    }
    if (graph_.type(x).count() != from[0] * from[1]) return false;
    rewriter_.map(result, reshaped(last(x), to));
    return true;
  }

  bool transpose(const Node& node) {
    const ValueId x = node.operands[0];
    Dims order;
    for (const std::int64_t d : attribute<Dims>(node, "order")) order.push_back(place_in_last(d, rank(x)));
    bool is_same = true;
    for (int d = 0; d < order.rank(); ++d) is_same &= order[d] == d;
    rewriter_.map(node.results[0], is_same ? last(x) : transposed(last(x), order));
    return true;
  }

  bool concat(const Node& node) {
    if (!outweighs(node)) return false;
    std::vector<ValueId> operands;
    for (const ValueId v : node.operands) operands.push_back(last(v));
    const std::int64_t axis = place_in_last(attribute<std::int64_t>(node, "axis"), rank(node.results[0]));
    set_twin(node.results[0], add(*node.op, operands, attrs_with(*node.op, {{"axis", axis}})));
    return true;
  }
  bool split(const Node& node) {
    const ValueId x = node.operands[0];
    const std::int64_t axis = place_in_last(attribute<std::int64_t>(node, "axis"), rank(x));
    const std::vector<ValueId> results = add_several(
        *node.op, {last(x)}, attrs_with(*node.op, {{"axis", axis}, {"sizes", attribute(node, "sizes")}}));
    for (std::size_t r = 0; r < results.size(); ++r) set_twin(node.results[r], results[r]);
    return true;
  }
  // Attributes of a slice or pad are lists by dimension.
  bool window(const Node& node) {
    Attrs attrs = node.attrs;
    for (AttrValue& value : attrs) value = to_last(std::get<Dims>(value));
    std::vector<ValueId> operands = {last(node.operands[0])};
    for (std::size_t i = 1; i < node.operands.size(); ++i) operands.push_back(own(node.operands[i]));
    set_twin(node.results[0], add(*node.op, operands, std::move(attrs)));
    return true;
  }
  bool broadcast(const Node& node) {
    if (rank(node.operands[0]) != rank(node.results[0])) return false;
    set_twin(node.results[0], add(*node.op, {last(node.operands[0])},
                                  attrs_with(*node.op, {{"shape", to_last(shape(node.results[0]))}})));
    return true;
  }

  const Graph& graph_;
  const KnownOps& ops_;
  const std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> is_output_;
  Rewriter rewriter_;
  Builder builder_;
  std::vector<ValueId> twins_;  // of the target; invalid: none so far
  std::vector<bool> is_made_last_;
};

}  // namespace

bool has_convolutions(const Graph& graph, const KnownOps& ops) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return node.op == ops.conv || node.op == ops.conv_input_grad || node.op == ops.conv_weight_grad ||
           std::ranges::any_of(node.regions,
                               [&](const Graph& region) { return has_convolutions(region, ops); });
  });
}

Graph channels_last(const Graph& graph, const KnownOps& ops) {
  if (!ops.conv || !ops.conv_last || !has_convolutions(graph, ops)) return graph;
  return ChannelsLast(graph, ops).run();
}

}  // namespace tidemark
