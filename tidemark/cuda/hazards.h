// Which commands have to follow which, by the memory that they touch: those that read what another wrote, and
// those that write what another reads or wrote. All others may run side by side.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tidemark::cuda {

// Addresses [first, last).
struct Access {
  std::uint64_t first = 0, last = 0;
  bool writes = false;
};

// Commands are numbered from 0 in the order in which they are added, which is one that is right.
class Hazards {
 public:
  // The earlier ones that the next one has to follow, latest first; not those that these follow themselves.
  // `also`: earlier ones that it follows whatever they touch.
  std::vector<std::size_t> add(std::span<const Access> accesses, std::span<const std::size_t> also = {});
  // The same for one that touches anything.
  std::vector<std::size_t> add_barrier();

 private:
  // Bytes with the same past: who wrote them last, and who has read them since.
  struct Segment {
    std::uint64_t last = 0;
    std::ptrdiff_t writer = -1;
    std::vector<std::size_t> readers = {};
  };
  using Segments = std::map<std::uint64_t, Segment>;  // by their first byte
  Segments::iterator split(std::uint64_t at);
  void read(const Access& access, std::vector<std::size_t>& before);
  void write(const Access& access, std::vector<std::size_t>& before);
  std::vector<std::size_t> follow(std::vector<std::size_t> before);

  std::size_t next_ = 0;
  std::size_t base_ = 0;                          // all before it have ended when it begins
  bool has_base_ = false;                         // else commands may be the first
  Segments segments_ = {};                        // touched since the base
  std::vector<bool> ends_;                        // of those from the base on: does none follow?
  std::vector<std::vector<std::uint64_t>> past_;  // likewise: bits of all that it follows
};

}  // namespace tidemark::cuda
