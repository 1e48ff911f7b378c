#include "tidemark/ops/registry.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "tidemark/base/spelling.h"

namespace tidemark {
namespace {

constexpr const Op* table[] = {
#define TM_OP(name) &op::name,
#include "tidemark/ops/ops.def"
};

}  // namespace

std::span<const Op* const> all_ops() { return table; }

const Op* find_op(std::string_view name) {
  static const auto* by_name = [] {
    auto* map = new std::unordered_map<std::string_view, const Op*>;
    for (const Op* op : table) map->emplace(op->name, op);
    return map;
  }();
  const auto found = by_name->find(name);
  return found == by_name->end() ? nullptr : found->second;
}

std::string nearest_op(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Op* op : table) names.push_back(op->name);
  return nearest_name(name, names);
}

}  // namespace tidemark
