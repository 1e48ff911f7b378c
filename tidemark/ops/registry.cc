#include "tidemark/ops/registry.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

namespace tidemark {
namespace {

constexpr const Op* table[] = {
#define TM_OP(name) &op::name,
#include "tidemark/ops/ops.def"
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

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
  std::string best;
  std::size_t best_distance = 3;  // more than two edits apart is no typo
  for (const Op* op : table) {
    const std::size_t distance = edit_distance(name, op->name);
    if (distance < best_distance) best_distance = distance, best = op->name;
  }
  return best;
}

}  // namespace tidemark
