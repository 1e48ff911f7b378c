// Groups of steps run as one kernel give the bits of the steps run one by one.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "tests/support/literals.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_target.h"
#include "tidemark/base/aligned.h"
#include "tidemark/cpu/device.h"
#include "tidemark/ir/builder.h"
#include "tidemark/kernel/reduce.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

Literal literal(const Type& type, const std::byte* data) {
  return {type.dtype, type.shape, {data, data + type.bytes()}};
}

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

class RandomGroup {
 public:
  explicit RandomGroup(unsigned seed, bool reduces = false) : random_(seed), builder_(graph_) {
    const Shape shapes[] = {{},        {1},       {7},     {300},     {0, 5},     {3, 70}, {5, 1, 9},
                            {70, 130}, {4, 6, 5}, {20000}, {2, 9000}, {130, 300}, {64, 3}, {2, 3, 4, 80}};
    shape_ = shapes[pick(0, static_cast<int>(std::size(shapes)) - 1)];
    for (int i = pick(1, 4); i > 0; --i) add_operand();
    const int steps = pick(1, 14);
    while (static_cast<int>(graph_.nodes().size()) < steps) add_step();
    if (values_.back().shape() != shape_) values_.push_back(broadcast_to_shape(pick_value()));
    if (graph_.nodes().empty() || graph_.type(graph_.nodes().back().results[0]).shape != shape_)
      values_.push_back(neg(cast(broadcast_to_shape(values_.back()), DType::f32)));
    if (reduces) add_reduction();
    choose_places();
  }

  void expect_same_bits(int threads) {
    CpuDevice device(threads);
    const std::vector<AlignedBytes> alone = run_alone(device);
    expect_group(device, alone, -1);
    for (std::size_t r = 0; r < results_.size(); ++r) expect_group(device, alone, static_cast<int>(r));
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
      switch (pick(0, is_float(dtype) ? 13 : 6)) {
        case 0:
          z = add(x, y);
          break;
        case 1:
          z = sub(x, y);
          break;
        case 2:
          z = mul(x, y);
          break;
        case 3:
          z = maximum(x, y);
          break;
        case 4:
          z = less(x, y);
          break;
        case 5:
          z = clamp(fitting(x), -1, 1);
          break;
        case 6:
          z = add(fitting(x), constant_like(x, 3));
          break;
        case 7:
          z = div(x, y);
          break;
        case 8:
          z = exp(fitting(x));
          break;
        case 9:
          z = tanh(fitting(x));
          break;
        case 10:
          z = gelu(fitting(x));
          break;
        case 11:
          z = relu(fitting(x));
          break;
        case 12:
          z = cast(fitting(x), static_cast<DType>(pick(0, dtype_count - 1)));
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

  void expect_group(CpuDevice& device, const std::vector<AlignedBytes>& expected, int in_place) {
    const int over = in_place < 0 ? -1 : operand_for(in_place);
    if (in_place >= 0 && over < 0) return;
    std::vector<std::unique_ptr<NodeCall>> calls;
    std::vector<std::vector<Strides>> strides;
    for (const Node& node : graph_.nodes()) strides.push_back(strides_of(node));
    std::vector<GroupStep> steps;
    std::int64_t scratch_bytes = 0;
    for (const Node& node : graph_.nodes()) {
      calls.push_back(std::make_unique<NodeCall>(graph_, node));
      calls.back()->call.in_strides = strides[steps.size()];
      GroupStep step{.call = *calls.back(), .in = {}, .out = {places_[node.results[0].index]}};
      for (ValueId v : node.operands) step.in.push_back(places_[v.index]);
      scratch_bytes = std::max(scratch_bytes, test_target().scratch(step.call));
      EXPECT_NE(test_target().fusion(step.call), Fusion::none) << node.op->name;
      steps.push_back(std::move(step));
    }
    const CpuLaunch launch = device.prepare_group(steps);
    std::vector<TensorRef> in, out;
    for (const Held& held : held_) in.push_back(held.ref);
    std::vector<Held> memory;
    for (ValueId v : results_) {
      memory.emplace_back(graph_.type(v));
      out.push_back(memory.back().ref);
    }
    AlignedBytes saved;
    if (over >= 0) {
      const Held& held = held_[static_cast<std::size_t>(over)];
      saved = allocate_aligned(held.bytes);
      std::memcpy(saved.get(), held.memory.get(), static_cast<std::size_t>(held.bytes));
      out[static_cast<std::size_t>(in_place)].data = held.ref.data;
    }
    const AlignedBytes scratch = allocate_aligned(scratch_bytes + 1);
    launch.run({.in = in,
                .out = out,
                .attributes = launch.attributes.get(),
                .scratch = scratch.get(),
                .pool = &device.pool()});
    for (std::size_t r = 0; r < out.size(); ++r) {
      // Which of two NaN a sum hands on is up to the compiler, and not the same for a vector and for a tail.
      const Type& type = graph_.type(results_[r]);
      EXPECT_EQ(testing::bit_difference(literal(type, out[r].data), literal(type, expected[r].get()),
                                        testing::NaNs::alike),
                "")
          << "result " << r << " of " << out.size() << ", over operand " << over << ", shape "
          << to_string(shape_);
    }
    if (over >= 0) {
      const Held& held = held_[static_cast<std::size_t>(over)];
      std::memcpy(held.memory.get(), saved.get(), static_cast<std::size_t>(held.bytes));
    }
  }

  std::mt19937 random_;
  Graph graph_;
  Builder builder_;
  Shape shape_;
  std::vector<Var> values_;
  std::vector<Held> held_;  // of the operands
  std::vector<GroupRef> places_;
  std::vector<ValueId> results_;
};

TEST(Group, RandomTreesGiveTheBitsOfTheirStepsOneByOne) {
  for (unsigned seed = 0; seed < 400 / sanitizer_share; ++seed) {
    SCOPED_TRACE(seed);
    RandomGroup group(seed);
    for (int threads : {1, 2}) group.expect_same_bits(threads);
    if (HasFailure()) break;
  }
}

TEST(Group, AReductionAtTheEndFoldsInItsOwnOrder) {
  for (unsigned seed = 1000; seed < 1000 + 300 / sanitizer_share; ++seed) {
    SCOPED_TRACE(seed);
    RandomGroup group(seed, true);
    for (int threads : {1, 2}) group.expect_same_bits(threads);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace tidemark
