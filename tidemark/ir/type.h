// The type of a value: what it holds and how large it is. Values are dense and row-major unless a plan makes
// them views.
#pragma once
#include <string>

#include "tidemark/base/dtype.h"
#include "tidemark/base/shape.h"

namespace tidemark {

struct Type {
  DType dtype = DType::f32;
  Shape shape;

  std::int64_t count() const { return element_count(shape); }
  std::int64_t bytes() const { return count() * size_of(dtype); }
  int rank() const { return shape.rank(); }
  friend bool operator==(const Type&, const Type&) = default;
};

std::string to_string(const Type& type);  // "f32[2, 3]"

}  // namespace tidemark
