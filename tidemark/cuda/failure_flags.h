// What calls that can fail say of their operands while the GPU runs them (GroupPointers::failed): a number
// for each, 0 unless it found fault, and a copy of them all for the host. A call in a loop has one number for
// all of its steps: the first fault stays.
#pragma once
#include "tidemark/cuda/context.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

// Thrown where the host is about to read a value while a flag is set: what is there may be nothing, and a
// loop that goes by it might not end. Caught where the commands are run, which then find out what was wrong.
struct FlagSeen {};

class FailureFlags {
 public:
  FailureFlags(const Context& context, std::size_t count);
  ~FailureFlags();
  FailureFlags(const FailureFlags&) = delete;
  FailureFlags& operator=(const FailureFlags&) = delete;

  CUdeviceptr at(std::size_t flag) const { return device_ + 4 * flag; }
  void clear(const Stream& stream) const;
  void fetch(const Stream& stream) const;  // to be read once the stream is done
  bool any_failed(std::size_t first, std::size_t count) const;
  bool any_failed() const { return any_failed(0, count_); }

 private:
  const Context& context_;
  const std::size_t count_;
  PinnedMemory host_;
  CUdeviceptr device_ = 0;
};

}  // namespace tidemark::cuda

#endif
