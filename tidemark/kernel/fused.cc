#include "tidemark/kernel/fused.h"

#include <algorithm>

#include "tidemark/kernel/fused_tiles.h"

namespace tidemark {

void FusedProgram::run(const KernelArgs& args) const {
  if (reduction_) {
    const TensorRef& to = args.out[static_cast<std::size_t>(reduction_->out.number)];
    return reduce_made(reduction_->reduction, shape_, reduction_->axes, to, *this, args);
  }
  const auto task = [&](std::int64_t begin, std::int64_t end) { FusedTiles(*this, args).run(begin, end); };
  if (walk_.count <= task_) {
    if (walk_.count > 0) task(0, walk_.count);
  } else {
    const std::int64_t share = walk_.count / fused::most_tasks / fused::tile_unit * fused::tile_unit;
    parallel_for(*args.pool, walk_.count, std::clamp(share, task_, fused::long_task_elements), task);
  }
}

void run_fused(const KernelArgs& args) { args.attrs<FusedProgram>().run(args); }

}  // namespace tidemark
