#include <string_view>

#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise_facts.h"
#include "tidemark/ops/scalar/elementwise_tiles.h"

namespace tidemark {

namespace {

constexpr TileOp tile_op(std::string_view name) {
  using enum TileOp;
  constexpr std::pair<std::string_view, TileOp> known[] = {{"neg", neg},
                                                           {"abs", abs},
                                                           {"square", square},
                                                           {"relu", relu},
                                                           {"sqrt", sqrt},
                                                           {"reciprocal", reciprocal},
                                                           {"rsqrt", rsqrt},
                                                           {"add", add},
                                                           {"sub", sub},
                                                           {"mul", mul},
                                                           {"div", div},
                                                           {"maximum", maximum},
                                                           {"minimum", minimum},
                                                           {"equal", equal},
                                                           {"not_equal", not_equal},
                                                           {"less", less},
                                                           {"less_equal", less_equal},
                                                           {"greater", greater},
                                                           {"greater_equal", greater_equal},
                                                           {"logical_not", logical_not},
                                                           {"logical_and", logical_and},
                                                           {"logical_or", logical_or},
                                                           {"logical_xor", logical_xor}};
  for (const auto& [row, op] : known) {
    if (row == name) return op;
  }
  return other;
}

}  // namespace

#define TM_KERNEL(name, family, flops)                                                 \
  const CpuKernel cpu::name = tile_kernel<[](const Call& call) {                       \
    return TileCode{.tile = family##_tile(Row::name, compute_dtype(call.in[0].dtype)), \
                    .op = tile_op(#name)};                                             \
  }>(elementwise_facts<flops>);
#define TM_UNARY(name, Formula, family, dtypes, flops, ...) TM_KERNEL(name, family, flops)
#define TM_BINARY(name, Formula, family, dtypes, flops, ...) TM_KERNEL(name, family, flops)
#include "tidemark/ops/scalar/elementwise.def"

}  // namespace tidemark
