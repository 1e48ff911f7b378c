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

inline constexpr int call_threads = 256;  // of a block, where nothing else is better

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

  // Constants between the two are those of a part of the call, which has launches of its own.
  void begin_part(std::string_view part);
  void end_part();

  // One more launch, of body<constants>, those of a part if one is named; none of no blocks.
  void launch(std::string_view body, std::int64_t blocks, int threads, bool meets,
              std::string_view part = "");

  // Likewise, of a body whose threads take turns at so many items and never wait for each other.
  void launch_turns(std::string_view body, std::int64_t items, std::string_view part = "");
  // From now on such bodies in a row are one launch: none of them needs what another does.
  void join_turns() { joins_turns_ = true; }

  KernelText finish() const;

 private:
  std::string types() const;

  std::string name_, header_, members_, kernels_;
  int operands_, results_;
  bool wide_;
  bool joins_turns_ = false, last_took_turns_ = false;
  std::vector<KernelLaunch> launches_;
};

// The widest pack of elements of `size` bytes that divides `count`.
std::int64_t pack_width(std::int64_t size, std::int64_t count);

}  // namespace tidemark::cuda
