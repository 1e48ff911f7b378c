// Calls as kernels of their own (tidemark/cuda/call_source.h), run on the host, against the CPU's kernels.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "tests/support/group_values.h"
#include "tests/support/law_case.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cuda/call_source.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/cpu_kernels.h"

namespace tidemark::testing {

// One call with operands to run it on.
struct CallCase {
  std::string name;
  std::vector<Literal> operands;
  Attrs attrs;
  std::vector<Type> in, out;
  std::vector<Strides> strides;  // of the operands; empty: dense
  Call call;

  CallCase(const Op& op, std::vector<Literal> literals, Attrs attributes, std::vector<Strides> lie = {})
      : operands(std::move(literals)), attrs(std::move(attributes)), strides(std::move(lie)) {
    name = op.name;
    for (const Literal& literal : operands) {
      in.push_back({literal.dtype, literal.shape});
      name += fmt::format(" {}", to_string(in.back()));
    }
    call = {.op = &op, .in = in, .attrs = &attrs, .in_strides = strides};
    out = op.infer(call);
    call.out = out;
    if (!strides.empty()) name += ", strided";
  }
  CallCase(const CallCase&) = delete;
  CallCase& operator=(const CallCase&) = delete;
};
using CallCases = std::vector<std::unique_ptr<CallCase>>;

// The samples of an op in some dtypes, as many as are asked for of each.
inline void add_samples(CallCases& cases, const Op& op, std::span<const DType> dtypes,
                        std::size_t most = 100) {
  for (const LawCase& c : cases_of(op)) {
    if (c.index >= most || std::ranges::find(dtypes, c.dtype) == dtypes.end()) continue;
    auto made = std::make_unique<CallCase>(op, c.operands(), c.sample.attrs);
    if (cuda::has_call_kernel(made->call)) cases.push_back(std::move(made));
  }
}

// Columns before rows, every other element, the last dimension from its end.
inline Strides odd_strides(const Shape& shape) {
  Strides strides = shape;
  std::int64_t step = 2;
  for (int d = 0; d < shape.rank(); ++d) {
    strides[d] = d == shape.rank() - 1 ? -step : step;
    step *= std::max<std::int64_t>(1, shape[d]);
  }
  return strides;
}

// Bytes between guards, beginning at an aligned address or one element behind it.
class GuardedBytes {
 public:
  static constexpr std::int64_t guard = 64;
  explicit GuardedBytes(std::int64_t bytes, std::int64_t shift = 0)
      : memory_(allocate_aligned(bytes + shift + 2 * guard)), bytes_(bytes), first_(guard + shift) {
    std::memset(memory_.get(), 0x5a, static_cast<std::size_t>(bytes + shift + 2 * guard));
  }
  std::byte* get() const { return memory_.get() + first_; }
  bool is_whole() const {
    const auto untouched = [](std::byte b) { return b == std::byte{0x5a}; };
    return std::all_of(memory_.get(), get(), untouched) &&
           std::all_of(get() + bytes_, get() + bytes_ + guard, untouched);
  }

 private:
  AlignedBytes memory_;
  std::int64_t bytes_, first_;
};

// An operand as the call's strides say.
class PlacedOperand {
 public:
  PlacedOperand(const Literal& literal, const Strides& strides, std::int64_t shift)
      : lowest_(lowest(literal.shape, strides)),
        memory_((1 - lowest_ + highest(literal.shape, strides)) * size_of(literal.dtype), shift) {
    const std::int64_t size = size_of(literal.dtype);
    data_ = memory_.get() - lowest_ * size;
    for (std::int64_t i = 0; i < element_count(literal.shape); ++i) {
      std::memcpy(data_ + offset_at(literal.shape, strides, i) * size, literal.bytes.data() + i * size,
                  static_cast<std::size_t>(size));
    }
  }
  std::byte* data() const { return data_; }
  bool is_whole() const { return memory_.is_whole(); }

 private:
  static std::int64_t lowest(const Shape& shape, const Strides& strides) {
    std::int64_t sum = 0;
    for (int d = 0; d < shape.rank(); ++d)
      sum += std::min<std::int64_t>(0, strides[d] * std::max<std::int64_t>(0, shape[d] - 1));
    return sum;
  }
  static std::int64_t highest(const Shape& shape, const Strides& strides) {
    std::int64_t sum = 0;
    for (int d = 0; d < shape.rank(); ++d)
      sum += std::max<std::int64_t>(0, strides[d] * std::max<std::int64_t>(0, shape[d] - 1));
    return sum;
  }
  std::int64_t lowest_;
  GuardedBytes memory_;
  std::byte* data_;
};

// How far results may be from the CPU's: in units of the last place, of the number itself or of the largest
// number of the result, where results are differences. 0: the very bits.
struct Nearness {
  double units = 0;
  bool of_largest = false;
  double floor = 0;
};

struct CallRun {
  bool shifted = false, descending = false;
  int result = 0, over = -1;  // the result that lies on an operand
};

// What a run gives. Expects all guards whole.
inline std::vector<Literal> run_call(const CallCase& c, const HostKernels& kernels, std::size_t number,
                                     std::int64_t scratch_bytes, const CallRun& how, unsigned* failed) {
  std::vector<PlacedOperand> operands;
  std::vector<const void*> in;
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    const Literal& literal = c.operands[i];
    operands.emplace_back(literal, c.strides.empty() ? dense_strides(literal.shape) : c.strides[i],
                          how.shifted ? size_of(literal.dtype) : 0);
    in.push_back(operands.back().data());
  }
  std::vector<GuardedBytes> results;
  std::vector<void*> out;
  for (std::size_t r = 0; r < c.out.size(); ++r) {
    results.emplace_back(c.out[r].bytes(), how.shifted ? size_of(c.out[r].dtype) : 0);
    out.push_back(static_cast<int>(r) == how.result && how.over >= 0
                      ? const_cast<void*>(in[static_cast<std::size_t>(how.over)])
                      : results.back().get());
  }
  const GuardedBytes scratch(scratch_bytes);
  EXPECT_TRUE(kernels.run(number, in, out, scratch.get(), how.descending, failed)) << "threads wait in vain";
  for (const PlacedOperand& operand : operands) EXPECT_TRUE(operand.is_whole());
  for (const GuardedBytes& result : results) EXPECT_TRUE(result.is_whole());
  EXPECT_TRUE(scratch.is_whole());
  std::vector<Literal> literals;
  for (std::size_t r = 0; r < out.size(); ++r)
    literals.push_back(literal_at(c.out[r], static_cast<const std::byte*>(out[r])));
  return literals;
}

inline void expect_near(const std::vector<Literal>& got, const std::vector<Literal>& expected,
                        const Nearness& nearness) {
  for (std::size_t r = 0; r < got.size(); ++r) {
    if (nearness.units == 0 || !is_float(got[r].dtype)) {
      EXPECT_EQ(bit_difference(got[r], expected[r], NaNs::alike), "") << "result " << r;
      continue;
    }
    const std::vector<double> a = values_of(got[r]), b = values_of(expected[r]);
    double floor = nearness.floor, worst = 0;
    for (const double x : b) {
      if (nearness.of_largest && std::isfinite(x)) floor = std::max(floor, std::fabs(x));
    }
    for (std::size_t i = 0; i < a.size(); ++i)
      worst = std::max(worst, units_apart(got[r].dtype, a[i], b[i], floor));
    EXPECT_LE(worst, size_of(got[r].dtype) == 2 ? 1 : nearness.units) << "result " << r;
  }
}

// By the CPU's kernel, or by those of what the op is written in.
inline std::vector<Literal> cpu_results(const CallCase& c) {
  if (runs_on_cpu(*c.call.op)) return run_kernel(*c.call.op, c.operands, c.attrs).results;
  Graph graph;
  Builder builder(graph);
  std::vector<Var> in;
  for (const Type& type : c.in) in.push_back(builder.input(type));
  for (const Var& v : builder.call(*c.call.op, in, c.attrs)) graph.add_output(v.id());
  ThreadPool pool(1);
  return interpret(expand(graph, [](const Node& node) { return node.op->expand && !runs_on_cpu(*node.op); }),
                   c.operands, pool);
}

// Runs each call on aligned and on shifted addresses, its threads in both orders, and with results over
// operands where facts allow it.
inline void expect_cpu_values(const CallCases& cases, const std::function<Nearness(const Op&)>& nearness) {
  std::vector<cuda::KernelText> kernels;
  for (const auto& c : cases)
    kernels.push_back(cuda::write_call(c->call, fmt::format("{}_{}", c->call.op->name, kernels.size())));
  const HostKernels compiled(kernels);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const CallCase& c = *cases[k];
    SCOPED_TRACE(c.name);
    const std::vector<Literal> expected = cpu_results(c);
    std::vector<CallRun> runs = {{.shifted = false, .descending = true},
                                 {.shifted = true, .descending = false}};
    for (int r = 0; r < static_cast<int>(c.out.size()); ++r) {
      for (int o = 0; o < static_cast<int>(c.in.size()); ++o) {
        const auto i = static_cast<std::size_t>(o);
        if (c.out[static_cast<std::size_t>(r)].bytes() == c.in[i].bytes() && c.call.is_dense_operand(o) &&
            cuda::call_may_overwrite(c.call, r, o))
          runs.push_back({.descending = true, .result = r, .over = o});
      }
    }
    for (const CallRun& run : runs) {
      SCOPED_TRACE(fmt::format("shifted {}, descending {}, over {}", run.shifted, run.descending, run.over));
      unsigned failed = 0;
      expect_near(run_call(c, compiled, k, kernels[k].scratch_bytes, run, &failed), expected,
                  nearness(*c.call.op));
      EXPECT_EQ(failed, 0u);
    }
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << kernels[k].source;
      return;
    }
  }
}

}  // namespace tidemark::testing
