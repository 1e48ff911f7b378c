// How much of each sequence of a padded batch counts.
#pragma once
#include <string_view>

#include "tidemark/trace/functions.h"

namespace tidemark::nn {

// The lengths as i64. Those of no integer dtype are refused at once; one that is not from 0 to `most` is an
// error while running, where its value is known. `what` one is, in the user's words: "an LSTM: the length".
Tensor checked_lengths(std::string_view what, const Operand& lengths, std::int64_t most);

}  // namespace tidemark::nn
