#include "tidemark/ops/normalization/group_norm.h"
#include "tidemark/ops/normalization/normalize_cpu.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

using Kernels = NormKernels<group_norm_form>;

const CpuKernel cpu::group_norm = Kernels::forward(run_channel_norm);
const CpuKernel cpu::group_norm_grad = Kernels::gradient(run_channel_norm_grad);
const CpuKernel cpu::group_norm_params = Kernels::parameters(run_channel_norm_params);

}  // namespace tidemark
