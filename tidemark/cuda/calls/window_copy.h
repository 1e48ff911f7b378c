// A window of one tensor copied to a window of another (device/movement.h): what most movement ops do.
#pragma once
#include "tidemark/cuda/calls/call_text.h"

namespace tidemark::cuda {

// Where a window lies: its first element and its strides.
struct Window {
  int number = 0;  // of the operand or the result
  std::int64_t first = 0;
  Strides strides;
};
// The part of a tensor that lies with `strides`, from `start` on, `step` apart.
Window window_of(int number, const Strides& strides, const Dims& start, const Dims& step);
Window whole_of(int number, const Strides& strides);

class WindowCopy {
 public:
  WindowCopy(const Shape& shape, DType dtype, const Window& from, const Window& to);

  // The constants, as a part of the call, and the launch.
  void write(CallText& text, std::string_view part) const;

 private:
  struct Dimension {
    std::int64_t size, from, to;  // and steps
  };
  void join(const Shape& shape);
  bool is_transposed() const;
  void choose_chunk();
  void write_chunks(CallText& text, std::string_view part) const;
  void write_tiles(CallText& text, std::string_view part) const;

  Window from_, to_;
  std::int64_t element_, count_ = 1;
  std::int64_t chunk_ = 0;             // bytes that are copied at once; 0: matrices are transposed
  std::vector<Dimension> dimensions_;  // joined where both sides step evenly
};

}  // namespace tidemark::cuda
