// What a value has to do with the batch, if the batch is cut into `parts` micro-batches that are computed one
// after the other. It is told from two graphs of one function, traced for the whole batch and for a
// micro-batch: node for node the same, and each value is in the graph of the micro-batch what its role says.
//
//   whole      the same: it does not depend on the batch
//   batched    the micro-batch's part of it, cut along one axis
//   partial    a summand of it: the sum over the micro-batches is the value
//   complete   nothing: it follows from sums over all micro-batches and is known behind the last of them
#pragma once
#include <optional>

#include "tidemark/ir/type.h"

namespace tidemark {

// Where the parts of a value lie: its axis is (outer, parts, inner), row-major, and a micro-batch has one
// position of the middle one. The axis of an argument has them outermost (outer = 1); where (T, B) was
// merged into T·B it has not.
struct BatchLayout {
  int axis = 0;
  std::int64_t outer = 1;
  // The same all along the axis, as what was broadcast there: any cut will do.
  bool uniform = false;
  friend bool operator==(const BatchLayout&, const BatchLayout&) = default;
};

enum class BatchRole : std::uint8_t { whole, batched, partial, complete };

struct BatchClass {
  BatchRole role = BatchRole::whole;
  BatchLayout layout = {};  // of what is batched
  bool zero = false;        // whole: all zeros, as far as one can see
  bool mean = false;        // partial: of a mean that is divided when the sum is complete, and not before

  bool is(BatchRole other) const { return role == other; }
};
inline BatchClass batched_class(BatchLayout layout) { return {.role = BatchRole::batched, .layout = layout}; }
inline constexpr BatchClass partial_class{.role = BatchRole::partial};
inline constexpr BatchClass mean_class{.role = BatchRole::partial, .mean = true};
inline constexpr BatchClass complete_class{.role = BatchRole::complete};

// The one axis along which the full type is `parts` times the small one, all else being equal; none where
// there is none or more than one.
std::optional<int> batch_axis(const Type& full, const Type& small, std::int64_t parts);

// May a value of these types have this class?
bool fits(const BatchClass& c, const Type& full, const Type& small, std::int64_t parts);

// One layout that both have; a uniform one follows the other. None where they differ.
std::optional<BatchLayout> common_layout(const BatchLayout& a, const BatchLayout& b);

// Where the parts of a value come to lie when it is reshaped: from and to are the shapes for the whole batch,
// `axis` the one of `to` that grows with the batch. None where a micro-batch's part would not be a cut.
std::optional<BatchLayout> reshaped_layout(const BatchLayout& layout, const Shape& from, const Shape& to,
                                           int axis, std::int64_t parts);

// The value as (before, parts, after): what lies outside of the parts' positions and inside.
struct PartsShape {
  std::int64_t before = 1, after = 1;
};
PartsShape parts_shape(const BatchLayout& layout, const Shape& full, std::int64_t parts);

}  // namespace tidemark
