#include "tidemark/ops/scalar/polygamma.h"
#include "tidemark/kernel/tile.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise_facts.h"
#include "tidemark/ops/scalar/gamma_functions.h"

namespace tidemark {
namespace {

template <class T>
void polygamma_tile(const TileArgs& args) {
  const auto order = static_cast<int>(static_cast<const PolygammaAttrs*>(args.attributes)->order);
  const T* x = args.operand<T>(0);
  T* z = args.result<T>();
  for (std::int64_t i = 0; i < args.n; ++i) {
    z[i] = static_cast<T>(polygamma_of(order, static_cast<double>(x[i])));
  }
}

}  // namespace

const CpuKernel cpu::polygamma = tile_kernel<[](const Call& call) {
  return TileCode{
      .tile = compute_dtype(call.in[0].dtype) == DType::f64 ? polygamma_tile<double> : polygamma_tile<float>,
      .attributes = std::make_shared<const PolygammaAttrs>(call.attrs_as<PolygammaAttrs>())};
}>(elementwise_facts<400>);

}  // namespace tidemark
