// By which what stands in for a value is measured.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

// Of the finite elements; 0 where there are none.
Var largest_magnitude(const Var& x);

}  // namespace tidemark
