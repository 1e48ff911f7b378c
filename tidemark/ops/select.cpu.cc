#include "tidemark/kernel/elementwise.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// By element size alone: select only moves elements.
template <class T>
void tile(const TileArgs& args) {
  const bool* condition = args.operand<bool>(0);
  const T *a = args.operand<T>(1), *b = args.operand<T>(2);
  T* z = args.result<T>();
  for (std::int64_t i = 0; i < args.n; ++i) z[i] = condition[i] ? a[i] : b[i];
}

Tile tile_of_size(std::int64_t bytes) {
  switch (bytes) {
    case 1:
      return tile<std::uint8_t>;
    case 2:
      return tile<std::uint16_t>;
    case 4:
      return tile<std::uint32_t>;
    default:
      return tile<std::uint64_t>;
  }
}

}  // namespace

const CpuKernel cpu::select = cpu_kernel<NoAttrs>([](const KernelArgs& args) {
  run_elementwise(args, tile_of_size(size_of(args.out[0].dtype)), Staging::storage);
});

}  // namespace tidemark
