// The value of --memory: bytes with a unit, or a share of what would be needed without a budget ("90%").
#pragma once
#include <cstdint>
#include <string_view>

namespace tidemark::cli {

class Budget {
 public:
  // Throws Error: no number, a unit that is none, zero or less, beyond 63 bits.
  static Budget parse(std::string_view text);

  bool relative() const { return share_ > 0; }
  // `peak`: what a share is of.
  std::int64_t bytes(std::int64_t peak) const;

 private:
  std::int64_t bytes_ = 0;
  std::int64_t share_ = 0;  // millionths of a percent, so that 90% of a peak is exact
};

}  // namespace tidemark::cli
