// x.at(…): a window on a tensor. Reading it gives a tensor; assigning to it makes a new version of the tensor it was
// taken from, also through windows on windows: x.at(1).at(2) = v writes x[1, 2].
#pragma once
#include <vector>

#include "tidemark/trace/tensor.h"

namespace tidemark {

class TensorView {
 public:
  TensorView(Tensor& base, std::span<const Index> indices);
  TensorView(const TensorView&) = default;  // another window on the same tensor

  TensorView at(const Index& i0, const Index& i1 = {}, const Index& i2 = {}, const Index& i3 = {},
                const Index& i4 = {}, const Index& i5 = {}, const Index& i6 = {}, const Index& i7 = {}) const;
  const Shape& shape() const { return shape_; }

  Tensor read(SourceLine where) const;
  operator Tensor() const { return read(where_); }  // NOLINT: implicit by design
  double item() const { return read(where_).item(where_); }
  std::vector<double> to_vector() const { return read(where_).to_vector(where_); }

  TensorView& operator=(const Operand& value);
  TensorView& operator=(const TensorView& value) { return *this = Operand(value, where_); }
  TensorView& operator+=(const Operand& value);
  TensorView& operator-=(const Operand& value);
  TensorView& operator*=(const Operand& value);
  TensorView& operator/=(const Operand& value);

 private:
  explicit TensorView(Tensor& base);  // all of it
  TensorView narrowed(std::span<const Index> indices) const;

  Tensor* base_;
  Dims start_, count_, step_;  // the window in the base's dimensions
  std::vector<bool> visible_;  // which of them the window still has
  Shape shape_;                // count_ of the visible ones
  SourceLine where_;           // of the indices
};

}  // namespace tidemark
