// The memory that all plans of one compiled function run in, one at a time: as large as the largest of them, so that
// functions called with several shapes hold no more than one. Results stay in it until the next run needs the room; what
// of them is still held then counts beside the plan (Workspace::held).
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "tidemark/runtime/arena.h"
#include "tidemark/trace/tensor.h"

namespace tidemark {

class Workspace {
 public:
  explicit Workspace(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  ~Workspace() { move_results_out(); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // At least this many bytes. Growing moves the arena: what was prepared for the last one is void.
  void reserve(std::int64_t bytes);
  std::int64_t bytes() const { return arena_ ? arena_->bytes() : 0; }
  Device& device() const { return *device_; }
  Arena& arena() { return *arena_; }
  int generation() const { return generation_; }  // 0: nothing reserved; changes when the arena moves

  // A result that lies in the arena until it is moved out or someone takes a pointer (see Storage).
  void lend(std::weak_ptr<Storage> result) { lent_.push_back(std::move(result)); }
  void move_results_out();

  // The results handed out by all calls so far that someone still holds. `inputs` of the call to come are left out: its
  // plan counts them.
  struct Held {
    std::int64_t count = 0, bytes = 0;
    std::int64_t in_arena = 0;  // of the bytes: those that have not moved out yet
  };
  Held held(std::span<const Tensor> inputs = {});

 private:
  std::shared_ptr<Device> device_;
  std::optional<Arena> arena_;
  std::vector<std::weak_ptr<Storage>> lent_;   // not moved out yet
  std::vector<std::weak_ptr<Storage>> moved_;  // and those that were
  int generation_ = 0;
};

}  // namespace tidemark
