// The CPU implementation of an op: the function, and how its attributes are unpacked once before a plan runs.
//   const CpuKernel cpu::slice = cpu_kernel<SliceAttrs>(run_slice);     // in slice.cpu.cc
#pragma once
#include <memory>

#include "tidemark/base/attrs.h"
#include "tidemark/ir/op.h"
#include "tidemark/kernel/args.h"

namespace tidemark {

struct CpuKernel {
  void (*run)(const KernelArgs&) = nullptr;
  std::shared_ptr<const void> (*prepare)(const Call&) = nullptr;  // what KernelArgs::attributes points at
};

template <class A>
constexpr CpuKernel cpu_kernel(void (*run)(const KernelArgs&)) {
  return {run, [](const Call& call) -> std::shared_ptr<const void> {
            return std::make_shared<const A>(unpack<A>(*call.attrs));
          }};
}

}  // namespace tidemark
