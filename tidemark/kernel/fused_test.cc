#include "tidemark/kernel/fused.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tidemark/kernel/tile_convert.h"

namespace tidemark {
namespace {

// z = x - 2y: not symmetric, so operands cannot be mixed up.
void test_tile(const TileArgs& args) {
  for (std::int64_t i = 0; i < args.n; ++i) {
    args.result<float>()[i] = args.operand<float>(0)[i] - 2 * args.operand<float>(1)[i];
  }
}

// One call as a program of one instruction.
void run_alone(const KernelArgs& args, Tile tile) {
  FusedStep step{.code = {.tile = tile},
                 .in = {},
                 .out = {GroupRef::result, 0},
                 .dtype = args.out[0].dtype,
                 .shape = args.out[0].shape};
  for (std::size_t i = 0; i < args.in.size(); ++i)
    step.in.push_back({GroupRef::operand, static_cast<int>(i)});
  FusedProgram(args.out[0].shape, args.in, {step}).run(args);
}

// Memory with an operand somewhere inside it.
struct Window {
  std::vector<float> memory;
  std::int64_t first = 0;
  Shape shape;
  Strides strides;

  TensorRef ref() {
    return {.data = reinterpret_cast<std::byte*>(memory.data() + first),
            .dtype = DType::f32,
            .shape = shape,
            .strides = strides};
  }
  // Element at `index` of a result of the rank of `index`, broadcasting.
  float at(const Dims& index) const {
    std::int64_t offset = first;
    const int skip = index.rank() - shape.rank();
    for (int d = 0; d < shape.rank(); ++d) offset += shape[d] == 1 ? 0 : index[skip + d] * strides[d];
    return memory[static_cast<std::size_t>(offset)];
  }
};

Window make_window(const Shape& shape, const Strides& strides) {
  std::int64_t low = 0, high = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    const std::int64_t reach = std::max<std::int64_t>(shape[d] - 1, 0) * strides[d];
    (reach < 0 ? low : high) += reach;
  }
  Window window{.memory = {}, .first = -low, .shape = shape, .strides = strides};
  for (std::int64_t i = low; i <= high; ++i) window.memory.push_back(static_cast<float>((i * 7919) % 1009));
  return window;
}
Window dense(const Shape& shape) { return make_window(shape, dense_strides(shape)); }

void expect_right(Window x, Window y, const Shape& shape) {
  SCOPED_TRACE(to_string(x.shape) + to_string(x.strides) + " and " + to_string(y.shape) +
               to_string(y.strides));
  ThreadPool pool(2);
  std::vector<float> z(static_cast<std::size_t>(element_count(shape)), -1);
  const TensorRef in[] = {x.ref(), y.ref()};
  const TensorRef out[] = {{.data = reinterpret_cast<std::byte*>(z.data()),
                            .dtype = DType::f32,
                            .shape = shape,
                            .strides = dense_strides(shape)}};
  run_alone({.in = in, .out = out, .pool = &pool}, test_tile);
  const Strides steps = dense_strides(shape);
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    Dims index = Dims::filled(shape.rank(), 0);
    for (int d = 0; d < shape.rank(); ++d) index[d] = i / steps[d] % shape[d];
    ASSERT_EQ(z[static_cast<std::size_t>(i)], x.at(index) - 2 * y.at(index)) << "element " << i;
  }
}

TEST(FusedProgram, ReadsDenseOperands) {
  for (const Shape& shape :
       {Shape{}, Shape{1}, Shape{5}, Shape{3, 257}, Shape{40000}, Shape{0, 3}, Shape{1, 1}}) {
    expect_right(dense(shape), dense(shape), shape);
  }
}

TEST(FusedProgram, BroadcastsRowsColumnsAndSingleElements) {
  expect_right(dense({300, 200}), dense({200}), {300, 200});
  expect_right(dense({300, 200}), dense({300, 1}), {300, 200});
  expect_right(dense({}), dense({300, 200}), {300, 200});
  expect_right(dense({20000, 3}), dense({3}), {20000, 3});
  expect_right(dense({7, 1, 5}), dense({4, 1}), {7, 4, 5});
  expect_right(dense({1, 1}), dense({1}), {1, 1});
}

TEST(FusedProgram, WalksTransposedSlicedAndFlippedOperands) {
  expect_right(make_window({100, 300}, {1, 100}), dense({100, 300}), {100, 300});
  expect_right(make_window({100, 300}, {700, 2}), dense({300}), {100, 300});
  expect_right(make_window({100, 300}, {300, -1}), dense({100, 300}), {100, 300});
  expect_right(make_window({100, 300}, {-300, 1}), make_window({100, 300}, {-300, -1}), {100, 300});
  expect_right(make_window({1000}, {-1}), make_window({1000}, {0}), {1000});
  expect_right(make_window({3, 4, 5, 6}, {1, 3, 12, 60}), make_window({4, 1, 6}, {6, 99, -1}), {3, 4, 5, 6});
}

TEST(FusedProgram, RandomShapesAndStridesAgreeWithPlainIndexing) {
  std::mt19937 random(3);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int trial = 0; trial < 60; ++trial) {
    Shape shape;
    for (int d = pick(0, 5); d > 0; --d) shape.push_back(pick(1, d == 1 ? 90 : 5));
    const auto operand = [&] {
      Shape s;
      Strides strides;
      for (int d = pick(0, shape.rank()); d < shape.rank(); ++d) {
        s.push_back(pick(0, 3) == 0 ? 1 : shape[d]);
        strides.push_back(pick(-3, 3));
      }
      return pick(0, 1) ? dense(s) : make_window(s, strides);
    };
    const Window x = operand(), y = operand();
    expect_right(x, y, shape);
  }
}

TEST(FusedProgram, AResultInAnOperandsMemoryIsTheSame) {
  ThreadPool pool(2);
  const Shape shape{130, 300};
  Window x = dense(shape), y = dense({300});
  const TensorRef in[] = {x.ref(), y.ref()};
  Window separate = dense(shape);
  const TensorRef apart[] = {separate.ref()}, inside[] = {x.ref()};
  run_alone({.in = in, .out = apart, .pool = &pool}, test_tile);
  run_alone({.in = in, .out = inside, .pool = &pool}, test_tile);
  EXPECT_EQ(x.memory, separate.memory);
}

// Every 16-bit pattern widens exactly and every float rounds as the scalar conversion says, in vectors and in
// tails.
template <class Stored>
void expect_same_conversions() {
  std::vector<Stored> stored(65536);
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i].bits = static_cast<std::uint16_t>(i);
  std::vector<float> wide(stored.size());
  tile_load(dtype_of<Stored>, true)(reinterpret_cast<const std::byte*>(stored.data()), 1, 65535,
                                    reinterpret_cast<std::byte*>(wide.data()));
  for (std::size_t i = 0; i + 1 < stored.size(); ++i) {
    const float expected = static_cast<float>(stored[i]);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(expected)) << i;
  }
  std::mt19937 random(5);
  std::vector<float> values;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const float exact = static_cast<float>(stored[i]);
    values.push_back(exact);
    values.push_back(std::nextafter(exact, 1e30f));
    // Half way to the next pattern, where ties go to even.
    values.push_back(std::bit_cast<float>(std::bit_cast<std::uint32_t>(exact) +
                                          (dtype_of<Stored> == DType::bf16 ? 0x8000u : 0x1000u)));
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    values.push_back(static_cast<float>(i) * 0x1p-25f);
  }
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  std::vector<Stored> rounded(values.size());
  tile_store(dtype_of<Stored>)(reinterpret_cast<const std::byte*>(values.data()),
                               static_cast<std::int64_t>(values.size()),
                               reinterpret_cast<std::byte*>(rounded.data()));
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(rounded[i].bits, Stored(values[i]).bits) << values[i];
}

TEST(TileConvert, VectorsRoundAsTheScalarTypesDo) {
  expect_same_conversions<BFloat16>();
  expect_same_conversions<Float16>();
}

TEST(FusedProgram, SixteenBitOperandsAreComputedInF32AndRoundedOnce) {
  ThreadPool pool(1);
  std::vector<BFloat16> x, z(1000);
  for (int i = 0; i < 1000; ++i) x.push_back(BFloat16(static_cast<float>(i) * 0.37f));
  const Shape shape{1000};
  const auto ref = [&](std::vector<BFloat16>& v, std::int64_t stride) {
    return TensorRef{.data = reinterpret_cast<std::byte*>(v.data()),
                     .dtype = DType::bf16,
                     .shape = shape,
                     .strides = {stride}};
  };
  const TensorRef in[] = {ref(x, 1), ref(x, 0)}, out[] = {ref(z, 1)};
  run_alone({.in = in, .out = out, .pool = &pool}, test_tile);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(z[i].bits, BFloat16(static_cast<float>(x[i]) - 2 * static_cast<float>(x[0])).bits);
  }
}

// max over or sum of u = (x - 2y) - 2x, where u has memory or not.
void expect_reduced(const Shape& shape, const Dims& axes, Reduction reduction, bool kept) {
  SCOPED_TRACE(to_string(shape) + " over " + to_string(axes));
  TM_CHECK(reduces_in_runs(shape, axes));
  ThreadPool pool(2);
  Window x = dense(shape), y = dense({shape.back()}), t = dense(shape), u = dense(shape), made = dense(shape);
  const TensorRef in[] = {x.ref(), y.ref()};
  const TensorRef to_t[] = {t.ref()}, to_u[] = {u.ref()}, again[] = {t.ref(), x.ref()};
  run_alone({.in = in, .out = to_t, .pool = &pool}, test_tile);
  run_alone({.in = again, .out = to_u, .pool = &pool}, test_tile);
  Shape rest;
  for (int d = 0; d < shape.rank(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) rest.push_back(shape[d]);
  }
  Window expected = dense(rest), given = dense(rest);
  std::vector<std::byte> scratch(static_cast<std::size_t>(reduce_scratch(shape, axes)));
  reduce(reduction, u.ref(), axes, expected.ref(), scratch.data(), pool);

  const GroupRef first{GroupRef::temporary, 0};
  const GroupRef second = kept ? GroupRef{GroupRef::result, 1} : GroupRef{GroupRef::temporary, 1};
  const GroupRef x_place{GroupRef::operand, 0}, y_place{GroupRef::operand, 1};
  const FusedProgram program(
      shape, in,
      {{.code = {.tile = test_tile},
        .in = {x_place, y_place},
        .out = first,
        .dtype = DType::f32,
        .shape = shape},
       {.code = {.tile = test_tile},
        .in = {first, x_place},
        .out = second,
        .dtype = DType::f32,
        .shape = shape}},
      FusedReduction{.reduction = reduction, .axes = axes, .in = second, .out = {GroupRef::result, 0}});
  const TensorRef out[] = {given.ref(), made.ref()};
  program.run({.in = in, .out = out, .scratch = scratch.data(), .pool = &pool});
  EXPECT_EQ(given.memory, expected.memory);
  if (kept) {
    EXPECT_EQ(made.memory, u.memory);
  }
}

TEST(FusedProgram, AReductionFoldsWhatTheStepsMakeInItsOwnOrder) {
  for (bool kept : {false, true}) {
    for (Reduction reduction : {Reduction::sum, Reduction::max, Reduction::mean}) {
      expect_reduced({300, 700}, {0}, reduction, kept);
      expect_reduced({300, 700}, {1}, reduction, kept);
      expect_reduced({50, 70}, {0, 1}, reduction, kept);
      expect_reduced({40000}, {0}, reduction, kept);
      expect_reduced({7, 40, 5, 33}, {0, 2}, reduction, kept);
      expect_reduced({7, 40, 33}, {1, 2}, reduction, kept);
      expect_reduced({3, 2500}, {1}, reduction, kept);
      expect_reduced({9, 1, 1100}, {0, 1}, reduction, kept);
    }
  }
}

}  // namespace
}  // namespace tidemark
