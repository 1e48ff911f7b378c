#include "tidemark/ir/print.h"

#include <fmt/format.h>

#include <unordered_set>

#include "tidemark/ir/lex.h"

namespace tidemark {
namespace {

std::string name_text(std::string_view name) { return is_identifier(name) ? std::string(name) : quote(name); }

class Printer {
 public:
  Printer(const Graph& graph, int depth, std::string& out)
      : graph_(graph), indent_(static_cast<std::size_t>(2 * depth), ' '), depth_(depth), out_(out) {}

  void print() {
    label_values();
    out_ += indent_ + "graph";
    if (!graph_.name.empty()) out_ += " @" + name_text(graph_.name);
    out_ += '(';
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      const Input& input = graph_.inputs()[i];
      if (i) out_ += ", ";
      out_ += label(input.value) + ": " + to_string(graph_.type(input.value));
      if (input.donated) out_ += " donated";
      if (input.differentiated) out_ += " differentiated";
    }
    out_ += ") -> (";
    print_types(graph_.outputs());
    out_ += ") {\n";
    for (const Node& node : graph_.nodes()) print_node(node);
    out_ += indent_ + "  return";
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i)
      out_ += (i ? ", " : " ") + label(graph_.outputs()[i]);
    out_ += '\n';
    for (std::size_t i = 0; i < graph_.checkpoints().size(); ++i) print_checkpoint(CheckpointId(i));
    for (const Hint& hint : graph_.hints()) {
      out_ += fmt::format("{}  {} ", indent_, name_of(hint.kind));
      if (hint.kind == HintKind::compress) out_ += name_text(hint.format) + " ";
      out_ += hint.value.valid() ? label(hint.value) : "_";
      print_where(hint.where);
    }
    out_ += indent_ + "}";
  }

 private:
  // Names may repeat within a graph; all but the first of a name carry their number: %h, %h#7.
  void label_values() {
    labels_.resize(graph_.values().size());
    std::size_t number = 0;
    std::unordered_set<std::string_view> used;
    const auto assign = [&](ValueId v) {
      const std::string& name = graph_[v].name;
      if (name.empty()) {
        labels_[v.index] = fmt::format("%{}", number);
      } else if (used.insert(name).second) {
        labels_[v.index] = "%" + name_text(name);
      } else {
        labels_[v.index] = fmt::format("%{}#{}", name_text(name), number);
      }
      ++number;
    };
    for (const Input& input : graph_.inputs()) assign(input.value);
    for (const Node& node : graph_.nodes()) {
      for (ValueId v : node.results) assign(v);
    }
  }

  const std::string& label(ValueId v) const { return labels_[v.index]; }

  void print_values(const std::vector<ValueId>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) out_ += (i ? ", " : "") + label(values[i]);
  }

  void print_types(const std::vector<ValueId>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      out_ += (i ? ", " : "") + to_string(graph_.type(values[i]));
  }

  void print_attrs(const Node& node) {
    const AttrSchema& schema = node.op->schema();
    TM_CHECK(node.attrs.size() == schema.size(), "{} has {} attributes", node.op->name, node.attrs.size());
    bool any = false;
    for (std::size_t i = 0; i < schema.size(); ++i) {
      if (same_attrs({node.attrs[i]}, {schema[i].default_value})) continue;
      out_ += fmt::format("{}{} = {}", any ? ", " : " {", schema[i].name, tidemark::print(node.attrs[i]));
      any = true;
    }
    if (any) out_ += '}';
  }

  void print_regions(const Node& node) {
    if (node.regions.empty()) return;
    out_ += " [\n";
    for (std::size_t i = 0; i < node.regions.size(); ++i) {
      Printer(node.regions[i], depth_ + 2, out_).print();
      out_ += i + 1 < node.regions.size() ? ",\n" : "\n";
    }
    out_ += indent_ + "  ]";
  }

  void print_node(const Node& node) {
    out_ += indent_ + "  ";
    print_values(node.results);
    if (!node.results.empty()) out_ += " = ";
    out_ += name_text(node.op->name) + "(";
    print_values(node.operands);
    out_ += ')';
    print_attrs(node);
    print_regions(node);
    if (!node.results.empty()) out_ += " : ";
    print_types(node.results);
    if (node.backward) out_ += " backward";
    if (node.checkpoint.valid()) out_ += fmt::format(" #{}", node.checkpoint.index);
    print_where(node.where);
  }

  void print_where(const SourceLine& where) {
    if (where.known()) out_ += fmt::format("  @ {}:{}", quote(where.file), where.line);
    out_ += '\n';
  }

  void print_checkpoint(CheckpointId id) {
    const Checkpoint& checkpoint = graph_[id];
    out_ += fmt::format("{}  checkpoint #{}", indent_, id.index);
    if (checkpoint.parent.valid()) out_ += fmt::format(" in #{}", checkpoint.parent.index);
    if (!checkpoint.name.empty()) out_ += " " + quote(checkpoint.name);
    out_ += " (";
    print_values(checkpoint.results);
    out_ += ')';
    if (checkpoint.memory) out_ += fmt::format(" memory {}", checkpoint.memory->count);
    print_where(checkpoint.where);
  }

  const Graph& graph_;
  const std::string indent_;
  const int depth_;
  std::string& out_;
  std::vector<std::string> labels_;  // per value
};

}  // namespace

std::string print(const Graph& graph) {
  std::string text;
  Printer(graph, 0, text).print();
  return text + "\n";
}

}  // namespace tidemark
