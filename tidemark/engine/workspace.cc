#include "tidemark/engine/workspace.h"

#include <algorithm>
#include <thread>

#include "tidemark/base/error.h"
#include "tidemark/engine/device_allocation.h"

namespace tidemark {
namespace {

thread_local std::vector<const Workspace*> running_here;  // innermost last

}  // namespace

// Whoever reads a result keeps the lane, and so does a result for which there is no memory of its own.
Workspace::~Workspace() {
  for (const std::shared_ptr<Lane>& lane : lanes_) {
    try {
      materialize_lent(*lane);
    } catch (const DeviceError&) {
    }
    lane->arguments.reset();
  }
}

std::size_t Workspace::arenas() const {
  const std::lock_guard lock(mutex_);
  return lanes_.size();
}

// Copying takes its time and happens without the lock.
void Workspace::materialize_lent(Lane& lane) {
  std::vector<std::shared_ptr<Storage>> lent;
  {
    const std::lock_guard lock(mutex_);
    for (const std::weak_ptr<Storage>& result : lane.lent) {
      if (auto storage = result.lock()) lent.push_back(std::move(storage));
    }
  }
  for (const std::shared_ptr<Storage>& storage : lent) storage->materialize();
  const std::lock_guard lock(mutex_);
  moved_.insert(moved_.end(), lent.begin(), lent.end());
  lane.lent.clear();
  if (moved_.size() > 2 * live_moved_ + 64) forget_expired();
}

void Workspace::forget_expired() {
  std::erase_if(moved_, [](const std::weak_ptr<Storage>& result) { return result.expired(); });
  live_moved_ = moved_.size();
}

Workspace::Held Workspace::held(std::span<const Tensor> inputs) {
  const std::lock_guard lock(mutex_);
  forget_expired();
  Held held;
  const auto add = [&](const std::weak_ptr<Storage>& result) {
    const std::shared_ptr<Storage> storage = result.lock();
    if (!storage || storage->device() != device_->id() ||  // a call elsewhere was given it, and it moved
        std::ranges::any_of(inputs, [&](const Tensor& input) { return input.storage() == storage; }))
      return;
    ++held.count;
    held.bytes += storage->bytes();
    if (!storage->is_materialized()) held.in_arena += storage->bytes();
  };
  for (const std::shared_ptr<Lane>& lane : lanes_) std::ranges::for_each(lane->lent, add);
  std::ranges::for_each(moved_, add);
  return held;
}

std::shared_ptr<Workspace::Lane> Workspace::take(SourceLine where) {
  const std::size_t most =
      concurrency_ == Concurrency::turns ? 1 : std::max(1U, std::thread::hardware_concurrency());
  std::unique_lock lock(mutex_);
  for (;; freed_.wait(lock)) {
    // A call from inside a call: others may be waiting for this very thread.
    bool inside = !running_here.empty(), inside_this = std::ranges::count(running_here, this) > 0;
    std::shared_ptr<Lane> free;  // if possible one that needs no waiting for readers
    for (const std::shared_ptr<Lane>& lane : lanes_) {
      if (lane->read_by_this_thread()) {
        inside = inside_this = true;
      } else if (!lane->taken && (!free || free->being_read())) {
        free = lane;
      }
    }
    const bool may_add = lanes_.size() < most || (inside && concurrency_ == Concurrency::side_by_side);
    if (may_add && (!free || free->being_read())) {
      free = std::make_shared<Lane>();
      free->device = device_;
      free->number = lanes_.size();
      lanes_.push_back(free);
    }
    if (free) {
      free->taken = true;
      return free;
    }
    if (inside_this) {
      fail(ErrorCode::memory_in_use,
           {.what = "a compiled function with a budget was called from inside a call that needs its memory",
            .where = where,
            .help = "compile a second function for the inner call: it has memory of its own"});
    }
  }
}

Workspace::Lease::Lease(Workspace& workspace, SourceLine where)
    : workspace_(workspace), lane_(workspace.take(where)) {
  running_here.push_back(&workspace);
}

Workspace::Lease::~Lease() {
  running_here.pop_back();
  {
    const std::lock_guard lock(workspace_.mutex_);
    lane_->taken = false;
  }
  workspace_.freed_.notify_one();
}

void Workspace::count_arena(std::size_t memory, std::int64_t bytes) {
  (memory == 0 ? bytes_ : further_bytes_) += bytes;
  if (is_disk(memory)) disk_bytes_ += bytes;
}

void Workspace::Lease::reserve(std::span<const std::int64_t> bytes) const {
  std::vector<std::unique_ptr<Arena>>& arenas = lane_->arenas;
  if (arenas.size() < bytes.size()) arenas.resize(bytes.size());
  for (std::size_t m = 0; m < bytes.size(); ++m) {
    std::unique_ptr<Arena>& arena = arenas[m];
    if (arena && arena->bytes() >= bytes[m]) continue;
    if (m == 0) move_results_out();
    if (arena) workspace_.count_arena(m, -arena->bytes());
    arena.reset();  // before the larger one is asked for: never both
    ++lane_->generation;
    const int memory = workspace_.is_disk(m) ? workspace_.disk_.memory->number : static_cast<int>(m);
    arena = std::make_unique<Arena>(*lane_->device, bytes[m], memory);
    workspace_.count_arena(m, bytes[m]);
  }
}

void Workspace::Lease::release() const {
  move_results_out();
  for (std::size_t m = 0; m < lane_->arenas.size(); ++m) {
    std::unique_ptr<Arena>& arena = lane_->arenas[m];
    if (!arena) continue;
    workspace_.count_arena(m, -arena->bytes());
    arena.reset();
  }
  ++lane_->generation;
  drop_arguments();
}

void Workspace::Lease::drop_arguments() const {
  if (!lane_->arguments) return;
  workspace_.argument_bytes_ -= lane_->arguments->bytes();
  lane_->arguments.reset();
}

Address Workspace::Lease::reserve_arguments(std::int64_t bytes, std::int64_t most) const {
  const std::int64_t has = lane_->arguments ? lane_->arguments->bytes() : 0;
  if (bytes > has || has > std::max(bytes, most)) {
    drop_arguments();
    lane_->arguments = std::make_unique<Arena>(*lane_->device, bytes);
    workspace_.argument_bytes_ += bytes;
  }
  return lane_->arguments ? lane_->arguments->base() : Address{};
}

std::vector<Arena*> Workspace::Lease::arenas() const {
  std::vector<Arena*> list;
  for (const std::unique_ptr<Arena>& arena : lane_->arenas) list.push_back(arena.get());
  return list;
}

std::shared_ptr<Storage> Workspace::Lease::lend(Address at, std::int64_t bytes) const {
  std::shared_ptr<Storage> storage;
  if (is_host(*lane_->device)) {
    storage = std::make_shared<Storage>(host_pointer(at), bytes, lane_);
  } else {
    storage = std::make_shared<Storage>(std::make_shared<DeviceStretch>(lane_->device, at, bytes), lane_);
  }
  const std::lock_guard lock(workspace_.mutex_);
  lane_->lent.push_back(storage);
  return storage;
}

void Workspace::Lease::move_results_out() const {
  workspace_.materialize_lent(*lane_);
  lane_->wait_for_readers();
}

}  // namespace tidemark
