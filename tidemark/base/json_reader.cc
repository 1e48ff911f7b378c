#include "tidemark/base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tidemark {

void JsonReader::reject(std::string what, std::string expected) const {
  const std::string_view name = document_->kind().name;
  fail(document_->kind().code,
       {.what = fmt::format("{}{}{}: {}", name, name.empty() ? "" : ": ", document_->path(entry_), what),
        .expected = std::move(expected),
        .where = document_->where(entry_)});
}

JsonReader JsonReader::field(std::string_view name) const {
  const std::optional<JsonReader> found = find(name);
  if (!found) reject(fmt::format("the field `{}` is missing", name));
  return *found;
}

std::optional<JsonReader> JsonReader::find(std::string_view name) const {
  require(JsonKind::object, "not an object");
  std::optional<JsonReader> found;
  for (std::uint32_t key = entry_ + 1; key < entry().end; key = (*document_)[key + 1].end) {
    if (document_->text(key) != name) continue;
    if (found) JsonReader(*document_, key + 1).reject(fmt::format("the field `{}` is there twice", name));
    found = JsonReader(*document_, key + 1);
  }
  return found;
}

void JsonReader::only(std::span<const std::string_view> names) const {
  require(JsonKind::object, "not an object");
  for (std::uint32_t key = entry_ + 1; key < entry().end; key = (*document_)[key + 1].end) {
    const std::string_view name = document_->text(key);
    if (std::ranges::find(names, name) == names.end()) reject(fmt::format("unknown field `{}`", name));
  }
}

std::int64_t JsonReader::integer(std::int64_t low, std::int64_t high) const {
  require(JsonKind::integer, "not a whole number of 64 bits");
  const std::int64_t n = entry().payload;
  if (n < low || n > high) reject(fmt::format("{} is out of range", n), fmt::format("{} to {}", low, high));
  return n;
}

std::optional<std::int64_t> JsonReader::whole() const {
  constexpr double exact = 9007199254740992.0;  // 2^53: below, a whole double is the number that was written
  if (kind() == JsonKind::integer) return entry().payload;
  const double x = number();
  if (x != std::floor(x) || std::abs(x) > exact) return std::nullopt;
  return static_cast<std::int64_t>(x);
}

bool JsonReader::boolean() const {
  require(JsonKind::boolean, "not true or false");
  return entry().payload != 0;
}

double JsonReader::number() const {
  if (kind() == JsonKind::integer) return static_cast<double>(entry().payload);
  require(JsonKind::fraction, "not a number");
  const std::string_view digits = document_->text(entry_);
  double x = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), x);
  return x;
}

double JsonReader::positive() const {
  const double x = number();
  if (!(x > 0) || !std::isfinite(x)) reject(fmt::format("{} is out of range", x), "a number above 0");
  return x;
}

std::string JsonReader::text() const {
  require(JsonKind::text, "not a text");
  return std::string(document_->text(entry_));
}

std::string JsonReader::number_text() const {
  return kind() == JsonKind::integer ? std::to_string(entry().payload)
                                     : std::string(document_->text(entry_).substr(0, 40));
}

}  // namespace tidemark
