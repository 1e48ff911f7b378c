// Numbers that optimizers are given, held against what they may be when an update is made.
#pragma once
#include <string_view>

#include "tidemark/base/dtype.h"
#include "tidemark/base/source.h"

namespace tidemark::optim {

// Each throws Error `bad_attribute` that names the field; NaN is refused by all.
void require_rate(double value, std::string_view field, SourceLine where);      // finite, at least 0
void require_positive(double value, std::string_view field, SourceLine where);  // finite, above 0
void require_share(double value, std::string_view field, SourceLine where);     // at least 0, less than 1
void require_float(DType value, std::string_view field, SourceLine where);      // a floating-point dtype

}  // namespace tidemark::optim
