// An operation of which only sizes and costs are declared: no kernel, no numbers. Graphs made of these can be
// planned, for studies of networks whose kernels are not here; running one is an error.
//
// Its gradient is one more opaque: it reads the gradients that arrive and, as declared, the operands and the
// results, and gives one gradient per operand.
#pragma once
#include <span>
#include <string>

#include "tidemark/ir/builder.h"

namespace tidemark {

struct OpaqueAttrs {
  std::string name;             // for reports
  double flops = 0, bytes = 0;  // bytes: moved to and from memory
  std::int64_t scratch = 0;     // bytes of workspace
  DType dtype = DType::f32;     // of the results
  IntList sizes;                // of the results, in bytes: multiples of the dtype's size
  double backward_flops = -1;   // negative: twice `flops`
  double backward_bytes = -1;   // negative: twice `bytes`
  std::int64_t backward_scratch = 0;
  bool backward_reads_operands = true, backward_reads_results = true;
  TM_FIELDS(OpaqueAttrs, name, flops, bytes, scratch, dtype, sizes, backward_flops, backward_bytes,
            backward_scratch, backward_reads_operands, backward_reads_results)
};

std::vector<Var> opaque(Builder& builder, std::span<const Var> operands, const OpaqueAttrs& attrs);

}  // namespace tidemark
