// Reads a graph event by event, without a tree of the whole file in between: so every complaint has its line,
// fields that are there twice are seen, and nesting needs no stack.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/solve/dag/dag.h"
#include "tidemark/solve/dag/edges.h"

namespace tidemark {
namespace {

constexpr std::string_view root_form = R"({"nodes": [...], "edges": [[producer, consumer], ...]})";
constexpr std::string_view node_form = R"({"name": "conv1", "cost": 90, "bytes": 4096, "backward": false})";

// Gives the parser its characters and remembers how far it has read.
class Reading {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Reading(const char* at, const char** read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  Reading& operator++() {
    *read_ = ++at_;
    return *this;
  }
  Reading operator++(int) {
    Reading old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const Reading& a, const Reading& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** read_;
};

// A value that is no list and no object.
struct Scalar {
  std::string_view kind;  // "a number", for messages
  std::string text;       // as written
  bool is_number = false, is_text = false, is_bool = false;
  bool flag = false;
  double number = 0;
  std::optional<std::int64_t> whole = {};  // a whole number of 64 bits
};

class DagReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  DagReader(std::string_view text, std::string_view origin)
      : text_(text),
        file_(intern(origin.empty() ? "graph" : origin)),
        read_(text.data()),
        counted_(text.data()) {}

  Dag parse() {
    const char* begin = text_.data();
    const bool done =
        nlohmann::json::sax_parse(Reading(begin, &read_), Reading(begin + text_.size(), &read_), this);
    TM_CHECK(done);
    if (!has_nodes_) reject("the list `nodes` is missing", root_form);
    if (!has_edges_) reject("the list `edges` is missing", root_form);
    if (dag_.names.empty()) reject("the graph has no nodes", "at least one node");
    dag_.edges = checked_edges(dag_, edges_, file_);
    return std::move(dag_);
  }

  bool null() override { return scalar({.kind = "null", .text = "null"}); }
  bool boolean(bool b) override {
    return scalar({.kind = "a truth value", .text = b ? "true" : "false", .is_bool = true, .flag = b});
  }
  bool number_integer(std::int64_t n) override {
    return scalar({.kind = "a number",
                   .text = std::to_string(n),
                   .is_number = true,
                   .number = static_cast<double>(n),
                   .whole = n});
  }
  bool number_unsigned(std::uint64_t n) override {
    Scalar s{
        .kind = "a number", .text = std::to_string(n), .is_number = true, .number = static_cast<double>(n)};
    if (n <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      s.whole = static_cast<std::int64_t>(n);
    return scalar(std::move(s));
  }
  bool number_float(double x, const std::string& raw) override {
    constexpr double exact =
        9007199254740992.0;  // 2^53: below, a whole double is the number that was written
    Scalar s{.kind = "a number", .text = raw.substr(0, 40), .is_number = true, .number = x};
    if (x == std::floor(x) && std::abs(x) <= exact) s.whole = static_cast<std::int64_t>(x);
    return scalar(std::move(s));
  }
  bool string(std::string& s) override {
    return scalar({.kind = "a text", .text = std::move(s), .is_text = true});
  }
  bool binary(nlohmann::json::binary_t&) override { return scalar({.kind = "binary data", .text = ""}); }

  bool start_object(std::size_t) override {
    if (skips_opening()) return true;
    switch (place_) {
      case Place::top:
        return go(Place::root);
      case Place::nodes:
        fields_ = {};
        return go(Place::node);
      default:
        reject_value("an object");
    }
  }
  bool key(std::string& name) override {
    if (skipped_depth_ > 0) return true;
    key_ = name;
    bool known = false;
    if (place_ == Place::root) {
      for (auto [field, seen] : {std::pair("nodes", &has_nodes_), {"edges", &has_edges_}}) {
        if (name == field) known = true, first_time(*seen);
      }
    } else {
      for (auto [field, seen] : {std::pair("name", &fields_.name),
                                 {"cost", &fields_.cost},
                                 {"bytes", &fields_.bytes},
                                 {"backward", &fields_.backward}}) {
        if (name == field) known = true, first_time(*seen);
      }
    }
    skip_value_ = !known;
    return true;
  }
  bool end_object() override {
    if (skips_closing()) return true;
    if (place_ == Place::root) return go(Place::top);
    add_node();
    return go(Place::nodes);
  }
  bool start_array(std::size_t) override {
    if (skips_opening()) return true;
    switch (place_) {
      case Place::root:
        return go(key_ == "nodes" ? Place::nodes : Place::edges);
      case Place::edges:
        edges_.push_back({.line = line()});
        ends_ = 0;
        return go(Place::edge);
      default:
        reject_value("a list");
    }
  }
  bool end_array() override {
    if (skips_closing()) return true;
    if (place_ != Place::edge) return go(Place::root);
    if (ends_ != 2) reject_edge(fmt::format("has {} of 2 entries", ends_));
    return go(Place::edges);
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    if (text_.find_first_not_of(" \t\r\n") == std::string_view::npos) reject("the file is empty", root_form);
    std::string_view what = error.what();
    for (std::string_view prefix : {"] ", "parse error at "}) {
      if (const auto found = what.find(prefix); found != std::string_view::npos && found < 48)
        what.remove_prefix(found + prefix.size());
    }
    std::string shown(what.substr(0, 240));
    for (char& c : shown) {
      if (static_cast<unsigned char>(c) >= 0x7F) c = '?';  // what was read need not be UTF-8
    }
    const std::string_view read = text_.substr(0, position);
    const auto line = static_cast<std::uint32_t>(1 + std::count(read.begin(), read.end(), '\n'));
    fail(
        ErrorCode::syntax,
        {.what = "not JSON: " + shown, .expected = std::string(root_form), .where = SourceLine(file_, line)});
  }

 private:
  enum class Place { top, root, nodes, node, edges, edge };
  struct Fields {  // of a node, seen so far
    bool name = false, cost = false, bytes = false, backward = false;
    std::string name_text;
    double cost_value = 0;
    std::int64_t bytes_value = 0;
    bool backward_value = false;
  };

  bool go(Place place) {
    place_ = place;
    return true;
  }

  // Values of fields that are not ours, whatever is in them.
  bool skips_opening() {
    if (skipped_depth_ == 0 && !skip_value_) return false;
    skip_value_ = false;
    ++skipped_depth_;
    return true;
  }
  bool skips_closing() {
    if (skipped_depth_ == 0) return false;
    --skipped_depth_;
    return true;
  }

  // The line of what was just read. After a number the parser has looked one character further.
  std::uint32_t line() {
    const char* end = read_ > counted_ && read_[-1] == '\n' ? read_ - 1 : read_;
    line_ += static_cast<std::uint32_t>(std::count(counted_, end, '\n'));
    counted_ = end;
    return line_;
  }
  SourceLine here() { return {file_, line()}; }

  [[noreturn]] void reject(std::string what, std::string_view expected) {
    fail(ErrorCode::bad_file, {.what = std::move(what), .expected = std::string(expected), .where = here()});
  }
  [[noreturn]] void reject_node(std::string what, std::string_view expected) {
    std::string node = fmt::format("node {}", dag_.names.size());
    if (!fields_.name_text.empty()) {
      const Dag alone{.names = {fields_.name_text}, .cost = {}, .bytes = {}, .backward = {}, .edges = {}};
      node += node_label(alone, 0).substr(6);
    }
    reject(fmt::format("{}: {}", node, what), expected);
  }
  [[noreturn]] void reject_edge(std::string what) {
    reject(fmt::format("edge {} {}", edges_.size() - 1, what), "[producer, consumer], two indices of nodes");
  }
  // A value of a kind that has no business where it stands.
  [[noreturn]] void reject_value(std::string_view kind) {
    switch (place_) {
      case Place::top:
        reject(fmt::format("the file holds {}, not a graph", kind), root_form);
      case Place::root:
        reject(fmt::format("`{}` is {}, not a list", key_, kind), root_form);
      case Place::nodes:
        reject(fmt::format("node {} is {}, not an object", dag_.names.size(), kind), node_form);
      case Place::node:
        reject_node(fmt::format("`{}` is {}", key_, kind), node_form);
      case Place::edges:
        reject(fmt::format("edge {} is {}, not a list", edges_.size(), kind),
               "[producer, consumer], two indices of nodes");
      case Place::edge:
        reject_edge(fmt::format("holds {}", kind));
    }
    TM_CHECK(false);
  }

  void first_time(bool& seen) {
    if (place_ == Place::node && seen)
      reject_node(fmt::format("the field `{}` is there twice", key_), node_form);
    if (seen) reject(fmt::format("the field `{}` is there twice", key_), root_form);
    seen = true;
  }

  bool scalar(Scalar s) {
    if (skipped_depth_ > 0 || std::exchange(skip_value_, false)) return true;
    if (place_ == Place::node) {
      set_field(std::move(s));
    } else if (place_ == Place::edge) {
      add_end(s);
    } else {
      reject_value(s.kind);
    }
    return true;
  }

  void set_field(Scalar s) {
    if (key_ == "name") {
      if (!s.is_text) reject_value(s.kind);
      fields_.name_text = std::move(s.text);
    } else if (key_ == "backward") {
      if (!s.is_bool) reject_value(s.kind);
      fields_.backward_value = s.flag;
    } else if (!s.is_number) {
      reject_value(s.kind);
    } else if (s.number < 0) {
      reject_node(fmt::format("`{}` is negative: {}", key_, s.text), "0 or more");
    } else if (key_ == "cost") {
      fields_.cost_value = s.number;
    } else {
      if (s.number > static_cast<double>(max_dag_bytes))
        reject_node(fmt::format("`bytes` is too large: {}", s.text), "at most 2^61 bytes");
      if (!s.whole) reject_node(fmt::format("`bytes` is not a whole number: {}", s.text), "a whole number");
      fields_.bytes_value = *s.whole;
    }
  }

  void add_node() {
    for (auto [field, seen] :
         {std::pair("name", fields_.name), {"cost", fields_.cost}, {"bytes", fields_.bytes}}) {
      if (!seen) reject_node(fmt::format("the field `{}` is missing", field), node_form);
    }
    total_bytes_ += fields_.bytes_value;  // both at most 2^61
    total_cost_ += fields_.cost_value;
    if (total_bytes_ > max_dag_bytes)
      reject_node("with its `bytes` all values together overflow", "at most 2^61 bytes in all");
    if (!(total_cost_ <= max_dag_cost))
      reject_node("with its `cost` all costs together overflow",
                  fmt::format("at most {} in all", max_dag_cost));
    if (dag_.size() == std::numeric_limits<int>::max()) reject_node("too many nodes", "fewer");
    dag_.names.push_back(std::move(fields_.name_text));
    dag_.cost.push_back(fields_.cost_value);
    dag_.bytes.push_back(fields_.bytes_value);
    dag_.backward.push_back(fields_.backward_value);
  }

  void add_end(const Scalar& s) {
    if (!s.is_number) reject_value(s.kind);
    if (!s.whole) reject_edge(fmt::format("holds {}, which is no index of a node", s.text));
    if (ends_ == 2) reject_edge("has more than 2 entries");
    (ends_++ == 0 ? edges_.back().producer : edges_.back().consumer) = *s.whole;
  }

  std::string_view text_, file_;
  const char* read_;     // the parser has taken all before this
  const char* counted_;  // line_ is right up to here
  std::uint32_t line_ = 1;

  Place place_ = Place::top;
  std::string key_;
  bool skip_value_ = false;
  std::size_t skipped_depth_ = 0;

  bool has_nodes_ = false, has_edges_ = false;
  Fields fields_;
  int ends_ = 0;
  std::int64_t total_bytes_ = 0;
  double total_cost_ = 0;
  std::vector<RawEdge> edges_;
  Dag dag_;
};

}  // namespace

Dag dag_from_json(std::string_view text, std::string_view origin) { return DagReader(text, origin).parse(); }

}  // namespace tidemark
