#include "tidemark/opt/known_ops.h"

namespace tidemark {
namespace {

std::size_t place_of(const AttrSchema& schema, std::string_view name) {
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].name == name) return i;
  }
  TM_CHECK(false, "no attribute {}", name);
  return 0;
}

}  // namespace

KnownOps known_ops(const Op* (*find)(std::string_view name)) {
  KnownOps ops;
#define TM_KNOWN_OP(name) ops.name = find(#name);
  TM_KNOWN_OPS(TM_KNOWN_OP)
#undef TM_KNOWN_OP
  return ops;
}

const AttrValue& attribute(const Node& node, std::string_view name) {
  return node.attrs[place_of(node.op->schema(), name)];
}

Attrs attrs_with(const Op& op, std::initializer_list<NamedAttr> given) {
  const AttrSchema& schema = op.schema();
  Attrs attrs;
  for (const AttrSpec& spec : schema) attrs.push_back(spec.default_value);
  for (const NamedAttr& attr : given) attrs[place_of(schema, attr.name)] = attr.value;
  return attrs;
}

}  // namespace tidemark
