// Against values computed with 40 digits (mpmath).
#include "tidemark/ops/scalar/gamma_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "tidemark/ops/scalar/elementwise_tiles.h"

namespace tidemark {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double epsilon = std::numeric_limits<double>::epsilon();

struct Known {
  double x, lgamma, digamma, polygamma[3];
};
const Known known[] = {
    {0.001,
     6.90717888538385366,
     -1000.57557193181028,
     {1000001.64253319583, -2000000002.39763216, 6000000000006.46861}},
    {0.25,
     1.28802252469807746,
     -4.22745353337626541,
     {17.1973291545071107, -129.32773993753692, 1538.7821440091884}},
    {0.5,
     0.572364942924700087,
     -1.96351002602142348,
     {4.93480220054467931, -16.82879664423432, 97.4090910340024372}},
    {0.99,
     0.00585480676470978145,
     -0.593786304055595159,
     {1.66930410107182454, -2.47031816728801907, 6.74902926652816589}},
    {1.0000001,
     -5.7721558299185071e-8,
     -0.5772155004081381,
     {1.64493382643687813, -2.4041131569253724, 6.49393691364082576}},
    {1.25,
     -0.0982718364218131615,
     -0.227453533376265408,
     {1.19732915450711074, -1.32773993753692033, 2.78214400918839602}},
    {1.4616321449683622,
     -0.121486290535849608,
     -9.24126552172942752e-17,
     {0.967672245447621255, -0.88552633796718436, 1.55099856573390644}},
    {1.46,
     -0.121485001004007429,
     -0.00158056198708345211,
     {0.969119621509887895, -0.888063042581833238, 1.55743771569054087}},
    {1.75,
     -0.084401121020485556,
     0.247472453546861164,
     {0.764101869893828721, -0.561892475596898891, 0.800349571887636797}},
    {2.5,
     0.28468287047291916,
     0.703156640645243187,
     {0.490357756100234865, -0.236204051641727403, 0.223905848817252051}},
    {3.25,
     0.935801931108725358,
     1.01699091106817904,
     {0.359798290309579875, -0.128156947139115121, 0.0904333553246557393}},
    {7.5,
     7.53436423675873296,
     1.94675748424608679,
     {0.1426158966967038, -0.0203052525366446641, 0.00577243665657869371}},
    {10,
     12.8018274800814696,
     2.25175258906672111,
     {0.105166335681685746, -0.0110498349708020675, 0.00231990130428986839}},
    {33.3,
     82.603723581654943,
     3.49046723852024278,
     {0.0304854440953388878, -0.000929290367811517282, 0.0000566508906229243529}},
    {170.5,
     704.004427734204671,
     5.13579987879470344,
     {0.00588233597957986287, -0.0000346017768046909673, 4.07076205774773588e-7}},
    {100000.0,
     1051287.70897365689,
     11.5129204649618951,
     {0.0000100000500001666667, -1.00001000005e-10, 2.0000300002e-15}},
    {1e+18, 4.04465316738928223e+19, 41.4465316738928223, {1.0e-18, -1.0e-36, 2.0e-54}},
    {1e-08,
     18.4206807381802089,
     -100000000.577215646,
     {10000000000000001.2, -1.99999999999999987e+24, 5.9999999999999995e+32}},
    {-0.25,
     1.58957531255118599,
     2.91413912021352783,
     {18.5418796476716065, 122.69736678366236, 1555.7633125348506}},
    {-0.5,
     1.2655121234846454,
     0.0364899739785765206,
     {8.93480220054467931, -0.828796644234319996, 193.409091034002437}},
    {-1.3,
     1.20247578639011133,
     2.8825405488661673,
     {14.5368762441370796, 68.5494134711621342, 768.720657199042694}},
    {-2.7,
     -0.0714070853156456877,
     -1.11534712914068961,
     {14.769375845132315, -68.9329390232637988, 768.962635115522565}},
    {-7.25,
     -7.54188344347575002,
     5.18997721495628789,
     {19.610354539293269, 124.008526036565734, 1558.5411952034045}},
    {-20.75,
     -43.1232585525022299,
     -0.0851435217341871538,
     {19.6921586563724974, -124.027320029612236, 1558.54524834775382}},
    {-33.001,
     -78.1502216911473883,
     1003.50832254095521,
     {1000003.26003164927, 2000000000.00010475, 6000000000068.92187}},
    {-1e-10,
     23.0258509299981784,
     9999999999.42278397,
     {9.99999999999999927e+19, 1.99999999999999978e+30, 5.99999999999999913e+40}},
};

// Below 0 the terms of a sum cancel at zeros of the derivatives: what counts there is the distance to them.
double cancelled(const Known& k, int order) {
  if (k.x > 0) return 0;
  return order == 0 ? 4 : order == 2 ? 32 : 0;
}

TEST(GammaFunctions, AreExactToAFewRoundings) {
  for (const Known& k : known) {
    EXPECT_NEAR(log_gamma(k.x), k.lgamma, 4 * epsilon * std::abs(k.lgamma)) << k.x;
    EXPECT_NEAR(digamma_of(k.x), k.digamma, 4 * epsilon * (std::abs(k.digamma) + cancelled(k, 0))) << k.x;
    for (int n = 1; n <= 3; ++n) {
      const double value = k.polygamma[n - 1];
      EXPECT_NEAR(polygamma_of(n, k.x), value, 5 * epsilon * (std::abs(value) + cancelled(k, n)))
          << n << " " << k.x;
    }
  }
}

TEST(GammaFunctions, KeepTheirRecurrences) {
  for (double x : {-3.3, -0.4, 0.125, 0.9, 1.5, 4.25, 9.5, 9.9375, 14.0, 15.5, 300.5}) {
    const double scale = 20 * epsilon * (std::abs(digamma_of(x)) + std::abs(1 / x) + 3);
    EXPECT_NEAR(digamma_of(x + 1), digamma_of(x) + 1 / x, scale) << x;
    for (int n : {1, 2, 4, 7, 20}) {
      const double step = (n % 2 ? -1 : 1) * std::tgamma(n + 1.0) * std::pow(x, -n - 1);
      const double size = std::abs(polygamma_of(n, x)) + std::abs(polygamma_of(n, x + 1)) + std::abs(step);
      EXPECT_NEAR(polygamma_of(n, x + 1), polygamma_of(n, x) + step, 60 * epsilon * size) << n << " " << x;
    }
  }
}

TEST(GammaFunctions, HaveTheirPolesAndLimits) {
  for (double pole : {0.0, -0.0, -1.0, -2.0, -77.0, -1e300}) {
    EXPECT_EQ(log_gamma(pole), infinity) << pole;
    EXPECT_EQ(polygamma_of(1, pole), infinity) << pole;
    if (pole == 0) continue;
    EXPECT_TRUE(std::isnan(digamma_of(pole))) << pole;
    EXPECT_TRUE(std::isnan(polygamma_of(2, pole))) << pole;
  }
  EXPECT_EQ(digamma_of(0.0), -infinity);
  EXPECT_EQ(digamma_of(-0.0), infinity);
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(digamma_of(least), -infinity);
  EXPECT_EQ(digamma_of(-least), infinity);
  EXPECT_NEAR(log_gamma(least), 744.4400719213812, 1e-12);
  EXPECT_EQ(log_gamma(infinity), infinity);
  EXPECT_EQ(log_gamma(-infinity), infinity);
  EXPECT_EQ(digamma_of(infinity), infinity);
  EXPECT_TRUE(std::isnan(digamma_of(-infinity)));
  EXPECT_TRUE(std::isnan(polygamma_of(1, -infinity)));
  EXPECT_EQ(log_gamma(1), 0);
  EXPECT_EQ(log_gamma(2), 0);
  EXPECT_DOUBLE_EQ(digamma_of(1e300), std::log(1e300));
  for (int n : {1, 2, 100}) EXPECT_EQ(std::abs(polygamma_of(n, infinity)), 0);
  EXPECT_DOUBLE_EQ(polygamma_of(1, 1e300), 1e-300);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(log_gamma(nan)) && std::isnan(digamma_of(nan)) && std::isnan(polygamma_of(3, nan)));
}

// lgamma of the C library would write its sign to a global that all threads share.
TEST(GammaFunctions, MayBeAskedByManyThreads) {
  std::vector<double> results(4);
  std::vector<std::thread> threads;
  for (double& result : results) {
    threads.emplace_back([&result] {
      for (int i = 1; i < 2000; ++i) result += log_gamma(-i - 0.5) + log_gamma(i + 0.5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (double result : results) EXPECT_EQ(result, results[0]);
}

TEST(GammaFunctions, AreRoundedOnceInF32) {
  std::vector<float> x;
  for (int i = -300; i < 300; ++i) x.push_back(static_cast<float>(i) * 0.0437f + 0.001f);
  for (Row row : {Row::lgamma, Row::digamma}) {
    std::vector<float> y(x.size());
    math_tile(row, DType::f32)({.in = {reinterpret_cast<const std::byte*>(x.data()), nullptr, nullptr},
                                .out = reinterpret_cast<std::byte*>(y.data()),
                                .n = static_cast<std::int64_t>(x.size())});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = row == Row::lgamma ? log_gamma(x[i]) : digamma_of(x[i]);
      EXPECT_EQ(y[i], static_cast<float>(exact)) << x[i];
    }
  }
}

}  // namespace
}  // namespace tidemark
