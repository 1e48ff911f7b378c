// Packing lifetimes into one arena (dynamic storage allocation): each item occupies [offset, offset + size)
// of memory during [lower, upper) of time, and no two items may share a byte at the same time.
//
//   memory │   ┌───c───┐             The height of the picture is what the arena needs. No layout is lower than
//          │┌──b──┐┌──d──┐           the maximum load (the sum of what lives at one time); reaching it is NP-hard.
//          │└─────a─────┘            pack() tries greedy builds first and proves or improves with a search.
//          └────────────── time
//
// The result depends on the items and the work limit alone, unless a limit in seconds is given.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tidemark {

class SearchControl;

struct PackItem {
  std::int64_t lower = 0, upper = 0;  // lifetime, half-open; empty: takes no room, gets offset 0
  std::int64_t size = 0;              // counted as the next multiple of the alignment; 0: gets offset 0
  std::int64_t alignment = 1;         // a power of two; the offset is a multiple of it
};

struct PackOptions {
  std::optional<std::int64_t> capacity =
      {};                             // given: stop at the first layout not higher. Else minimise the height.
  std::int64_t work = 1'000'000'000;  // effort in work units; some 10^9 in a second of one core
  std::optional<double> seconds = {};  // a further limit, by the clock
  SearchControl* control = nullptr;    // of the planning that this is part of; may end it early
};

enum class PackStatus {
  fits,               // a layout within the capacity; without a capacity, always
  proved_infeasible,  // no layout within the capacity exists
  gave_up,            // none found within the effort
};

struct PackResult {
  std::vector<std::int64_t> offsets;  // a valid layout whatever the status
  std::int64_t height = 0;            // of that layout
  std::int64_t lower_bound = 0;       // the maximum load, or more where the search proved more
  bool proved_optimal = false;        // height == lower_bound
  PackStatus status = PackStatus::fits;
  std::int64_t work = 0;  // spent
};

// Throws Error on a negative size, a reversed lifetime, an alignment that is no power of two, or a load
// beyond 2^61.
PackResult pack(std::span<const PackItem> items, const PackOptions& options = {});

// The maximum load of items whose sizes are rounded up to their alignments.
std::int64_t max_load(std::span<const PackItem> items);

}  // namespace tidemark
