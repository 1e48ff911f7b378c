// Files as streams, for readers and writers that take one.
#pragma once
#include <istream>
#include <ostream>
#include <string>

#include "tidemark/base/text_file.h"

namespace tidemark {

// For readers that set limits of their own: a file or a pipe of any length, in pieces.
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

// An error comes out of the call that writes.
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
