// A forward sweep over a recording: tangents of its results along directions of its inputs. Where a function
// has fewer inputs than results it is cheaper than reversals, and needs nothing but the recording. Tangents
// lie in a ring as long as the distances of near operands; blocks with operands of statements far away are
// kept.
#pragma once
#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <vector>

#include "tidemark/base/check.h"
#include "tidemark/scalar/real.h"
#include "tidemark/scalar/statements.h"

namespace tidemark::scalars {

// What such a sweep takes.
template <class A, class T>
std::size_t forward_sweep_bytes(const RecordingView<T>& view, std::size_t results) {
  const FarBlocks& far = view.recording.far;
  const Id near = std::min(view.near_seen + 1, view.near_limit);
  return std::bit_ceil(std::max<Id>(near, 2)) * sizeof(A) + far.size() * sizeof(std::vector<A>) +
         far.count() * block_size * sizeof(A) + results * (sizeof(std::size_t) + sizeof(A)) +
         forward_walk_bytes(view);
}

// `seed(number)`: the tangent of an input, by its number. Recordings with events cannot be swept forward:
// they know their adjoints alone.
template <class A, class T, class SeedOf>
std::vector<A> forward_sweep(const RecordingView<T>& view, SeedOf&& seed,
                             std::span<const BasicReal<T>> results) {
  using Kind = typename Statement<T>::Kind;
  TM_CHECK(view.recording.events.empty());
  const FarBlocks& far = view.recording.far;
  const Id near = std::min(view.near_seen + 1, view.near_limit);
  std::vector<A> ring(std::bit_ceil(std::max<Id>(near, 2)));
  const Id mask = ring.size() - 1;
  std::vector<std::vector<A>> kept(far.size());
  std::vector<A> early(view.recording.forms->side_by_side());  // what forms name lies at any distance

  std::vector<std::size_t> order(results.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return results[a].id() < results[b].id(); });
  std::vector<A> tangents(results.size());
  std::size_t next = 0;
  while (next < order.size() && results[order[next]].id() == 0) ++next;

  walk_forward(view, [&](const Statement<T>& statement) {
    const Id k = statement.index;
    A sum{};
    if (statement.kind == Kind::input) {
      sum = seed(statement.number);
    } else {
      for (unsigned i = 0; i < statement.operands(); ++i) {
        const Id operand = statement.operand(i);
        const A& from = operand < early.size() ? early[operand]
                        : k - operand < view.near_limit
                            ? ring[operand & mask]
                            : kept[operand >> block_bits][operand & (block_size - 1)];
        if (is_zero(from)) continue;
        if (i < statement.units)
          sum += from;
        else
          sum += statement.slope(i) * from;
      }
    }
    ring[k & mask] = sum;
    if (k < early.size()) early[k] = sum;
    if (far.holds(k >> block_bits)) {
      auto& block = kept[k >> block_bits];
      block.resize(block_size);
      block[k & (block_size - 1)] = sum;
    }
    for (; next < order.size() && index_of(results[order[next]].id()) == k; ++next)
      tangents[order[next]] = sum;
  });
  return tangents;
}

}  // namespace tidemark::scalars
