// The tile functions of the rows of elementwise.def, by row and compute dtype. One file per family holds
// them.
#pragma once
#include "tidemark/kernel/tile.h"

namespace tidemark {

enum class Row : std::uint8_t {
#define TM_UNARY(name, ...) name,
#define TM_BINARY(name, ...) name,
#include "tidemark/ops/scalar/elementwise.def"
};

// Each knows the rows of its family; nullptr where the row does not take the dtype.
Tile arithmetic_tile(Row row, DType compute);
Tile math_tile(Row row, DType compute);
Tile predicate_tile(Row row, DType compute);
Tile logical_tile(Row row, DType compute);
Tile integer_tile(Row row, DType compute);  // i32, i64, u8 and bool of any family

}  // namespace tidemark
