// Tiles of the rows of families `arithmetic` and `predicate` for floats, once per SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/scalar/elementwise_arithmetic.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/scalar/elementwise_tiles-inl.h"
#include "tidemark/ops/scalar/elementwise_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {

Tile find_arithmetic_tile(Row row, DType compute) {
#define TM_UNARY_TILE_arithmetic(name, Formula) \
  case Row::name:                               \
    return float_unary<formula::Formula>(compute);
#define TM_UNARY_TILE_math(...)
#define TM_UNARY_TILE_logical(...)
#define TM_BINARY_TILE_arithmetic(name, Formula) \
  case Row::name:                                \
    return float_binary<formula::Formula>(compute);
#define TM_BINARY_TILE_predicate(name, Formula) \
  case Row::name:                               \
    return float_predicate<formula::Formula>(compute);
#define TM_BINARY_TILE_math(...)
#define TM_BINARY_TILE_logical(...)
#define TM_UNARY(name, Formula, family, ...) TM_UNARY_TILE_##family(name, Formula)
#define TM_BINARY(name, Formula, family, ...) TM_BINARY_TILE_##family(name, Formula)
  switch (row) {
#include "tidemark/ops/scalar/elementwise.def"
    default:
      return nullptr;
  }
#undef TM_UNARY_TILE_arithmetic
#undef TM_UNARY_TILE_math
#undef TM_UNARY_TILE_logical
#undef TM_BINARY_TILE_arithmetic
#undef TM_BINARY_TILE_predicate
#undef TM_BINARY_TILE_math
#undef TM_BINARY_TILE_logical
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
HWY_EXPORT(find_arithmetic_tile);

Tile arithmetic_tile(Row row, DType compute) {
  return is_float(compute) ? HWY_DYNAMIC_DISPATCH(find_arithmetic_tile)(row, compute)
                           : integer_tile(row, compute);
}
Tile predicate_tile(Row row, DType compute) { return arithmetic_tile(row, compute); }

}  // namespace tidemark
#endif
