// A list of up to eight sizes without a heap allocation: shapes, strides, axes. Row-major throughout.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/check.h"

namespace tidemark {

using IntList = std::vector<std::int64_t>;  // as long as it has to be; Dims are as many as dimensions

inline constexpr int max_rank = 8;

class Dims {
 public:
  constexpr Dims() = default;
  // Throws Error at `where` for more than max_rank sizes.
  Dims(std::initializer_list<std::int64_t> values, SourceLine where = std::source_location::current())
      : Dims(std::span(values.begin(), values.size()), where) {}
  explicit Dims(std::span<const std::int64_t> values, SourceLine where = std::source_location::current()) {
    if (values.size() > max_rank) rank_too_high(values.size(), where);
    for (std::int64_t v : values) sizes_[static_cast<std::size_t>(rank_++)] = v;
  }
  static Dims filled(int rank, std::int64_t value) {
    Dims d;
    for (int i = 0; i < rank; ++i) d.push_back(value);
    return d;
  }

  int rank() const { return rank_; }
  std::size_t size() const { return static_cast<std::size_t>(rank_); }
  bool empty() const { return rank_ == 0; }
  std::int64_t operator[](int i) const { return sizes_[static_cast<std::size_t>(i)]; }
  std::int64_t& operator[](int i) { return sizes_[static_cast<std::size_t>(i)]; }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }
  std::int64_t* begin() { return sizes_.data(); }
  std::int64_t* end() { return sizes_.data() + rank_; }
  std::int64_t back() const { return sizes_[static_cast<std::size_t>(rank_ - 1)]; }
  std::int64_t& back() { return sizes_[static_cast<std::size_t>(rank_ - 1)]; }

  void push_back(std::int64_t v) {
    if (rank_ == max_rank) rank_too_high(max_rank + 1, {});  // the line of the operation is added on the way
    sizes_[static_cast<std::size_t>(rank_++)] = v;
  }
  void insert(int at, std::int64_t v) {
    push_back(v);
    for (int i = rank_ - 1; i > at; --i) std::swap((*this)[i], (*this)[i - 1]);
  }
  void erase(int at) {
    for (int i = at; i + 1 < rank_; ++i) (*this)[i] = (*this)[i + 1];
    --rank_;
  }

  friend bool operator==(const Dims& a, const Dims& b) {
    return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  [[noreturn]] static void rank_too_high(std::size_t rank, SourceLine where);

  std::array<std::int64_t, max_rank> sizes_{};
  int rank_ = 0;
};

using Shape = Dims;    // sizes, each ≥ 0
using Strides = Dims;  // in elements, may be 0 (broadcast) or negative (flip)

std::int64_t element_count(const Shape& shape);  // 1 for rank 0
Strides dense_strides(const Shape& shape);       // row-major
bool is_dense(const Shape& shape,
              const Strides& strides);    // row-major; strides of size-1 dimensions do not matter
std::string to_string(const Dims& dims);  // "(2, 3)"

// Where the element lies that comes `index`-th in row-major order.
inline std::int64_t offset_at(const Shape& shape, const Strides& strides, std::int64_t index) {
  std::int64_t at = 0;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    at += index % shape[i] * strides[i];
    index /= shape[i];
  }
  return at;
}

}  // namespace tidemark
