#include "tidemark/ops/normalization/layer_norm.h"
#include "tidemark/ops/normalization/normalize_cpu.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

using Kernels = NormKernels<layer_norm_form>;

const CpuKernel cpu::layer_norm = Kernels::forward(run_norm);
const CpuKernel cpu::layer_norm_grad = Kernels::gradient(run_norm_grad);
const CpuKernel cpu::layer_norm_params = Kernels::parameters(run_norm_params);

}  // namespace tidemark
