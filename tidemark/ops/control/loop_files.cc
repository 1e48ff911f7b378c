#include "tidemark/ops/control/loop_files.h"

#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/store/store_files.h"

namespace tidemark {

FileSlots file_slots(std::int64_t trips, std::int64_t state_bytes, std::int64_t memory, std::int64_t disk) {
  const std::int64_t beside = 1 + file_buffers;
  return {.memory = std::clamp<std::int64_t>(memory / state_bytes - beside, 1, trips),
          .disk = std::min(disk / state_bytes, trips)};
}

std::int64_t kept_state_bytes(std::span<const Type> in, const LoopReverseAttrs& attrs) {
  std::int64_t bytes = 0;
  for (std::int64_t c = 0; c < attrs.carries; ++c) bytes += slice_of(in[static_cast<std::size_t>(c)]).bytes();
  return bytes;
}

schedule::Question files_question(const LoopReverseAttrs& attrs, std::int64_t state_bytes,
                                  const RegionFacts* step) {
  constexpr double least = 1e-3, most = 1e3;  // beyond, another decimal changes no plan worth having
  double transfer = 1;
  if (step && step->seconds > 0)
    transfer =
        std::clamp(static_cast<double>(state_bytes) / file_bytes_per_second / step->seconds, least, most);
  return {.steps = attrs.trips,
          .kind = schedule::Kind::multilevel,
          .levels = {{.slots = attrs.memory_slots},
                     {.slots = attrs.disk_slots, .write_cost = transfer, .read_cost = transfer}},
          .state_bytes = std::max<std::int64_t>(1, state_bytes)};
}

std::int64_t files_slots_scratch(const LoopReverseAttrs& attrs, std::int64_t state_bytes) {
  return align_up(attrs.memory_slots * state_bytes, buffer_alignment);
}

std::int64_t files_scratch(const LoopReverseAttrs& attrs, std::int64_t state_bytes) {
  const std::size_t staging = schedule::staging_room(static_cast<std::size_t>(state_bytes), file_buffers);
  return files_slots_scratch(attrs, state_bytes) +
         align_up(static_cast<std::int64_t>(staging), buffer_alignment);
}

}  // namespace tidemark
