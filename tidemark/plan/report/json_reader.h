// Reads our JSON files field by field. A value goes together with the way to it, so that every complaint says
// where ("/steps/3/out/0/offset"), and with the file's kind, so that it says in what.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "tidemark/base/error.h"
#include "tidemark/base/ids.h"

namespace tidemark {

struct JsonFileKind {
  std::string_view name;  // "plan file"
  ErrorCode code;         // what a wrong one throws
};

// Holds references only: the JSON and its kind outlive it.
class JsonReader {
 public:
  using Json = nlohmann::ordered_json;
  JsonReader(const Json& json, const JsonFileKind& kind, std::string path = "")
      : json_(json), kind_(kind), path_(std::move(path)) {}

  // Throws the kind's error when the text is not JSON at all.
  static Json parse(std::string_view text, const JsonFileKind& kind) {
    try {
      return Json::parse(text);
    } catch (const Json::exception& error) {
      fail(kind.code, {.what = fmt::format("{}: not JSON: {}", kind.name, error.what())});
    }
  }

  [[noreturn]] void reject(std::string what, std::string expected = "") const {
    fail(kind_.code, {.what = fmt::format("{}: {}: {}", kind_.name, path_.empty() ? "/" : path_, what),
                      .expected = std::move(expected)});
  }

  JsonReader field(std::string_view name) const {
    if (!json_.is_object()) reject("not an object");
    const auto at = json_.find(name);
    if (at == json_.end()) reject(fmt::format("the field `{}` is missing", name));
    return {*at, kind_, fmt::format("{}/{}", path_, name)};
  }
  bool has(std::string_view name) const { return json_.is_object() && json_.contains(name); }
  // No further fields: a misspelt one would be lost silently.
  void only(std::span<const std::string_view> names) const {
    if (!json_.is_object()) reject("not an object");
    for (const auto& [key, value] : json_.items()) {
      if (std::find(names.begin(), names.end(), key) == names.end())
        reject(fmt::format("unknown field `{}`", key));
    }
  }
  void only(std::initializer_list<std::string_view> names) const {
    only(std::span<const std::string_view>(names.begin(), names.size()));
  }
  template <class F>
  void each(F&& f) const {
    if (!json_.is_array()) reject("not a list");
    for (std::size_t i = 0; i < json_.size(); ++i)
      f(JsonReader(json_[i], kind_, fmt::format("{}/{}", path_, i)));
  }

  std::int64_t integer(std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t high = std::numeric_limits<std::int64_t>::max()) const {
    const bool fits =
        json_.is_number_integer() &&
        !(json_.is_number_unsigned() &&
          json_.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (!fits) reject("not a whole number of 64 bits");
    const auto n = json_.get<std::int64_t>();
    if (n < low || n > high) reject(fmt::format("{} is out of range", n), fmt::format("{} to {}", low, high));
    return n;
  }
  bool boolean() const {
    if (!json_.is_boolean()) reject("not true or false");
    return json_.get<bool>();
  }
  double number() const {
    if (!json_.is_number()) reject("not a number");
    return json_.get<double>();
  }
  double positive() const {
    const double x = number();
    if (!(x > 0) || !std::isfinite(x)) reject(fmt::format("{} is out of range", x), "a number above 0");
    return x;
  }
  const std::string& text() const {
    if (!json_.is_string()) reject("not a text");
    return json_.get_ref<const std::string&>();
  }
  template <class Tag>
  void read(Id<Tag>& id) const {
    id = json_.is_null() ? Id<Tag>() : Id<Tag>(static_cast<std::size_t>(integer(0, Id<Tag>::none - 1)));
  }
  template <class Enum>
  Enum one_of(std::initializer_list<Enum> choices) const {
    std::string names;
    for (Enum e : choices) {
      if (name_of(e) == text()) return e;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(e));
    }
    reject(fmt::format("`{}` is unknown", text()), names);
  }

 private:
  const Json& json_;
  const JsonFileKind& kind_;
  std::string path_;
};

}  // namespace tidemark
