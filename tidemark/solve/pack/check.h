// Is this layout valid? A sweep over time that shares no code with the packer, so that it can judge it.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tidemark/solve/pack/pack.h"

namespace tidemark {

struct PackFault {
  std::size_t item = 0;
  std::size_t other = 0;  // == item when the fault is the item's own
  std::string what;
};

// The first fault in time: a negative or misaligned offset, or two items that share bytes at one time.
std::optional<PackFault> check_packing(std::span<const PackItem> items,
                                       std::span<const std::int64_t> offsets);

}  // namespace tidemark
