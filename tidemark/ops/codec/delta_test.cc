// Sequences of values as differences, on data that is meant to break them, judged by quantize and dequantize.
#include "tidemark/ops/codec/delta.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/support/errors.h"
#include "tests/support/run_kernel.h"
#include "tidemark/ops/quantization/quantize.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

constexpr DType float_types[] = {DType::f32, DType::f64, DType::bf16, DType::f16};
using Steps = std::vector<std::vector<double>>;  // values by step

double largest_number(DType dtype) {
  return dtype == DType::f64    ? std::numeric_limits<double>::max()
         : dtype == DType::f16  ? 65504
         : dtype == DType::bf16 ? 0x1.fep127
                                : std::numeric_limits<float>::max();
}

// What a loop would do: forwards through all steps, then back from the last c. The values as they were stored
// in the dtype, and what stands for them.
struct Recorded {
  Steps values, decoded;
  std::vector<Literal> bytes;
  Literal last;
};
Recorded recorded(const Steps& steps, DType dtype, QuantFormat format, const Shape& shape) {
  Recorded result;
  const std::string name(name_of(format));
  std::vector<double> none(static_cast<std::size_t>(element_count(shape)), nan);
  Literal chain = literal_of(DType::f64, shape, none);
  for (const std::vector<double>& step : steps) {
    const Literal x = literal_of(dtype, shape, step);
    result.values.push_back(values_of(x));
    std::vector<Literal> made = run(op::to_delta, {x, chain}, pack(ToDeltaAttrs{name}), {1});
    result.bytes.push_back(made[0]);
    chain = made[1];
  }
  result.last = chain;
  result.decoded.resize(steps.size());
  for (std::size_t t = steps.size(); t-- > 0;) {
    const std::vector<Literal> made =
        run(op::from_delta, {result.bytes[t], chain}, pack(FromDeltaAttrs{name, dtype}), {1});
    EXPECT_EQ(made[0].dtype, dtype);
    result.decoded[t] = values_of(made[0]);
    chain = made[1];
  }
  return result;
}

// The largest error over all steps and the largest magnitude; no number must come back as anything else.
struct Measured {
  double error = 0, magnitude = 0;
};
Measured measured(const Recorded& sequence) {
  Measured worst;
  for (std::size_t t = 0; t < sequence.values.size(); ++t) {
    for (std::size_t i = 0; i < sequence.values[t].size(); ++i) {
      const double x = sequence.values[t][i], y = sequence.decoded[t][i];
      if (!std::isfinite(x)) {
        EXPECT_TRUE(std::isnan(x) ? std::isnan(y) : x == y) << "step " << t << ", element " << i;
        continue;
      }
      EXPECT_TRUE(std::isfinite(y)) << "step " << t << ", element " << i << ": " << x;
      // Halves, since the difference of the largest numbers is none.
      worst.error = std::max(worst.error, std::abs(x / 2 - y / 2) * 2);
      worst.magnitude = std::max(worst.magnitude, std::abs(x));
    }
  }
  return worst;
}

Steps smooth_steps(std::size_t steps, std::size_t count, double size = 1) {
  Steps list(steps);
  for (std::size_t t = 0; t < steps; ++t) {
    for (std::size_t i = 0; i < count; ++i) {
      const double phase = 0.3 * static_cast<double>(i);
      list[t].push_back(size * (std::sin(0.02 * static_cast<double>(t) + phase) + 0.5 * std::cos(phase)));
    }
  }
  return list;
}

TEST(Delta, WhatNeighboursShareIsNotLost) {
  const Steps steps = smooth_steps(60, 300);
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const QuantFormat format : {QuantFormat::int8, QuantFormat::int4}) {
      const Measured all = measured(recorded(steps, dtype, format, {3, 100}));
      // A difference is at most 0.02 and what the last one was off by.
      const double e = quantization_error(format, dtype);
      EXPECT_LT(all.error, 0.0201 * e / (1 - e)) << name_of(dtype) << " " << name_of(format);
      EXPECT_GT(all.error, 0) << "nothing was quantized";
    }
  }
}

TEST(Delta, EveryDtypeAndFormatStaysWithinItsBoundOnAnything) {
  std::mt19937_64 random(7);
  for (const DType dtype : float_types) {
    for (int f = 0; f < quant_format_count; ++f) {
      const auto format = static_cast<QuantFormat>(f);
      for (const double size : {1.0, 1e-3, dtype == DType::f16 ? 6e4 : 3e38}) {
        Steps steps(12);
        for (std::vector<double>& step : steps) {
          for (int i = 0; i < 200; ++i)
            step.push_back(size * (std::ldexp(static_cast<double>(random() >> 11), -52) - 1));
        }
        const Measured all = measured(recorded(steps, dtype, format, {200}));
        EXPECT_LE(all.error, delta_error(format, dtype) * all.magnitude)
            << name_of(dtype) << " " << name_of(format) << " " << size;
      }
    }
  }
}

TEST(Delta, TheLargestNumbersOfADtypeMayFollowEachOther) {
  for (const DType dtype : float_types) {
    const double most = largest_number(dtype);
    const Recorded ends = recorded({{most, -most}, {-most, most}, {most, most}, {0, -most}, {most, most}},
                                   dtype, QuantFormat::int8, {2});
    const Measured all = measured(ends);
    EXPECT_LE(all.error, delta_error(QuantFormat::int8, dtype) * most) << name_of(dtype);
  }
}

TEST(Delta, TheFirstStepIsKeptAsItIs) {
  for (const DType dtype : float_types) {
    const Recorded one = recorded(smooth_steps(1, 150), dtype, QuantFormat::int4, {150});
    EXPECT_EQ(one.decoded, one.values) << name_of(dtype);
  }
  // And what does not change stays so.
  const std::vector<double> same(130, 0.1);
  const Recorded still = recorded({same, same, same}, DType::f32, QuantFormat::int4, {130});
  EXPECT_EQ(still.decoded, still.values);
}

TEST(Delta, WhatIsNoNumberTouchesNoOtherStepAndNoOtherElement) {
  const std::size_t count = 150, bad = 5;
  for (const DType dtype : float_types) {
    for (const std::size_t when : {std::size_t{0}, std::size_t{4}, std::size_t{9}}) {
      for (const double what : {nan, inf, -inf}) {
        Steps steps = smooth_steps(10, count);
        steps[when][bad] = what;
        const Recorded sequence = recorded(steps, dtype, QuantFormat::int8, {150});
        const Measured all = measured(sequence);
        EXPECT_LT(all.error, dtype == DType::bf16  ? 8e-3
                             : dtype == DType::f16 ? 1e-3
                                                   : 2e-4)
            << name_of(dtype) << ", step " << when << ": " << what;
      }
    }
  }
  Steps never(5, std::vector<double>(140, inf));
  never[2][3] = nan;
  never[2][4] = 2.5;  // the only number of its element
  measured(recorded(never, DType::f32, QuantFormat::int8, {140}));
}

TEST(Delta, DenormalNumbersAndZerosComeBackCloseToWhatTheyAre) {
  Steps steps(6);
  for (std::size_t t = 0; t < steps.size(); ++t) {
    for (int i = 0; i < 140; ++i) steps[t].push_back(0x1p-149 * static_cast<double>(t * 7) * i);
  }
  EXPECT_LE(measured(recorded(steps, DType::f32, QuantFormat::int8, {140})).error, 0x1p-149 * 64);
  const Steps zeros(4, std::vector<double>(3, 0.0));
  EXPECT_EQ(measured(recorded(zeros, DType::f32, QuantFormat::int8, {3})).error, 0);
}

TEST(Delta, ErrorsDoNotAddUpOverThousandsOfSteps) {
  const Steps steps = smooth_steps(3000, 128);
  const Recorded sequence = recorded(steps, DType::f32, QuantFormat::int8, {128});
  double first = 0, last = 0;
  for (std::size_t i = 0; i < 128; ++i) {
    for (std::size_t t = 1; t < 50; ++t)
      first = std::max(first, std::abs(sequence.values[t][i] - sequence.decoded[t][i]));
    for (std::size_t t = 2950; t < 3000; ++t)
      last = std::max(last, std::abs(sequence.values[t][i] - sequence.decoded[t][i]));
  }
  EXPECT_LT(first, 1e-4);
  EXPECT_LT(last, 1e-4);
}

TEST(Delta, TheWayBackMeetsTheVeryNumbersOfTheWayThere) {
  const Steps steps = smooth_steps(500, 200);
  for (const DType dtype : {DType::f32, DType::f16}) {
    std::vector<Literal> chains = {literal_of(DType::f64, {200}, std::vector<double>(200, nan))}, bytes;
    for (const std::vector<double>& step : steps) {
      const Literal x = literal_of(dtype, {200}, step);
      const std::vector<Literal> made = run(op::to_delta, {x, chains.back()}, pack(ToDeltaAttrs{}), {1});
      bytes.push_back(made[0]);
      chains.push_back(made[1]);
    }
    Literal chain = chains.back();
    for (std::size_t t = steps.size(); t-- > 1;) {
      chain = run(op::from_delta, {bytes[t], chain}, pack(FromDeltaAttrs{.dtype = dtype}), {1})[1];
      ASSERT_EQ(bit_difference(chain, chains[t]), "") << name_of(dtype) << ", step " << t;
    }
  }
}

TEST(Delta, GrowthByManyOrdersStaysWithinTheBound) {
  Steps steps(400);
  for (std::size_t t = 0; t < steps.size(); ++t) {
    for (int i = 0; i < 130; ++i)
      steps[t].push_back(std::exp(0.07 * static_cast<double>(t) - 14) * std::sin(0.1 * i + 1));
  }
  const Recorded sequence = recorded(steps, DType::f32, QuantFormat::int8, {130});
  const Measured all = measured(sequence);
  EXPECT_LE(all.error, delta_error(QuantFormat::int8, DType::f32) * all.magnitude);
  // Early values are 1e-12 of the last, and still far closer than a share of those.
  for (std::size_t t = 1; t < 50; ++t) {
    for (std::size_t i = 0; i < 130; ++i)
      EXPECT_NEAR(sequence.decoded[t][i], sequence.values[t][i],
                  1e-3 * std::exp(0.07 * static_cast<double>(t) - 14));
  }
}

TEST(Delta, BytesAreThoseOfTheQuantizedDifference) {
  const Steps steps = smooth_steps(2, 200);
  const Recorded sequence = recorded(steps, DType::f32, QuantFormat::int8, {200});
  std::vector<double> left;
  for (std::size_t i = 0; i < 200; ++i)
    left.push_back(0.25 * sequence.values[1][i] - 0.25 * sequence.values[0][i]);
  const Literal difference = literal_of(DType::f32, {200}, left);
  const Literal bytes = run(op::quantize, {difference}, pack(QuantizeAttrs{.format = "int8"}))[0];
  EXPECT_EQ(values_of(bytes), values_of(sequence.bytes[1]));
}

TEST(Delta, AnEmptyValueAndAScalarAreValues) {
  EXPECT_EQ(recorded({{}, {}}, DType::f32, QuantFormat::int8, {0, 3}).bytes[1].bytes.size(), 0u);
  const Recorded scalar = recorded({{3}, {3.5}, {nan}, {2}}, DType::f64, QuantFormat::int8, {});
  EXPECT_LT(measured(scalar).error, 0.01);
}

TEST(Delta, MistakesAreTold) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {8}}), whole = builder.input({DType::i32, {8}});
  const Var chain = builder.input({DType::f64, {8}}), narrow = builder.input({DType::f32, {8}});
  EXPECT_EQ(code_of([&] { to_delta(x, narrow, QuantFormat::int8); }), ErrorCode::dtype_mismatch);
  EXPECT_EQ(code_of([&] { to_delta(whole, chain, QuantFormat::int8); }), ErrorCode::dtype_mismatch);
  const Var bytes = to_delta(x, chain, QuantFormat::int8).bytes;
  EXPECT_EQ(code_of([&] { from_delta(bytes, chain, QuantFormat::int4, DType::f32); }),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { from_delta(bytes, chain, QuantFormat::int8, DType::i32); }),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] {
              builder.call(op::to_delta, std::vector{x, chain}, pack(ToDeltaAttrs{"int3"}));
            }),
            ErrorCode::bad_attribute);
}

}  // namespace
}  // namespace tidemark
