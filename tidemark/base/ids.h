// Indices that do not mix: a ValueId never converts to a NodeId or to an int.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace tidemark {

template <class Tag>
struct Id {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t index = none;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t i) : index(static_cast<std::uint32_t>(i)) {}
  constexpr bool valid() const { return index != none; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using ValueId = Id<struct ValueTag>;            // a value of a graph
using NodeId = Id<struct NodeTag>;              // an operation of a graph
using BufferId = Id<struct BufferTag>;          // a stretch of memory of a plan
using CheckpointId = Id<struct CheckpointTag>;  // a call of checkpoint(f) in a graph

}  // namespace tidemark

template <class Tag>
struct std::hash<tidemark::Id<Tag>> {
  std::size_t operator()(tidemark::Id<Tag> id) const noexcept { return std::hash<std::uint32_t>{}(id.index); }
};
