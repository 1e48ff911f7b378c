#include "tidemark/ops/cpu_kernel.h"

#include "tidemark/kernel/fused.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {

std::shared_ptr<const void> prepare_tile(const Call& call, TileCode code) {
  std::vector<TensorRef> operands;
  FusedStep step{.code = std::move(code),
                 .in = {},
                 .out = {GroupRef::result, 0},
                 .dtype = call.out[0].dtype,
                 .shape = call.out[0].shape};
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const int number = static_cast<int>(i);
    operands.push_back(
        {.dtype = call.in[i].dtype, .shape = call.in[i].shape, .strides = operand_strides(call, number)});
    step.in.push_back({GroupRef::operand, number});
  }
  return std::make_shared<const FusedProgram>(call.out[0].shape, operands,
                                              std::vector<FusedStep>{std::move(step)});
}

bool takes_any_strides(const Call&, int) { return true; }
Fusion is_pointwise(const Call&) { return Fusion::pointwise; }

}  // namespace tidemark
