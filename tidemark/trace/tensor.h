// Tensor: what users compute with. It either holds data or stands for a value of a function being traced; the
// same code runs at once on data and writes a graph under grad, jvp or compile. Copies are cheap and have
// value semantics: `y = x; y += 1;` leaves x alone (mutation makes a new version; the planner makes it
// in-place where that is safe). A compiled function that uses a tensor from outside reads it at every call:
// variable.h tells which variable it was.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/device_id.h"
#include "tidemark/base/error.h"
#include "tidemark/base/ids.h"
#include "tidemark/ir/type.h"
#include "tidemark/trace/variable.h"

namespace tidemark {

class Operand;
class Overwriting;
class Reading;
class Storage;
class TensorView;

inline constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();

// [start, stop) by step ≥ 1; negative positions count from the end.
struct Range {
  std::int64_t start = 0;
  std::int64_t stop = to_the_end;
  std::int64_t step = 1;
};
inline constexpr Range all{};

// One index of x.at(…): a position (the dimension disappears) or a range, with the line it was written on.
struct Index {
  Index() = default;  // not given: everything
  template <class T>
  requires std::is_integral_v<T> Index(
      T position, SourceLine at = std::source_location::current())  // NOLINT: implicit by design
      : range{static_cast<std::int64_t>(position), 0, 1}, single(true), where(at) {}
  Index(Range r, SourceLine at = std::source_location::current())
      : range(r), where(at) {}  // NOLINT: implicit by design

  Range range;
  bool single = false;
  SourceLine where;  // unknown: not given
};

class Tensor : public Variable {
 public:
  Tensor();  // empty: no shape, no data
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(const Tensor&);
  Tensor& operator=(Tensor&&) noexcept;
  ~Tensor();
  static Tensor from_storage(Type type, std::shared_ptr<Storage> storage);
  static Tensor traced(Type type, std::uint64_t trace, ValueId value);
  static Tensor of_type(Type type);  // no values: stands for an argument where only types matter (planning)

  bool empty() const { return !storage_ && trace_ == 0; }
  bool is_data() const { return storage_ != nullptr; }
  bool is_traced() const { return trace_ != 0; }

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  int rank() const { return type_.rank(); }
  std::int64_t size(int axis,
                    SourceLine where = std::source_location::current()) const;  // negative: from the end
  std::int64_t count() const { return type_.count(); }

  // Reading data. Throws for traced tensors (their values exist only when the compiled function runs), for
  // another dtype, and for tensors whose memory was donated.
  template <class T>
  std::span<const T> data(SourceLine where = std::source_location::current()) const {
    return {reinterpret_cast<const T*>(readable(dtype_of<T>, where)), static_cast<std::size_t>(count())};
  }
  // The number in a tensor of one element. Never rounded to an integer nor from one: x.item<std::int64_t>()
  // reads what a double cannot hold.
  template <class T = double>
  T item(SourceLine where = std::source_location::current()) const {
    const Number number = single(where);
    if (!number.fits<T>()) inexact(number, where);
    return number.as<T>();
  }
  // All numbers; throws for integers that a double cannot hold, which data() gives.
  std::vector<double> to_vector(SourceLine where = std::source_location::current()) const;
  // The same for the library's own readers, who need no pointer for good: the bytes stay where they are
  // meanwhile (storage.h).
  Reading read(SourceLine where = std::source_location::current()) const;
  // The bytes, wherever they are now: until the function that made them is called again.
  const std::byte* bytes(SourceLine where = std::source_location::current()) const;

  // Windows: x.at(2), x.at(all, Range{0, 4}), x.at(1).at(-1). Reading gives what x holds there at this
  // moment, assigning makes a new version of x (view.h). What cannot be assigned to, a temporary or a
  // constant, gives a tensor.
  TensorView at(const Index& i0, const Index& i1 = {}, const Index& i2 = {}, const Index& i3 = {},
                const Index& i4 = {}, const Index& i5 = {}, const Index& i6 = {}, const Index& i7 = {}) &;
  Tensor at(const Index& i0, const Index& i1 = {}, const Index& i2 = {}, const Index& i3 = {},
            const Index& i4 = {}, const Index& i5 = {}, const Index& i6 = {}, const Index& i7 = {}) const&;
  Tensor at(const Index& i0, const Index& i1 = {}, const Index& i2 = {}, const Index& i3 = {},
            const Index& i4 = {}, const Index& i5 = {}, const Index& i6 = {}, const Index& i7 = {}) &&;

  Tensor& operator+=(const Operand& other);
  Tensor& operator-=(const Operand& other);
  Tensor& operator*=(const Operand& other);
  Tensor& operator/=(const Operand& other);

  // Where the data lies; of a traced tensor, where it will.
  DeviceId device() const;

  const std::shared_ptr<Storage>& storage() const { return storage_; }
  std::uint64_t trace() const { return trace_; }
  ValueId value() const { return value_; }
  // For a compiled function to overwrite (see Storage). None: it was overwritten before, or someone reads or
  // overwrites it.
  std::optional<Overwriting> overwrite() const;
  // Throws if a compiled function was given this tensor's memory since this handle was made.
  void check_not_donated(SourceLine where) const;

 private:
  [[noreturn]] void fail_in_use(SourceLine where) const;
  const std::byte* readable(DType as, SourceLine where) const;
  Number single(SourceLine where) const;
  [[noreturn]] void inexact(const Number& number, SourceLine where) const;

  Type type_;
  std::shared_ptr<Storage> storage_;
  std::uint32_t version_ = 0;
  std::uint64_t trace_ = 0;  // serial number of the trace; 0: none
  ValueId value_;
};

// An argument of an operation: a tensor or a C++ number, with the line it was written on. C++ numbers take
// the dtype of the tensors they meet.
class Operand {
 public:
  Operand(const Tensor& tensor,
          SourceLine where = std::source_location::current())  // NOLINT: implicit by design
      : tensor_(tensor), where_(where) {}
  Operand(const TensorView& view,
          SourceLine where = std::source_location::current());  // NOLINT: implicit by design
  template <class T>
  requires std::is_arithmetic_v<T> Operand(
      T number, SourceLine where = std::source_location::current())  // NOLINT: implicit by design
      : Operand(Number(number), where) {}
  Operand(const Number& number, SourceLine where) : number_(number), is_number_(true), where_(where) {}

  bool is_number() const { return is_number_; }
  const Number& number() const { return number_; }
  const Tensor& tensor() const { return tensor_; }
  const SourceLine& where() const { return where_; }

 private:
  Tensor tensor_;
  Number number_ = 0;
  bool is_number_ = false;
  SourceLine where_;
};

}  // namespace tidemark

#include "tidemark/trace/view.h"  // completes what Tensor::at returns
