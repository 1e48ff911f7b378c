// Negations of a run that cost nothing: (-x)·y + z is z - x·y. Signs wander through products and quotients to
// where a sum or difference takes them in. Exact for zeros and infinities too; of a NaN the sign may change.
#pragma once
#include "tidemark/kernel/fused_code.h"

namespace tidemark {

// The same values stored in the same order, by as many steps or fewer where every negated value has one
// reader.
CodeSegment without_signs(const CodeSegment& segment);

}  // namespace tidemark
