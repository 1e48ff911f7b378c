// Reads a journal back, frame by frame, and believes nothing that the call, the file or the other frames
// contradict.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>
#include <new>

#include "tidemark/base/error.h"
#include "tidemark/schedule/run/journal.h"
#include "tidemark/schedule/run/journal_frame.h"
#include "tidemark/schedule/run/run_resume.h"
#include "tidemark/schedule/run/step_log.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark::schedule {

namespace {

constexpr std::uint64_t most_text = std::uint64_t{1} << 20;         // of an identity or a plan
constexpr std::uint64_t most_generations = std::uint64_t{1} << 62;  // so that one more is always possible

// A frame from a file: true when it is whole and undamaged.
bool read_frame(int file, std::uint64_t at, std::uint64_t size, JournalFrame& frame,
                std::vector<std::byte>& payload) {
  std::size_t done = 0;
  if (read_fully(file, std::as_writable_bytes(std::span(&frame, 1)), at, done) != 0 || done < sizeof frame)
    return false;
  if (frame.bytes > size - at - sizeof frame) return false;
  payload.resize(frame.bytes);
  if (read_fully(file, payload, at + sizeof frame, done) != 0 || done < payload.size()) return false;
  return frame.kind < 128 && frame_of(static_cast<char>(frame.kind), payload).checksum == frame.checksum;
}

class JournalReader {
 public:
  JournalReader(std::string path, const JournalCall& call) : path_(std::move(path)), call_(call) {}

  // The frame ends at byte `end` of the file.
  void take(const JournalFrame& frame, std::span<const std::byte> payload, std::uint64_t end) {
    const char kind = static_cast<char>(frame.kind);
    if (kind != (frames_ == 0 ? 'I' : frames_ == 1 ? 'P' : kind)) refuse("it does not begin with who it is");
    switch (kind) {
      case 'I':
        return take_identity(payload);
      case 'P':
        return take_plan(payload, end);
      case 'L':
        return take_log(payload);
      case 'H':
        return take_hashes(payload);
      case 'S':
      case 'A':
        return take_commit(kind, payload, end);
      case 'N':
        return take_length(payload);
      default:
        refuse("it is of no known kind");
    }
  }

  std::optional<Journaled> finish() && {
    if (frames_ < 2) return std::nullopt;
    // What nothing rests on is decided, hashed and asked for again.
    if (!length_counts()) found_.length.reset();
    found_.stores.resize(counted_.stores);
    found_.log.resize(counted_.log);
    found_.hashes.resize(counted_.hashes);
    found_.next_generation = counted_.next_generation;
    found_.good_bytes = counted_.bytes;
    return std::move(found_);
  }

  std::uint64_t frames() const { return frames_; }
  [[noreturn]] void refuse(const std::string& why) const {
    refuse_journal(path_, fmt::format("its record {}: {}", frames_, why));
  }

 private:
  template <class T>
  T word(std::span<const std::byte>& from) const {
    if (from.size() < sizeof(T)) refuse("it is too short");
    T value{};
    std::memcpy(&value, from.data(), sizeof value);
    from = from.subspan(sizeof value);
    return value;
  }

  std::string text_of(std::span<const std::byte> payload) const {
    if (payload.size() > most_text) refuse("it is too long");
    return {reinterpret_cast<const char*>(payload.data()), payload.size()};
  }

  void take_identity(std::span<const std::byte> payload) {
    if (frames_ != 0) refuse("it says for a second time who it is");
    found_.identity = text_of(payload);
    require_same(found_.identity, call_.identity, path_);
    ++frames_;
  }

  void take_plan(std::span<const std::byte> payload, std::uint64_t end) {
    if (frames_ != 1) refuse("it holds a second plan");
    found_.plan = text_of(payload);
    run_ = hash_of_run(found_.identity, found_.plan);
    counted_.bytes = end;
    ++frames_;
  }

  // An adjoint rests on the number of steps, where that was not known before.
  bool length_counts() const { return found_.adjoint && found_.adjoint->context.length >= 0; }

  void take_log(std::span<const std::byte> payload) {
    const auto entry = word<std::uint64_t>(payload);
    if (entry == 0 || payload.size() % entry != 0) refuse("entries of a length that does not divide them");
    if (!found_.log.empty() && entry != found_.log_entry_bytes)
      refuse("entries of another length than before");
    found_.log_entry_bytes = entry;
    found_.log.insert(found_.log.end(), payload.begin(), payload.end());
    if (call_.steps >= 0 && found_.log.size() / entry > static_cast<std::uint64_t>(call_.steps))
      refuse("entries of more steps than there are");
    ++frames_;
  }

  void take_hashes(std::span<const std::byte> payload) {
    const auto first = word<std::int64_t>(payload);
    const auto words = word<std::uint64_t>(payload);
    if (words == 0 || words > most_text || payload.size() % (8 * words) != 0)
      refuse("hashes of a length that does not divide them");
    if (!found_.hashes.empty() && words != found_.hash_words) refuse("hashes of another length than before");
    if (first < 0 || static_cast<std::uint64_t>(first) * words != found_.hashes.size())
      refuse(fmt::format("hashes from state {} on, after those of {} states", first,
                         found_.hashes.size() / words));
    const std::size_t before = found_.hashes.size(), more = payload.size() / 8;
    if (call_.steps >= 0 && (before + more) / words > static_cast<std::uint64_t>(call_.steps) + 1)
      refuse("hashes of more states than there are");
    found_.hash_words = words;
    found_.hashes.resize(before + more);
    if (more > 0) std::memcpy(found_.hashes.data() + before, payload.data(), 8 * more);
    ++frames_;
  }

  void take_commit(char kind, std::span<const std::byte> payload, std::uint64_t end) {
    const auto record = word<CommitRecord>(payload);
    if (!payload.empty()) refuse("it is too long");
    check(kind, record);
    const Commit commit = commit_of(record, run_);
    check_context(commit.context);
    if (kind == 'A')
      found_.adjoint = commit;
    else
      found_.stores.push_back(commit);
    found_.next_generation = commit.generation + 1;
    counted_ = {.stores = found_.stores.size(),
                .log = found_.log.size(),
                .hashes = found_.hashes.size(),
                .next_generation = found_.next_generation,
                .bytes = end};
    ++frames_;
  }

  void check(char kind, const CommitRecord& record) const {
    const bool on_level = record.level >= 0 && static_cast<std::size_t>(record.level) < call_.files.size() &&
                          call_.files[static_cast<std::size_t>(record.level)];
    if (kind == 'S' ? !on_level : record.level != working)
      refuse(fmt::format("a snapshot on level {}, which has no files", record.level));
    if (record.slot < 0 || (kind == 'A' && record.slot != 0))
      refuse(fmt::format("a snapshot in slot {}", record.slot));
    if (record.generation < found_.next_generation || record.generation > most_generations)
      refuse(fmt::format("file number {}, where {} is next", record.generation, found_.next_generation));
    if (record.step < 0 || (call_.steps >= 0 && record.step > call_.steps))
      refuse(fmt::format("state {} of {} steps", record.step, call_.steps));
    if (record.is_record > 1 || (kind == 'A' && record.is_record != 0))
      refuse("neither a state nor a record");
    if (kind == 'A' && record.action == Content::not_scheduled)
      refuse("an adjoint of no place in the schedule");
    check_length(kind, record.length);
  }

  // Of a run whose length was not known before, an adjoint is the first to rest on it.
  void check_length(char kind, Step length) const {
    const bool known_before = call_.steps >= 0;
    const bool good = known_before   ? length == call_.steps
                      : length == -1 ? !length_counts()
                                     : found_.length == length && (kind == 'A' || length_counts());
    if (!good)
      refuse(fmt::format("a run of {} steps, not of {}", length,
                         known_before ? call_.steps : found_.length.value_or(-1)));
  }

  // What steps had decided when the block was written must be what the journal says they decided.
  void check_context(const BlockContext& context) {
    const std::size_t entry = found_.log_entry_bytes;
    const std::uint64_t known = entry == 0 ? 0 : found_.log.size() / entry;
    const std::uint64_t hashed = found_.hashes.empty() ? 0 : found_.hashes.size() / found_.hash_words;
    if (context.log_entries != known || context.hashes != hashed)
      refuse(fmt::format("it rests on {} entries of the log and {} hashes, where there are {} and {}",
                         context.log_entries, context.hashes, known, hashed));
    for (; digested_ < context.log_entries; ++digested_)
      digest_ = StepLog::digest_after(digest_, std::span(found_.log).subspan(digested_ * entry, entry));
    if (digest_ != context.log_digest) refuse("it rests on other decisions than those in the log");
  }

  void take_length(std::span<const std::byte> payload) {
    const auto steps = word<Step>(payload);
    if (!payload.empty()) refuse("it is too long");
    if (call_.steps >= 0 || steps < 1 || length_counts())
      refuse(fmt::format("it says that there are {} steps", steps));
    found_.length = steps;
    ++frames_;
  }

  std::string path_;
  const JournalCall& call_;
  Journaled found_;
  std::uint64_t run_ = 0, frames_ = 0;
  struct Counted {  // up to the last block that was committed
    std::size_t stores = 0, log = 0, hashes = 0;
    std::uint64_t next_generation = 1, bytes = 0;
  };
  Counted counted_;
  std::uint64_t digested_ = 0, digest_ = 0;
};

}  // namespace

void refuse_journal(const std::string& path, const std::string& why) {
  fail(ErrorCode::run_directory,
       {.what = fmt::format("the journal {} cannot be true: {}", path, why),
        .expected = "a journal as this library writes it, with the files beside it",
        .help = "somebody else may have changed it: remove the folder, or say resume = false to begin anew"});
}

std::uint64_t hash_of_run(const std::string& identity, const std::string& plan) {
  return checksum(std::as_bytes(std::span(plan)), checksum(std::as_bytes(std::span(identity))));
}

std::optional<Journaled> read_journal(const Folder& folder, const JournalCall& call) {
  const std::string path = folder.path_of(journal_name);
  if (!folder.holds(journal_name)) return std::nullopt;
  const FileHandle file = folder.open_file(journal_name, O_RDONLY);
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0)
    fail(ErrorCode::run_directory,
         {.what = fmt::format("{} cannot be read, or is not a plain file of this user's", path),
          .help = "remove the folder, or give the run another name"});
  JournalReader reader(path, call);
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  try {
    JournalFrame frame;
    std::vector<std::byte> payload;
    for (std::uint64_t at = 0;
         at + sizeof frame <= size && read_frame(file.get(), at, size, frame, payload);) {
      at += sizeof frame + frame.bytes;
      reader.take(frame, payload, at);
    }
  } catch (const std::bad_alloc&) {
    reader.refuse("it does not fit into memory");
  }
  return std::move(reader).finish();
}

}  // namespace tidemark::schedule
