#include "tidemark/kernel/copy.h"

#include <gtest/gtest.h>

#include <vector>

#include "tidemark/base/parallel.h"

namespace tidemark {
namespace {

template <class U>
TensorRef matrix(std::vector<U>& memory, DType dtype, const Shape& shape, const Strides& strides) {
  return {.data = reinterpret_cast<std::byte*>(memory.data()),
          .dtype = dtype,
          .shape = shape,
          .strides = strides};
}

// Copies a rows × columns plane that lies column by column, with room between the rows of the result.
template <class U>
void expect_transposed(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t gap) {
  std::vector<U> from(static_cast<std::size_t>(rows * columns)),
      to(static_cast<std::size_t>(rows * (columns + gap)), U(99));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<U>(i * 2654435761u >> 7);
  ThreadPool pool(2);
  copy_elements(matrix(to, dtype, {rows, columns}, {columns + gap, 1}),
                matrix(from, dtype, {rows, columns}, {1, rows}), pool);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns + gap; ++j) {
      const U expected = j < columns ? from[static_cast<std::size_t>(j * rows + i)] : U(99);
      ASSERT_EQ(to[static_cast<std::size_t>(i * (columns + gap) + j)], expected) << i << " " << j;
    }
  }
}

TEST(CopyElements, TransposesPlanesOfEverySizeAndElement) {
  for (std::int64_t rows : {2, 3, 16, 63, 64, 65, 129, 200}) {
    for (std::int64_t columns : {2, 5, 16, 31, 64, 67, 130}) {
      for (std::int64_t gap : {0, 3}) {
        expect_transposed<std::uint8_t>(DType::u8, rows, columns, gap);
        expect_transposed<std::uint16_t>(DType::bf16, rows, columns, gap);
        expect_transposed<std::uint32_t>(DType::f32, rows, columns, gap);
        expect_transposed<std::uint64_t>(DType::i64, rows, columns, gap);
      }
    }
  }
}

TEST(CopyElements, TransposesPlanesLargerThanTheCaches) {
  expect_transposed<std::uint32_t>(DType::f32, 2111, 2003, 1);
  expect_transposed<std::uint32_t>(DType::f32, 66, 65537, 0);
}

TEST(CopyElements, TransposesPlanesThatAreReadBackwards) {
  std::vector<float> from(70 * 90), to(70 * 90);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  TensorRef source = matrix(from, DType::f32, {70, 90}, {-1, 70});
  source.data += 69 * sizeof(float);
  ThreadPool pool(2);
  copy_elements(matrix(to, DType::f32, {70, 90}, {90, 1}), source, pool);
  for (std::size_t i = 0; i < 70; ++i) {
    for (std::size_t j = 0; j < 90; ++j) ASSERT_EQ(to[i * 90 + j], from[j * 70 + 69 - i]);
  }
}

}  // namespace
}  // namespace tidemark
