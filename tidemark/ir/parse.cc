#include "tidemark/ir/parse.h"

#include <fmt/ranges.h>

#include <optional>
#include <unordered_map>

#include "tidemark/ir/limits.h"
#include "tidemark/ir/parse_attrs.h"

namespace tidemark {
namespace {

struct Label {
  std::string key;   // unique per spelling: the number, a quote mark, the name
  std::string name;  // empty for a bare number
  std::size_t offset = 0;
};

class GraphParser {
 public:
  GraphParser(Lexer& lexer, const OpLookup& lookup, int depth)
      : lexer_(lexer), lookup_(lookup), depth_(depth) {}

  Graph parse() {
    if (depth_ > max_region_depth) {
      lexer_.fail_at(lexer_.peek().offset, ErrorCode::syntax,
                     {.what = fmt::format("regions are nested more than {} deep", max_region_depth)});
    }
    expect(lexer_, "graph");
    if (accept(lexer_, "@")) graph_.name = parse_name(lexer_, "the name of the graph");
    parse_inputs();
    expect(lexer_, "->");
    const std::size_t declared_at = lexer_.peek().offset;
    const std::vector<Type> declared = parse_output_types();
    expect(lexer_, "{");
    while (!lexer_.peek().is("return")) {
      if (lexer_.peek().kind == TokenKind::end || lexer_.peek().is("}"))
        fail_expected(lexer_, "a node or 'return'");
      parse_node();
    }
    parse_return(declared, declared_at);
    parse_hints();
    expect(lexer_, "}");
    return std::move(graph_);
  }

 private:
  [[noreturn]] void malformed(std::size_t offset, std::string what, std::string expected = "") {
    lexer_.fail_at(offset, ErrorCode::malformed_graph,
                   {.what = std::move(what), .expected = std::move(expected)});
  }

  Label parse_label() {
    Label label;
    label.offset = expect(lexer_, "%").offset;
    const auto number = [&] {
      return std::to_string(parse_integer(lexer_, 0, std::numeric_limits<std::int64_t>::max()));
    };
    if (lexer_.peek().kind == TokenKind::integer) {
      label.key = number();
      return label;
    }
    label.name = parse_name(lexer_, "the name or number of a value");
    if (label.name.empty()) malformed(label.offset, "the name of a value is empty");
    if (accept(lexer_, "#")) label.key = number();
    label.key += '"' + label.name;
    return label;
  }

  static std::string text_of(const Label& label) {
    return label.name.empty() ? "%" + label.key : "%" + label.name;
  }

  void define(const Label& label, ValueId value) {
    if (!values_.emplace(label.key, value).second)
      malformed(label.offset, text_of(label) + " is defined twice");
    graph_[value].name = label.name;
  }

  ValueId parse_use() {
    const Label label = parse_label();
    const auto found = values_.find(label.key);
    if (found == values_.end()) {
      malformed(label.offset, text_of(label) + " is not defined above",
                "a value is defined before it is used");
    }
    return found->second;
  }

  void parse_inputs() {
    expect(lexer_, "(");
    if (!lexer_.peek().is(")")) {
      do {
        const Label label = parse_label();
        expect(lexer_, ":");
        const Type type = parse_type(lexer_);
        const bool donated = accept(lexer_, "donated");
        define(label, graph_.add_input(type, {}, donated));
        graph_.inputs().back().differentiated = accept(lexer_, "differentiated");
      } while (accept(lexer_, ","));
    }
    expect(lexer_, ")");
  }

  std::vector<Type> parse_types() {
    std::vector<Type> types;
    do {
      types.push_back(parse_type(lexer_));
    } while (accept(lexer_, ","));
    return types;
  }

  std::vector<Type> parse_output_types() {
    std::vector<Type> types;
    expect(lexer_, "(");
    if (!lexer_.peek().is(")")) types = parse_types();
    expect(lexer_, ")");
    return types;
  }

  const Op& parse_op() {
    const std::size_t offset = lexer_.peek().offset;
    const std::string name = parse_name(lexer_, "the name of an operation");
    if (const Op* op = lookup_.find(name)) return *op;
    const std::string near = lookup_.nearest && name.size() <= 64 ? lookup_.nearest(name) : "";
    lexer_.fail_at(offset, ErrorCode::unknown_op,
                   {.what = fmt::format("there is no operation '{}'", name.substr(0, 64)),
                    .help = near.empty() ? "" : fmt::format("did you mean '{}'?", near)});
  }

  std::vector<ValueId> parse_operands() {
    std::vector<ValueId> operands;
    expect(lexer_, "(");
    if (!lexer_.peek().is(")")) {
      do {
        operands.push_back(parse_use());
      } while (accept(lexer_, ","));
    }
    expect(lexer_, ")");
    return operands;
  }

  Attrs parse_attrs(const Op& op, std::size_t node_offset) {
    const AttrSchema& schema = op.schema();
    Attrs attrs;
    for (const AttrSpec& spec : schema) attrs.push_back(spec.default_value);
    std::vector<bool> given(schema.size(), false);
    if (accept(lexer_, "{") && !accept(lexer_, "}")) {
      do {
        const Token name = lexer_.peek();
        if (name.kind != TokenKind::identifier) fail_expected(lexer_, "the name of an attribute");
        lexer_.take();
        const auto spec = std::find_if(schema.begin(), schema.end(),
                                       [&](const AttrSpec& s) { return s.name == name.text; });
        if (spec == schema.end()) fail_unknown_attribute(op, name);
        const auto i = static_cast<std::size_t>(spec - schema.begin());
        if (given[i]) {
          lexer_.fail_at(name.offset, ErrorCode::bad_attribute,
                         {.what = fmt::format("{} is given twice", spec->name)});
        }
        given[i] = true;
        expect(lexer_, "=");
        attrs[i] = parse_attr(lexer_, spec->default_value);
      } while (accept(lexer_, ","));
      expect(lexer_, "}");
    }
    for (std::size_t i = 0; i < schema.size(); ++i) {  // a default that is no valid value means: required
      const Literal* literal = std::get_if<Literal>(&attrs[i]);
      if (literal && !is_well_formed(*literal)) {
        lexer_.fail_at(node_offset, ErrorCode::bad_attribute,
                       {.what = fmt::format("{}: the attribute {} is missing", op.name, schema[i].name)});
      }
    }
    return attrs;
  }

  [[noreturn]] void fail_unknown_attribute(const Op& op, const Token& name) {
    std::vector<std::string_view> names;
    for (const AttrSpec& spec : op.schema()) names.push_back(spec.name);
    lexer_.fail_at(name.offset, ErrorCode::bad_attribute,
                   {.what = fmt::format("{} has no attribute '{}'", op.name, name.text.substr(0, 64)),
                    .expected = names.empty() ? "no attributes" : fmt::format("{}", fmt::join(names, ", "))});
  }

  std::vector<Graph> parse_regions() {
    std::vector<Graph> regions;
    if (!accept(lexer_, "[")) return regions;
    do {
      regions.push_back(GraphParser(lexer_, lookup_, depth_ + 1).parse());
    } while (accept(lexer_, ","));
    expect(lexer_, "]");
    return regions;
  }

  SourceLine parse_where() {
    if (!accept(lexer_, "@")) return {};
    // A line of no file is no line: it would be lost when the graph is printed.
    if (lexer_.peek().kind != TokenKind::string || unquote(lexer_.peek().text).empty())
      fail_expected(lexer_, "a file name in quotes");
    const std::string file = unquote(lexer_.take().text);
    expect(lexer_, ":");
    const std::int64_t line = parse_integer(lexer_, 0, std::numeric_limits<std::uint32_t>::max());
    return {intern(file), static_cast<std::uint32_t>(line)};
  }

  // The op's own opinion of the result types; its errors get our place in the text.
  std::vector<Type> infer(const Node& node, std::size_t offset) {
    std::vector<Type> in;
    for (ValueId v : node.operands) in.push_back(graph_.type(v));
    const Call call{.op = node.op,
                    .in = in,
                    .out = {},
                    .attrs = &node.attrs,
                    .regions = node.regions,
                    .where = {},
                    .in_strides = {}};
    std::optional<Error> failure;
    try {
      return node.op->infer(call);
    } catch (const Error& error) {
      failure = error;
    }
    lexer_.fail_at(offset, failure->code(), failure->parts());
  }

  void parse_node() {
    std::vector<Label> results;
    const std::size_t offset = lexer_.peek().offset;
    if (lexer_.peek().is("%")) {
      do {
        results.push_back(parse_label());
      } while (accept(lexer_, ","));
      expect(lexer_, "=");
    }
    const std::size_t op_offset = lexer_.peek().offset;
    Node node;
    node.op = &parse_op();
    node.operands = parse_operands();
    node.attrs = parse_attrs(*node.op, op_offset);
    node.regions = parse_regions();
    const std::vector<Type> types = infer(node, op_offset);
    if (types.size() != results.size()) {
      malformed(offset,
                fmt::format("{} has {} results, {} are named", node.op->name, types.size(), results.size()));
    }
    if (!results.empty()) check_types(*node.op, types);
    node.backward = accept(lexer_, "backward");
    if (lexer_.peek().is("#")) {
      const std::size_t at = lexer_.peek().offset;
      node.checkpoint = parse_checkpoint_number();
      if (!last_checkpoint_.valid() || node.checkpoint > last_checkpoint_)
        last_checkpoint_ = node.checkpoint, last_checkpoint_at_ = at;
    }
    node.where = parse_where();
    const NodeId id = graph_.add_node(std::move(node), types);
    for (std::size_t r = 0; r < results.size(); ++r) define(results[r], graph_[id].results[r]);
  }

  void check_types(const Op& op, const std::vector<Type>& inferred) {
    expect(lexer_, ":");
    const std::size_t offset = lexer_.peek().offset;
    const std::vector<Type> written = parse_types();
    for (const Type& type : inferred) {
      if (!within_limits(type)) malformed(offset, fmt::format("{}: a result is too large", op.name));
    }
    if (written != inferred) {
      malformed(offset, fmt::format("{} gives other types than are written", op.name), types_text(inferred));
    }
  }

  void parse_return(const std::vector<Type>& declared, std::size_t declared_at) {
    const std::size_t offset = expect(lexer_, "return").offset;
    std::vector<Type> types;
    if (lexer_.peek().is("%")) {
      do {
        const ValueId value = parse_use();
        graph_.add_output(value);
        types.push_back(graph_.type(value));
      } while (accept(lexer_, ","));
    }
    if (types.size() != declared.size()) {
      malformed(offset,
                fmt::format("{} values are returned, {} are declared", types.size(), declared.size()));
    }
    if (types != declared)
      malformed(declared_at, "the declared results are not what is returned", types_text(types));
  }

  CheckpointId parse_checkpoint_number() {
    expect(lexer_, "#");
    return CheckpointId(static_cast<std::size_t>(parse_integer(lexer_, 0, CheckpointId::none - 1)));
  }

  // What follows the return: checkpoints in the order of their numbers, then hints.
  void parse_hints() {
    while (lexer_.peek().is("checkpoint")) parse_checkpoint();
    if (last_checkpoint_.valid() && last_checkpoint_.index >= graph_.checkpoints().size()) {
      malformed(last_checkpoint_at_, fmt::format("there is no checkpoint #{}", last_checkpoint_.index),
                "a line 'checkpoint' after the return");
    }
    for (;;) {
      Hint hint;
      if (accept(lexer_, name_of(HintKind::keep))) {
        hint.kind = HintKind::keep;
      } else if (accept(lexer_, name_of(HintKind::recompute))) {
        hint.kind = HintKind::recompute;
      } else if (accept(lexer_, name_of(HintKind::offload))) {
        hint.kind = HintKind::offload;
      } else if (accept(lexer_, name_of(HintKind::compress))) {
        hint.kind = HintKind::compress;
        hint.format = parse_name(lexer_, "format");
      } else {
        return;
      }
      if (!accept(lexer_, "_")) hint.value = parse_use();
      hint.where = parse_where();
      graph_.add_hint(hint);
    }
  }

  void parse_checkpoint() {
    expect(lexer_, "checkpoint");
    const std::size_t offset = lexer_.peek().offset;
    const auto number = [&](std::size_t at, bool holds, std::string_view expected) {
      if (!holds)
        malformed(at, "checkpoints are numbered from the outside in, from 0 on", std::string(expected));
    };
    number(offset, parse_checkpoint_number().index == graph_.checkpoints().size(),
           fmt::format("#{}", graph_.checkpoints().size()));
    Checkpoint checkpoint;
    if (accept(lexer_, "in")) {
      const std::size_t parent_at = lexer_.peek().offset;
      checkpoint.parent = parse_checkpoint_number();
      number(parent_at, checkpoint.parent.index < graph_.checkpoints().size(),
             "one of the checkpoints above");
    }
    if (lexer_.peek().kind == TokenKind::string) checkpoint.name = unquote(lexer_.take().text);
    checkpoint.results = parse_operands();
    if (accept(lexer_, "memory")) {
      checkpoint.memory = Bytes(parse_integer(lexer_, 0, std::numeric_limits<std::int64_t>::max()));
    }
    checkpoint.where = parse_where();
    graph_.add_checkpoint(std::move(checkpoint));
  }

  static std::string types_text(const std::vector<Type>& types) {
    std::string text;
    for (const Type& type : types) text += (text.empty() ? "" : ", ") + to_string(type);
    return text;
  }

  Lexer& lexer_;
  const OpLookup& lookup_;
  const int depth_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> values_;
  CheckpointId last_checkpoint_;  // the highest that a node names
  std::size_t last_checkpoint_at_ = 0;
};

}  // namespace

Graph parse(std::string_view text, const OpLookup& lookup, std::string_view filename) {
  Lexer lexer(text, filename);
  Graph graph = GraphParser(lexer, lookup, 0).parse();
  if (lexer.peek().kind != TokenKind::end) fail_expected(lexer, "the end of the text");
  return graph;
}

}  // namespace tidemark
