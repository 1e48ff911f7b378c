#include "tidemark/solve/pack/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/base/source.h"
#include "tidemark/base/text_file.h"

namespace tidemark {
namespace {

enum Column { id_column, lower_column, upper_column, size_column, column_count };
constexpr std::array<std::string_view, column_count> column_names = {"id", "lower", "upper", "size"};
constexpr std::int64_t size_limit = std::int64_t{1} << 61;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

void split(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  for (std::size_t at = 0;;) {
    const std::size_t comma = line.find(',', at);
    fields.push_back(trimmed(line.substr(at, comma - at)));
    if (comma == std::string_view::npos) return;
    at = comma + 1;
  }
}

class TableParser {
 public:
  TableParser(std::string_view file, std::optional<std::int64_t> capacity)
      : file_(intern(file)), capacity_(capacity) {}

  PackTable parse(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
    bool header = true;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++line_;
      if (trimmed(line).empty()) continue;
      split(line, fields_);
      header ? read_header() : read_item();
      header = false;
    }
    if (header) reject("the table is empty", "a header id,lower,upper,size and a line per buffer");
    if (total_ > size_limit) check_load();
    return std::move(table_);
  }

 private:
  [[noreturn]] void reject(std::string what, std::string expected, std::string help = "") const {
    fail(ErrorCode::bad_layout_input, {.what = std::move(what),
                                       .expected = std::move(expected),
                                       .where = SourceLine(file_, std::max<std::uint32_t>(line_, 1)),
                                       .help = std::move(help)});
  }

  void read_header() {
    width_ = fields_.size();
    for (std::string_view& name : fields_) name = unquoted(name);
    for (std::size_t c = 0; c < column_count; ++c) {
      const auto found = std::find(fields_.begin(), fields_.end(), column_names[c]);
      if (found == fields_.end())
        reject(fmt::format("the column `{}` is missing", column_names[c]),
               "a header with id, lower, upper and size");
      if (std::find(found + 1, fields_.end(), column_names[c]) != fields_.end())
        reject(fmt::format("the column `{}` is there twice", column_names[c]), "each column once");
      column_[c] = static_cast<std::size_t>(found - fields_.begin());
    }
  }

  // Names the first buffer, in time, whose beginning brings what is alive beyond the limit.
  void check_load() {
    std::vector<std::size_t> begins(table_.items.size());
    std::iota(begins.begin(), begins.end(), 0);
    std::vector<std::size_t> ends = begins;
    const std::vector<PackItem>& items = table_.items;
    std::sort(begins.begin(), begins.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(items[a].lower, a) < std::pair(items[b].lower, b);
    });
    std::sort(ends.begin(), ends.end(),
              [&](std::size_t a, std::size_t b) { return items[a].upper < items[b].upper; });
    std::int64_t load = 0;
    auto end = ends.begin();
    for (std::size_t i : begins) {
      for (; items[*end].upper <= items[i].lower; ++end) load -= items[*end].size;
      load += items[i].size;
      if (load <= size_limit) continue;
      line_ = lines_.at(table_.ids[i]);
      reject(fmt::format("the sizes that live at time {} overflow", items[i].lower),
             "at most 2^61 bytes alive at one time");
    }
  }

  std::int64_t number(Column column) const {
    const std::string_view text = unquoted(fields_[column_[column]]);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range)
      reject(fmt::format("`{}` is too large: {}", column_names[column], text), "an integer of 64 bits");
    if (error != std::errc() || end != text.data() + text.size())
      reject(fmt::format("`{}` is not a number: \"{}\"", column_names[column], text), "an integer");
    return value;
  }

  void read_item() {
    if (fields_.size() != width_)
      reject(fmt::format("{} fields, but the header has {}", fields_.size(), width_),
             "as many fields as columns");
    const std::string_view id = fields_[column_[id_column]];  // as written, quotes too
    if (unquoted(id).empty()) reject("the id is empty", "an id for each buffer");
    const PackItem item{number(lower_column), number(upper_column), number(size_column)};
    if (item.size < 0)
      reject(fmt::format("buffer {} has a negative size: {}", id, item.size), "sizes of 0 or more");
    if (item.size > size_limit)
      reject(fmt::format("buffer {} is too large: {} bytes", id, item.size), "sizes up to 2^61 bytes");
    if (item.upper < item.lower)
      reject(fmt::format("the lifetime of buffer {} is reversed: [{}, {})", id, item.lower, item.upper),
             "lower below upper");
    if (item.upper == item.lower)
      reject(fmt::format("the lifetime of buffer {} is empty: [{}, {})", id, item.lower, item.upper),
             "lower below upper: lifetimes are half-open");
    if (capacity_ && item.size > *capacity_)
      reject(
          fmt::format("buffer {} of {} bytes is larger than the capacity of {}", id, item.size, *capacity_),
          "sizes up to the capacity", fmt::format("a capacity of {} or more", item.size));
    const auto [first, fresh] = lines_.try_emplace(std::string(id), line_);
    if (!fresh)
      reject(fmt::format("the id {} is there twice", id), "each id once",
             fmt::format("first on line {}", first->second));
    table_.ids.emplace_back(id);
    table_.items.push_back(item);
    total_ = std::min(total_, size_limit + 1) + item.size;  // beyond the limit it only has to stay there
  }

  std::string_view file_;
  std::optional<std::int64_t> capacity_;
  std::uint32_t line_ = 0;
  std::size_t width_ = 0;
  std::int64_t total_ = 0;
  std::array<std::size_t, column_count> column_{};
  std::vector<std::string_view> fields_;
  std::unordered_map<std::string, std::uint32_t> lines_;
  PackTable table_;
};

}  // namespace

PackTable parse_pack_table(std::string_view text, std::string_view file,
                           std::optional<std::int64_t> capacity) {
  return TableParser(file, capacity).parse(text);
}

PackTable read_pack_table(const std::string& path, std::optional<std::int64_t> capacity) {
  return parse_pack_table(read_text_file(path, "a table of buffers"), path, capacity);
}

std::string print_pack_table(const PackTable& table, std::span<const std::int64_t> offsets) {
  TM_CHECK(offsets.size() == table.items.size());
  fmt::memory_buffer out;
  fmt::format_to(std::back_inserter(out), "id,lower,upper,size,offset\n");
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const PackItem& item = table.items[i];
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{}\n", table.ids[i], item.lower, item.upper,
                   item.size, offsets[i]);
  }
  return fmt::to_string(out);
}

}  // namespace tidemark
