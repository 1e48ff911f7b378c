// x.at(…): a window on a tensor. As a value it is what the tensor holds there at the moment of at(): a name
// given to it keeps that, whatever becomes of x. Assigning to x.at(…) itself makes a new version of x, also
// through windows on windows: x.at(1).at(2) = v writes x[1, 2]. A name does not write:
//
//   auto row = x.at(1);     // row 1 of x as it is now
//   x *= 10;                // row keeps its values
//   x.at(1) = row + 1;      // writes x
//   row = 0;                // does not compile: meant for x, or for row?
#pragma once
#include <vector>

#include "tidemark/trace/tensor.h"

namespace tidemark {

class TensorView {
 public:
  TensorView(Tensor& base, std::span<const Index> indices);
  TensorView(const TensorView&) = default;  // another window on the same tensor
  // Of a tensor that is not to be written.
  static Tensor values(const Tensor& base, std::span<const Index> indices);

  TensorView at(const Index& i0, const Index& i1 = {}, const Index& i2 = {}, const Index& i3 = {},
                const Index& i4 = {}, const Index& i5 = {}, const Index& i6 = {}, const Index& i7 = {}) const;
  const Shape& shape() const { return shape_; }

  Tensor read(SourceLine where) const;
  operator Tensor() const { return read(where_); }  // NOLINT: implicit by design
  double item() const { return read(where_).item(where_); }
  std::vector<double> to_vector() const { return read(where_).to_vector(where_); }

  const TensorView& operator=(const Operand& value) &&;
  const TensorView& operator=(const TensorView& value) && {
    return std::move(*this) = Operand(value, where_);
  }
  const TensorView& operator+=(const Operand& value) &&;
  const TensorView& operator-=(const Operand& value) &&;
  const TensorView& operator*=(const Operand& value) &&;
  const TensorView& operator/=(const Operand& value) &&;
  // A name: write x.at(…) = v to change x, or declare it as a Tensor to change the name's own values.
  const TensorView& operator=(const Operand& value) & = delete;
  const TensorView& operator=(const TensorView& value) & = delete;
  const TensorView& operator+=(const Operand& value) & = delete;
  const TensorView& operator-=(const Operand& value) & = delete;
  const TensorView& operator*=(const Operand& value) & = delete;
  const TensorView& operator/=(const Operand& value) & = delete;

 private:
  TensorView(const Tensor& base, std::shared_ptr<Watch> variable);  // all of it
  TensorView narrowed(std::span<const Index> indices) const;
  Tensor& written(SourceLine where);

  Tensor base_;                      // as it was
  std::shared_ptr<Watch> variable_;  // what is written; null: nothing may be
  Dims start_, count_, step_;        // the window in the base's dimensions
  std::vector<bool> visible_;        // which of them the window still has
  Shape shape_;                      // count_ of the visible ones
  SourceLine where_;                 // of the indices
};

}  // namespace tidemark
