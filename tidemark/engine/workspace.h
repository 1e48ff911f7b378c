// The memory that all plans of one compiled function run in, one at a time: as large as the largest of them,
// so that functions called with several shapes hold no more than one. Results stay in it until the next run
// needs the room; what of them is still held then counts beside the plan (Workspace::held).
//
// Threads that call the function at once either take turns, so that a budget is kept whatever happens, or run
// side by side, each in an arena of its own: no more of them than the machine has cores. Arenas stay for
// later calls.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tidemark/runtime/arena.h"
#include "tidemark/trace/storage.h"
#include "tidemark/trace/tensor.h"

namespace tidemark {

enum class Concurrency { turns, side_by_side };

// A disk that the device has for one function: the last memory of its plans.
struct WorkspaceDisk {
  std::shared_ptr<const DiskMemory> memory = {};  // null: there is none
  std::size_t number = 0;                         // of that memory, in plans
};

class Workspace {
 public:
  class Lease;

  explicit Workspace(std::shared_ptr<Device> device, Concurrency concurrency = Concurrency::turns,
                     WorkspaceDisk disk = {})
      : device_(std::move(device)), concurrency_(concurrency), disk_(std::move(disk)) {}
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  Device& device() const { return *device_; }
  std::int64_t bytes() const { return bytes_.load(); }                    // of all arenas of the first memory
  std::int64_t further_bytes() const { return further_bytes_.load(); }    // of those of others
  std::int64_t disk_bytes() const { return disk_bytes_.load(); }          // of these, on the device's disk
  std::int64_t argument_bytes() const { return argument_bytes_.load(); }  // for those that lie elsewhere
  std::size_t arenas() const;

  // The results handed out by all calls so far that someone still holds. `inputs` of the call to come are
  // left out: its plan counts them.
  struct Held {
    std::int64_t count = 0, bytes = 0;
    std::int64_t in_arena = 0;  // of the bytes: those that have not moved out yet
  };
  Held held(std::span<const Tensor> inputs = {});

 private:
  // An arena, with one in each further memory that plans use. Only who has taken it touches it, but for what
  // the workspace's mutex guards.
  struct Lane : Lender {
    std::shared_ptr<Device> device;  // whose memory the arena is
    std::size_t number = 0;
    std::vector<std::unique_ptr<Arena>> arenas;  // by memory
    std::unique_ptr<Arena> arguments;            // copies of those that lie elsewhere; null: none so far
    int generation = 0;
    bool taken = false;                        // under the mutex
    std::vector<std::weak_ptr<Storage>> lent;  // under the mutex: results not moved out yet
  };
  std::shared_ptr<Lane> take(SourceLine where);
  bool is_disk(std::size_t memory) const { return disk_.memory && memory == disk_.number; }
  void count_arena(std::size_t memory, std::int64_t bytes);  // less than 0: it is given back
  void materialize_lent(Lane& lane);
  void forget_expired();  // under the mutex

  const std::shared_ptr<Device> device_;
  const Concurrency concurrency_;
  const WorkspaceDisk disk_;
  std::atomic<std::int64_t> bytes_{0}, further_bytes_{0}, disk_bytes_{0}, argument_bytes_{0};
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable freed_;
  std::vector<std::shared_ptr<Lane>> lanes_;
  std::vector<std::weak_ptr<Storage>> moved_;  // results that were moved out
  std::size_t live_moved_ = 0;                 // of these, when the others were last forgotten
};

// The use of an arena for one run, on one thread.
class Workspace::Lease {
 public:
  // As soon as one is free. Throws Error at `where` when only this thread itself could set it free: a
  // function that takes turns was called from inside a call that needs its memory.
  Lease(Workspace& workspace, SourceLine where);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // At least so much of each memory; before anything else. Growing moves the arena.
  void reserve(std::span<const std::int64_t> bytes) const;
  void release() const;  // all of it, for others to have: the next run reserves anew
  Arena& arena() const { return *lane_->arenas.front(); }
  std::vector<Arena*> arenas() const;                   // by memory
  std::size_t number() const { return lane_->number; }  // of the arena among the workspace's
  int generation() const {
    return lane_->generation;
  }  // changes when the arena moves: what was prepared for it is void

  const std::shared_ptr<Device>& device() const { return lane_->device; }
  // Memory of the device for arguments of this run that lie elsewhere: at least so many bytes. What earlier
  // runs left is kept unless it is more than both these and `most`, which the budget leaves.
  Address reserve_arguments(std::int64_t bytes, std::int64_t most) const;

  // A result of this run, which lies in the arena until it is moved out or someone takes a pointer (see
  // Storage).
  std::shared_ptr<Storage> lend(Address at, std::int64_t bytes) const;
  void move_results_out() const;  // those of earlier runs; waits for whoever reads one just now

 private:
  void drop_arguments() const;

  Workspace& workspace_;
  const std::shared_ptr<Lane> lane_;
};

}  // namespace tidemark
