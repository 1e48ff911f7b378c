// Tiles of integers and truth values: plain loops, exact by nature.
#include "tidemark/ops/scalar/elementwise_integer.h"

#include "tidemark/ops/scalar/elementwise_tiles.h"
#include "tidemark/ops/scalar/scalar_math.h"

namespace tidemark {
namespace {

template <class F, class T>
void unary(const TileArgs& args) {
  const T* x = args.operand<T>(0);
  T* z = args.result<T>();
  for (std::int64_t i = 0; i < args.n; ++i) z[i] = F::value(x[i]);
}
template <class F, class T>
void binary(const TileArgs& args) {
  const T *x = args.operand<T>(0), *y = args.operand<T>(1);
  using R = decltype(F::value(*x, *y));
  R* z = args.result<R>();
  for (std::int64_t i = 0; i < args.n; ++i) z[i] = F::value(x[i], y[i]);
}

template <class F>
Tile integer_unary(DType dtype) {
  switch (dtype) {
    case DType::i32:
      return unary<F, Wrapping<std::int32_t>>;
    case DType::i64:
      return unary<F, Wrapping<std::int64_t>>;
    case DType::u8:
      return unary<F, Wrapping<std::uint8_t>>;
    default:
      return nullptr;
  }
}
template <class F>
Tile integer_binary(DType dtype) {
  switch (dtype) {
    case DType::i32:
      return binary<F, Wrapping<std::int32_t>>;
    case DType::i64:
      return binary<F, Wrapping<std::int64_t>>;
    case DType::u8:
    case DType::boolean:
      return binary<F, Wrapping<std::uint8_t>>;
    default:
      return nullptr;
  }
}

}  // namespace

Tile integer_tile(Row row, DType dtype) {
#define TM_UNARY_numbers(name, Formula) \
  case Row::name:                       \
    return integer_unary<formula::Formula>(dtype);
#define TM_UNARY_booleans(name, Formula) \
  case Row::name:                        \
    return unary<formula::Formula, bool>;
#define TM_UNARY_floats(...)
#define TM_BINARY_numbers(name, Formula) \
  case Row::name:                        \
    return integer_binary<formula::Formula>(dtype);
#define TM_BINARY_any_dtype(name, Formula) TM_BINARY_numbers(name, Formula)
#define TM_BINARY_booleans(name, Formula) \
  case Row::name:                         \
    return binary<formula::Formula, bool>;
#define TM_BINARY_floats(...)
#define TM_UNARY(name, Formula, family, dtypes, ...) TM_UNARY_##dtypes(name, Formula)
#define TM_BINARY(name, Formula, family, dtypes, ...) TM_BINARY_##dtypes(name, Formula)
  switch (row) {
#include "tidemark/ops/scalar/elementwise.def"
    default:
      return nullptr;
  }
}

Tile logical_tile(Row row, DType) { return integer_tile(row, DType::boolean); }

}  // namespace tidemark
