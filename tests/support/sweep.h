// Functions of the public API fed with arguments nobody meant: sizes that are negative or whose product
// overflows, axes out of range, numbers that are none, tensors that are empty, of another dtype or rank, or
// no tensors at all. Each call must give a result or an Error that names a line of the test; never bad_alloc,
// InternalError or a crash.
#pragma once
#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <string>
#include <typeinfo>
#include <vector>

#include "tidemark/tidemark.h"

namespace tidemark::testing {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                        inf = std::numeric_limits<double>::infinity();
inline constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                              highest = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t huge = std::int64_t{1} << 40;  // no machine has so many of anything

struct Named {
  std::string name;
  Tensor tensor;
};
inline std::vector<Named> odd_tensors() {
  return {{"no tensor", Tensor()},
          {"f32[]", scalar(2)},
          {"f32[2, 3]", full({2, 3}, 0.5)},
          {"f32[0]", zeros({0})},
          {"f32[3, 0, 2]", zeros({3, 0, 2})},
          {"f64[3]", ones({3}, DType::f64)},
          {"bf16[3, 3]", ones({3, 3}, DType::bf16)},
          {"i64[3]", tensor<std::int64_t>({-1, 7, lowest})},
          {"u8[2]", ones({2}, DType::u8)},
          {"bool[2]", ones({2}, DType::boolean)},
          {"f32[1, 1, 1, 1, 1, 1, 1, 1]", ones({1, 1, 1, 1, 1, 1, 1, 1})},
          {"f32[] NaN", scalar(nan)}};
}
inline const std::vector<std::int64_t> odd_sizes = {-1, lowest, highest, huge, std::int64_t{1} << 62, 0, 1};
inline const std::vector<int> odd_axes = {
    -1, 0, 1, 7, 8, -9, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};
inline const std::vector<double> odd_numbers = {nan, inf, -inf, 1e308, -1, 0, 0.5};

// Tells its failures apart by the file that the test stands in.
class Sweep : public ::testing::Test {
 protected:
  explicit Sweep(SourceLine test = std::source_location::current()) : file_(test.file) {}

  // Calls f, which may refuse, but only with an Error on a line of the test.
  void survives(const std::string& what, const std::function<void()>& f) {
    try {
      f();
      ++accepted;
    } catch (const Error& error) {
      ++refused;
      EXPECT_THAT(std::string(error.where().file), ::testing::StrEq(std::string(file_))) << what << "\n"
                                                                                         << error.what();
      EXPECT_FALSE(error.parts().what.empty()) << what;
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": " << typeid(error).name() << ": " << error.what();
    }
  }
  void refuses(const std::string& what, ErrorCode code, const std::function<void()>& f) {
    const int before = refused;
    survives(what, [&] {
      try {
        f();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << what << "\n" << error.what();
        throw;
      }
    });
    EXPECT_EQ(refused, before + 1) << what << " was accepted";
  }

  // Every combination of odd values for the parameters of f: tensors, sizes, axes, numbers.
  template <class F>
  void sweep(const std::string& name, const F& f) {
    sweep_arguments(name, std::function(f));
  }

  int accepted = 0, refused = 0;

 private:
  template <class... Args>
  void sweep_arguments(const std::string& name, const std::function<void(Args...)>& f) {
    bind<Args...>(name, f);
  }
  template <class First, class... Rest, class F>
  void bind(const std::string& name, const F& f) {
    const auto each = [&](const std::string& value, const auto& argument) {
      const auto rest = [&](const auto&... others) { f(argument, others...); };
      if constexpr (sizeof...(Rest) == 0) {
        survives(name + " " + value, rest);
      } else {
        bind<Rest...>(name + " " + value, rest);
      }
    };
    if constexpr (std::is_same_v<First, Tensor>) {
      for (const Named& odd : tensors_) each(odd.name, odd.tensor);
    } else if constexpr (std::is_same_v<First, std::int64_t>) {
      for (std::int64_t size : odd_sizes) each(std::to_string(size), size);
    } else if constexpr (std::is_same_v<First, int>) {
      for (int axis : odd_axes) each(std::to_string(axis), axis);
    } else if constexpr (std::is_same_v<First, DType>) {
      for (int t = 0; t < dtype_count; ++t) each(std::string(name_of(DType(t))), DType(t));
    } else {
      static_assert(std::is_same_v<First, double>);
      for (double number : odd_numbers) each(std::to_string(number), number);
    }
  }

  const std::string_view file_;
  const std::vector<Named> tensors_ = odd_tensors();
};

}  // namespace tidemark::testing
