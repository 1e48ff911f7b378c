#include "tidemark/trace/traced_call.h"

namespace tidemark::detail {

void StandInForArguments::on_tensor(Tensor& tensor) {
  if (tensor.empty()) {
    fail(ErrorCode::structure_mismatch,
         {.what = fmt::format("argument {} holds an empty tensor", path()), .where = where_});
  }
  inputs_.push_back(tensor);
  tensor = trace_.argument(tensor.type(), path());
}

void AddOutputs::on_tensor(Tensor& tensor) {
  if (tensor.empty()) {
    fail(ErrorCode::structure_mismatch,
         {.what = fmt::format("the function's result holds an empty tensor {}", path()), .where = where_});
  }
  trace_.graph().add_output(trace_.lift(tensor, where_).id());
}

}  // namespace tidemark::detail
