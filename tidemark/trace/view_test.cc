#include "tidemark/trace/view.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tidemark
