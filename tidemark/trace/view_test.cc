#include "tidemark/trace/view.h"

#include <gtest/gtest.h>

#include <optional>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

Tensor counting(const Shape& shape) { return reshape(arange(element_count(shape), DType::f64), shape); }

TEST(View, ReadsPositionsAndRanges) {
  const Tensor x = counting({3, 4});
  EXPECT_EQ(x.at(1).to_vector(), (std::vector<double>{4, 5, 6, 7}));
  EXPECT_EQ(x.at(1, 2).item(), 6);
  EXPECT_EQ(x.at(-1, -1).item(), 11);
  EXPECT_EQ(x.at(all, 0).to_vector(), (std::vector<double>{0, 4, 8}));
  EXPECT_EQ(x.at(Range{0, 3, 2}, Range{1, -1}).to_vector(), (std::vector<double>{1, 2, 9, 10}));
  EXPECT_EQ(x.at(Range{2, 1}).shape(), (Shape{0, 4}));
}

TEST(View, AssigningMakesANewVersionAndLeavesCopiesAlone) {
  Tensor x = counting({2, 3});
  const Tensor before = x;
  x.at(0, 1) = 10;
  EXPECT_EQ(x.to_vector(), (std::vector<double>{0, 10, 2, 3, 4, 5}));
  EXPECT_EQ(before.to_vector(), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  x.at(all, Range{0, to_the_end, 2}) = x.at(all, Range{0, to_the_end, 2}) * 2;
  EXPECT_EQ(x.to_vector(), (std::vector<double>{0, 10, 4, 6, 4, 10}));
}

TEST(View, WritesThroughWindowsOnWindows) {
  Tensor x = counting({2, 2, 4});
  x.at(1).at(Range{0, 2}).at(1, Range{0, 4, 2}) = 0;
  EXPECT_EQ(x.at(1, 1).to_vector(), (std::vector<double>{0, 13, 0, 15}));
  x.at(0).at(0) += 1;
  EXPECT_EQ(x.at(0, 0).to_vector(), (std::vector<double>{1, 2, 3, 4}));
}

TEST(View, BroadcastsWhatIsAssigned) {
  Tensor x = zeros({2, 3}, DType::f64);
  x.at(all) = tensor<double>({1, 2, 3});
  EXPECT_EQ(x.to_vector(), (std::vector<double>{1, 2, 3, 1, 2, 3}));
}

TEST(View, MutationIsDifferentiated) {
  const auto f = [](Tensor x) {
    Tensor y = x * 2;
    y.at(0) = x.at(1) * x.at(1);
    y += x;
    return sum(y);
  };
  EXPECT_EQ(grad(f)(tensor<double>({3, 5})).to_vector(), (std::vector<double>{1, 13}));
}

TEST(View, NamesTheIndexAndTheLineWhenOutOfRange) {
  Tensor x = counting({2, 3});
  try {
    x.at(0, 3) = 1;
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::index_out_of_range);
    EXPECT_NE(std::string(error.what()).find("index 3 is out of range for a dimension of size 3"),
              std::string::npos);
    EXPECT_NE(std::string(error.what()).find("view_test.cc:"), std::string::npos);
  }
  EXPECT_THROW(x.at(0, 0, 0), Error);
  EXPECT_THROW(x.at(Range{0, 3, -1}), Error);
}

TEST(View, OfATemporaryOwnsItsValues) {
  const auto row = softmax(zeros({2, 4}, DType::f64), 1).at(0);
  const std::vector<Tensor> others(8, full({2, 4}, 7, DType::f64));  // takes the memory if it was let go
  EXPECT_EQ(row.to_vector(), (std::vector<double>{0.25, 0.25, 0.25, 0.25}));
  const auto element = (counting({3, 4}) * 2).at(1).at(2);
  EXPECT_EQ(element.item(), 12);
  static_assert(std::is_same_v<decltype(counting({2}).at(0)), Tensor>);
  static_assert(std::is_same_v<decltype(std::declval<const Tensor&>().at(0)), Tensor>);
}

TEST(View, OutlivesTheTensorItWasTakenFrom) {
  const auto last_row = [](int rows) {
    Tensor local = counting({rows, 2});
    return local.at(-1);
  };
  const auto row = last_row(3);
  const std::vector<Tensor> others(8, full({3, 2}, 7, DType::f64));
  EXPECT_EQ(row.to_vector(), (std::vector<double>{4, 5}));
  std::optional<TensorView> kept;
  {
    Tensor x = counting({2, 2});
    kept.emplace(x.at(1));
  }
  EXPECT_EQ(kept->to_vector(), (std::vector<double>{2, 3}));
  EXPECT_THROW(std::move(*kept) = 1, Error);
}

TEST(View, ANameKeepsTheValuesItWasGiven) {
  Tensor x = counting({2, 2});
  const auto row = x.at(1);
  x *= 10;
  EXPECT_EQ(row.to_vector(), (std::vector<double>{2, 3}));
  x.at(1) = row + 1;
  EXPECT_EQ(x.to_vector(), (std::vector<double>{0, 10, 3, 4}));
  x.at(1, 0) += 1;
  EXPECT_EQ(row.to_vector(), (std::vector<double>{2, 3}));
  EXPECT_EQ(x.at(1).to_vector(), (std::vector<double>{4, 4}));
  const auto f = [](Tensor y) {  // and while it is traced
    const auto before = y.at(0);
    y.at(0) = 100;
    return before + y.at(0);
  };
  EXPECT_EQ(compile(f)(tensor<double>({1, 2})).item(), 101);
  EXPECT_EQ(f(tensor<double>({1, 2})).item(), 101);
}

TEST(View, ANameDoesNotWrite) {
  static_assert(!std::is_assignable_v<TensorView&, double>);
  static_assert(!std::is_assignable_v<TensorView&, const TensorView&>);
  static_assert(!std::is_assignable_v<TensorView&, const Tensor&>);
  static_assert(std::is_assignable_v<TensorView&&, double>);
  static_assert(std::is_assignable_v<TensorView&&, const TensorView&>);
}

TEST(View, ChainsOfAssignmentsReadFromTheRight) {
  Tensor x = counting({3});
  x.at(0) = x.at(1) = 5;
  EXPECT_EQ(x.to_vector(), (std::vector<double>{5, 5, 2}));
  x.at(2) = x.at(0);
  EXPECT_EQ(x.to_vector(), (std::vector<double>{5, 5, 5}));
}

}  // namespace
}  // namespace tidemark
