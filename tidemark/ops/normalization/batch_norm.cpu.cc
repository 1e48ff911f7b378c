#include "tidemark/ops/normalization/batch_norm.h"
#include "tidemark/ops/normalization/normalize_cpu.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

using Kernels = NormKernels<batch_norm_form>;

const CpuKernel cpu::batch_norm = Kernels::forward(run_channel_norm);
const CpuKernel cpu::batch_norm_grad = Kernels::gradient(run_channel_norm_grad);
const CpuKernel cpu::batch_norm_params = Kernels::parameters(run_channel_norm_params);

}  // namespace tidemark
