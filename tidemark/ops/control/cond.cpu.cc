#include "tidemark/ops/control/loop_cpu.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel cpu::cond = cpu_kernel<NoAttrs>([](const KernelArgs& args) {
  std::byte** in = ScratchPieces(args.scratch).take_pointers(args.in.size() + args.out.size());
  std::byte** out = in + args.in.size() - 1;
  for (std::size_t i = 1; i < args.in.size(); ++i) in[i - 1] = args.in[i].data;
  for (std::size_t r = 0; r < args.out.size(); ++r) out[r] = args.out[r].data;
  args.regions[*args.in[0].data == std::byte{0} ? 1 : 0](in, out);
});

}  // namespace tidemark
