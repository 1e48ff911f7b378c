// What goes into a stream while it is recorded (RecordedGraph), as pieces: each follows those that touch its
// memory (cuda/hazards.h) and those that it is told to, and no others. So steps of a loop that have nothing
// to do with each other run side by side. While nothing is recorded, pieces are put in one after the other.
#pragma once
#include <span>
#include <vector>

#include "tidemark/cuda/context.h"
#include "tidemark/cuda/hazards.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

class Recorder {
 public:
  explicit Recorder(const Stream& stream) : stream_(stream) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // All pieces that `body` adds are recorded.
  template <class Body>
  void record(const Body& body) {
    begin();
    try {
      body();
    } catch (...) {
      is_recording_ = false;
      throw;
    }
    is_recording_ = false;
  }
  bool is_recording() const { return is_recording_; }

  std::size_t pieces() const { return ends_.size(); }  // of this recording, so far
  // What all further pieces follow besides.
  void follow_also(std::vector<std::size_t> pieces) { also_ = std::move(pieces); }
  // The next piece, which `put` puts into the stream.
  template <class Put>
  void add(std::span<const Access> accesses, const Put& put) {
    if (is_recording_) begin_piece(accesses);
    put();
    if (is_recording_) ends_.push_back(stream_.last_work());
  }

 private:
  void begin();
  void begin_piece(std::span<const Access> accesses);

  const Stream& stream_;
  bool is_recording_ = false;
  Hazards hazards_ = {};
  std::vector<std::size_t> also_ = {};
  std::vector<std::vector<CUgraphNode>> ends_ = {};  // with which each piece ends
};

}  // namespace tidemark::cuda

#endif
