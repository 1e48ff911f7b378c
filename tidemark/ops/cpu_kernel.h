// The CPU implementation of an op: the function, and how its attributes are unpacked once before a plan runs.
//   const CpuKernel cpu::slice = cpu_kernel<SliceAttrs>(run_slice);     // in slice.cpu.cc
#pragma once
#include <memory>

#include "tidemark/base/attrs.h"
#include "tidemark/ir/target.h"
#include "tidemark/kernel/args.h"
#include "tidemark/kernel/tile.h"

namespace tidemark {

struct FusedReduction;                   // kernel/fused.h
void run_fused(const KernelArgs& args);  // likewise

struct CpuKernel {
  void (*run)(const KernelArgs&) = nullptr;
  std::shared_ptr<const void> (*prepare)(const Call&) = nullptr;  // what KernelArgs::attributes points at
  TileCode (*tile)(const Call&) = nullptr;                        // of calls whose fusion is pointwise
  FusedReduction (*reduction)(const Call&) = nullptr;  // of calls whose fusion is reduction; no places
  ExecutionFacts facts = {};                           // what the planner knows of it
};

template <class A>
constexpr CpuKernel cpu_kernel(void (*run)(const KernelArgs&), TileCode (*tile)(const Call&) = nullptr) {
  return {run,
          [](const Call& call) -> std::shared_ptr<const void> {
            return std::make_shared<const A>(unpack<A>(*call.attrs));
          },
          tile};
}

// One call as a program of one instruction.
std::shared_ptr<const void> prepare_tile(const Call& call, TileCode code);

// The kernel of a pointwise op: alone or in a group, `tile` does the work.
template <TileCode (*tile)(const Call&)>
constexpr CpuKernel tile_kernel() {
  return {run_fused,
          [](const Call& call) -> std::shared_ptr<const void> { return prepare_tile(call, tile(call)); },
          tile};
}

}  // namespace tidemark
