// The tables of docs/conventions.md, row by row, eager and compiled.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<double>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();
using Wide = std::numeric_limits<std::int64_t>;
constexpr std::int64_t odd = (std::int64_t{1} << 53) + 1;  // no double

// The result of f, the same bits eager and compiled.
template <class F, class... Args>
Tensor both(const F& f, const Args&... args) {
  const Tensor eager = f(args...), compiled = compile(f)(args...);
  EXPECT_EQ(eager.type(), compiled.type());
  EXPECT_EQ(0, std::memcmp(eager.bytes(), compiled.bytes(), static_cast<std::size_t>(eager.type().bytes())));
  return eager;
}
Values numbers(const Tensor& x) {  // NaN as 999, so that lists compare
  Values list = x.to_vector();
  for (double& v : list) v = std::isnan(v) ? 999 : v;
  return list;
}
const auto quotient = [](Tensor x, Tensor y) { return x / y; };
const auto remainder = [](Tensor x, Tensor y) { return x % y; };

TEST(Conventions, IntegersDivideDownwards) {
  const Tensor x = tensor<std::int64_t>({7, -7, 7, -7, 5, Wide::min()}),
               y = tensor<std::int64_t>({2, 2, -2, -2, 0, -1});
  EXPECT_THAT(both(quotient, x, y).data<std::int64_t>(), ElementsAre(3, -4, -4, 3, -1, Wide::min()));
  EXPECT_THAT(both(remainder, x, y).data<std::int64_t>(), ElementsAre(1, 1, -1, -1, 5, 0));
  const Tensor small = tensor<std::uint8_t>({7, 5, 255}), by = tensor<std::uint8_t>({2, 0, 255});
  EXPECT_EQ(both(quotient, small, by).to_vector(), (Values{3, 255, 1}));
  EXPECT_EQ(both(remainder, small, by).to_vector(), (Values{1, 5, 0}));
  // The same where the program is known when it is compiled.
  const auto folded = compile([](Tensor v) { return v + scalar(-7, DType::i64) / scalar(2, DType::i64); });
  EXPECT_EQ(folded(scalar(0, DType::i64)).item(), -4);
  const auto guarded = [](Tensor a, Tensor b) { return select(b != 0, a / b, 0); };
  EXPECT_EQ(both(guarded, tensor<std::int32_t>({6, 6}), tensor<std::int32_t>({0, 3})).to_vector(),
            (Values{0, 2}));
  EXPECT_TRUE(std::isnan((scalar(1) % scalar(0)).item()));
}

TEST(Conventions, WholeNumbersKeepTheirDigits) {
  const DType i64 = DType::i64;
  const auto exact = [](const Tensor& x) { return x.item<std::int64_t>(); };
  EXPECT_EQ(exact(scalar(odd, i64)), odd);
  EXPECT_EQ(exact(full({1}, odd, i64)), odd);
  EXPECT_EQ(exact(scalar(Wide::min(), i64)), Wide::min());
  EXPECT_EQ(exact(scalar(Wide::max(), i64)), Wide::max());
  EXPECT_EQ(exact(both([](Tensor x) { return x + odd; }, scalar(0, i64))), odd);
  EXPECT_EQ(exact(both([](Tensor x) { return x * 1 - odd; }, scalar(0, i64))), -odd);
  EXPECT_EQ(exact(both([](Tensor x) { return maximum(x, odd); }, scalar(0, i64))), odd);
  EXPECT_EQ(exact(both([](Tensor x) { return select(x == 0, odd, x); }, scalar(0, i64))), odd);
  EXPECT_EQ(exact(both([](Tensor x) { return clamp(x, odd, odd + 1); }, scalar(0, i64))), odd);
  EXPECT_EQ(exact(both([](Tensor x) { return clamp(x, -odd, odd); }, scalar(Wide::max(), i64))), odd);
  EXPECT_EQ(
      both([](Tensor x) { return pad(x, {1}, {0}, odd); }, tensor<std::int64_t>({1})).data<std::int64_t>()[0],
      odd);
  EXPECT_EQ(exact(both([](Tensor x) { return sum(x); }, tensor<std::int64_t>({odd, 1, -1}))), odd);
  EXPECT_EQ(exact(both([](Tensor x) { return max(x); }, tensor<std::int64_t>({odd - 1, odd}))), odd);
  EXPECT_EQ(exact(both([](Tensor x) { return prod(x); }, tensor<std::int64_t>({odd, 1}))), odd);
  EXPECT_EQ(
      both([](Tensor x) { return cumsum(x, 0); }, tensor<std::int64_t>({odd, 1})).data<std::int64_t>()[1],
      odd + 1);
  EXPECT_EQ(exact(both([](Tensor x) { return argmax(x, 0); }, tensor<std::int64_t>({odd - 1, odd}))), 1);
  EXPECT_EQ(both([](Tensor x) { return x == odd; }, tensor<std::int64_t>({odd - 1, odd})).to_vector(),
            (Values{0, 1}));
  EXPECT_EQ(both([](Tensor x) { return x < odd; }, tensor<std::int64_t>({odd - 1, odd})).to_vector(),
            (Values{1, 0}));
  EXPECT_EQ(exact(both([](Tensor x) { return matmul(x, x); }, tensor<std::int64_t>({3037000499}))),
            9223372030926249001);
  EXPECT_EQ(exact(both([](Tensor x) { return cast(cast(x, DType::i64), DType::i64); },
                       tensor<std::int64_t>({odd}))),
            odd);
  EXPECT_EQ(exact(both([](Tensor) { return scalar(odd, DType::i64) + 1; }, scalar(0))), odd + 1);  // folded
  Tensor x = zeros({2}, i64);
  x.at(1) = odd;
  EXPECT_EQ(x.data<std::int64_t>()[1], odd);
  EXPECT_EQ(to_string(scalar(odd, i64)), "9007199254740993");
  EXPECT_EQ(exact(fold_in(key(odd), 1)), exact(fold_in(key(odd), 1)));
  EXPECT_NE(exact(fold_in(key(odd), 1)), exact(fold_in(key(odd - 1), 1)));
}

TEST(Conventions, NumbersThatADtypeDoesNotHaveAreErrors) {
  const auto code = [](const std::function<void()>& f) { return testing::code_of(f); };
  const Tensor bytes = ones({2}, DType::u8), wide = scalar(odd, DType::i64);
  for (const auto& mistake : std::vector<std::function<void()>>{
           [&] { bytes + 300; }, [&] { bytes * -1; }, [&] { bytes + 0.5; }, [&] { bytes + nan; },
           [&] { wide + inf; }, [&] { wide + 1e300; }, [&] { wide + 0x1p63; },
           [&] { wide + ~std::uint64_t{0}; }, [&] { scalar(1e10, DType::i32); },
           [&] { full({2}, -1, DType::u8); }, [&] { full({2}, nan, DType::i64); },
           [&] { scalar(2, DType::boolean); }, [&] { (void)wide.item(); }, [&] { (void)wide.to_vector(); },
           [&] { (void)wide.item<float>(); }, [&] { (void)wide.item<int>(); },
           [&] { (void)scalar(0.5).item<int>(); }, [&] { linspace(0, 1, 3, DType::i64); }})
    EXPECT_EQ(code(mistake), ErrorCode::dtype_mismatch);
  EXPECT_EQ(scalar(2.5).item<float>(), 2.5f);
  EXPECT_EQ(scalar(3).item<int>(), 3);
  EXPECT_EQ(scalar(1, DType::boolean).item<bool>(), true);
}

TEST(Conventions, NaNIsTheLargest) {
  const Tensor x = tensor<float>({2, float(nan), float(inf), float(nan), -1});
  EXPECT_TRUE(std::isnan(both([](Tensor v) { return max(v); }, x).item()));
  EXPECT_TRUE(std::isnan(both([](Tensor v) { return min(v); }, x).item()));
  EXPECT_EQ(both([](Tensor v) { return argmax(v, 0); }, x).item(), 1);
  EXPECT_EQ(both([](Tensor v) { return argmin(v, 0); }, x).item(), 1);
  EXPECT_EQ(both([](Tensor v) { return argsort(v); }, x).to_vector(), (Values{4, 0, 2, 1, 3}));
  EXPECT_EQ(both([](Tensor v) { return argsort(v, 0, true); }, x).to_vector(), (Values{1, 3, 2, 0, 4}));
  EXPECT_EQ(both([](Tensor v) { return top_k(v, 3).second; }, x).to_vector(), (Values{1, 3, 2}));
  EXPECT_EQ(numbers(both([](Tensor v) { return clamp(v, 0, 1); }, x)), (Values{1, 999, 1, 999, 0}));
  EXPECT_EQ(numbers(both([](Tensor v) { return relu(v); }, x)), (Values{2, 999, inf, 999, 0}));
  EXPECT_EQ(both([](Tensor v) { return cast(v, DType::i32); }, x).to_vector(),
            (Values{2, 0, 2147483647, 0, -1}));
  EXPECT_EQ(both([](Tensor v) { return cast(v, DType::boolean); }, x).to_vector(), (Values{1, 1, 1, 1, 1}));
  EXPECT_EQ(both([](Tensor v) { return v == v; }, x).to_vector(), (Values{1, 0, 1, 0, 1}));
}

TEST(Conventions, OfEqualsTheFirstIsPicked) {
  const Tensor x = tensor<float>({1, 3, 3, -0.f, 0});
  EXPECT_EQ(both([](Tensor v) { return argmax(v, 0); }, x).item(), 1);
  EXPECT_EQ(both([](Tensor v) { return argmin(v, 0); }, x).item(), 3);
  EXPECT_EQ(both([](Tensor v) { return argsort(v); }, x).to_vector(), (Values{3, 4, 0, 1, 2}));
  EXPECT_EQ(both([](Tensor v) { return argsort(v, 0, true); }, x).to_vector(), (Values{1, 2, 0, 3, 4}));
  EXPECT_EQ(both([](Tensor v) { return top_k(v, 1).second; }, x).item(), 1);
  EXPECT_EQ(both(grad([](Tensor v) { return max(v); }), x).to_vector(), (Values{0, 0.5, 0.5, 0, 0}));
  EXPECT_EQ(both(grad([](Tensor v) { return sum(maximum(v, v + 0)); }), x).to_vector(),
            (Values{1, 1, 1, 1, 1}));
  EXPECT_EQ(both(grad([](Tensor v) { return sum(maximum(v, 3)); }), x).to_vector(),
            (Values{0, 0.5, 0.5, 0, 0}));
  EXPECT_EQ(both(grad([](Tensor v) { return sum(top_k(v, 1).first); }), x).to_vector(),
            (Values{0, 1, 0, 0, 0}));
  EXPECT_EQ(both(grad([](Tensor v) { return sum(abs(v)) + sum(relu(v)); }), x).to_vector(),
            (Values{2, 2, 2, 0, 0}));
  EXPECT_EQ(both(grad([](Tensor v) { return sum(clamp(v, 1, 3)); }), x).to_vector(), (Values{1, 1, 1, 0, 0}));
  EXPECT_EQ(both([](Tensor v) { return round(v); }, tensor<float>({0.5f, 1.5f, -2.5f})).to_vector(),
            (Values{0, 2, -2}));
}

TEST(Conventions, NothingHasSumsAndNoExtremes) {
  const Tensor x = zeros({2, 0});
  EXPECT_EQ(both([](Tensor v) { return sum(v, {1}); }, x).to_vector(), (Values{0, 0}));
  EXPECT_EQ(both([](Tensor v) { return prod(v, {1}); }, x).to_vector(), (Values{1, 1}));
  EXPECT_EQ(numbers(both([](Tensor v) { return mean(v, {1}); }, x)), (Values{999, 999}));
  EXPECT_EQ(numbers(both([](Tensor v) { return var(v, {1}); }, x)), (Values{999, 999}));
  EXPECT_EQ(both([](Tensor v) { return logsumexp(v, {1}); }, x).to_vector(), (Values{-inf, -inf}));
  EXPECT_EQ(both([](Tensor v) { return matmul(v, transpose(v)); }, x).to_vector(), (Values{0, 0, 0, 0}));
  EXPECT_EQ(both([](Tensor v) { return cumsum(v, 1); }, x).count(), 0);
  for (const auto& mistake : std::vector<std::function<void()>>{[&] { max(x, {1}); }, [&] { min(x); },
                                                                [&] { argmax(x, 1); }, [&] { argmin(x, 1); }})
    EXPECT_NE(testing::code_of(mistake), ErrorCode{0});
}

}  // namespace
}  // namespace tidemark
