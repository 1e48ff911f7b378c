// What the planner knows of a machine: rates, as plain data, so that a plan can be made for a machine that is
// not here. `tidemark machine` measures one (cpu/calibrate.h); docs/machine.md describes the file.
//
//   seconds = overhead + flops / rate(flops) + bytes / bandwidth(bytes)
//
// where the flops are divided by the speed of their dtype, so many of f32 taking the same time,
// with the curves of the kind of work that the op states (Cost::work). Both terms count: what overlaps in a
// kernel overlaps in the calibration too, and is in the rates. Where the machine says that arithmetic
// overlaps the bytes, as on a GPU whose other threads compute while some wait, the longer of the two counts.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/dtype.h"
#include "tidemark/ir/cost.h"

namespace tidemark {

struct Call;
struct Target;

// A rate by size: a straight line between the points when both axes are logarithmic, level beyond the ends.
// Sizes increase. From point to point the rate grows at most as fast as the size, so that more work never
// takes less time.
struct Curve {
  struct Point {
    double size = 0, rate = 0;
    friend bool operator==(const Point&, const Point&) = default;
  };
  std::vector<Point> points = {};

  double at(double size) const;
  friend bool operator==(const Curve&, const Curve&) = default;
};

struct WorkRates {
  Curve flops = {};  // flop/s of f32, by the flops of the call
  Curve bytes = {};  // bytes/s, by the bytes it moves
  // How many flops of a dtype take the time of one of f32.
  std::array<double, dtype_count> speed = {1, 0.5, 0.8, 0.8, 1, 0.5, 1, 1};
  friend bool operator==(const WorkRates&, const WorkRates&) = default;
};

inline constexpr std::string_view host_memory_name = "host", disk_memory_name = "disk";

// A memory beside the one that is computed in: a disk, the host's memory of a device.
struct MachineMemory {
  std::string name = {};
  std::int64_t bytes = 0;  // free when it was measured
  friend bool operator==(const MachineMemory&, const MachineMemory&) = default;
};

// How copies go from one memory to another: seconds = latency + bytes / bandwidth. Memory 0 is the one that
// is computed in, k the k-th of `further`.
struct Link {
  int from = 0, to = 0;
  double latency = 0;         // seconds
  double bandwidth = 0;       // bytes/s, with nothing else going on
  double beside_compute = 0;  // bytes/s, while all threads compute
  friend bool operator==(const Link&, const Link&) = default;
};

// Bytes of plain values per second.
struct CodecRate {
  std::string codec = {};
  double encode = 0, decode = 0;
  friend bool operator==(const CodecRate&, const CodecRate&) = default;
};

struct Machine {
  std::string name;
  int threads = 1;
  std::int64_t memory_bytes = 0;  // as installed; a budget is asked for apart
  double overhead = 0;            // seconds that a step takes at least
  bool overlaps = false;          // arithmetic runs beside the kernel's own bytes
  std::array<WorkRates, work_count> work = {};
  std::vector<MachineMemory> further = {};  // memories 1, 2, …
  std::vector<Link> links = {};             // none: nothing can be moved
  std::vector<CodecRate> codecs = {};

  const WorkRates& operator[](WorkKind w) const { return work[static_cast<std::size_t>(w)]; }
  WorkRates& operator[](WorkKind w) { return work[static_cast<std::size_t>(w)]; }
  friend bool operator==(const Machine&, const Machine&) = default;
};

// What plans are made for unless a machine is named: two cores of a 2020s server, constants of the library,
// so that plans do not depend on where they were made.
const Machine& reference_machine();

// The dtype that the arithmetic of a call runs in: that of its first floating-point operand or result.
DType arithmetic_dtype(const Call& call);

// Predicted time of one execution of the call, above zero and finite. Reads facts, runs nothing.
double seconds_of(const Machine& machine, const Target& target, const Call& call);
double seconds_of(const Machine& machine, const Cost& cost, DType dtype = DType::f32);

// The same from rates alone.
double seconds_of(const WorkRates& rates, const Cost& cost, DType dtype, double overhead, bool overlaps);
// A kernel's time: `computed` is the overhead and its arithmetic, `moving` what its bytes take.
double with_bytes(double computed, double overhead, double moving, bool overlaps);

// Null: there is none.
const Link* find_link(const Machine& machine, int from, int to);
double seconds_of(const Link& link, double bytes, bool beside_compute);
const CodecRate* find_codec_rate(const Machine& machine, std::string_view codec);  // null: there is none

std::string to_json(const Machine& machine);

// Files of version 1 have no further memories. Throws Error bad_machine_file, naming the place within the
// file ("/work/rows/bytes/3/1"), on anything a machine cannot be.
Machine machine_from_json(std::string_view text);

// The same from a file. Throws Error bad_file when it cannot be read.
Machine load_machine(const std::string& path);

}  // namespace tidemark
