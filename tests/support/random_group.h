// Random groups of steps, as a device gets them to run as one kernel: operands broadcast and spread out by
// strides, one-element values, 16-bit temporaries, a reduction at the end if asked for.
#pragma once
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "tests/support/test_target.h"
#include "tidemark/base/aligned.h"
#include "tidemark/cpu/device.h"
#include "tidemark/ir/builder.h"
#include "tidemark/kernel/reduce.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark::testing {

// Memory of a value, which may be spread out by strides.
struct Held {
  AlignedBytes memory;
  std::int64_t bytes = 0;
  TensorRef ref;

  Held(const Type& type, const Strides& strides) {
    std::int64_t low = 0, high = 0;
    for (int d = 0; d < type.rank(); ++d) {
      const std::int64_t reach = std::max<std::int64_t>(type.shape[d] - 1, 0) * strides[d];
      (reach < 0 ? low : high) += reach;
    }
    const std::int64_t size = size_of(type.dtype);
    bytes = (high - low + 1) * size;
    memory = allocate_aligned(bytes);
    std::memset(memory.get(), 0x5a, static_cast<std::size_t>(bytes));
    ref = {.data = memory.get() - low * size, .dtype = type.dtype, .shape = type.shape, .strides = strides};
  }
  explicit Held(const Type& type) : Held(type, dense_strides(type.shape)) {}
};

struct RandomGroupOptions {
  bool reduces = false;
  bool functions = true;  // exp and the like; else only what is exact, with the same bits everywhere
};

class RandomGroup {
 public:
  explicit RandomGroup(unsigned seed, const RandomGroupOptions& options = {})
      : random_(seed), functions_(options.functions), builder_(graph_) {
    const Shape shapes[] = {{},        {1},       {7},     {300},     {0, 5},     {3, 70}, {5, 1, 9},
                            {70, 130}, {4, 6, 5}, {20000}, {2, 9000}, {130, 300}, {64, 3}, {2, 3, 4, 80}};
    shape_ = shapes[pick(0, static_cast<int>(std::size(shapes)) - 1)];
    for (int i = pick(1, 4); i > 0; --i) add_operand();
    const int steps = pick(1, 14);
    while (static_cast<int>(graph_.nodes().size()) < steps) add_step();
    if (values_.back().shape() != shape_) values_.push_back(broadcast_to_shape(pick_value()));
    if (graph_.nodes().empty() || graph_.type(graph_.nodes().back().results[0]).shape != shape_)
      values_.push_back(neg(cast(broadcast_to_shape(values_.back()), DType::f32)));
    if (options.reduces) add_reduction();
    choose_places();
  }

  const Graph& graph() const { return graph_; }
  const Shape& shape() const { return shape_; }
  std::vector<Held>& operands() { return held_; }
  const std::vector<ValueId>& results() const { return results_; }

  // The steps, with a place for each of their operands and results, and what they point at.
  struct Steps {
    std::vector<std::vector<Strides>> strides;
    std::vector<std::unique_ptr<NodeCall>> calls;
    std::vector<GroupStep> list;
  };
  Steps steps() const {
    Steps steps;
    for (const Node& node : graph_.nodes()) steps.strides.push_back(strides_of(node));
    for (const Node& node : graph_.nodes()) {
      steps.calls.push_back(std::make_unique<NodeCall>(graph_, node));
      steps.calls.back()->call.in_strides = steps.strides[steps.list.size()];
      GroupStep step{.call = *steps.calls.back(), .in = {}, .out = {places_[node.results[0].index]}};
      for (ValueId v : node.operands) step.in.push_back(places_[v.index]);
      steps.list.push_back(std::move(step));
    }
    return steps;
  }

  // Every step as a kernel of its own; returns the results.
  std::vector<AlignedBytes> run_alone(CpuDevice& device) {
    std::map<std::uint32_t, Held> made;
    for (const Node& node : graph_.nodes()) {
      NodeCall call(graph_, node);
      const std::vector<Strides> strides = strides_of(node);
      call.call.in_strides = strides;
      std::vector<TensorRef> in;
      for (ValueId v : node.operands) {
        const GroupRef& place = places_[v.index];
        in.push_back(place.kind == GroupRef::operand ? held_[static_cast<std::size_t>(place.number)].ref
                                                     : made.at(v.index).ref);
      }
      const ValueId v = node.results[0];
      made.emplace(v.index, graph_.type(v));
      const CpuLaunch launch = device.prepare_call(call);
      const AlignedBytes scratch = allocate_aligned(test_target().scratch(call) + 1);
      launch.run({.in = in,
                  .out = std::span(&made.at(v.index).ref, 1),
                  .attributes = launch.attributes.get(),
                  .scratch = scratch.get(),
                  .pool = &device.pool()});
    }
    std::vector<AlignedBytes> results;
    for (ValueId v : results_) results.push_back(std::move(made.at(v.index).memory));
    return results;
  }

  // The operand whose memory a result may take: dense, as large, read by no later step. -1: none.
  int operand_for(int result) const {
    const ValueId target = results_[static_cast<std::size_t>(result)];
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const ValueId v = graph_.inputs()[i].value;
      const Type& type = graph_.type(v);
      if (type.shape != shape_ || graph_.type(target).shape != shape_ || !held_[i].ref.dense()) continue;
      if (size_of(type.dtype) != size_of(graph_.type(target).dtype)) continue;
      bool made = false, read_later = false;
      for (const Node& node : graph_.nodes()) {
        for (ValueId o : node.operands) read_later |= made && o == v;
        made |= node.results[0] == target;
      }
      if (!read_later) return static_cast<int>(i);
    }
    return -1;
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  Var pick_value() {
    return values_[static_cast<std::size_t>(pick(0, static_cast<int>(values_.size()) - 1))];
  }

  void add_operand() {
    Shape shape;
    const int from = pick(0, 2) ? 0 : pick(0, shape_.rank());
    for (int d = from; d < shape_.rank(); ++d) shape.push_back(pick(0, 4) ? shape_[d] : 1);
    const Type type{static_cast<DType>(pick(0, dtype_count - 1)), shape};
    Strides strides = dense_strides(shape);
    if (pick(0, 2) == 0) {
      const int layout = pick(0, 2);
      for (int d = 0; d < shape.rank(); ++d) {
        if (layout == 0) strides[d] *= 2;
        if (layout == 1) strides[d] = -strides[d];
        if (layout == 2) strides[d] = d == 0 ? 1 : strides[d - 1] * shape[d - 1];
      }
    }
    values_.push_back(builder_.input(type));
    held_.emplace_back(type, strides);
    dispatch(type.dtype, [&]<class T>() {
      T* data = reinterpret_cast<T*>(held_.back().memory.get());
      for (std::int64_t i = 0; i < held_.back().bytes / size_of(type.dtype); ++i) {
        const int value = pick(-2000, 2000);
        if constexpr (std::is_same_v<T, bool>) {
          data[i] = value > 0;
        } else if constexpr (std::is_integral_v<T>) {
          data[i] = static_cast<T>(value);
        } else {
          data[i] = static_cast<T>(static_cast<float>(value) * 0.001f);
        }
      }
    });
  }

  Var broadcast_to_shape(const Var& x) { return broadcast(x, shape_); }
  // A result has the group's shape or one element.
  Var fitting(const Var& x) { return x.type().count() == 1 ? x : broadcast_to_shape(x); }

  void add_step() {
    Var x = pick_value();
    Var y = pick_value();
    if (y.dtype() != x.dtype()) y = cast(fitting(y), x.dtype());
    if (element_count(x.shape()) != 1 || element_count(y.shape()) != 1) {
      // Two parts may broadcast to something in between: one of them is brought to the whole.
      if (x.shape() != shape_ && y.shape() != shape_) x = broadcast_to_shape(x);
    }
    const DType dtype = x.dtype();
    Var z;
    if (dtype == DType::boolean) {
      const Var choices[] = {logical_not(fitting(x)), logical_and(x, y), logical_xor(x, y)};
      z = choices[pick(0, 2)];
      if (pick(0, 1)) {
        const Var a = pick_value();
        z = select(fitting(z), a, fitting(a));
      }
    } else {
      // Functions first, which floats alone have; then what all numbers have.
      int which = pick(functions_ ? 0 : 3, is_float(dtype) ? 21 : 11);
      if (!is_float(dtype)) which = std::max(which, 3);
      switch (which) {
        case 0:
          z = exp(fitting(x));
          break;
        case 1:
          z = tanh(fitting(x));
          break;
        case 2:
          z = gelu(fitting(x));
          break;
        case 3:
          z = add(x, y);
          break;
        case 4:
          z = sub(x, y);
          break;
        case 5:
          z = mul(x, y);
          break;
        case 6:
          z = maximum(x, y);
          break;
        case 7:
          z = less(x, y);
          break;
        case 8:
          z = clamp(fitting(x), -1, 1);
          break;
        case 9:
          z = add(fitting(x), constant_like(x, 3));
          break;
        case 10:
          z = abs(fitting(x));
          break;
        case 11:
          z = minimum(x, y);
          break;
        case 12:
          z = div(x, y);
          break;
        case 13:
          z = relu(fitting(x));
          break;
        case 14:
          z = cast(fitting(x), static_cast<DType>(pick(0, dtype_count - 1)));
          break;
        case 15:
          z = mod(x, y);
          break;
        case 16:
          z = round(fitting(x));
          break;
        case 17:
          z = floor(fitting(x));
          break;
        case 18:
          z = rsqrt(fitting(x));
          break;
        case 19:
          z = reciprocal(fitting(x));
          break;
        case 20:
          z = equal(x, y);
          break;
        default:
          z = sqrt(fitting(x));
          break;
      }
    }
    values_.push_back(z.shape() == shape_ || z.type().count() == 1 ? z : broadcast_to_shape(z));
  }

  void add_reduction() {
    Var x = values_.back();
    if (x.dtype() == DType::boolean) x = cast(x, DType::i32);
    Dims axes;
    for (int d = 0; d < shape_.rank(); ++d) {
      if (pick(0, 1)) axes.push_back(d);
    }
    if (axes.empty() && shape_.rank() > 0) axes.push_back(shape_.rank() - 1);
    if (axes.empty() || !reduces_in_runs(shape_, axes)) return;
    const int which = pick(0, 3);
    if (which == 0)
      reduce_max(x, axes);
    else if (which == 1 && is_float(x.dtype()))
      reduce_mean(x, axes);
    else
      reduce_sum(x, axes);
  }

  void choose_places() {
    places_.resize(graph_.values().size());
    for (std::size_t i = 0; i < held_.size(); ++i)
      places_[graph_.inputs()[i].value.index] = {GroupRef::operand, static_cast<int>(i)};
    int temporaries = 0;
    for (const Node& node : graph_.nodes()) {
      const ValueId v = node.results[0];
      const bool last = &node == &graph_.nodes().back();
      const bool whole = graph_.type(v).shape == shape_;
      if (last || (whole && pick(0, 3) == 0)) {
        places_[v.index] = {GroupRef::result, static_cast<int>(results_.size())};
        results_.push_back(v);
      } else {
        places_[v.index] = {GroupRef::temporary, temporaries++};
      }
    }
  }

  std::vector<Strides> strides_of(const Node& node) const {
    std::vector<Strides> strides;
    for (ValueId v : node.operands) {
      const GroupRef& place = places_[v.index];
      strides.push_back(place.kind == GroupRef::operand
                            ? held_[static_cast<std::size_t>(place.number)].ref.strides
                            : dense_strides(graph_.type(v).shape));
    }
    return strides;
  }

  std::mt19937 random_;
  bool functions_;
  Graph graph_;
  Builder builder_;
  Shape shape_;
  std::vector<Var> values_;
  std::vector<Held> held_;  // of the operands
  std::vector<GroupRef> places_;
  std::vector<ValueId> results_;
};

}  // namespace tidemark::testing
