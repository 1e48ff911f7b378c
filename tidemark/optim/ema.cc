#include "tidemark/optim/ema.h"

#include "tidemark/trace/functions.h"

namespace tidemark::optim {

Tensors averaged(const Tensors& averages, const Tensors& parameters, double decay) {
  Tensors next;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool moves = is_float(parameters[i].dtype());  // an index has no mean
    next.push_back(moves ? moving_mean(averages.at(i), widened(parameters[i]), decay) : averages.at(i));
  }
  return next;
}

Tensor separate_copy(const Tensor& parameter) {
  const Tensor wide = widened(parameter);
  const bool shares = wide.is_data() && wide.storage() == parameter.storage();
  return shares ? tensor_from_bytes(wide.type(), wide.bytes()) : wide;
}

void check_decay(double decay, SourceLine where) {
  if (decay >= 0 && decay < 1) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("a moving average of decay {}", decay),
                                  .expected = "at least 0 and less than 1",
                                  .where = where});
}

}  // namespace tidemark::optim
