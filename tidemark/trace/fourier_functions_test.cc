// Against the sums that define the transforms, in f64.
#include "tidemark/trace/fourier_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "tests/support/errors.h"
#include "tests/support/finite_differences.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::code_of;
using testing::expect_gradient;
using Number64 = std::complex<double>;
using Numbers = std::vector<Number64>;

Tensor ripples(const Shape& shape, DType dtype = DType::f64) {
  const Tensor x = arange(element_count(shape), DType::f64);
  return cast(reshape(sin(x * 1.37 + 0.4) * 1.5 + cos(x * x * 0.61), shape), dtype);
}
Numbers numbers_of(const Tensor& z) {
  const std::vector<double> parts = z.to_vector();
  Numbers list;
  for (std::size_t i = 0; i < parts.size(); i += 2) list.emplace_back(parts[i], parts[i + 1]);
  return list;
}

// Σⱼ x_j e^(sign·2πi jk/n) for every row of n.
Numbers naive(const Numbers& x, std::int64_t n, int sign) {
  Numbers roots, y;
  for (std::int64_t k = 0; k < n; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    roots.emplace_back(std::cos(angle), sign * std::sin(angle));
  }
  for (std::size_t row = 0; row < x.size(); row += static_cast<std::size_t>(n)) {
    for (std::int64_t k = 0; k < n; ++k) {
      double re = 0, im = 0;
      for (std::int64_t j = 0, at = 0; j < n; ++j, at = (at + k) % n) {
        const Number64 a = x[row + static_cast<std::size_t>(j)], w = roots[static_cast<std::size_t>(at)];
        re += a.real() * w.real() - a.imag() * w.imag();
        im += a.real() * w.imag() + a.imag() * w.real();
      }
      y.emplace_back(re, im);
    }
  }
  return y;
}
// The largest difference over the largest number.
double distance(const Numbers& a, const Numbers& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0, size = 1e-30;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return most / size;
}
double distance(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  return distance(Numbers(x.begin(), x.end()), Numbers(y.begin(), y.end()));
}

std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> list;
  for (std::int64_t n = 1; n <= 40; ++n) list.push_back(n);
  for (std::int64_t n : {62, 74, 97, 128, 194, 210, 256, 257, 272, 500, 1009, 1156}) list.push_back(n);
  return list;
}

TEST(Fourier, TransformsAreTheSumsThatDefineThem) {
  for (const auto& [dtype, bound] : {std::pair(DType::f64, 4e-15), std::pair(DType::f32, 2e-6)}) {
    for (std::int64_t n : lengths()) {
      const Tensor z = ripples({3, n, 2}, dtype), x = ripples({3, n}, dtype);
      const Numbers zs = numbers_of(z), spectrum = naive(zs, n, -1);
      EXPECT_LT(distance(numbers_of(fft(z)), spectrum), bound) << n;
      Numbers back = naive(zs, n, 1);
      for (Number64& number : back) number /= static_cast<double>(n);
      EXPECT_LT(distance(numbers_of(ifft(z)), back), bound) << n;
      const std::vector<double> values = x.to_vector();
      const Numbers whole = naive(Numbers(values.begin(), values.end()), n, -1);
      Numbers half;
      for (std::int64_t row = 0; row < 3; ++row) {
        for (std::int64_t k = 0; k <= n / 2; ++k)
          half.push_back(whole[static_cast<std::size_t>(row * n + k)]);
      }
      const Tensor y = rfft(x);
      EXPECT_EQ(y.shape(), (Shape{3, n / 2 + 1, 2}));
      EXPECT_LT(distance(numbers_of(y), half), bound) << n;
      EXPECT_EQ(numbers_of(y)[0].imag(), 0);
      EXPECT_LT(distance(irfft(y, {.length = n}), x), bound) << n;
      EXPECT_LT(distance(ifft(fft(z)), z), bound) << n;
    }
  }
}

TEST(Fourier, LongTransformsAreTheSumsThatDefineThem) {
  const Tensor z = ripples({4096, 2});
  const Numbers spectrum = naive(numbers_of(z), 4096, -1);
  EXPECT_LT(distance(numbers_of(fft(z)), spectrum), 4e-15);
  EXPECT_LT(distance(numbers_of(fft(cast(z, DType::f32))), spectrum), 2e-6);
  for (std::int64_t n : {4096, 9973, 10000, 65536}) {
    const Tensor x = ripples({n});
    EXPECT_LT(distance(irfft(rfft(x), {.length = n}), x), 4e-15) << n;
    EXPECT_LT(distance(ifft(fft(ripples({n, 2}))), ripples({n, 2})), 4e-15) << n;
  }
}

TEST(Fourier, NormsAreNumPys) {
  for (std::int64_t n : {6, 7}) {
    const Tensor z = ripples({n, 2}), x = ripples({n});
    const double count = static_cast<double>(n), root = std::sqrt(count);
    EXPECT_LT(distance(fft(z, {.norm = FourierNorm::ortho}), fft(z) / root), 1e-15);
    EXPECT_LT(distance(fft(z, {.norm = FourierNorm::forward}), fft(z) / count), 1e-15);
    EXPECT_LT(distance(ifft(z, {.norm = FourierNorm::forward}), ifft(z) * count), 1e-15);
    EXPECT_LT(distance(rfft(x, {.norm = FourierNorm::ortho}), rfft(x) / root), 1e-15);
    for (FourierNorm norm : {FourierNorm::backward, FourierNorm::ortho, FourierNorm::forward}) {
      EXPECT_LT(distance(irfft(rfft(x, {.norm = norm}), {.length = n, .norm = norm}), x), 1e-15);
      EXPECT_LT(distance(ifft(fft(z, {.norm = norm}), {.norm = norm}), z), 1e-15);
    }
    // Parseval: with `ortho` nothing becomes longer or shorter.
    EXPECT_NEAR(sum(square(fft(z, {.norm = FourierNorm::ortho}))).item(), sum(square(z)).item(), 1e-12);
  }
}

TEST(Fourier, RunsAlongAnyAxisAndOverAnyLength) {
  const Tensor z = ripples({3, 4, 5, 2}), x = ripples({3, 4, 5});
  for (int axis : {0, 1, 2}) {
    Dims order = {0, 1, 2}, pairs = {0, 1, 2, 3};
    std::swap(order[axis], order[2]);
    std::swap(pairs[axis], pairs[2]);
    EXPECT_EQ(fft(z, {.axis = axis}).to_vector(), transpose(fft(transpose(z, pairs)), pairs).to_vector());
    EXPECT_EQ(fft(z, {.axis = axis - 3}).to_vector(), fft(z, {.axis = axis}).to_vector());
    const Tensor y = rfft(x, {.axis = axis});
    EXPECT_EQ(y.to_vector(), transpose(rfft(transpose(x, order)), pairs).to_vector());
    EXPECT_LT(distance(irfft(y, {.axis = axis, .length = x.shape()[axis]}), x), 1e-15);
  }
  EXPECT_EQ(fft(z, {.length = 3}).to_vector(), fft(slice(z, {0, 0, 0, 0}, {3, 4, 3, 2})).to_vector());
  EXPECT_EQ(rfft(x, {.length = 8}).to_vector(), rfft(pad(x, {0, 0, 0}, {0, 0, 3})).to_vector());
  EXPECT_EQ(irfft(rfft(x, {.axis = 1}), {.axis = 1}).shape(), (Shape{3, 4, 5}));
  EXPECT_EQ(irfft(rfft(x), {.length = 9}).shape(), (Shape{3, 4, 9}));
}

TEST(Fourier, SeveralAxesAreOneAfterTheOther) {
  const Tensor x = ripples({2, 3, 4, 6}), z = ripples({3, 4, 5, 2});
  const Tensor plane = fft(rfft(x), {.axis = 2});
  EXPECT_LT(distance(rfftn(x), plane), 1e-15);
  EXPECT_LT(distance(irfftn(rfftn(x)), x), 1e-15);
  const Tensor space = rfftn(x, {.axes = {1, 2, 3}});
  EXPECT_LT(distance(space, fft(plane, {.axis = 1})), 1e-15);
  EXPECT_LT(distance(irfftn(space, {.axes = {1, 2, 3}, .norm = FourierNorm::backward}), x), 1e-15);
  EXPECT_LT(distance(irfftn(rfftn(x, {.axes = {3, 1}}), {.axes = {3, 1}, .last_length = 3}), x), 1e-15);
  EXPECT_LT(distance(ifftn(fftn(z, {.axes = {0, 1, 2}}), {.axes = {0, 1, 2}}), z), 1e-15);
  EXPECT_LT(distance(fftn(z), fft(fft(z), {.axis = 1})), 1e-15);
  EXPECT_NEAR(sum(square(fftn(z, {.norm = FourierNorm::ortho}))).item(), sum(square(z)).item(), 1e-11);
}

TEST(Fourier, HasGradientsOfEveryOrder) {
  for (std::int64_t n : {1, 2, 5, 6, 37}) {
    expect_gradient([](Tensor z) { return fft(z); }, ripples({2, n, 2}));
    expect_gradient([](Tensor z) { return ifft(z, {.norm = FourierNorm::ortho}); }, ripples({n, 2}));
    expect_gradient([](Tensor x) { return rfft(x, {.axis = 0}); }, ripples({n, 2}));
    expect_gradient([n](Tensor y) { return irfft(y, {.length = n}); }, ripples({n / 2 + 1, 2}));
    // Of the power spectrum, which is not linear: second derivatives.
    const auto slope = grad([n](Tensor x) { return sum(square(square(rfft(x)))) / static_cast<double>(n); });
    expect_gradient(slope, ripples({n}), 1e-5, 1e-6);
    const auto back = grad([n](Tensor y) { return sum(square(square(irfft(y, {.length = n})))); });
    expect_gradient(back, ripples({n / 2 + 1, 2}), 1e-5, 1e-6);
  }
  expect_gradient([](Tensor x) { return irfftn(square(rfftn(x))); }, ripples({3, 4}));
  expect_gradient([](Tensor x) { return fft(x, {.length = 5}); }, ripples({3, 2}));
}

// What irfft ignores has no influence, so its gradient is 0: the imaginary parts of frequencies 0 and n/2.
TEST(Fourier, WhatTheInverseIgnoresHasNoGradient) {
  for (std::int64_t n : {6, 7, 512, 37}) {
    const Tensor y = ripples({n / 2 + 1, 2});
    const Tensor g = grad([n](Tensor u) { return sum(sin(irfft(u, {.length = n}))); })(y);
    const Numbers gradient = numbers_of(g);
    EXPECT_EQ(gradient.front().imag(), 0) << n;
    EXPECT_NE(gradient[1].imag(), 0) << n;
    if (n % 2 == 0) {
      EXPECT_EQ(gradient.back().imag(), 0) << n;
    }
    const Tensor k = arange(n / 2 + 1), inside = (k > 0) && (k * 2 < n);
    const Tensor real_ends = complex_of(real_part(y), imaginary_part(y) * cast(inside, DType::f64));
    EXPECT_EQ(irfft(y, {.length = n}).to_vector(), irfft(real_ends, {.length = n}).to_vector()) << n;
  }
}

TEST(Fourier, BitsDependNeitherOnThreadsNorOnTheBatch) {
  for (std::int64_t n : {12, 97, 256, 1009, 4096}) {
    for (DType dtype : {DType::f32, DType::f64}) {
      const Tensor z = ripples({19, n, 2}, dtype), x = ripples({19, n}, dtype);
      set_threads(1);
      const std::vector<double> one = fft(z).to_vector(), half = rfft(x).to_vector(),
                                back = irfft(rfft(x), {.length = n}).to_vector();
      for (int threads : {2, 3}) {
        set_threads(threads);
        EXPECT_EQ(fft(z).to_vector(), one) << n;
        EXPECT_EQ(rfft(x).to_vector(), half) << n;
        EXPECT_EQ(irfft(rfft(x), {.length = n}).to_vector(), back) << n;
      }
      set_threads(0);
      const std::vector<double> last = fft(slice(z, {18, 0, 0}, {19, n, 2})).to_vector();
      EXPECT_TRUE(std::equal(last.begin(), last.end(), one.end() - 2 * n)) << n;
    }
  }
}

TEST(Fourier, KeepsNanInItsOwnTransform) {
  for (std::int64_t n : {6, 7, 97, 512}) {
    std::vector<double> values = ripples({3, n}).to_vector();
    values[static_cast<std::size_t>(n + 2)] = std::numeric_limits<double>::quiet_NaN();
    const Numbers y = numbers_of(rfft(tensor(values, {3, n})));
    const auto h = static_cast<std::size_t>(n / 2 + 1);
    for (std::size_t k = 0; k < y.size(); ++k) {
      EXPECT_EQ(std::isnan(y[k].real()), k / h == 1) << n << " " << k;
    }
  }
  const double huge = std::numeric_limits<double>::max() / 64,
               tiny = std::numeric_limits<double>::denorm_min();
  for (double each : rfft(full({8}, huge, DType::f64)).to_vector()) EXPECT_TRUE(std::isfinite(each));
  EXPECT_EQ(rfft(full({8}, tiny, DType::f64)).to_vector()[0], 8 * tiny);
}

TEST(Fourier, OfHalfPrecisionIsThatOfSingleRoundedOnce) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const auto expect_rounded = [&](const auto& transform, const Tensor& wide) {
      const Tensor half = cast(wide, dtype), y = transform(half);
      EXPECT_EQ(y.dtype(), dtype);
      EXPECT_EQ(y.to_vector(), cast(transform(cast(half, DType::f32)), dtype).to_vector());
    };
    const Tensor z = cast(ripples({3, 5, 2}), DType::f32), x = cast(ripples({4, 6}), DType::f32);
    expect_rounded([](Tensor t) { return fft(t); }, z);
    expect_rounded([](Tensor t) { return ifft(t); }, z);
    expect_rounded([](Tensor t) { return fftn(t); }, z);
    expect_rounded([](Tensor t) { return ifftn(t); }, z);
    expect_rounded([](Tensor t) { return rfft(t); }, x);
    expect_rounded([](Tensor t) { return rfftn(t); }, x);
    expect_rounded([](Tensor t) { return irfft(t); }, z);
    expect_rounded([](Tensor t) { return irfftn(t); }, z);
    const Tensor slope = grad([](Tensor t) { return sum(square(rfft(t))); })(cast(x, dtype));
    EXPECT_EQ(slope.dtype(), dtype);
  }
}

TEST(Fourier, TakesEmptyBatchesAndRefusesEmptyTransforms) {
  EXPECT_EQ(fft(zeros({0, 5, 2})).shape(), (Shape{0, 5, 2}));
  EXPECT_EQ(rfft(zeros({3, 0, 6}), {.axis = 2}).shape(), (Shape{3, 0, 4, 2}));
  EXPECT_EQ(irfft(zeros({0, 4, 2})).shape(), (Shape{0, 6}));
  const auto error = [](const auto& f) { return code_of([&] { f(); }); };
  EXPECT_EQ(error([] { fft(zeros({3, 0, 2})); }), ErrorCode::bad_attribute);
  EXPECT_EQ(error([] { rfft(zeros({0})); }), ErrorCode::bad_attribute);
  EXPECT_EQ(error([] { irfft(zeros({1, 2})); }), ErrorCode::bad_attribute);
  EXPECT_EQ(irfft(zeros({1, 2}), {.length = 1}).shape(), (Shape{1}));
  EXPECT_EQ(error([] { rfft(zeros({4}), {.length = -3}); }), ErrorCode::bad_attribute);
  EXPECT_EQ(error([] { fft(zeros({4})); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(error([] { fft(scalar(1)); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(error([] { fft(zeros({2})); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(error([] { fft(zeros({4, 2}), {.axis = 1}); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(error([] { rfft(scalar(1)); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(error([] { rfft(zeros({4}, DType::i32)); }), ErrorCode::dtype_mismatch);
  EXPECT_EQ(error([] { rfftn(zeros({4, 4}), {.axes = {0, 0}}); }), ErrorCode::bad_attribute);
  EXPECT_EQ(error([] { fftn(zeros({4, 4, 2}), {.axes = {}}); }), ErrorCode::bad_attribute);
  EXPECT_NE(error([] { rfft(zeros({1, 1, 1, 1, 1, 1, 1, 4})); }), ErrorCode{0});
  try {
    fft(zeros({4}));
  } catch (const Error& mistake) {
    EXPECT_THAT(mistake.what(), ::testing::HasSubstr("fourier_functions_test.cc"));
  }
}

TEST(Fourier, ComplexNumbersArePairs) {
  const Tensor a = ripples({3, 2}), b = ripples({2, 1, 2}) * 0.7;
  const Numbers as = numbers_of(a), bs = numbers_of(b), products = numbers_of(complex_multiply(a, b));
  EXPECT_EQ(complex_multiply(a, b).shape(), (Shape{2, 3, 2}));
  for (std::size_t i = 0; i < 6; ++i) EXPECT_LT(std::abs(products[i] - as[i % 3] * bs[i / 3]), 1e-15);
  EXPECT_EQ(complex_of(real_part(a), imaginary_part(a)).to_vector(), a.to_vector());
  EXPECT_EQ(numbers_of(conjugate(a))[1], std::conj(as[1]));
  EXPECT_DOUBLE_EQ(complex_abs(a).to_vector()[2], std::abs(as[2]));
  EXPECT_DOUBLE_EQ(complex_abs(tensor<double>({3e300, 4e300})).item(), 5e300);
  EXPECT_EQ(grad([](Tensor z) { return complex_abs(z); })(zeros({2}, DType::f64)).to_vector(),
            (std::vector<double>{0, 0}));
  expect_gradient([&](Tensor z) { return complex_multiply(conjugate(z), b); }, a);
  expect_gradient([](Tensor z) { return complex_abs(z); }, a);
  EXPECT_EQ(complex_of(zeros({3, 1}), zeros({2})).shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(code_of([] { complex_abs(zeros({3})); }), ErrorCode::shape_mismatch);
}

// Convolution by transforms, inside a budget: the same gradient as without one.
TEST(Fourier, RunsInsideABudget) {
  const Tensor x = ripples({64, 256}), kernel = ripples({256});
  const auto loss = [&](Tensor u) {
    Tensor v = u;
    for (int i = 0; i < 4; ++i) v = tanh(irfft(complex_multiply(rfft(v), rfft(kernel))) * 0.1);
    return sum(square(v));
  };
  const auto free = compile(grad(loss));
  const std::vector<double> wanted = free(x).to_vector();
  auto tight = compile(grad(loss), {.memory = Bytes(free.plan().peak().count * 85 / 100)});
  EXPECT_EQ(tight(x).to_vector(), wanted);
}

}  // namespace
}  // namespace tidemark
