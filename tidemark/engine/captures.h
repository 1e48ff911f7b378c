// What a compiled function read from outside while it was traced, and how each call reads it again, as if the
// function ran anew. Three kinds:
//
//   a variable's tensor used in the graph   read at every call; another dtype or shape means another trace
//   its values read by C++ code (item())    the graph may depend on them: another tensor in it means another
//                                           trace
//   a tensor made inside the function       a constant of the trace: nobody else has it
//
// A variable that has ceased to exist means another trace, too: only the function itself knows where to look
// then.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tidemark/trace/tensor.h"

namespace tidemark {

class Device;

class Captures {
 public:
  Captures() = default;
  // When the trace has ended. `tensors` and `variables`: one of each per capture.
  Captures(std::span<const Tensor> tensors, std::span<const std::shared_ptr<Watch>> variables,
           std::span<const ValueRead> reads);

  // Appends the captured tensors as they are now. False, and nothing is said of `inputs`, when the trace does
  // not hold.
  bool read(std::vector<Tensor>& inputs) const;
  // Constants lie on the device from now on: no call copies them there again.
  void move_constants(const std::shared_ptr<Device>& device, SourceLine where);
  bool lost() const;                    // a variable is gone: the trace will never hold again
  std::string signature() const;        // types, and which values were read
  std::int64_t constant_bytes() const;  // without those in another library's memory

 private:
  struct Captured {
    Type type;
    std::shared_ptr<Watch> variable;  // null: a constant
    Tensor constant;
  };
  std::vector<Captured> list_;
  std::vector<ValueRead> reads_;
};

}  // namespace tidemark
