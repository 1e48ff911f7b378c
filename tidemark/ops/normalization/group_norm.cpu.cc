#include "tidemark/ops/normalization/group_norm.h"
#include "tidemark/ops/normalization/normalize.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel cpu::group_norm = norm_kernel<group_norm_form>(run_channel_norm);
const CpuKernel cpu::group_norm_grad = norm_kernel<group_norm_form>(run_channel_norm_grad);
const CpuKernel cpu::group_norm_params = norm_kernel<group_norm_form>(run_channel_norm_params);

}  // namespace tidemark
