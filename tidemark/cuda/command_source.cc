#include "tidemark/cuda/command_source.h"

#include "tidemark/cuda/call_source.h"
#include "tidemark/cuda/product_source.h"
#include "tidemark/cuda/target.h"

namespace tidemark::cuda {

bool has_kernel(const Command& command) {
  if (command.kind != StepKind::compute) return false;
  if (command.is_group) return true;
  const Route route = route_of(command.steps[0].call);
  return route == Route::generated || route == Route::call || route == Route::product ||
         route == Route::convolution;
}

KernelText write_command(const Command& command) {
  if (command.is_group) return write_group(command.steps);
  const Call& call = command.steps[0].call;
  const Route route = route_of(call);
  if (route == Route::call || route == Route::convolution) return write_call(call);
  if (route == Route::product) return write_product(call);
  GroupStep step{.call = call, .in = {}, .out = {{GroupRef::result, 0}}};
  for (std::size_t i = 0; i < call.in.size(); ++i)
    step.in.push_back({GroupRef::operand, static_cast<int>(i)});
  return write_group(std::span(&step, 1));
}

}  // namespace tidemark::cuda
