// Runs one op's CPU kernel the ways a plan may run it: operands dense or as strided windows, the result over an
// operand, any number of threads, scratch fenced by canaries. Bits are compared by comparing Literals.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/cpu/kernels.h"
#include "tidemark/ir/op.h"

namespace tidemark::testing_support {

// How an operand lies in memory.
enum class Layout { dense, padded, transposed, reversed };
inline constexpr Layout all_layouts[] = {Layout::dense, Layout::padded, Layout::transposed, Layout::reversed};

inline std::int64_t offset_of(const Shape& shape, const Strides& strides, std::int64_t index) {
  std::int64_t at = 0;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    at += index % shape[i] * strides[i];
    index /= shape[i];
  }
  return at;
}

// Strides and first element that put a tensor of `shape` into memory; `room` is how many elements that takes.
struct Placement {
  Strides strides;
  std::int64_t first = 0, room = 0;
};
inline Placement place(const Shape& shape, Layout layout) {
  Placement p{.strides = dense_strides(shape), .first = 0, .room = element_count(shape)};
  if (layout == Layout::padded) {  // a window in the middle of something larger
    Shape larger = shape;
    for (std::int64_t& size : larger) size = 2 * size + 1;
    p.strides = dense_strides(larger);
    p.room = element_count(larger);
    for (int i = 0; i < shape.rank(); ++i) p.first += p.strides[i], p.strides[i] *= i % 2 ? 1 : 2;
    if (shape.rank() == 0) p.first = 0;
  } else if (layout == Layout::transposed) {  // column-major
    std::int64_t step = 1;
    for (int i = 0; i < shape.rank(); ++i) p.strides[i] = step, step *= shape[i];
  } else if (layout == Layout::reversed) {
    for (int i = 0; i < shape.rank(); ++i) {
      p.first += shape[i] > 0 ? (shape[i] - 1) * p.strides[i] : 0;
      p.strides[i] = -p.strides[i];
    }
  }
  return p;
}

// A literal's elements laid out in memory of their own.
struct Placed {
  Placed(const Literal& literal, Layout layout) {
    const Placement p = place(literal.shape, layout);
    const std::int64_t size = size_of(literal.dtype);
    memory = allocate_aligned(p.room * size + 64);
    std::memset(memory.get(), 0x5a, static_cast<std::size_t>(p.room * size + 64));
    ref = {memory.get() + p.first * size, literal.dtype, literal.shape, p.strides};
    for (std::int64_t i = 0; i < element_count(literal.shape); ++i) {
      std::memcpy(ref.data + offset_of(ref.shape, ref.strides, i) * size, literal.bytes.data() + i * size,
                  static_cast<std::size_t>(size));
    }
  }
  AlignedBytes memory;
  TensorRef ref;
};

inline Literal read(const TensorRef& ref) {
  Literal literal{.dtype = ref.dtype, .shape = ref.shape, .bytes = {}};
  const std::int64_t size = size_of(ref.dtype);
  literal.bytes.resize(static_cast<std::size_t>(ref.count() * size));
  for (std::int64_t i = 0; i < ref.count(); ++i) {
    std::memcpy(literal.bytes.data() + i * size, ref.data + offset_of(ref.shape, ref.strides, i) * size,
                static_cast<std::size_t>(size));
  }
  return literal;
}

struct RunOptions {
  int threads = 1;
  Layout layout = Layout::dense;  // of the operands whose strides the op takes; the others stay dense
  int over = -1;                  // the operand that result 0 overwrites
  SourceLine where = {};
};

inline std::vector<Literal> run_op(const Op& op, const std::vector<Literal>& operands, const Attrs& attrs,
                                   RunOptions options = {}) {
  std::vector<Type> in;
  for (const Literal& operand : operands) in.push_back({operand.dtype, operand.shape});
  Call call{.op = &op, .in = in, .attrs = &attrs, .where = options.where};
  const std::vector<Type> out = op.infer(call);
  call.out = out;

  std::vector<Placed> placed;
  std::vector<TensorRef> refs, results;
  std::vector<Strides> strides;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const int k = static_cast<int>(i);
    const bool takes = op.strided && op.strided(call, k) && k != options.over;
    placed.emplace_back(operands[i], takes ? options.layout : Layout::dense);
    refs.push_back(placed.back().ref);
    strides.push_back(placed.back().ref.strides);
  }
  call.in_strides = strides;
  std::vector<AlignedBytes> memory;
  for (std::size_t r = 0; r < out.size(); ++r) {
    memory.push_back(allocate_aligned(out[r].bytes() + 64));
    std::memset(memory.back().get(), 0xa5, static_cast<std::size_t>(out[r].bytes() + 64));
    const bool aliased = r == 0 && options.over >= 0;
    std::byte* data = aliased ? refs[static_cast<std::size_t>(options.over)].data : memory.back().get();
    results.push_back({data, out[r].dtype, out[r].shape, dense_strides(out[r].shape)});
  }
  const std::int64_t scratch_bytes = scratch_of(call);
  const AlignedBytes scratch = allocate_aligned(scratch_bytes + 64);
  std::memset(scratch.get(), 0xc3, static_cast<std::size_t>(scratch_bytes + 64));
  ThreadPool pool(options.threads);
  const CpuKernel* kernel = find_cpu_kernel(op);
  const auto attributes = kernel->prepare(call);
  kernel->run({.in = refs,
               .out = results,
               .attributes = attributes.get(),
               .scratch = scratch.get(),
               .pool = &pool,
               .where = options.where});
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(scratch[static_cast<std::size_t>(scratch_bytes + i)], std::byte{0xc3})
        << op.name << " writes past its scratch";
    for (std::size_t r = 0; r < out.size(); ++r) {
      if (r == 0 && options.over >= 0) continue;
      EXPECT_EQ(memory[r][static_cast<std::size_t>(out[r].bytes() + i)], std::byte{0xa5})
          << op.name << " writes past result " << r;
    }
  }
  std::vector<Literal> values;
  for (const TensorRef& result : results) values.push_back(read(result));
  return values;
}

// Runs the op in every way its facts allow and expects the same bits from each; returns them.
inline std::vector<Literal> run_every_way(const Op& op, const std::vector<Literal>& operands,
                                          const Attrs& attrs) {
  const std::vector<Literal> expected = run_op(op, operands, attrs);
  std::vector<Type> in;
  for (const Literal& operand : operands) in.push_back({operand.dtype, operand.shape});
  Call call{.op = &op, .in = in, .attrs = &attrs};
  const std::vector<Type> out = op.infer(call);
  call.out = out;
  for (int threads : {1, 2}) {
    for (Layout layout : all_layouts) {
      EXPECT_TRUE(run_op(op, operands, attrs, {.threads = threads, .layout = layout}) == expected)
          << op.name << " with " << threads << " threads, layout " << static_cast<int>(layout);
    }
    for (int k = 0; k < static_cast<int>(operands.size()); ++k) {
      if (!may_overwrite(call, 0, k)) continue;
      EXPECT_TRUE(run_op(op, operands, attrs, {.threads = threads, .over = k}) == expected)
          << op.name << " over operand " << k << " with " << threads << " threads";
    }
  }
  for (Layout layout : all_layouts) {
    std::vector<Placed> placed;
    std::vector<Strides> strides;
    for (const Literal& operand : operands) {
      placed.emplace_back(operand, layout);
      strides.push_back(placed.back().ref.strides);
    }
    call.in_strides = strides;
    for (int r = 0; op.view && r < static_cast<int>(out.size()); ++r) {
      const std::optional<ViewSpec> view = op.view(call, r);
      if (!view) continue;
      const auto k = static_cast<std::size_t>(view->operand), result = static_cast<std::size_t>(r);
      const TensorRef seen{placed[k].ref.data + view->offset * size_of(out[result].dtype), out[result].dtype,
                           out[result].shape, view->strides};
      EXPECT_TRUE(read(seen) == expected[result])
          << op.name << " as a view, layout " << static_cast<int>(layout);
    }
  }
  return expected;
}

// Values of a small cycle: whole numbers between -4 and 4 (0 and 1 for bool), exact in every dtype.
inline Literal counting(DType dtype, const Shape& shape, std::int64_t seed = 1) {
  Literal literal{.dtype = dtype, .shape = shape, .bytes = {}};
  const std::int64_t n = element_count(shape);
  literal.bytes.resize(static_cast<std::size_t>(n * size_of(dtype)));
  dispatch(dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t v = (i * 7 + seed * 5 + i / 9) % 9 - 4;
      T element;
      if constexpr (std::is_same_v<T, bool>) {
        element = v > 0;
      } else if constexpr (std::is_same_v<T, std::uint8_t>) {
        element = static_cast<T>(v + 4);
      } else if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
        element = T(static_cast<float>(v));
      } else {
        element = static_cast<T>(v);
      }
      std::memcpy(literal.bytes.data() + i * static_cast<std::int64_t>(sizeof(T)), &element, sizeof(T));
    }
  });
  return literal;
}

// Elements as doubles, and back.
inline std::vector<double> doubles(const Literal& literal) {
  std::vector<double> values(static_cast<std::size_t>(element_count(literal.shape)));
  dispatch(literal.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T element;
      std::memcpy(&element, literal.bytes.data() + i * sizeof(T), sizeof(T));
      if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
        values[i] = static_cast<float>(element);
      } else {
        values[i] = static_cast<double>(element);
      }
    }
  });
  return values;
}
inline Literal literal_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Literal literal{.dtype = dtype, .shape = shape, .bytes = {}};
  literal.bytes.resize(values.size() * static_cast<std::size_t>(size_of(dtype)));
  dispatch(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T element;
      if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
        element = T(static_cast<float>(values[i]));
      } else {
        element = static_cast<T>(values[i]);
      }
      std::memcpy(literal.bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return literal;
}

}  // namespace tidemark::testing_support
