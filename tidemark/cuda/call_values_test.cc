// Kernels of single calls, compiled for the host, against the CPU's kernels: all samples of an op, and shapes
// that samples are too small for. More dtypes: call_values_slow_test.cc.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/support/call_samples.h"
#include "tidemark/cuda/compiler.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

constexpr DType few_dtypes[] = {DType::f32, DType::bf16};

TEST(CallValues, RowsOfSamples) {
  CallCases cases;
  for (const Op* op : row_ops) add_samples(cases, *op, few_dtypes, 2);
  expect_cpu_values(cases, row_nearness);
}

TEST(CallValues, RowsOfManyLengths) { expect_cpu_values(row_shapes(DType::f32), row_nearness); }

TEST(CallValues, IndexingOfSamples) {
  CallCases cases;
  for (const Op* op : index_ops) add_samples(cases, *op, few_dtypes);
  expect_cpu_values(cases, exactly);
}

TEST(CallValues, IndexingOfManyShapes) {
  expect_cpu_values(index_shapes(DType::f32), exactly);
  expect_cpu_values(index_shapes(DType::bf16), exactly);
}

// Lists of thousands of updates next to short ones: added up in pieces, whose order no thread decides.
TEST(CallValues, LongListsOfUpdates) {
  CallCases cases;
  const auto add = [&](DType dtype, const Shape& shape, const Shape& onto, std::int64_t axis,
                       const std::vector<double>& keys) {
    const auto count = static_cast<std::int64_t>(keys.size());
    std::vector<Literal> operands = {random_literal(dtype, shape, 1, is_float(dtype) ? -2 : 0, 2),
                                     literal_of(DType::i32, {count}, keys)};
    if (!onto.empty()) operands.push_back(random_literal(dtype, onto, 2, 0, 2));
    cases.push_back(
        std::make_unique<CallCase>(op::take_add, std::move(operands), pack(TakeAddAttrs{axis, 40})));
  };
  // Two rows of the table have nearly all; then lists of 255 to 258 and of 513 updates.
  std::vector<double> few, edges;
  for (int j = 0; j < 5200; ++j) few.push_back(j % 97 == 0 ? j % 40 : j % 3 == 0 ? 7 : 31);
  for (int key = 0; key < 5; ++key) edges.insert(edges.end(), key == 4 ? 513 : 255 + key, 3 * key);
  for (std::size_t j = 0; j < edges.size(); ++j) std::swap(edges[j], edges[j * 7919 % edges.size()]);
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64}) {
    add(dtype, {5200, 24}, {}, 0, few);
    add(dtype, {2, 5200, 3}, {2, 40, 3}, 1, few);
    add(dtype, {std::ssize(edges), 8}, {40, 8}, 0, edges);
  }
  std::vector<KernelText> kernels;
  for (const auto& c : cases) kernels.push_back(write_call(c->call, fmt::format("long{}", kernels.size())));
  const HostKernels compiled(kernels, "-O1");
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const CallCase& c = *cases[k];
    SCOPED_TRACE(c.name);
    EXPECT_NE(kernels[k].source.find("take_add_pieces<"), std::string::npos);
    const auto run = [&](const CallRun& how) {
      return run_call(c, compiled, k, kernels[k].scratch_bytes, how, nullptr);
    };
    const std::vector<Literal> got = run({});
    expect_near(got, run_kernel(*c.call.op, c.operands, c.attrs).results, {.units = 64, .of_largest = true});
    EXPECT_EQ(bit_difference(run({.descending = true})[0], got[0]), "");
    EXPECT_EQ(bit_difference(run({.shifted = true})[0], got[0]), "");
    if (c.in.size() == 3) EXPECT_EQ(bit_difference(run({.descending = true, .over = 2})[0], got[0]), "");
  }
  if (!compiler_version()) return;
  for (const Architecture architecture : {Architecture{8, 0}, Architecture{9, 0}, Architecture{10, 0}})
    EXPECT_FALSE(compile(kernels[0].source + kernels[4].source, architecture).empty());
}

TEST(CallValues, MovementOfSamples) {
  CallCases cases;
  for (const Op* op : movement_ops) add_samples(cases, *op, few_dtypes);
  expect_cpu_values(cases, exactly);
}

TEST(CallValues, MovementOfManyShapes) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::u8})
    expect_cpu_values(movement_shapes(dtype), exactly);
}

// The very bits: transforms are sums, products and roots in the CPU's order.
TEST(CallValues, RandomNumbers) {
  CallCases cases;
  for (const Op* op : random_ops) add_samples(cases, *op, every_dtype, 2);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::u8, DType::boolean}) {
    for (auto& c : random_shapes(dtype)) cases.push_back(std::move(c));
  }
  expect_cpu_values(cases, exactly);
}

TEST(CallValues, OrderedRowsAndPools) {
  CallCases cases = order_shapes(DType::f32);
  for (const Op* op : order_ops) add_samples(cases, *op, few_dtypes, 2);
  expect_cpu_values(cases, order_nearness);
}

// The very bits: a maximum, and codes rounded as an instruction of later GPUs does.
TEST(CallValues, ScalesAndCodesOfProductsInEightBits) {
  CallCases cases;
  for (const DType dtype : few_dtypes) {
    for (auto& c : fp8_shapes(dtype)) cases.push_back(std::move(c));
  }
  for (const Op* op : fp8_ops) add_samples(cases, *op, few_dtypes);
  expect_cpu_values(cases, exactly);
  if (!compiler_version()) return;
  std::string source;
  for (const std::string format : {"e4m3", "e5m2"}) {
    const CallCase c(op::fp8_codes,
                     {random_literal(DType::bf16, {128, 64}, 1), literal_of(DType::f32, {}, {1})},
                     pack(Fp8CodesAttrs{format, 1, true}));
    source += write_call(c.call, format).source;
    EXPECT_NE(source.find("fp8_codes_transposed<"), std::string::npos);
  }
  // The instruction that makes codes is there from 8.9 on.
  for (const Architecture architecture :
       {Architecture{8, 0}, Architecture{8, 9}, Architecture{9, 0}, Architecture{10, 0}})
    EXPECT_FALSE(compile(source, architecture).empty());
}

TEST(CallValues, Convolutions) {
  CallCases cases = convolution_shapes(DType::f32);
  for (const Op* op : convolution_ops) add_samples(cases, *op, few_dtypes);
  expect_cpu_values(cases, convolution_nearness);
}

// What the CPU expands: windows that overlap, with padding, in either order of the channels.
TEST(CallValues, GradientsOfLargestElementsAreGathered) {
  const auto check = [](const Shape& x, const PoolAttrs& attrs) {
    const Literal image = random_literal(DType::f32, x, 1, -1, 1);
    const std::vector<Literal> pooled = run_kernel(op::max_pool, {image}, pack(attrs)).results;
    const Literal g = random_literal(DType::f32, pooled[0].shape, 2, -1, 1);
    Dims size = x;
    size.erase(0), size.erase(0);
    const CallCase c(op::max_pool_grad, {g, pooled[1]},
                     pack(PoolGradAttrs{attrs.window, attrs.stride, attrs.low, attrs.high, size}));
    const std::vector<double> slopes = values_of(g), places = values_of(pooled[1]);
    const std::int64_t planes = x[0] * x[1], points = element_count(size),
                       outputs = element_count(g.shape) / planes;
    std::vector<double> expected(static_cast<std::size_t>(planes * points));
    for (std::size_t o = 0; o < slopes.size(); ++o) {
      const std::size_t plane = o / static_cast<std::size_t>(outputs);
      expected[plane * static_cast<std::size_t>(points) + static_cast<std::size_t>(places[o])] += slopes[o];
    }
    const HostKernels compiled({write_call(c.call, "gathered")});
    const std::vector<double> got = values_of(run_call(c, compiled, 0, 0, {}, nullptr)[0]);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
  };
  check({2, 3, 9, 8}, {{3, 2}, {2, 1}, {1, 0}, {1, 1}});
  check({2, 1, 7, 6, 5}, {{3, 3, 1}, {2, 2, 1}, {1, 1, 0}, {1, 1, 0}});
  check({2, 1, 7, 6, 12}, {{3, 3, 1}, {2, 2, 1}, {1, 1, 0}, {1, 1, 0}});  // in packs
}

TEST(CallValues, ElementsMayLieBillionsOfBytesApart) {
  constexpr std::int64_t step = std::int64_t{3} << 29, count = 4;
  void* const memory = ::mmap(nullptr, static_cast<std::size_t>(step * count), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no 6 GiB of addresses";
  const Literal x = random_literal(DType::u8, {count}, 1, 0, 100);
  for (std::int64_t i = 0; i < count; ++i)
    static_cast<std::byte*>(memory)[i * step] = x.bytes[static_cast<std::size_t>(i)];
  const std::vector<Strides> strides = {{step}};
  const CallCase flip(op::flip, {x}, pack(AxesAttrs{{0}}), strides);
  const CallCase most(op::argmax, {x}, pack(AxisAttrs{0}), strides);
  const HostKernels compiled({write_call(flip.call, "far_flip"), write_call(most.call, "far_most")});
  for (const CallCase* c : {&flip, &most}) {
    const GuardedBytes result(c->out[0].bytes());
    const void* const in = memory;
    void* const out = result.get();
    ASSERT_TRUE(compiled.run(c == &flip ? 0 : 1, std::span(&in, 1), std::span(&out, 1), nullptr));
    EXPECT_EQ(bit_difference(literal_at(c->out[0], result.get()),
                             run_kernel(*c->call.op, c->operands, c->attrs).results[0]),
              "");
  }
  ::munmap(memory, static_cast<std::size_t>(step * count));
}

// One bad index among good ones: it is told, guards stay whole, and an operand that would have been
// overwritten is as it was.
TEST(CallValues, BadIndicesAreToldAndTouchNothing) {
  const Literal x = random_literal(DType::f32, {40, 8}, 1, -1, 1);
  CallCases cases;
  for (const double bad : {-1.0, 40.0, 1e9}) {
    Literal rows = random_literal(DType::i32, {30}, 2, 0, 39);
    write_element(DType::i32, bad, rows.bytes.data() + 4 * 17);
    Literal places = random_literal(DType::i64, {30, 8}, 2, 0, 39);
    write_element(DType::i64, bad, places.bytes.data() + 8 * 99);
    const Literal updates = random_literal(DType::f32, {30, 8}, 3, -1, 1);
    const Literal statistic = random_literal(DType::f32, {30}, 4, 1, 2);
    const Literal logits = random_literal(DType::f32, {30, 40}, 5, -1, 1);
    const auto add = [&](const Op& op, std::vector<Literal> operands, Attrs attrs) {
      cases.push_back(std::make_unique<CallCase>(op, std::move(operands), std::move(attrs)));
    };
    add(op::take, {x, rows}, pack(TakeAttrs{0}));
    add(op::take_add, {updates, rows}, pack(TakeAddAttrs{0, 40}));
    add(op::take_add, {updates, rows, x}, pack(TakeAddAttrs{0, 40}));
    add(op::gather, {x, places}, pack(AxisAttrs{0}));
    add(op::scatter_add, {x, places, updates}, pack(AxisAttrs{0}));
    add(op::one_hot, {rows}, pack(OneHotAttrs{40, DType::f32}));
    add(op::cross_entropy, {logits, rows}, pack(CrossEntropyAttrs{}));
    add(op::cross_entropy_grad, {logits, rows, statistic, statistic}, pack(CrossEntropyAttrs{}));
  }
  std::vector<KernelText> kernels;
  for (const auto& c : cases) kernels.push_back(write_call(c->call, fmt::format("bad{}", kernels.size())));
  const HostKernels compiled(kernels);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const CallCase& c = *cases[k];
    SCOPED_TRACE(c.name);
    EXPECT_NE(run_kernel(*c.call.op, c.operands, c.attrs, {.may_fail = true}).failure, "");
    unsigned failed = 0;
    run_call(c, compiled, k, kernels[k].scratch_bytes, {}, &failed);
    EXPECT_EQ(failed, 1u);
    run_call(c, compiled, k, kernels[k].scratch_bytes, {}, nullptr);
    for (int o = 0; o < static_cast<int>(c.in.size()); ++o) {
      if (c.call.op == &op::cross_entropy_grad || !call_may_overwrite(c.call, 0, o)) continue;
      const Literal& operand = c.operands[static_cast<std::size_t>(o)];
      EXPECT_EQ(bit_difference(run_call(c, compiled, k, kernels[k].scratch_bytes, {.over = o}, &failed)[0],
                               operand),
                "");
    }
  }
}

}  // namespace
}  // namespace tidemark::cuda
