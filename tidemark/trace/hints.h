// What a user can tell the planner. Results never change by a bit (but for gradients where `compress` is
// used); memory and time do. A hint without effect is reported in the plan's summary with the reason
// (docs/hints.md).
//
//   keep(x)              x is never computed a second time
//   recompute(x)         x is not stored over its longest gap between two uses, but computed again
//   checkpoint(f)(x, …)  what enters f is stored, what f makes inside is computed again when the backward
//                        pass needs it
//   compress(x, codec)   x waits for the backward pass in a smaller form: derivative rules read a copy, which
//                        is not exact but for codec::sparse. What the forward pass computes is untouched.
//   offload(x, disk)     x waits on the disk that the function was compiled with, over its longest gap
//   name(x, "h")         what summaries and errors call x
//
// Outside of grad, compile and the like, operations run at once and hints do nothing.
#pragma once
#include <optional>
#include <string>

#include "tidemark/base/bytes.h"
#include "tidemark/ops/codec/form.h"
#include "tidemark/trace/tree.h"

namespace tidemark {

// In 16, 8 and 4 bits per number; as a matrix of a low rank; without zeros, if the others are at most a share
// of all; in the body of repeat or scan, as the difference to the step before in so many bits. Errors are in
// docs/lossy.md.
namespace codec {
inline constexpr QuantFormat bf16 = QuantFormat::bf16, f16 = QuantFormat::f16;
inline constexpr QuantFormat e4m3 = QuantFormat::e4m3, e5m2 = QuantFormat::e5m2;
inline constexpr QuantFormat int8 = QuantFormat::int8, int4 = QuantFormat::int4;
constexpr LowRank low_rank(std::int64_t rank) { return {rank}; }
constexpr Sparse sparse(double share) { return {share}; }
constexpr Delta delta(QuantFormat format) { return {format}; }
}  // namespace codec

Tensor keep(const Operand& x);
Tensor recompute(const Operand& x);
Tensor compress(const Operand& x, const Form& form);
Tensor name(const Operand& x, std::string name);

// Where a value can be asked to wait.
struct Disk {};
inline constexpr Disk disk{};
Tensor offload(const Operand& x, Disk where);

struct CheckpointOptions {
  std::string name = {};             // for summaries
  std::optional<Bytes> memory = {};  // of the inside: keep what is worth most up to here, recompute the rest
};

class Trace;

namespace detail {

// What is traced during its lifetime belongs to a checkpoint of the current trace, if there is one.
class CheckpointRegion {
 public:
  CheckpointRegion(const CheckpointOptions& options, SourceLine where);
  ~CheckpointRegion();
  CheckpointRegion(const CheckpointRegion&) = delete;
  CheckpointRegion& operator=(const CheckpointRegion&) = delete;

  void add_result(const Tensor& tensor);

 private:
  Trace* trace_;
  CheckpointId id_, outer_;
};

}  // namespace detail

template <class F>
auto checkpoint(F f, CheckpointOptions options = {}, SourceLine where = std::source_location::current()) {
  return [f = std::move(f), options = std::move(options), where](auto&&... args) {
    detail::CheckpointRegion region(options, where);
    auto result = f(std::forward<decltype(args)>(args)...);
    for_each_tensor(result, [&](const std::string&, const Tensor& tensor) { region.add_result(tensor); });
    return result;
  };
}

}  // namespace tidemark
