// The kernels against the definition of the formats, on data that is meant to break them.
#include "tidemark/ops/quantization/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/support/errors.h"
#include "tests/support/quant_definition.h"
#include "tests/support/run_kernel.h"
#include "tidemark/base/philox.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;
using ::testing::HasSubstr;

constexpr QuantFormat all_formats[] = {QuantFormat::bf16, QuantFormat::f16,  QuantFormat::e4m3,
                                       QuantFormat::e5m2, QuantFormat::int8, QuantFormat::int4};
constexpr DType float_dtypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16};

// ---- Data.

struct Data {
  const char* name;
  std::function<double(std::mt19937_64&, std::int64_t i, const FloatRange&)> at;
};
double uniform(std::mt19937_64& random) { return std::ldexp(static_cast<double>(random() >> 11), -52) - 1; }

const Data all_data[] = {
    {"uniform", [](auto& random, auto, auto&) { return uniform(random); }},
    {"all exponents",
     [](auto& random, auto, auto& range) {
       const int e = static_cast<int>(random() % static_cast<std::uint64_t>(2 * range.max_exponent + 20));
       return std::ldexp(uniform(random), e - range.max_exponent - 18);
     }},
    {"zeros", [](auto&, auto, auto&) { return 0.0; }},
    {"zeros of both signs", [](auto& random, auto, auto&) { return random() % 2 ? -0.0 : 0.0; }},
    {"one outlier",
     [](auto& random, auto i, auto&) { return uniform(random) * (i % 128 == 77 ? 1000 : 1e-3); }},
    {"subnormal", [](auto& random, auto, auto& range) { return uniform(random) * range.smallest_normal; }},
    {"few smallest numbers",
     [](auto& random, auto i, auto& range) {
       return range.smallest *
              static_cast<double>(static_cast<std::int64_t>(random() % 7) - 3 + (i % 128 == 5));
     }},
    {"largest", [](auto& random, auto i,
                   auto& range) { return i % 3 == 0 ? -range.largest : range.largest * uniform(random); }},
    {"largest and smallest",
     [](auto& random, auto i, auto& range) {
       return i % 128 == 0 ? range.largest : range.smallest * static_cast<double>(random() % 3);
     }},
    {"below a power of two",
     [](auto& random, auto, auto&) { return (1 - std::ldexp(1, -static_cast<int>(random() % 26))); }},
    {"ties of whole numbers",
     [](auto& random, auto i, auto&) {
       return i % 128 == 0 ? 127.0 : static_cast<double>(random() % 253) / 2 - 63;
     }},
    {"ties of significands",
     [](auto& random, auto i, auto&) {
       return i % 128 == 0 ? 1.0 : static_cast<double>(random() % 512) / 512;
     }},
    {"a NaN here and there", [](auto& random, auto, auto&) { return random() % 50 ? uniform(random) : nan; }},
    {"an infinity here and there",
     [](auto& random, auto, auto&) { return random() % 20  ? uniform(random)
                                            : random() % 2 ? inf
                                                           : -inf; }},
    {"large numbers among infinities",
     [](auto& random, auto, auto& range) { return random() % 5 ? range.largest * uniform(random) : -inf; }},
    {"nothing but NaN", [](auto&, auto, auto&) { return nan; }},
    {"nothing but infinities", [](auto&, auto i, auto&) { return i % 2 ? inf : -inf; }},
};

Literal made(const Data& data, DType dtype, std::int64_t n, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  const FloatRange range = float_range(dtype);
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = data.at(random, i, range);
    values.push_back(std::isfinite(value) ? std::clamp(value, -range.largest, range.largest) : value);
  }
  return literal_of(dtype, {n}, values);
}

using Threads = std::initializer_list<int>;
Literal quantized(QuantFormat format, const Literal& x, Threads threads = {1}) {
  return run(op::quantize, {x}, pack(QuantizeAttrs{.format = std::string(name_of(format))}), threads)[0];
}
Literal dequantized(QuantFormat format, const Literal& bytes, const Literal& like, Threads threads = {1}) {
  const DequantizeAttrs attrs{
      .format = std::string(name_of(format)), .dtype = like.dtype, .shape = like.shape};
  return run(op::dequantize, {bytes}, pack(attrs), threads)[0];
}

std::string about(QuantFormat format, DType dtype, const Data& data, std::int64_t n) {
  return fmt::format("{} of {} {}: {}", name_of(format), n, name_of(dtype), data.name);
}

template <class F>
void for_each_case(const F& f) {
  for (QuantFormat format : all_formats) {
    for (DType dtype : float_dtypes) {
      for (const Data& data : all_data) {
        for (std::int64_t n : {0, 1, 127, 128, 129, 650}) {
          SCOPED_TRACE(about(format, dtype, data, n));
          f(format, made(data, dtype, n, static_cast<std::uint64_t>(n) + 3));
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

// ---- The tests.

TEST(Quantize, WritesTheBytesOfItsDefinitionAndReadsThemBack) {
  for_each_case([](QuantFormat format, const Literal& x) {
    const DefinedQuantization want = defined_quantization(format, x);
    const Literal bytes = quantized(format, x);
    ASSERT_EQ(values_of<std::uint8_t>(bytes), want.bytes);
    const Literal back = literal_of(x.dtype, x.shape, want.decoded);
    ASSERT_EQ(bit_difference(dequantized(format, bytes, x), back, NaNs::alike), "");
  });
}

TEST(Quantize, KeepsWithinItsErrorAndWhatIsNoNumber) {
  for_each_case([](QuantFormat format, const Literal& x) {
    const std::vector<double> before = values_of(x);
    const std::vector<double> after = values_of(dequantized(format, quantized(format, x), x));
    for (std::size_t first = 0; first < before.size(); first += quant_block) {
      const std::size_t end = std::min(before.size(), first + quant_block);
      double largest = 0;
      bool mixed = false;
      for (std::size_t i = first; i < end; ++i) {
        if (std::isfinite(before[i])) largest = std::max(largest, std::abs(before[i]));
        mixed = mixed || !std::isfinite(before[i]);
      }
      const double grid = facts_of(format).is_whole() ? float_range(x.dtype).smallest / 2 : 0;
      const long double bound =
          static_cast<long double>(quantization_error(format, x.dtype, false, mixed)) * largest + grid;
      for (std::size_t i = first; i < end; ++i) {
        if (std::isnan(before[i])) {
          ASSERT_TRUE(std::isnan(after[i])) << i;
        } else if (std::isinf(before[i])) {
          ASSERT_EQ(after[i], before[i]) << i;
        } else {
          ASSERT_LE(std::abs(static_cast<long double>(after[i]) - before[i]), bound)
              << i << ": " << before[i];
        }
      }
    }
  });
}

TEST(Quantize, GivesTheSameBytesForWhatWasDequantized) {
  for_each_case([](QuantFormat format, const Literal& x) {
    const Literal once = quantized(format, x);
    ASSERT_EQ(bit_difference(quantized(format, dequantized(format, once, x)), once), "");
  });
}

TEST(Quantize, ReachesItsErrorSoTheBoundIsNoLooserThanItMustBe) {
  for (QuantFormat format : all_formats) {
    double worst = 0;
    const Literal x = made(all_data[0], DType::f32, 1 << 16);
    const std::vector<double> before = values_of(x);
    const std::vector<double> after = values_of(dequantized(format, quantized(format, x), x));
    for (std::size_t i = 0; i < before.size(); ++i) worst = std::max(worst, std::abs(after[i] - before[i]));
    EXPECT_GT(worst, 0.9 * (facts_of(format).is_whole() ? 1 : 0.5) * facts_of(format).error)
        << name_of(format);
  }
}

TEST(Quantize, TakesTheBytesThatAreSaidBeforehand) {
  const auto bytes = [](QuantFormat format, DType dtype, const Shape& shape) {
    return quantized_bytes(format, {dtype, shape});
  };
  EXPECT_EQ(bytes(QuantFormat::int8, DType::f32, {0}), 0);
  EXPECT_EQ(bytes(QuantFormat::int8, DType::f32, {}), 4 + 1);
  EXPECT_EQ(bytes(QuantFormat::int8, DType::f32, {128}), 4 + 128);
  EXPECT_EQ(bytes(QuantFormat::int8, DType::f32, {3, 43}), 2 * 4 + 129);
  EXPECT_EQ(bytes(QuantFormat::int8, DType::f64, {3, 43}), 2 * 8 + 129);
  EXPECT_EQ(bytes(QuantFormat::int4, DType::bf16, {3, 43}), 2 * 4 + 65);
  EXPECT_EQ(bytes(QuantFormat::e4m3, DType::f32, {129}), 2 * 4 + 129);
  EXPECT_EQ(bytes(QuantFormat::e5m2, DType::f32, {129}), 2 * 4 + 129);
  EXPECT_EQ(bytes(QuantFormat::bf16, DType::f32, {129}), 2 * 4 + 258);
  EXPECT_EQ(bytes(QuantFormat::f16, DType::f16, {129}), 2 * 4 + 258);
  EXPECT_EQ(quantized_type(QuantFormat::int4, {DType::f32, {1024, 1024}}),
            (Type{DType::u8, {(64 + 4) * 8192}}));
}

TEST(Quantize, IsTheSameOnAnyNumberOfThreadsWhenThereAreManyTasks) {
  for (QuantFormat format : all_formats) {
    for (DType dtype : float_dtypes) {
      const Literal x = made(all_data[12], dtype, 70001);
      const Literal bytes = quantized(format, x, {1, 2, 3});
      EXPECT_EQ(values_of<std::uint8_t>(bytes), defined_quantization(format, x).bytes) << name_of(format);
      dequantized(format, bytes, x, {1, 2, 3});
    }
  }
}

TEST(Quantize, EveryCodeOfAFloatFormatComesBack) {
  for (QuantFormat format : {QuantFormat::f16, QuantFormat::e4m3, QuantFormat::e5m2}) {
    const CodeLayout layout = layout_of(format);
    const std::uint32_t last = last_code(format);
    std::vector<double> values;
    for (std::uint32_t code = 0; code <= last; ++code) {
      if (values.size() % quant_block == 0) values.push_back(value_of(layout, last));  // sets the scale
      values.push_back((code % 3 ? 1 : -1) * value_of(layout, code));
    }
    const Literal x = literal_of(DType::f32, {static_cast<std::int64_t>(values.size())}, values);
    EXPECT_EQ(bit_difference(dequantized(format, quantized(format, x), x), x), "") << name_of(format);
  }
}

// ---- Stochastic rounding.

Literal at_random(QuantFormat format, const Literal& x, std::int64_t seed, std::int64_t stream = 0,
                  Threads threads = {1}) {
  const Literal key = literal_of<std::int64_t>({}, {seed});
  const QuantizeAttrs attrs{.format = std::string(name_of(format)), .stream = stream};
  return run(op::quantize, {x, key}, pack(attrs), threads)[0];
}

TEST(StochasticQuantize, IsWithinTwiceTheErrorAndKeepsWhatIsNoNumber) {
  for (QuantFormat format : all_formats) {
    for (DType dtype : float_dtypes) {
      for (const Data& data : all_data) {
        SCOPED_TRACE(about(format, dtype, data, 650));
        const Literal x = made(data, dtype, 650);
        const std::vector<double> before = values_of(x),
                                  after = values_of(dequantized(format, at_random(format, x, 5), x));
        for (std::size_t i = 0; i < before.size(); ++i) {
          const std::size_t first = i / quant_block * quant_block;
          double largest = 0;
          for (std::size_t k = first; k < std::min(first + quant_block, before.size()); ++k) {
            if (std::isfinite(before[k])) largest = std::max(largest, std::abs(before[k]));
          }
          if (!std::isfinite(before[i])) {
            ASSERT_TRUE(std::isnan(before[i]) ? std::isnan(after[i]) : after[i] == before[i]) << i;
            continue;
          }
          const double grid = facts_of(format).is_whole() ? float_range(dtype).smallest / 2 : 0;
          const long double bound =
              static_cast<long double>(quantization_error(format, dtype, true, true)) * largest + grid;
          ASSERT_LE(std::abs(static_cast<long double>(after[i]) - before[i]), bound)
              << i << ": " << before[i];
        }
      }
    }
  }
}

TEST(StochasticQuantize, HasTheNumberItselfAsItsMean) {
  constexpr int draws = 400;
  for (QuantFormat format : all_formats) {
    const Literal x = made(all_data[0], DType::f32, 512);
    const std::vector<double> before = values_of(x);
    std::vector<double> sum(before.size());
    for (int k = 0; k < draws; ++k) {
      const std::vector<double> after = values_of(dequantized(format, at_random(format, x, k), x));
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += after[i];
    }
    double bias = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const double off = sum[i] / draws - before[i];
      // A rounding spreads by at most half of the distance of codes: 5 deviations of the mean.
      EXPECT_LT(std::abs(off), 5 * facts_of(format).error / std::sqrt(draws))
          << name_of(format) << " " << before[i];
      bias += off;
    }
    bias /= static_cast<double>(sum.size());
    EXPECT_LT(std::abs(bias), 4 * facts_of(format).error / std::sqrt(draws * 512.0)) << name_of(format);
  }
}

TEST(StochasticQuantize, DependsOnItsKeyAndStreamAlone) {
  const Literal x = made(all_data[0], DType::f32, 1000);
  for (QuantFormat format : all_formats) {
    const Literal first = at_random(format, x, 1);
    EXPECT_EQ(bit_difference(at_random(format, x, 1), first), "");
    EXPECT_NE(bit_difference(at_random(format, x, 2), first), "");
    EXPECT_NE(bit_difference(at_random(format, x, 1, 7), first), "");
    EXPECT_NE(bit_difference(quantized(format, x), first), "");
    at_random(format, made(all_data[0], DType::f32, 70001), 1, 0, {1, 2, 3});
  }
}

TEST(StochasticQuantize, RoundsElementIByWordIOfItsStream) {
  std::vector<double> values;
  std::mt19937_64 random(3);
  for (int i = 0; i < 3000; ++i) values.push_back(i % 128 == 0 ? 127 : 120 * uniform(random));  // M is 127
  const Literal x = literal_of(DType::f32, {3000}, values);
  const std::vector<double> after =
      values_of(dequantized(QuantFormat::int8, at_random(QuantFormat::int8, x, 9, 4), x));
  const std::vector<double> before = values_of(x);
  const Philox philox{9};
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::uint32_t word = philox(i / 4, rounding_stream(4))[i % 4];
    const double below = std::floor(before[i]);
    const double want = below + (static_cast<double>(unit_float(word)) < before[i] - below ? 1 : 0);
    ASSERT_NEAR(after[i], want, 1e-4) << i;
  }
}

// ---- The caller's mistakes.

TEST(Quantize, SaysWhatIsWrongWithACall) {
  const auto error = [](ErrorCode code, const std::function<void(Builder&)>& f) { return error_of(code, f); };
  EXPECT_THAT(
      error(ErrorCode::bad_attribute,
            [](Builder& b) {
              b.call1(op::quantize, {b.input({DType::f32, {4}})}, pack(QuantizeAttrs{.format = "int3"}));
            }),
      HasSubstr("there is no format \"int3\""));
  EXPECT_THAT(error(ErrorCode::dtype_mismatch,
                    [](Builder& b) {
                      quantize(b.input({DType::i32, {4}}), QuantFormat::int8);
                    }),
              HasSubstr("operand 0 is i32"));
  EXPECT_THAT(error(ErrorCode::dtype_mismatch,
                    [](Builder& b) {
                      const Var x = b.input({DType::f32, {4}});
                      quantize(x, QuantFormat::int8, x);
                    }),
              HasSubstr("a key, for stochastic rounding"));
  EXPECT_THAT(error(ErrorCode::shape_mismatch,
                    [](Builder& b) {
                      const Var bytes = quantize(b.input({DType::f32, {4}}), QuantFormat::int8);
                      dequantize(bytes, QuantFormat::int8, {DType::f32, {5}});
                    }),
              HasSubstr("expected: u8[9]"));
  EXPECT_THAT(error(ErrorCode::bad_attribute,
                    [](Builder& b) {
                      dequantize(b.input({DType::u8, {8}}), QuantFormat::int8, {DType::i32, {4}});
                    }),
              HasSubstr("dtype i32"));
  EXPECT_THAT(error(ErrorCode::bad_attribute,
                    [](Builder& b) {
                      dequantize(b.input({DType::u8, {8}}), QuantFormat::int8, {DType::f32, {-4}});
                    }),
              HasSubstr("sizes of 0 or more"));
}

}  // namespace
}  // namespace tidemark
