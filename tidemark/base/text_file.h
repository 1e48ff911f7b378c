// Whole files, for people: what is read has a limit, what is written replaces the old file at once or not at
// all.
#pragma once
#include <istream>
#include <ostream>
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

// The same in pieces, for readers that take a stream and set limits of their own: a file or a pipe of any
// length.
class InputStream : public std::istream {
 public:
  explicit InputStream(const std::string& path);

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(const std::string& path);

   protected:
    int underflow() override;

   private:
    std::string path_, piece_;
    FileHandle file_;
  };
  Buffer buffer_;
};

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

// As a stream, for writers that take one. An error comes out of the call that writes.
class OutputStream : public std::ostream {
 public:
  explicit OutputStream(OutputFile& file) : std::ostream(nullptr), buffer_(file) {
    rdbuf(&buffer_);
    exceptions(std::ios::badbit);
  }

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(OutputFile& file) : file_(file) {}

   protected:
    std::streamsize xsputn(const char* text, std::streamsize count) override {
      file_.write({text, static_cast<std::size_t>(count)});
      return count;
    }
    int overflow(int c) override {
      const char one = static_cast<char>(c);
      if (c != traits_type::eof()) file_.write({&one, 1});
      return 0;
    }

   private:
    OutputFile& file_;
  };
  Buffer buffer_;
};

}  // namespace tidemark
