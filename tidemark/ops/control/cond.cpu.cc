#include <algorithm>

#include "tidemark/ops/control/loop_cpu.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

void run(const KernelArgs& args) {
  std::byte** in = ScratchPieces(args).take_pointers(args.in.size() + args.out.size());
  std::byte** out = in + args.in.size() - 1;
  for (std::size_t i = 1; i < args.in.size(); ++i) in[i - 1] = args.in[i].data;
  for (std::size_t r = 0; r < args.out.size(); ++r) out[r] = args.out[r].data;
  args.regions[fetch<std::byte>(args, args.in[0].data) == std::byte{0} ? 1 : 0](in, out);
}

Cost cost(const Call& call) {
  if (call.planned.size() < 2) return {.bytes = bytes_moved(call), .work = WorkKind::opaque};
  const RegionFacts &a = call.planned[0], &b = call.planned[1];
  return {.flops = std::max(a.flops, b.flops),
          .bytes = std::max(a.bytes_moved, b.bytes_moved),
          .work = WorkKind::opaque,
          .seconds = std::max(a.seconds, b.seconds)};
}

std::int64_t scratch(const Call& call) {
  return static_cast<std::int64_t>(8 * (call.in.size() + call.out.size()));
}

// Which branch it is.
HostReads host_reads(const Call&) { return {.operands = {0}}; }

}  // namespace

const CpuKernel cpu::cond =
    cpu_kernel<NoAttrs>(run, {.cost = cost, .scratch = scratch, .host_reads = host_reads});

}  // namespace tidemark
