#include "tidemark/ops/registry.h"

namespace tidemark {

// Expanded before anything runs here.
const CpuKernel cpu::column_statistics = {};
const CpuKernel cpu::normalize_columns = {};
const CpuKernel cpu::column_slopes = {};
const CpuKernel cpu::normalize_columns_grad = {};

}  // namespace tidemark
