// A table of a run in a file: a row per call, CSV or JSON lines by the ending of the name. Every row is
// written at once and whole, so that a run that is killed leaves whole rows, and one that goes on appends
// to them.
//
//   td::LogFile log("run.csv");
//   log.write({{"step", step}, {"loss", loss.item()}, {"phase", "train"}});
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tidemark/base/folder.h"

namespace tidemark {

// A number, a text or a truth with the name of its column.
struct LogEntry {
  using Value = std::variant<double, std::int64_t, std::uint64_t, bool, std::string>;

  template <class T>
  LogEntry(std::string_view column, const T& entry) : LogEntry(column, widest(entry)) {}
  LogEntry(std::string_view column, double entry);
  LogEntry(std::string_view column, std::int64_t entry);
  LogEntry(std::string_view column, std::uint64_t entry);
  LogEntry(std::string_view column, bool entry);
  LogEntry(std::string_view column, std::string entry);

  std::string name;
  Value value;

 private:
  template <class T>
  static auto widest(const T& entry) {
    if constexpr (std::is_same_v<T, char>) {
      return std::string(1, entry);
    } else if constexpr (std::is_unsigned_v<T>) {
      return static_cast<std::uint64_t>(entry);
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<std::int64_t>(entry);
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(entry);
    } else {
      return std::string(entry);
    }
  }
};

class LogFile {
 public:
  // Appends to a file that is there. A last row without a line break gets one, unless it is visibly not whole
  // (too few cells, an open quote, half an object: the machine stopped while it was written) and is taken
  // away. Throws Error `bad_file` for a name that ends neither in .csv nor in .jsonl, and for a file that
  // cannot be written.
  explicit LogFile(std::string path);
  ~LogFile();

  // A CSV file has the columns of its first row, in its order; a row may leave some out, and a column that
  // the file does not have is an error. JSON lines take any. Numbers are written so that they read back the
  // same; what is not finite is `nan`, `inf`, `-inf` in CSV and null in JSON, which has no word for it. A row
  // is one line: line breaks in texts become spaces in CSV. Several threads may write.
  void write(std::initializer_list<LogEntry> row);
  void write(const std::vector<LogEntry>& row);

 private:
  void open();
  bool is_whole(const std::string& row) const;
  std::string csv(const std::vector<LogEntry>& row);
  [[noreturn]] void fail_with(std::string reason, int error = 0) const;

  std::string path_;
  bool json_ = false;
  struct Writing;
  std::unique_ptr<Writing> writing_;  // one row at a time
  std::vector<std::string> columns_;  // of a CSV file that has a row
  FileHandle file_;
  std::uint64_t end_ = 0;  // of its whole rows, in bytes
};

}  // namespace tidemark
