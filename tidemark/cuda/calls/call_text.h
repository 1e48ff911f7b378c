// Writes the kernels of a call: a struct of constants, and launches of bodies that are templates of it
// (cuda/device/).
#pragma once
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "tidemark/cuda/kernel_text.h"
#include "tidemark/ir/op.h"
#include "tidemark/kernel/reduce_order.h"

namespace tidemark::cuda {

// Indices of fewer bits are faster. Threads step past the end by at most all threads of a launch.
inline constexpr std::int64_t most_in_32_bits = std::int64_t{1} << 30;
inline constexpr std::int64_t most_pack_bytes = 16;

class CallText {
 public:
  // `body`: the text of cuda/device that has what is launched.
  CallText(const Call& call, std::string_view name, std::string_view body);

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(members_), format, std::forward<Args>(args)...);
    members_ += '\n';
  }
  void type(std::string_view name, DType dtype);
  void count(std::string_view name, std::int64_t value);  // an Index
  void number(std::string_view name, std::int64_t value);
  void flag(std::string_view name, bool value);
  void real(std::string_view name, double value);  // to the bit
  void widen_index() { wide_ = true; }
  // One more function from an index to an offset.
  void offset(std::string_view name, const JoinedDimensions& dimensions);

  // One more launch, of body<constants>; none of no blocks.
  void launch(std::string_view body, std::int64_t blocks, int threads, bool meets);

  KernelText finish(std::int64_t scratch_bytes = 0);

 private:
  std::string name_, header_, members_, kernels_;
  int operands_, results_;
  bool wide_ = false;
  std::vector<KernelLaunch> launches_;
};

// As many blocks as give every one of `items` a thread, with a limit, beyond which threads take turns.
std::int64_t blocks_for(std::int64_t items, int threads);

// The widest pack of elements of `size` bytes that divides `count`.
std::int64_t pack_width(std::int64_t size, std::int64_t count);

}  // namespace tidemark::cuda
