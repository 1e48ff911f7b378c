// Slots as files in a directory. Writes go on in the background from buffers of their own; reads can be asked
// for ahead. Each block carries a checksum. Writes are committed in the order in which they were closed, so
// that a journal that lists the commits is always a prefix of what happened.
#pragma once
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "tidemark/base/folder.h"
#include "tidemark/schedule/store/file_remover.h"
#include "tidemark/schedule/store/io_queue.h"
#include "tidemark/schedule/store/snapshot_header.h"

namespace tidemark::schedule {

struct FileOptions {
  std::size_t block_bytes = 0;  // most blocks; larger ones are possible
  int buffers = 4;              // at least 2
  bool direct = false, durable = false;
  bool keep_dropped = false;  // until `reclaim`: a run may be resumed from before the drop
  bool unnamed = false;       // one file without a name for each level: no block is larger than `block_bytes`
};

class SnapshotFiles {
 public:
  // `folders` by level; null: not a level of files.
  SnapshotFiles(std::vector<std::shared_ptr<const Folder>> folders, const FileOptions& options,
                std::unique_ptr<IoQueue> queue);
  ~SnapshotFiles();
  SnapshotFiles(const SnapshotFiles&) = delete;

  // Called for every block, in the order of close(). What it throws comes out of the call that waited or
  // looked.
  std::function<void(const Commit&)> on_commit;
  // What the blocks that are closed from now on rest on; none: nothing.
  std::function<BlockContext()> context;

  std::span<std::byte> open(int level, std::int32_t slot, std::size_t bytes);
  void close(int level, std::int32_t slot, const Content& content);
  std::optional<std::span<const std::byte>> read(int level, std::int32_t slot);
  bool prefetch(int level, std::int32_t slot);
  void drop(int level, std::int32_t slot, bool keep);

  // An adjoint, beside the slots: its file replaces the one before when `reclaim` is called.
  std::span<std::byte> open_adjoint(std::size_t bytes) { return open(working, 0, bytes); }
  void close_adjoint(const Content& content) { close(working, 0, content); }

  void remove_adjoint(std::uint64_t generation) { remove(working, 0, generation); }

  void poll();                         // commits what has ended
  void drain();                        // commits everything; the time counts as a stall
  void reclaim(std::uint64_t before);  // removes files dropped before the file of that generation was made

  // Takes over what an earlier process has written. A file that is not there, or does not say what the commit
  // says, is a damaged snapshot.
  void adopt(const Commit& commit);
  std::optional<std::vector<std::byte>> read_adjoint(const Commit& commit) const;
  void adopt_generation(std::uint64_t next) { next_generation_ = next; }

  std::uint64_t generation() const { return next_generation_; }
  std::int64_t dropped_on(int level) const;                                            // kept all the same
  static std::string name_of(int level, std::int32_t slot, std::uint64_t generation);  // in its folder
  std::size_t staging_bytes() const;
  double stall_seconds(int level) const { return stalls_[static_cast<std::size_t>(level)]; }
  double stall_seconds() const;
  double handling_seconds() const { return handling_seconds_; }
  std::string_view io_name() const { return queue_->name(); }

 private:
  enum class Use : std::uint8_t { free, filling, writing, reading, ready, lent, orphan };
  struct Free {
    void operator()(std::byte* block) const;
  };
  struct Buffer {
    std::unique_ptr<std::byte, Free> data;
    std::size_t capacity = 0, bytes = 0;  // bytes: of the transfer
    Use use = Use::free;
    int file = -1;
    IoResult result;
  };
  struct Slot {
    enum class State : std::uint8_t { empty, open, writing, held, damaged } state = State::empty;
    Commit block;
    int buffer = -1;  // filling or writing or reading it ahead
  };
  struct Write {
    Commit commit;
    int buffer = -1;
    bool ended = false;
  };
  struct Dropped {
    int level;
    std::int32_t slot;
    std::uint64_t generation;
    std::uint64_t dropped_at;  // the generation that came next
  };

  Slot& slot_at(int level, std::int32_t slot);
  double& stall_of(int level);
  double& handling_of(int level);
  int take_buffer(int level, std::size_t bytes);
  void release_lent();
  void start_read(int level, std::int32_t slot, int buffer);
  bool look(bool wait);
  void commit_in_order();
  void remove(int level, std::int32_t slot, std::uint64_t generation);
  std::size_t transfer_bytes(std::size_t payload) const;
  std::optional<std::span<const std::byte>> checked(const Commit& block, const Buffer& buffer) const;
  const std::shared_ptr<const Folder>& folder_of(int level) const;
  FileHandle open_whole(const Commit& commit) const;
  void wait_for_writes_of(int level, std::int32_t slot);
  void submit(IoRequest request, int level, std::int32_t slot);
  [[noreturn]] void fail_write(const Commit& block, int error) const;

  std::vector<std::shared_ptr<const Folder>> folders_;  // by level
  std::vector<FileHandle> unnamed_;                     // by level
  FileOptions options_;
  std::size_t header_bytes_;
  std::vector<Buffer> buffers_;
  std::vector<std::vector<Slot>> slots_;  // by level; the last: the adjoint
  std::deque<Write> writes_;
  std::vector<Dropped> dropped_;
  std::vector<double> stalls_;
  double handling_seconds_ = 0;
  std::uint64_t next_generation_ = 1;
  FileRemover remover_;
  std::unique_ptr<IoQueue> queue_;  // last: ends before the buffers do
};

// One level of them.
class FileStore final : public Store {
 public:
  FileStore(SnapshotFiles& files, int level) : files_(files), level_(level) {}
  std::span<std::byte> open(std::int32_t slot, std::size_t bytes) override {
    return files_.open(level_, slot, bytes);
  }
  void close(std::int32_t slot, const Content& content) override { files_.close(level_, slot, content); }
  std::optional<std::span<const std::byte>> read(std::int32_t slot) override {
    return files_.read(level_, slot);
  }
  void drop(std::int32_t slot) override { files_.drop(level_, slot, true); }
  void forget(std::int32_t slot) override { files_.drop(level_, slot, false); }
  bool prefetch(std::int32_t slot) override { return files_.prefetch(level_, slot); }
  double stall_seconds() const override { return files_.stall_seconds(level_); }

 private:
  SnapshotFiles& files_;
  int level_;
};

}  // namespace tidemark::schedule
