#include "tidemark/ops/normalization/layer_norm.h"
#include "tidemark/ops/normalization/normalize.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel cpu::layer_norm = norm_kernel<layer_norm_form>(run_norm);
const CpuKernel cpu::layer_norm_grad = norm_kernel<layer_norm_form>(run_norm_grad);
const CpuKernel cpu::layer_norm_params = norm_kernel<layer_norm_form>(run_norm_params);

}  // namespace tidemark
