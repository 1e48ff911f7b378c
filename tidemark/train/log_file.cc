#include "tidemark/train/log_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>

#include "tidemark/base/error.h"
#include "tidemark/base/followed_path.h"

namespace tidemark {
namespace {

bool ends_with(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

constexpr std::uint64_t most_row_bytes = std::uint64_t{1} << 26;

std::string csv_cell(const LogEntry::Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return fmt::format("{}", *count);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  std::string text = std::get<std::string>(value);
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

std::string json_row(const std::vector<LogEntry>& row) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const LogEntry& entry : row) {
    std::visit([&](const auto& value) { object[entry.name] = value; }, entry.value);
  }
  // What is not UTF-8 is marked instead of refused: a log must not end a run.
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

LogEntry::LogEntry(std::string_view column, double entry) : name(column), value(entry) {}
LogEntry::LogEntry(std::string_view column, std::int64_t entry) : name(column), value(entry) {}
LogEntry::LogEntry(std::string_view column, std::uint64_t entry) : name(column), value(entry) {}
LogEntry::LogEntry(std::string_view column, bool entry) : name(column), value(entry) {}
LogEntry::LogEntry(std::string_view column, std::string entry) : name(column), value(std::move(entry)) {}

struct LogFile::Writing {
  std::mutex mutex;
};

LogFile::LogFile(std::string path) : path_(std::move(path)), writing_(std::make_unique<Writing>()) {
  json_ = ends_with(path_, ".jsonl");
  if (!json_ && !ends_with(path_, ".csv")) fail_with("its name ends neither in .csv nor in .jsonl");
  open();
}

LogFile::~LogFile() = default;

void LogFile::write(std::initializer_list<LogEntry> row) { write(std::vector<LogEntry>(row)); }

void LogFile::fail_with(std::string reason, int error) const {
  if (error != 0) reason += fmt::format(": {}", std::strerror(error));
  fail(is_out_of_room(error) ? ErrorCode::disk_full : ErrorCode::bad_file,
       {.what = fmt::format("the log {}: {}", path_, reason),
        .expected = "a file that rows can be added to, CSV or JSON lines"});
}

void LogFile::open() {
  const auto place = followed_path(path_);
  if (!place) fail_with("it is a symbolic link", place.error());
  const std::string& path = place.value();
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const auto folder = Folder::open(slash == std::string::npos ? "." : path.substr(0, slash + 1));
  if (!folder) fail_with(folder.error());
  file_ = folder.value().open_or_create(name);
  if (!file_) fail_with("it cannot be opened", errno);
  struct stat facts {};
  if (fstat(file_.get(), &facts) != 0) fail_with("it cannot be read", errno);
  // The last line break, from the end in pieces.
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  end_ = size;
  std::vector<std::byte> piece(1 << 16);
  const auto read = [&](std::uint64_t offset, std::size_t size) {
    std::size_t done = 0;
    if (const int error = read_fully(file_.get(), std::span(piece).first(size), offset, done)) {
      fail_with("it cannot be read", error);
    }
    return std::string_view(reinterpret_cast<const char*>(piece.data()), done);
  };
  while (end_ > 0) {
    const std::uint64_t from = end_ > piece.size() ? end_ - piece.size() : 0;
    const std::size_t at = read(from, static_cast<std::size_t>(end_ - from)).rfind('\n');
    end_ = at == std::string_view::npos ? from : from + at + 1;
    if (at != std::string_view::npos) break;
  }
  if (!json_ && end_ > 0) {
    const std::string_view beginning = read(0, piece.size());
    const std::size_t line = beginning.find('\n');
    if (line == std::string_view::npos) fail_with("its first line is no row of column names");
    columns_ = csv_cells(beginning.substr(0, line));
  }
  if (end_ == size) return;
  if (size - end_ > most_row_bytes) fail_with("its last line is too long for a row");
  std::string last;
  while (end_ + last.size() < size) {
    const std::uint64_t at = end_ + last.size();
    const std::string_view more =
        read(at, static_cast<std::size_t>(std::min<std::uint64_t>(size - at, piece.size())));
    if (more.empty()) fail_with("it became shorter while it was read");
    last += more;
  }
  if (!is_whole(last)) {
    if (ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) fail_with("it cannot be written", errno);
    return;
  }
  if (const int error = write_fully(file_.get(), std::as_bytes(std::span("\n", 1)), size))
    fail_with("it cannot be written", error);
  if (!json_ && end_ == 0) columns_ = csv_cells(last);  // it has its column names alone
  end_ = size + 1;
}

bool LogFile::is_whole(const std::string& row) const {
  if (json_) return nlohmann::json::accept(row);
  const bool closed = std::count(row.begin(), row.end(), '"') % 2 == 0;
  return closed && (columns_.empty() || csv_cells(row).size() == columns_.size());
}

std::string LogFile::csv(const std::vector<LogEntry>& row) {
  std::string text;
  std::vector<std::string> columns = columns_;
  if (columns.empty()) {
    for (const LogEntry& entry : row) columns.push_back(entry.name);
    for (std::size_t i = 0; i < columns.size(); ++i) text += (i > 0 ? "," : "") + csv_cell(columns[i]);
    text += '\n';
  }
  std::vector<std::string> cells(columns.size());
  for (const LogEntry& entry : row) {
    const auto at = std::find(columns.begin(), columns.end(), entry.name);
    if (at == columns.end()) {
      fail_with(fmt::format("it has no column `{}`; it has {}", entry.name, fmt::join(columns, ", ")));
    }
    cells[static_cast<std::size_t>(at - columns.begin())] = csv_cell(entry.value);
  }
  return text + fmt::format("{}\n", fmt::join(cells, ","));
}

void LogFile::write(const std::vector<LogEntry>& row) {
  if (row.empty()) return;
  const std::scoped_lock lock(writing_->mutex);
  const std::string text = json_ ? json_row(row) : csv(row);
  if (const int error = write_fully(file_.get(), std::as_bytes(std::span(text)), end_)) {
    (void)ftruncate(file_.get(), static_cast<off_t>(end_));  // half a row is none
    fail_with("a row could not be written", error);
  }
  end_ += text.size();
  if (!json_ && columns_.empty()) {
    for (const LogEntry& entry : row) columns_.push_back(entry.name);
  }
}

}  // namespace tidemark
