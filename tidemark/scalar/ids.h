// Numbers of statements.
#pragma once
#include <cstdint>

namespace tidemark::scalars {

// What a Real knows of the tape: 0 is passive; else the number of the recording, and below it an index,
// from 1. So the difference of two ids of one recording is the distance of their statements, and that of
// two recordings is out of any range: who mixes them is found where distances are coded, at no cost.
using Id = std::uint64_t;
inline constexpr int index_bits = 44;
inline constexpr Id index_mask = (Id{1} << index_bits) - 1;
inline constexpr Id most_statements = Id{1} << (index_bits - 1);
constexpr Id index_of(Id id) { return id & index_mask; }

}  // namespace tidemark::scalars
