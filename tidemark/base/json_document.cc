#include "tidemark/base/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "tidemark/base/check.h"

namespace tidemark {
namespace {

// Gives the parser its characters and remembers how far it has read.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *read_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** read_;
};

}  // namespace

// Writes down what the parser meets.
class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonEvents(std::string_view text, JsonDocument& document)
      : document_(document), text_(text), read_(text.data()), counted_(text.data()) {}

  void parse() {
    const char* begin = text_.data();
    const bool done =
        nlohmann::json::sax_parse(Cursor(begin, &read_), Cursor(begin + text_.size(), &read_), this);
    TM_CHECK(done);
  }

  bool null() override { return add(JsonKind::null, 0); }
  bool boolean(bool b) override { return add(JsonKind::boolean, b); }
  bool number_integer(std::int64_t n) override { return add(JsonKind::integer, n); }
  bool number_unsigned(std::uint64_t n) override {
    if (n <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return add(JsonKind::integer, static_cast<std::int64_t>(n));
    return add_text(JsonKind::fraction, std::to_string(n));
  }
  bool number_float(double, const std::string& digits) override {
    return add_text(JsonKind::fraction, digits);
  }
  bool string(std::string& s) override { return add_text(JsonKind::text, s); }
  bool binary(nlohmann::json::binary_t&) override { return false; }  // not in texts

  bool key(std::string& name) override { return add_text(JsonKind::key, name); }
  bool start_object(std::size_t) override { return open(JsonKind::object); }
  bool start_array(std::size_t) override { return open(JsonKind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    std::string_view what = error.what();
    for (std::string_view prefix : {"] ", "parse error at "}) {
      if (const auto found = what.find(prefix); found != std::string_view::npos && found < 48)
        what.remove_prefix(found + prefix.size());
    }
    if (text_.find_first_not_of(" \t\r\n") == std::string_view::npos) what = "the file is empty";
    std::string shown(what.substr(0, 240));
    for (char& c : shown) {
      if (static_cast<unsigned char>(c) >= 0x7F) c = '?';  // what was read need not be UTF-8
    }
    const JsonFileKind& kind = document_.kind_;
    const std::string_view read = text_.substr(0, position);
    const auto line = static_cast<std::uint32_t>(1 + std::count(read.begin(), read.end(), '\n'));
    fail(kind.syntax_code,
         {.what = fmt::format("{}{}not JSON: {}", kind.name, kind.name.empty() ? "" : ": ", shown),
          .expected = std::string(kind.form),
          .where = SourceLine(document_.file_, line)});
  }

 private:
  // The line of what was just read. After a number the parser has looked one character further.
  std::uint32_t line() {
    const char* end = read_ > counted_ && read_[-1] == '\n' ? read_ - 1 : read_;
    line_ += static_cast<std::uint32_t>(std::count(counted_, end, '\n'));
    counted_ = end;
    return line_;
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(document_.entries_.size()); }
  bool add(JsonKind kind, std::int64_t payload, std::size_t text_size = 0) {
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max() - 1;
    if (document_.entries_.size() >= most || text_size >= most)
      fail(document_.kind_.code,
           {.what = fmt::format("{}: more values than are read", document_.kind_.name)});
    document_.entries_.push_back({kind, line(), count() + 1, static_cast<std::uint32_t>(text_size), payload});
    return true;
  }
  bool add_text(JsonKind kind, const std::string& text) {
    const auto begin = static_cast<std::int64_t>(document_.texts_.size());
    document_.texts_ += text;
    return add(kind, begin, text.size());
  }
  bool open(JsonKind kind) {
    open_.push_back(count());
    return add(kind, 0);
  }
  bool close() {
    document_.entries_[open_.back()].end = count();
    open_.pop_back();
    return true;
  }

  JsonDocument& document_;
  std::string_view text_;
  const char* read_;     // the parser has taken all before this
  const char* counted_;  // line_ is right up to here
  std::uint32_t line_ = 1;
  std::vector<std::uint32_t> open_;  // lists and objects that have not ended
};

std::string_view name_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return "a truth value";
    case JsonKind::integer:
    case JsonKind::fraction:
      return "a number";
    case JsonKind::text:
    case JsonKind::key:
      return "a text";
    case JsonKind::list:
      return "a list";
    case JsonKind::object:
      return "an object";
  }
  TM_CHECK(false);
}

JsonDocument::JsonDocument(std::string_view text, const JsonFileKind& kind, std::string_view origin)
    : kind_(kind), file_(intern(origin.empty() ? kind.name : origin)) {
  JsonEvents(text, *this).parse();
}

std::string_view JsonDocument::text(std::uint32_t entry) const {
  const Entry& e = entries_[entry];
  return std::string_view(texts_).substr(static_cast<std::size_t>(e.payload), e.text_size);
}

std::string JsonDocument::path(std::uint32_t entry) const {
  std::string path;
  for (std::uint32_t inside = 0; inside != entry;) {
    const bool keyed = entries_[inside].kind == JsonKind::object;
    std::uint32_t child = inside + 1 + keyed;
    std::size_t number = 0;
    for (; entries_[child].end <= entry; child = entries_[child].end + keyed) ++number;
    path += keyed ? fmt::format("/{}", text(child - 1)) : fmt::format("/{}", number);
    inside = child;
  }
  return path.empty() ? "/" : path;
}

}  // namespace tidemark
