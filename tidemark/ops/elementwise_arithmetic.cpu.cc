#include "tidemark/ops/elementwise_integer.h"
#include "tidemark/ops/elementwise_tiles.h"
#include "tidemark/ops/scalar_math.h"

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
Tile float_unary(DType compute) {
  return compute == DType::f32 ? unary<F, float> : compute == DType::f64 ? unary<F, double> : nullptr;
}
template <class F>
Tile float_binary(DType compute) {
  return compute == DType::f32 ? binary<F, float> : compute == DType::f64 ? binary<F, double> : nullptr;
}
template <class F>
Tile number_unary(DType compute) {
  switch (compute) {
    case DType::i32:
      return unary<F, Wrapping<std::int32_t>>;
    case DType::i64:
      return unary<F, Wrapping<std::int64_t>>;
    case DType::u8:
      return unary<F, Wrapping<std::uint8_t>>;
    default:
      return float_unary<F>(compute);
  }
}
template <class F>
Tile number_binary(DType compute) {
  switch (compute) {
    case DType::i32:
      return binary<F, Wrapping<std::int32_t>>;
    case DType::i64:
      return binary<F, Wrapping<std::int64_t>>;
    case DType::u8:
    case DType::boolean:
      return binary<F, Wrapping<std::uint8_t>>;
    default:
      return float_binary<F>(compute);
  }
}

}  // namespace

Tile arithmetic_tile(Row row, DType compute) {
  switch (row) {
    case Row::neg:
      return number_unary<formula::Neg>(compute);
    case Row::abs:
      return number_unary<formula::Abs>(compute);
    case Row::sign:
      return number_unary<formula::Sign>(compute);
    case Row::square:
      return number_unary<formula::Square>(compute);
    case Row::relu:
      return number_unary<formula::Relu>(compute);
    case Row::floor:
      return float_unary<formula::Floor>(compute);
    case Row::ceil:
      return float_unary<formula::Ceil>(compute);
    case Row::round:
      return float_unary<formula::Round>(compute);
    case Row::reciprocal:
      return float_unary<formula::Reciprocal>(compute);
    case Row::sqrt:
      return float_unary<formula::Sqrt>(compute);
    case Row::rsqrt:
      return float_unary<formula::Rsqrt>(compute);
    case Row::add:
      return number_binary<formula::Add>(compute);
    case Row::sub:
      return number_binary<formula::Sub>(compute);
    case Row::mul:
      return number_binary<formula::Mul>(compute);
    case Row::div:
      return number_binary<formula::Div>(compute);
    case Row::mod:
      return number_binary<formula::Mod>(compute);
    case Row::maximum:
      return number_binary<formula::Maximum>(compute);
    case Row::minimum:
      return number_binary<formula::Minimum>(compute);
    default:
      return nullptr;
  }
}

Tile math_tile(Row row, DType compute) {
  switch (row) {
    case Row::exp:
      return float_unary<formula::Exp>(compute);
    case Row::expm1:
      return float_unary<formula::Expm1>(compute);
    case Row::log:
      return float_unary<formula::Log>(compute);
    case Row::log1p:
      return float_unary<formula::Log1p>(compute);
    case Row::sin:
      return float_unary<formula::Sin>(compute);
    case Row::cos:
      return float_unary<formula::Cos>(compute);
    case Row::tan:
      return float_unary<formula::Tan>(compute);
    case Row::tanh:
      return float_unary<formula::Tanh>(compute);
    case Row::sigmoid:
      return float_unary<formula::Sigmoid>(compute);
    case Row::erf:
      return float_unary<formula::Erf>(compute);
    case Row::gelu:
      return float_unary<formula::Gelu>(compute);
    case Row::silu:
      return float_unary<formula::Silu>(compute);
    case Row::softplus:
      return float_unary<formula::Softplus>(compute);
    case Row::pow:
      return float_binary<formula::Pow>(compute);
    default:
      return nullptr;
  }
}

Tile predicate_tile(Row row, DType compute) {
  switch (row) {
    case Row::equal:
      return number_binary<formula::Equal>(compute);
    case Row::not_equal:
      return number_binary<formula::NotEqual>(compute);
    case Row::less:
      return number_binary<formula::Less>(compute);
    case Row::less_equal:
      return number_binary<formula::LessEqual>(compute);
    case Row::greater:
      return number_binary<formula::Greater>(compute);
    case Row::greater_equal:
      return number_binary<formula::GreaterEqual>(compute);
    default:
      return nullptr;
  }
}

Tile logical_tile(Row row, DType) {
  switch (row) {
    case Row::logical_not:
      return unary<formula::LogicalNot, bool>;
    case Row::logical_and:
      return binary<formula::LogicalAnd, bool>;
    case Row::logical_or:
      return binary<formula::LogicalOr, bool>;
    case Row::logical_xor:
      return binary<formula::LogicalXor, bool>;
    default:
      return nullptr;
  }
}

}  // namespace tidemark
