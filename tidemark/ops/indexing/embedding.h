// Rows of a table by integer positions: (V, C) and (…) give (…, C). A function on take, whose gradient adds
// rows up in a fixed order, so that two runs agree to the bit.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

Var embedding(const Var& table, const Var& positions);

}  // namespace tidemark
