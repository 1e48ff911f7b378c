#include "tidemark/trace/tensor.h"

#include <fmt/ranges.h>

#include <cstring>

#include "tidemark/ir/limits.h"
#include "tidemark/trace/storage.h"
#include "tidemark/trace/trace.h"

namespace tidemark {

// Out of line, for what users compile.
Tensor::Tensor() = default;
Tensor::Tensor(const Tensor&) = default;
Tensor::Tensor(Tensor&&) noexcept = default;
Tensor& Tensor::operator=(const Tensor&) = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;
Tensor::~Tensor() = default;

const std::byte* Tensor::bytes(SourceLine where) const {
  const Reading reading = read(where);
  return at_line(where, [&] { return reading.data(); });
}

DeviceId Tensor::device() const { return storage_ ? storage_->device() : DeviceId(); }

Tensor Tensor::from_storage(Type type, std::shared_ptr<Storage> storage) {
  Tensor tensor;
  tensor.type_ = type;
  tensor.version_ = storage->version();
  tensor.storage_ = std::move(storage);
  return tensor;
}

Tensor Tensor::traced(Type type, std::uint64_t trace, ValueId value) {
  Tensor tensor;
  tensor.type_ = type;
  tensor.trace_ = trace;
  tensor.value_ = value;
  return tensor;
}

Tensor Tensor::of_type(Type type) {
  require_within_limits(type, "", {});
  constexpr std::uint64_t no_trace = ~std::uint64_t{0};  // never active, so any operation on it is refused
  return traced(type, no_trace, {});
}

std::int64_t Tensor::size(int axis, SourceLine where) const {
  const int at = axis < 0 ? axis + rank() : axis;
  if (at < 0 || at >= rank()) {
    fail(ErrorCode::index_out_of_range,
         {.what = fmt::format("axis {} of a tensor of rank {}", axis, rank()),
          .expected = rank() == 0 ? "a tensor with dimensions"
                                  : fmt::format("an axis from {} to {}", -rank(), rank() - 1),
          .where = where});
  }
  return shape()[at];
}

void Tensor::check_not_donated(SourceLine where) const {
  if (!storage_ || storage_->version() == version_) return;
  const Storage::Donation donation = storage_->donation();
  if (donation.half_written) {
    fail(ErrorCode::traced_value_read,
         {.what = fmt::format("a tensor {} was lost when a function failed that was overwriting it",
                              to_string(type_)),
          .where = where,
          .help = "begin again from a copy",
          .notes = {fmt::format("donated: {}", short_form(donation.where))}});
  }
  fail(ErrorCode::traced_value_read,
       {.what = fmt::format("a tensor {} was read after its memory was given away", to_string(type_)),
        .where = where,
        .help = "use the tensor the compiled function returned in its place, or do not donate this argument",
        .notes = {fmt::format("donated: {}", short_form(donation.where))}});
}

Reading Tensor::read(SourceLine where) const {
  if (is_traced()) {
    fail(ErrorCode::traced_value_read,
         {.what = fmt::format("the values of a traced tensor {} cannot be read", to_string(type_)),
          .expected = "a tensor that holds data",
          .where = where,
          .help =
              "it stands for a value that exists only when the function runs; return it and read the result, "
              "or use select() or cond() instead of branching on it"});
  }
  if (empty()) {
    fail(ErrorCode::traced_value_read, {.what = "an empty tensor has no values", .where = where});
  }
  std::optional<Reading> reading = Storage::read(storage_, version_);
  if (!reading) fail_in_use(where);
  if (outermost_trace != 0) note_read(*this);
  return *std::move(reading);
}

std::optional<Overwriting> Tensor::overwrite() const { return Storage::overwrite(storage_, version_); }

void Tensor::fail_in_use(SourceLine where) const {
  check_not_donated(where);
  fail(ErrorCode::memory_in_use,
       {.what =
            fmt::format("a tensor {} is read while a call on another thread overwrites it", to_string(type_)),
        .where = where,
        .help = "give each thread a tensor of its own, or do not donate that argument"});
}

const std::byte* Tensor::readable(DType as, SourceLine where) const {
  const Reading reading = read(where);
  if (as != dtype()) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("a tensor {} was read as {}", to_string(type_), name_of(as)),
          .where = where,
          .help = fmt::format("cast it: cast(x, DType::{})", name_of(as))});
  }
  return at_line(where, [&] {
    if (!reading.memory()) storage_->materialize();  // the pointer handed out must not move
    return storage_->data();
  });
}

Number Tensor::single(SourceLine where) const {
  const Reading reading = read(where);
  if (count() != 1) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("item() of a tensor {}", to_string(type_)),
                                     .expected = "exactly one element",
                                     .where = where});
  }
  return read_element(dtype(), at_line(where, [&] { return reading.data(); }));
}

void Tensor::inexact(const Number& number, SourceLine where) const {
  fail(ErrorCode::dtype_mismatch,
       {.what = fmt::format("{} in a tensor {} cannot be read as this C++ type", to_string(number),
                            to_string(type_)),
        .expected = "a type that holds it to the last digit",
        .where = where,
        .help = fmt::format(
            "read one element with item<T>(), or all of them with data<T>(), T being the type of {}",
            name_of(dtype()))});
}

std::vector<double> Tensor::to_vector(SourceLine where) const {
  const Reading reading = read(where);
  const std::byte* at = at_line(where, [&] { return reading.data(); });
  std::vector<double> values(static_cast<std::size_t>(count()));
  for (double& value : values) {
    const Number number = read_element(dtype(), at);
    if (!number.fits<double>()) inexact(number, where);
    value = number.real();
    at += size_of(dtype());
  }
  return values;
}

}  // namespace tidemark
