// How operations run somewhere. `Op` says what an operation means; a target says what the planner must know
// of the kernels that do the work: workspace, strides, in-place reuse, fusion, cost, what the host reads. It
// is data that a backend brings and that links without the backend's driver, so a plan can be made, verified
// and shown for a device that is not here.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/ir/cost.h"
#include "tidemark/ir/op.h"

namespace tidemark {

// How a call can join others in a group that runs as one kernel, tile by tile, over one shape: the group's.
//   pointwise: element i of the result depends on element i of the operands, broadcast as in NumPy to the
//   result's
//     shape, and on nothing else. The result has the group's shape; or one element, and then has no memory of
//     its own.
//   window: element i of the result, which has the group's shape, is some element of the first operand, of
//     any shape, or depends on it and on the other operands' one element each. What it reads first comes from
//     outside of the group, and no step of the group writes there; or a step of the group makes it, where
//     kernels work in tiles (Target::most_halo).
//   reduction: folds its one operand, which has the group's shape. Only the last step of a group, behind
//   pointwise ones and windows.
// A value made and read in the group alone has no memory. A result may lie exactly on an operand from outside
// that is dense, of the group's shape and the same element size, if no later step of the group reads that
// operand.
enum class Fusion : std::uint8_t { none, pointwise, window, reduction };
inline constexpr int max_group_steps = 64;
// Of a group that works in tiles.
inline constexpr int max_tiled_steps = 160;
Dims least_tile(int rank);

// Contents that decide on the host how a call goes on: a branch's condition, a loop's. A device that is not
// the host hands them over before it goes on; which operands hold indices that are checked is said by
// Op::fails.
struct HostReads {
  std::vector<int> operands = {};
  struct RegionOutput {
    int region = 0, output = 0;
  };
  std::vector<RegionOutput> outputs = {};  // of each run of a region
};

// Of one op on one target. A call passes its operands' types, its attributes and the strides that are
// planned.
struct ExecutionFacts {
  Cost (*cost)(const Call&) = nullptr;             // nullptr: reads and writes everything once
  std::int64_t (*scratch)(const Call&) = nullptr;  // bytes of workspace, that of regions apart; nullptr: none
  bool (*in_place)(const Call&, int result, int operand) = nullptr;  // may the result overwrite the operand?
  bool (*strided)(const Call&, int operand) = nullptr;  // does the kernel take any strides there?
  Fusion (*fusion)(const Call&) = nullptr;              // nullptr: none
  // Of a window on an array of the result's shape: element i is element i + shift, or the other operand's
  // where there is none. nullopt: it reads otherwise; nullptr: all do.
  std::optional<Dims> (*shift)(const Call&) = nullptr;
  HostReads (*host_reads)(const Call&) = nullptr;  // nullptr: nothing
  // Has the device no kernel for it, so that the CPU computes it, with copies there and back? nullptr: no.
  bool (*on_host)(const Call&) = nullptr;
};

// Every operand read and every result written once.
double bytes_moved(const Call& call);
Cost plain_cost(const Call& call);  // that, and an operation for each element that is computed

// A place where programs run, as the planner sees it.
struct Target {
  std::string_view name;
  std::int64_t alignment = buffer_alignment;           // of every buffer, in bytes; a power of two
  const ExecutionFacts* (*find)(const Op&) = nullptr;  // nullptr: the op cannot run there
  bool adds_rows = false;      // products add a row to each of theirs for nothing (opt/product_rows.h)
  bool channels_last = false;  // images are computed fastest in the order N, spatial, C (opt/channels_last.h)
  // Batch norms of columns are fastest as sums and elementwise ops (opt/split_norms.h).
  bool splits_norms = false;
  // Has steps of kind Fusion::window, so that a part of a padded array is best read as such, and not cut out
  // of one in memory (opt/windows.h).
  bool reads_windows = false;
  // Group kernels work in tiles: a window may be on what an earlier step of its group makes. Such a group
  // has up to max_tiled_steps, all of its shape of 1 to 3 dimensions or of one element, ends with no
  // reduction and writes nowhere that it reads. What windows read in it comes in layers, each made of those
  // before it. The farthest shifts of all layers together are at most `most_halo` in each dimension: so far
  // beyond its tile does a kernel compute what its neighbours compute too. And what windows read takes at
  // most `tile_bytes`, where it is least_tile and twice that wider. 0: there are no such groups.
  std::int64_t most_halo = 0, tile_bytes = 0;
  // Products of 16-bit floats are computed from 8-bit codes where that is faster by these times of calls, in
  // seconds (opt/fp8_products.h); nullptr: nowhere.
  double (*fp8_seconds)(const Call&) = nullptr;
  std::string_view arithmetic = {};  // what it computes otherwise than dtypes say, for people; empty: nothing

  bool runs(const Op& op) const { return find(op) != nullptr; }
  const ExecutionFacts& facts(const Op& op) const;  // of an op that is not found: none

  // Facts with the defaults filled in; the cost's work is never by_kind.
  Cost cost(const Call& call) const;
  // The kernel's own workspace, and before it the memory that the call's regions run in, one at a time.
  std::int64_t scratch(const Call& call) const;
  std::int64_t region_arena(const Call& call) const;  // that memory alone, a multiple of the alignment
  bool may_overwrite(const Call& call, int result, int operand) const;
  bool takes_strides(const Call& call, int operand) const;
  Fusion fusion(const Call& call) const;
  std::optional<Dims> shift(const Call& call) const;
  HostReads host_reads(const Call& call) const;
  bool on_host(const Call& call) const;

  std::int64_t aligned(std::int64_t bytes) const { return align_up(bytes, alignment); }
};

}  // namespace tidemark
