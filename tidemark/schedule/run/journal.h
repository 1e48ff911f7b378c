// What a run can be resumed from, appended as it happens: who it is, which snapshots have reached their
// files, what steps decided, hashes of states, and adjoints with the place in the schedule where they hold.
// Frames carry checksums; a torn end, from a kill in the middle of a frame, is cut off.
//
// Checksums tell of damage, not of intent: what a frame says is held against the other frames, the call and
// the files as well, and a journal that contradicts them is refused. Only what a snapshot or an adjoint rests
// on counts; what was written behind the last of them is cut off, too.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tidemark/base/folder.h"
#include "tidemark/schedule/store/snapshot_header.h"

namespace tidemark::schedule {

// What a journal says, read back.
struct Journaled {
  std::string identity;  // JSON: what must be the same to go on
  std::string plan;      // JSON: the question that was answered, costs measured then and all
  std::vector<Commit> stores;
  std::optional<Commit> adjoint;  // content.action: the place in the schedule
  std::size_t log_entry_bytes = 0;
  std::vector<std::byte> log;
  std::size_t hash_words = 0;         // of each state
  std::vector<std::uint64_t> hashes;  // by state
  std::optional<Step> length;         // of a run whose length was not known before
  std::uint64_t next_generation = 1;
  std::uint64_t good_bytes = 0;  // the journal up to the last frame that counts
};

class Journal {
 public:
  // A new one, or one to be continued after what was read. Throws Error `run_directory` or `disk_full`.
  Journal(std::shared_ptr<const Folder> folder, bool durable, const Journaled* continued);

  void begin(const std::string& identity, const std::string& plan);
  void log(std::span<const std::byte> entries, std::size_t entry_bytes);  // those after what was given before
  void hashes(Step first, std::size_t words, std::span<const std::uint64_t> hashes);
  void stored(const Commit& commit);
  void adjoint(const Commit& commit);
  void length(Step steps);

 private:
  void append(char kind, std::initializer_list<std::span<const std::byte>> parts);
  [[noreturn]] void fail_write(int error) const;

  std::string path_;
  bool durable_;
  FileHandle file_;
  std::uint64_t end_ = 0;
  std::vector<std::byte> frame_;
};

inline constexpr const char* journal_name = "journal";

// What the journal must agree with.
struct JournalCall {
  std::string identity;
  Step steps = -1;          // below zero: not known before the end
  std::vector<bool> files;  // by level: whether its slots are files
};

// A hash of who a run is and what it answers, for BlockContext::run.
std::uint64_t hash_of_run(const std::string& identity, const std::string& plan);

// Nothing when there is no journal, or none that got as far as to say who it is. Throws Error `run_directory`
// for one of another run, and for one that contradicts itself or the call.
std::optional<Journaled> read_journal(const Folder& folder, const JournalCall& call);

[[noreturn]] void refuse_journal(const std::string& path, const std::string& why);

}  // namespace tidemark::schedule
