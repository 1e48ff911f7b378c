#include "tidemark/scalar/dependence.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tidemark/base/error.h"
#include "tidemark/scalar/bit_set.h"

namespace tidemark::scalars {
namespace {

// How often a node is needed, as far as it matters: a union that is needed once is not kept, but becomes part
// of the one that needs it. So the thousand summands of an adjoint are one union, and not a thousand that
// grow.
constexpr std::uint8_t not_needed = 0, once = 1, often = 2;

}  // namespace

DependenceGraph::DependenceGraph() : before_(std::exchange(active_, this)) {
  cache_.resize(std::size_t{1} << cache_bits);
}
DependenceGraph::~DependenceGraph() { active_ = before_; }

DependenceGraph::Node DependenceGraph::add(const Parts& parts) {
  if (nodes_.size() == std::numeric_limits<Node>::max())
    fail(ErrorCode::tape_full, {.what = "the pattern of a function of more than 2^32 operations",
                                .help = "find the pattern of a smaller instance, or give it by hand"});
  nodes_.push_back(parts);
  return static_cast<Node>(nodes_.size() - 1);
}

DependenceGraph::Node DependenceGraph::new_union(Node a, Node b) {
  if (a < b) std::swap(a, b);
  if (const Parts& last = nodes_[a]; last.first != nothing && (last.first == b || last.second == b)) return a;
  Known& known = cache_[(a * 0x9e3779b1u + b * 0x85ebca6bu) >> (32 - cache_bits)];
  if (known.a != a || known.b != b) known = {a, b, add({a, b})};
  return known.both;
}

std::vector<std::uint8_t> DependenceGraph::uses_of(std::span<const Node> roots) const {
  std::vector<std::uint8_t> uses(nodes_.size(), not_needed);
  const auto need = [&](Node node) { uses[node] = uses[node] == not_needed ? once : often; };
  for (const Node root : roots) need(root);
  for (std::size_t node = nodes_.size(); node-- > 1;)
    if (uses[node] != not_needed && nodes_[node].first != nothing) {
      need(nodes_[node].first);
      need(nodes_[node].second);
    }
  return uses;
}

SparsePattern DependenceGraph::pattern(std::span<const Node> roots) const {
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  const std::vector<std::uint8_t> uses = uses_of(roots);
  std::vector<Range> sets(nodes_.size());  // of nodes that are needed often
  std::vector<std::int32_t> members, gathered;
  std::vector<std::uint32_t> seen_by(inputs_, 0);  // the number of the latest gathering
  std::uint32_t gathering = 0;
  std::vector<Node> waiting;
  const std::size_t most = 16 * nodes_.size() + (std::size_t{1} << 16);

  const auto insert = [&](std::int32_t input) {
    auto& seen = seen_by[static_cast<std::size_t>(input)];
    if (seen != gathering) gathered.push_back(input);
    seen = gathering;
  };
  const auto gather = [&](Node node) {
    gathered.clear();
    ++gathering;
    waiting.assign(1, node);
    while (!waiting.empty()) {
      const Node at = waiting.back();
      waiting.pop_back();
      const Parts& parts = nodes_[at];
      if (at == nothing) continue;
      if (parts.first == nothing) {
        insert(static_cast<std::int32_t>(parts.second));
      } else if (uses[at] == often && at != node) {
        for (std::size_t i = sets[at].begin; i < sets[at].end; ++i) insert(members[i]);
      } else {
        waiting.push_back(parts.first);
        waiting.push_back(parts.second);
      }
    }
    std::sort(gathered.begin(), gathered.end());
  };
  const auto same_size = [&](Node part) {
    return nodes_[part].first != nothing && uses[part] == often &&
           sets[part].end - sets[part].begin == gathered.size();
  };

  for (Node node = 1; node < nodes_.size(); ++node) {
    const Parts& parts = nodes_[node];
    if (uses[node] != often || parts.first == nothing) continue;
    gather(node);
    // As large as a part of it: it is that part.
    if (same_size(parts.first)) {
      sets[node] = sets[parts.first];
    } else if (same_size(parts.second)) {
      sets[node] = sets[parts.second];
    } else {
      sets[node].begin = members.size();
      members.insert(members.end(), gathered.begin(), gathered.end());
      sets[node].end = members.size();
    }
    if (members.size() > most) return pattern_by_bits(roots);
  }
  SparsePattern pattern(roots.size(), inputs_);
  for (const Node root : roots) {
    if (uses[root] == often && nodes_[root].first != nothing) {
      pattern.append_row(std::span(members).subspan(sets[root].begin, sets[root].end - sets[root].begin));
    } else {
      gather(root);
      pattern.append_row(gathered);
    }
  }
  return pattern;
}

SparsePattern DependenceGraph::pattern_by_bits(std::span<const Node> roots) const {
  const std::vector<std::uint8_t> uses = uses_of(roots);
  std::vector<std::uint32_t> place(nodes_.size(), 0);  // among those that are needed
  std::uint32_t needed = 1;
  for (Node node = 1; node < nodes_.size(); ++node)
    if (uses[node] != not_needed) place[node] = needed++;
  std::vector<Bits> sets(needed);
  std::vector<std::vector<std::int32_t>> rows(roots.size());
  for (std::size_t begin = 0; begin < inputs_; begin += Bits::count) {
    for (Node node = 1; node < nodes_.size(); ++node) {
      if (uses[node] == not_needed) continue;
      const Parts& parts = nodes_[node];
      Bits set;
      if (parts.first != nothing) {
        set = sets[place[parts.first]];
        set += sets[place[parts.second]];
      } else if (parts.second >= begin && parts.second - begin < Bits::count) {
        set.insert(parts.second - begin);
      }
      sets[place[node]] = set;
    }
    for (std::size_t row = 0; row < roots.size(); ++row) {
      const Bits& set = sets[place[roots[row]]];
      if (is_zero(set)) continue;
      for (std::size_t i = 0; i < Bits::count; ++i)
        if (set.holds(i)) rows[row].push_back(static_cast<std::int32_t>(begin + i));
    }
  }
  SparsePattern pattern(roots.size(), inputs_);
  for (const auto& row : rows) pattern.append_row(row);
  return pattern;
}

}  // namespace tidemark::scalars
