// Tiles of the rows of family `math`, once per SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/scalar/elementwise_math.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/scalar/elementwise_tiles-inl.h"
#include "tidemark/ops/scalar/elementwise_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {

Tile find_math_tile(Row row, DType compute) {
#define TM_TILE_math(...) __VA_ARGS__
#define TM_TILE_arithmetic(...)
#define TM_TILE_predicate(...)
#define TM_TILE_logical(...)
#define TM_UNARY(name, Formula, family, ...) \
  TM_TILE_##family(case Row::name : return float_unary<formula::Formula>(compute);)
#define TM_BINARY(name, Formula, family, ...) \
  TM_TILE_##family(case Row::name : return float_binary<formula::Formula>(compute);)
  switch (row) {
#include "tidemark/ops/scalar/elementwise.def"
    default:
      return nullptr;
  }
#undef TM_TILE_math
#undef TM_TILE_arithmetic
#undef TM_TILE_predicate
#undef TM_TILE_logical
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
HWY_EXPORT(find_math_tile);
Tile math_tile(Row row, DType compute) { return HWY_DYNAMIC_DISPATCH(find_math_tile)(row, compute); }
}  // namespace tidemark
#endif
