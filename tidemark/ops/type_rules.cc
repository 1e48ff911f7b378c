#include "tidemark/ops/type_rules.h"

#include <fmt/format.h>

#include <bit>

namespace tidemark {
namespace {

std::string dtype_list(DTypeSet set) {
  std::string text;
  for (int t = 0; t < dtype_count; ++t) {
    const auto dtype = static_cast<DType>(t);
    if (set.contains(dtype)) text += (text.empty() ? "" : ", ") + std::string(name_of(dtype));
  }
  return text;
}

}  // namespace

void require_operands(const Call& call, int count) {
  if (std::ssize(call.in) == count) return;
  fail(ErrorCode::wrong_operand_count,
       {.what = fmt::format("{}: {} operands given", call.op->name, call.in.size()),
        .expected = fmt::format("{} operand{}", count, count == 1 ? "" : "s"),
        .where = call.where});
}

void require_dtype(const Call& call, int operand, DTypeSet set) {
  const DType dtype = call.in[static_cast<std::size_t>(operand)].dtype;
  if (set.contains(dtype)) return;
  fail(ErrorCode::dtype_mismatch,
       {.what = fmt::format("{}: operand {} is {}", call.op->name, operand, name_of(dtype)),
        .expected = fmt::format("{}{}", std::has_single_bit(set.bits) ? "" : "one of ", dtype_list(set)),
        .where = call.where,
        .help = "convert it with cast"});
}
void require_data_dtype(const Call& call, int operand) { require_dtype(call, operand, call.op->dtypes); }

void require_index_dtype(const Call& call, int operand) {
  const DType dtype = call.in[static_cast<std::size_t>(operand)].dtype;
  if (dtype == DType::i32 || dtype == DType::i64) return;
  fail(ErrorCode::dtype_mismatch,
       {.what = fmt::format("{}: the indices are {}", call.op->name, name_of(dtype)),
        .expected = "i32 or i64",
        .where = call.where,
        .help = "convert them with cast"});
}

void require_same_dtype(const Call& call, int a, int b) {
  const DType left = call.in[static_cast<std::size_t>(a)].dtype,
              right = call.in[static_cast<std::size_t>(b)].dtype;
  if (left == right) return;
  fail(ErrorCode::dtype_mismatch, {.what = fmt::format("{}: operand {} is {} and operand {} is {}",
                                                       call.op->name, a, name_of(left), b, name_of(right)),
                                   .expected = "equal dtypes; nothing is converted silently",
                                   .where = call.where,
                                   .help = "convert one of them with cast"});
}

void require_rank(const Call& call, std::string_view attribute, const Dims& given, int rank) {
  if (given.rank() == rank) return;
  fail(ErrorCode::bad_attribute,
       {.what =
            fmt::format("{}: {} {} has {} entries", call.op->name, attribute, to_string(given), given.rank()),
        .expected = fmt::format("{}, one per dimension of {}", rank, to_string(call.in[0].shape)),
        .where = call.where});
}

void require_axis(const Call& call, std::int64_t axis, int rank) {
  if (0 <= axis && axis < rank) return;
  fail(ErrorCode::bad_attribute,
       {.what = fmt::format("{}: axis {} of a tensor of rank {}", call.op->name, axis, rank),
        .expected = rank == 0 ? "a tensor with dimensions" : fmt::format("an axis in [0, {})", rank),
        .where = call.where});
}

void require_axes(const Call& call, const Dims& axes, int rank) {
  for (int i = 0; i < axes.rank(); ++i) {
    require_axis(call, axes[i], rank);
    if (i > 0 && axes[i] <= axes[i - 1]) {
      fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: axes {}", call.op->name, to_string(axes)),
                                      .expected = "ascending axes, each once",
                                      .where = call.where});
    }
  }
}

Strides operand_strides(const Call& call, int operand) {
  const auto k = static_cast<std::size_t>(operand);
  return call.in_strides.empty() ? dense_strides(call.in[k].shape) : call.in_strides[k];
}

}  // namespace tidemark
