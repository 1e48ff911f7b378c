// Whole files, for people: what is read has a limit, what is written replaces the old file at once or not at
// all.
#pragma once
#include <string>
#include <string_view>

#include "tidemark/base/bytes.h"
#include "tidemark/base/folder.h"

namespace tidemark {

// Of texts that people and programs write: far above any that is meant.
inline constexpr Bytes most_text_bytes = Bytes(std::int64_t{1} << 30);

// What a file or a pipe holds. Throws Error `bad_file` for what cannot be read, is a directory or a device,
// or has more than `most` bytes, of which no more are read. `what`: what the file should be, as "a graph".
std::string read_text_file(const std::string& path, std::string_view what, Bytes most = most_text_bytes);

// A file in the making: `commit` puts it in the place of `path`, whole and on the disk. Before that, and
// after an error, `path` is what it was. A link at `path` stays: the file behind it is replaced, beside which
// the new one is made. A device or a pipe (/dev/stdout) is written to. Throws Error `bad_file`, or
// `disk_full` where there is no room.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;

  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void fail_with(int error) const;
  void put_in_place();
  void flush();

  std::string path_;          // as it was given
  std::string place_, name_;  // behind links; name_: in the folder
  Folder folder_;
  FileHandle file_;
  bool replaces_ = true;   // false: a device or a pipe
  std::string temporary_;  // its name meanwhile; empty: it has none
  std::string pending_;
  std::uint64_t end_ = 0;
};

void write_text_file(const std::string& path, std::string_view text);

}  // namespace tidemark
