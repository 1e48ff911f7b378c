// Reads our JSON files field by field. A reader is one value of a document, so that every complaint says
// where: the way to it ("/steps/3/out/0/offset") and its line. Fields that are there twice are refused.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tidemark/base/ids.h"
#include "tidemark/base/json_document.h"

namespace tidemark {

// Refers to its document, which outlives it.
class JsonReader {
 public:
  explicit JsonReader(const JsonDocument& document) : document_(&document) {}

  JsonKind kind() const { return entry().kind; }
  std::uint32_t line() const { return entry().line; }
  // Throws the error of the document's kind.
  [[noreturn]] void reject(std::string what, std::string expected = "") const;

  // Of an object.
  JsonReader field(std::string_view name) const;  // refused where it is missing
  std::optional<JsonReader> find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  // No further fields: a misspelt one would be lost silently.
  void only(std::span<const std::string_view> names) const;
  void only(std::initializer_list<std::string_view> names) const {
    only(std::span<const std::string_view>(names.begin(), names.size()));
  }

  // f(name, value) in the order of the text; a name that is there twice comes twice.
  template <class F>
  void each_field(F&& f) const {
    require(JsonKind::object, "not an object");
    for (std::uint32_t key = entry_ + 1; key < entry().end; key = (*document_)[key + 1].end)
      f(document_->text(key), JsonReader(*document_, key + 1));
  }

  // Of a list.
  template <class F>
  void each(F&& f) const {
    require(JsonKind::list, "not a list");
    for (std::uint32_t i = entry_ + 1; i < entry().end; i = (*document_)[i].end) f(JsonReader(*document_, i));
  }

  std::int64_t integer(std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;
  // A whole number of 64 bits, also if it is written as a fraction (1e3) and exact as such.
  std::optional<std::int64_t> whole() const;
  bool boolean() const;
  double number() const;
  double positive() const;
  std::string text() const;
  std::string number_text() const;  // as written
  template <class Tag>
  void read(Id<Tag>& id) const {
    id = kind() == JsonKind::null ? Id<Tag>()
                                  : Id<Tag>(static_cast<std::size_t>(integer(0, Id<Tag>::none - 1)));
  }
  template <class Enum>
  Enum one_of(std::initializer_list<Enum> choices) const {
    const std::string said = text();
    std::string names;
    for (Enum e : choices) {
      if (name_of(e) == said) return e;
      names += (names.empty() ? "" : ", ") + std::string(name_of(e));
    }
    reject("`" + said + "` is unknown", names);
  }

 private:
  JsonReader(const JsonDocument& document, std::uint32_t entry) : document_(&document), entry_(entry) {}
  const JsonDocument::Entry& entry() const { return (*document_)[entry_]; }
  void require(JsonKind kind, std::string_view complaint) const {
    if (entry().kind != kind) reject(std::string(complaint));
  }

  const JsonDocument* document_;
  std::uint32_t entry_ = 0;
};

}  // namespace tidemark
