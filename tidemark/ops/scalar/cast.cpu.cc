#include "tidemark/ops/scalar/cast.h"

#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/cast_element.h"
#include "tidemark/ops/scalar/elementwise_facts.h"

namespace tidemark {
namespace {

template <class To, class From>
void tile(const TileArgs& args) {
  const From* x = args.operand<From>(0);
  To* z = args.result<To>();
  for (std::int64_t i = 0; i < args.n; ++i) z[i] = cast_element<To>(x[i]);
}

template <class From>
void tile_to_16_bits(const TileArgs& args) {
  const From* x = args.operand<From>(0);
  float* z = args.result<float>();
  for (std::int64_t i = 0; i < args.n; ++i) z[i] = cast_towards_16_bits(x[i]);
}

template <class From>
Tile tile_from(DType to) {
  if (compute_dtype(to) != to) return tile_to_16_bits<From>;
  switch (to) {
    case DType::f64:
      return tile<double, From>;
    case DType::i32:
      return tile<std::int32_t, From>;
    case DType::i64:
      return tile<std::int64_t, From>;
    case DType::u8:
      return tile<std::uint8_t, From>;
    case DType::boolean:
      return tile<bool, From>;
    default:
      return tile<float, From>;
  }
}

Tile tile_of(DType from, DType to) {
  switch (from) {
    case DType::f64:
      return tile_from<double>(to);
    case DType::i32:
      return tile_from<std::int32_t>(to);
    case DType::i64:
      return tile_from<std::int64_t>(to);
    case DType::u8:
      return tile_from<std::uint8_t>(to);
    case DType::boolean:
      return tile_from<bool>(to);
    default:
      return tile_from<float>(to);
  }
}

}  // namespace

const CpuKernel cpu::cast = tile_kernel<[](const Call& call) {
  return TileCode{.tile = tile_of(compute_dtype(call.in[0].dtype), call.out[0].dtype)};
}>(elementwise_facts<3>);

}  // namespace tidemark
