// Checks that ops share. Each check throws the caller's mistake with the op's name and the user's line.
#pragma once
#include "tidemark/base/error.h"
#include "tidemark/ir/op.h"

namespace tidemark {

void require_operands(const Call& call, int count);
void require_dtype(const Call& call, int operand, DTypeSet set);
void require_data_dtype(const Call& call, int operand);   // one of Op::dtypes
void require_index_dtype(const Call& call, int operand);  // i32 or i64
void require_same_dtype(const Call& call, int a, int b);
void require_rank(const Call& call, std::string_view attribute, const Dims& given,
                  int rank);  // one entry per dimension
void require_axis(const Call& call, std::int64_t axis, int rank);
void require_axes(const Call& call, const Dims& axes, int rank);  // ascending, distinct, in range

// The strides an operand will have when the call runs.
Strides operand_strides(const Call& call, int operand);

}  // namespace tidemark
