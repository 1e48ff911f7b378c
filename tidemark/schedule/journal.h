// What a run can be resumed from, appended as it happens: who it is, which snapshots have reached their files, what
// steps decided, hashes of states, and adjoints with the place in the schedule where they hold. Frames carry checksums;
// a torn end, from a kill in the middle of a frame, is cut off.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tidemark/schedule/store_files.h"

namespace tidemark::schedule {

// What a journal says, read back.
struct Journaled {
  std::string identity;  // JSON: what must be the same to go on
  std::string plan;      // JSON: the question that was answered, costs measured then and all
  std::vector<Commit> stores;
  std::optional<Commit> adjoint;  // content.action: the place in the schedule
  std::size_t log_entry_bytes = 0;
  std::vector<std::byte> log;
  std::vector<std::uint64_t> hashes;  // by state
  std::optional<Step> length;         // of a run whose length was not known before
  std::uint64_t next_generation = 1;
  std::uint64_t good_bytes = 0;  // the journal up to its last whole frame
};

class Journal {
 public:
  // A new one, or one to be continued after what was read. Throws Error `run_directory` or `disk_full`.
  Journal(std::string path, bool durable, const Journaled* continued);
  ~Journal();
  Journal(const Journal&) = delete;

  void begin(const std::string& identity, const std::string& plan);
  void log(std::span<const std::byte> entries, std::size_t entry_bytes);  // those after what was given before
  void hashes(Step first, std::span<const std::uint64_t> hashes);
  void stored(const Commit& commit);
  void adjoint(const Commit& commit);
  void length(Step steps);

 private:
  void append(char kind, std::initializer_list<std::span<const std::byte>> parts);

  std::string path_;
  bool durable_;
  int file_ = -1;
  std::uint64_t end_ = 0;
  std::vector<std::byte> frame_;
};

// Nothing when there is no journal, or none that got as far as to say who it is.
std::optional<Journaled> read_journal(const std::string& path);

}  // namespace tidemark::schedule
